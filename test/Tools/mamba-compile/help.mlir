// RUN: mamba-compile --help | FileCheck %s --implicit-check-not=mlir-
// RUN: mamba-compile --version | FileCheck %s --check-prefix=VERSION

// CHECK: OVERVIEW: Ahead-of-time compiler
// CHECK: USAGE: mamba-compile [options] [INPUT.mlir]
// CHECK: Input:
// CHECK: --model=<NAME>
// CHECK: Model overrides:
// CHECK: --heads=<N>
// CHECK: Running:
// CHECK: --arg=<NAME=FILE.npy>
// CHECK: Target and output:
// CHECK: --emit=<STAGE>
// CHECK: -o <PATH>
// CHECK: --schedule=<NAME>
// CHECK: --target=<NAME>

// VERSION: mamba-compile {{[0-9]+\.[0-9]+\.[0-9]+}} (LLVM 22
