// Errors in the module are reported where they are, and leave no output.

// RUN: rm -f %t.out
// RUN: split-file --leading-lines %s %t
// RUN: %python %S/Inputs/fails.py mamba-compile %t/syntax.mlir --emit=mamba -o %t.out | FileCheck %s --check-prefix=SYNTAX
// RUN: %python %S/Inputs/fails.py mamba-compile %t/shape.mlir --emit=mamba -o %t.out | FileCheck %s --check-prefix=SHAPE
// RUN: %python %S/Inputs/fails.py mamba-compile %t/types.mlir -o %t.o | FileCheck %s --check-prefix=TYPES
// RUN: %python %S/Inputs/fails.py mamba-compile %t/name.mlir -o %t.o | FileCheck %s --check-prefix=NAME
// RUN: not ls %t.out
// RUN: not ls %t.o
// RUN: echo kept > %t.out
// RUN: %python %S/Inputs/fails.py mamba-compile %t/shape.mlir --emit=mamba -o %t.out
// RUN: FileCheck %s --check-prefix=KEPT --input-file=%t.out
// RUN: mamba-compile %t/good.mlir --emit=mamba -o %t.out
// RUN: FileCheck %s --check-prefix=GOOD --input-file=%t.out
// RUN: %python %S/Inputs/fails.py mamba-compile %t/good.mlir --emit=mamba -o %t.none/out | FileCheck %s --check-prefix=FOLDER

// KEPT: kept
// GOOD: func.func @f
// FOLDER: {{^}}mamba-compile: error: could not write '{{.*}}.none/out': No such file or directory

//--- syntax.mlir
func.func @f( {
// SYNTAX: syntax.mlir:[[#@LINE-1]]:14: error:

//--- shape.mlir
// SHAPE: shape.mlir:[[#@LINE+2]]:{{[0-9]+}}: error: 'mamba.chunk_cumsum' op expected dimension 0 (heads) of 'A' to be 3 as in 'dt', got 4
func.func @f(%dt: tensor<1x5x3xf32>, %A: tensor<4xf32>) -> tensor<1x3x1x16xf32> {
  %0, %1 = mamba.chunk_cumsum chunk_size(16) dt(%dt : tensor<1x5x3xf32>) A(%A : tensor<4xf32>) -> tensor<1x3x1x16xf32>, tensor<1x3x1x16xf32>
  return %1 : tensor<1x3x1x16xf32>
}

//--- types.mlir
// TYPES: {{^}}mamba-compile: error: expected 'arg0' of function 'f' to be a ranked tensor of bf16, f16, f32, f64, i32 or i64, got memref<4xf32>
func.func @f(%x: memref<4xf32>) {
  return
}

//--- name.mlir
// NAME: {{^}}mamba-compile: error: expected the function's name 'my.f' to be a C identifier
func.func @my.f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

//--- good.mlir
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
