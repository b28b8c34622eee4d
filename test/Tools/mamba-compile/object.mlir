// An object file, its header, and a C program that uses them.

// REQUIRES: cc
// RUN: rm -rf %t && mkdir -p %t
// RUN: mamba-compile --model=mamba2-130m --op=ssu --head-dim=2 --state-dim=2 --dtype=f32 --state-dtype=f32 --no-d --no-dt-bias --no-softplus -o %t/ssu.o
// RUN: FileCheck %s --input-file=%t/ssu.h
// RUN: %cc -std=c99 -Wall -Werror -pedantic -I%t %S/Inputs/call_ssu.c %t/ssu.o -lm -o %t/call
// RUN: %t/call | FileCheck %s --check-prefix=OUT

// OUT: y 14 29 state 2 12 5 24

// CHECK: #ifndef SSU_H
// CHECK: typedef struct {
// CHECK: } mamba_memref_4;
// CHECK:      * state: float [slots, heads, 2, 2], in, updated in place: afterwards new_state
// CHECK-NEXT: * x: float [batch, heads, 2], in
// CHECK:      * y: float [batch, heads, 2], out
// CHECK:      void ssu(
// CHECK-NEXT:     mamba_memref_4 *state,
// CHECK-NEXT:     const mamba_memref_3 *x,
// CHECK:          mamba_memref_3 *y);
