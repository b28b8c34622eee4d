// Whole tile programs that are no mamba operations, down to PTX with upstream's
// lowerings: both passes make what these take.
//
// RUN: mamba-opt %s -split-input-file -pass-pipeline='builtin.module(mamba-outline-kernels,gpu.module(mamba-distribute),canonicalize,cse)' \
// RUN: | mlir-opt -allow-unregistered-dialect -split-input-file \
// RUN:     -pass-pipeline='builtin.module(nvvm-attach-target{chip=sm_90a features=+ptx86 O=3},gpu.module(convert-scf-to-cf,expand-strided-metadata,lower-affine,arith-expand,convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=true},canonicalize,cse,convert-nvvm-to-llvm,reconcile-unrealized-casts),gpu-module-to-binary{format=isa})' \
// RUN: | FileCheck %s

// A matrix product with a bias. No size divides the tile.

// CHECK-LABEL: gpu.binary @linear_kernels
// CHECK-SAME:    .visible .entry linear_tile(
// CHECK-SAME:    .maxntid 256
// CHECK-SAME:    st.shared
// CHECK-SAME:    bar.sync
// CHECK-SAME:    ld.shared
// CHECK-SAME:    fma.rn.f32
func.func @linear(%x: memref<?x?xf32> {mamba.name = "x"},
                  %w: memref<?x?xf32> {mamba.name = "w"},
                  %bias: memref<?xf32> {mamba.name = "bias"},
                  %y: memref<?x?xf32> {mamba.name = "y", mamba.result}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c48 = arith.constant 48 : index
  %zero = arith.constant 0.0 : f32
  %m = memref.dim %x, %c0 : memref<?x?xf32>
  %k = memref.dim %x, %c1 : memref<?x?xf32>
  %n = memref.dim %w, %c1 : memref<?x?xf32>
  scf.forall (%i, %j) = (0, 0) to (%m, %n) step (32, 48) {
    %mrest = arith.subi %m, %i : index
    %mt = arith.minsi %mrest, %c32 : index
    %nrest = arith.subi %n, %j : index
    %nt = arith.minsi %nrest, %c48 : index
    %acc = memref.alloc(%mt, %nt) : memref<?x?xf32>
    linalg.fill ins(%zero : f32) outs(%acc : memref<?x?xf32>)
    scf.for %l = %c0 to %k step %c32 {
      %krest = arith.subi %k, %l : index
      %kt = arith.minsi %krest, %c32 : index
      %xt = memref.subview %x[%i, %l] [%mt, %kt] [1, 1]
          : memref<?x?xf32> to memref<?x?xf32, strided<[?, 1], offset: ?>>
      %wt = memref.subview %w[%l, %j] [%kt, %nt] [1, 1]
          : memref<?x?xf32> to memref<?x?xf32, strided<[?, 1], offset: ?>>
      %xs = memref.alloc(%mt, %kt) : memref<?x?xf32>
      %ws = memref.alloc(%kt, %nt) : memref<?x?xf32>
      memref.copy %xt, %xs : memref<?x?xf32, strided<[?, 1], offset: ?>> to memref<?x?xf32>
      memref.copy %wt, %ws : memref<?x?xf32, strided<[?, 1], offset: ?>> to memref<?x?xf32>
      linalg.matmul ins(%xs, %ws : memref<?x?xf32>, memref<?x?xf32>)
                    outs(%acc : memref<?x?xf32>)
    }
    %bt = memref.subview %bias[%j] [%nt] [1]
        : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    %yt = memref.subview %y[%i, %j] [%mt, %nt] [1, 1]
        : memref<?x?xf32> to memref<?x?xf32, strided<[?, 1], offset: ?>>
    linalg.generic {
        indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,
                         affine_map<(d0, d1) -> (d1)>,
                         affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%acc, %bt : memref<?x?xf32>, memref<?xf32, strided<[1], offset: ?>>)
        outs(%yt : memref<?x?xf32, strided<[?, 1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %sum = arith.addf %a, %b : f32
      linalg.yield %sum : f32
    }
  } {mapping = [#gpu.block<linear_dim_1>, #gpu.block<linear_dim_0>],
     mamba.kernel = "tile",
     mamba.plan = #mamba.plan<chunk_parallel tile [32, 48] warps 8>}
  return
}

// -----

// A softmax of rows, three at a time.

// CHECK-LABEL: gpu.binary @softmax_kernels
// CHECK-SAME:    .visible .entry softmax_rows(
// CHECK-SAME:    .maxntid 128
// CHECK-SAME:    shfl.sync.bfly.b32
// CHECK-SAME:    bar.sync
// CHECK-SAME:    div.rn.f32
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @softmax(%x: memref<?x200xf32> {mamba.name = "x"},
                   %y: memref<?x200xf32> {mamba.name = "y", mamba.result}) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %lowest = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?x200xf32>
  scf.forall (%i) = (0) to (%n) step (3) {
    %rest = arith.subi %n, %i : index
    %m = arith.minsi %rest, %c3 : index
    %xt = memref.subview %x[%i, 0] [%m, 200] [1, 1]
        : memref<?x200xf32> to memref<?x200xf32, strided<[200, 1], offset: ?>>
    %yt = memref.subview %y[%i, 0] [%m, 200] [1, 1]
        : memref<?x200xf32> to memref<?x200xf32, strided<[200, 1], offset: ?>>
    %max = memref.alloc(%m) : memref<?xf32>
    linalg.fill ins(%lowest : f32) outs(%max : memref<?xf32>)
    linalg.reduce { arith.maximumf }
        ins(%xt : memref<?x200xf32, strided<[200, 1], offset: ?>>)
        outs(%max : memref<?xf32>) dimensions = [1]
    %power = memref.alloc(%m) : memref<?x200xf32>
    linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
        ins(%xt, %max : memref<?x200xf32, strided<[200, 1], offset: ?>>, memref<?xf32>)
        outs(%power : memref<?x200xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %difference = arith.subf %a, %b : f32
      %p = math.exp2 %difference : f32
      linalg.yield %p : f32
    }
    %sum = memref.alloc(%m) : memref<?xf32>
    linalg.fill ins(%zero : f32) outs(%sum : memref<?xf32>)
    linalg.reduce { arith.addf } ins(%power : memref<?x200xf32>)
                                 outs(%sum : memref<?xf32>) dimensions = [1]
    linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
        ins(%power, %sum : memref<?x200xf32>, memref<?xf32>)
        outs(%yt : memref<?x200xf32, strided<[200, 1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %quotient = arith.divf %a, %b : f32
      linalg.yield %quotient : f32
    }
  } {mapping = [#gpu.block<linear_dim_0>], mamba.kernel = "rows"}
  return
}
