// RUN: mamba-opt %s -pass-pipeline='builtin.module(gpu.module(mamba-distribute,canonicalize,cse))' -split-input-file | FileCheck %s

// The points of the parallel dimensions go round the threads.

// CHECK-LABEL: gpu.func @elementwise(
// CHECK-SAME:    %[[X:.*]]: memref<?x20xf32>, %[[Y:.*]]: memref<?x20xbf16>
// CHECK-SAME:    mamba.shared_bytes = 0
// CHECK-DAG:     %[[TID:.*]] = gpu.thread_id x
// CHECK-DAG:     %[[ROWS:.*]] = memref.dim %[[X]], %c0
// CHECK:         %[[POINTS:.*]] = arith.muli %[[ROWS]], %c20
// CHECK:         scf.for %[[I:.*]] = %[[TID]] to %[[POINTS]] step %c128 {
// CHECK-DAG:       %[[COLUMN:.*]] = arith.remui %[[I]], %c20
// CHECK-DAG:       %[[ROW:.*]] = arith.divui %[[I]], %c20
// CHECK:           %[[V:.*]] = memref.load %[[X]][%[[ROW]], %[[COLUMN]]]
// CHECK:           %[[R:.*]] = arith.truncf %[[V]]
// CHECK:           memref.store %[[R]], %[[Y]][%[[ROW]], %[[COLUMN]]]
#id = affine_map<(d0, d1) -> (d0, d1)>
gpu.module @kernels {
  gpu.func @elementwise(%x: memref<?x20xf32>, %y: memref<?x20xbf16>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x : memref<?x20xf32>) outs(%y : memref<?x20xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %r = arith.truncf %in : f32 to bf16
      linalg.yield %r : bf16
    }
    gpu.return
  }
}

// -----

// Neighbouring threads read neighbouring elements of global memory, also where
// that is not the last dimension.

// CHECK-LABEL: gpu.func @transpose(
// CHECK-SAME:    %[[X:.*]]: memref<8x32xf32>
// CHECK:         %[[T:.*]] = memref.view
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to %c256 step %c64 {
// CHECK-DAG:       %[[FAST:.*]] = arith.remui %[[I]], %c32
// CHECK-DAG:       %[[SLOW:.*]] = arith.divui %[[I]], %c32
// CHECK:           memref.load %[[X]][%[[SLOW]], %[[FAST]]]
// CHECK:           memref.store %{{.*}}, %[[T]][%[[FAST]], %[[SLOW]]]
gpu.module @kernels {
  gpu.func @transpose(%x: memref<8x32xf32>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = memref.alloc() : memref<32x8xf32>
    linalg.transpose ins(%x : memref<8x32xf32>) outs(%t : memref<32x8xf32>) permutation = [1, 0]
    gpu.return
  }
}

// -----

// Reduction dimensions are loops in a thread, over values in registers. Only
// the accumulation may be contracted. The fill needs no barrier: each thread
// goes on with the elements that it filled. The operands need one.

// CHECK-LABEL: gpu.func @matmul(
// CHECK-SAME:    mamba.shared_bytes = 6912
// CHECK:         %[[A:.*]] = memref.view %{{.*}}[%c0][] {{.*}} to memref<48x16xbf16, #gpu.address_space<workgroup>>
// CHECK:         %[[B:.*]] = memref.view %{{.*}}[%c1536][] {{.*}} to memref<16x24xbf16, #gpu.address_space<workgroup>>
// CHECK:         %[[C:.*]] = memref.view %{{.*}}[%c2304][] {{.*}} to memref<48x24xf32, #gpu.address_space<workgroup>>
// CHECK:         memref.store %{{.*}}, %[[A]]
// CHECK-NOT:     gpu.barrier
// CHECK:         memref.store %{{.*}}, %[[B]]
// CHECK-NOT:     gpu.barrier
// CHECK:         memref.store %{{.*}}, %[[C]]
// CHECK:         gpu.barrier
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to %c1152 step %c128 {
// CHECK-DAG:       %[[N:.*]] = arith.remui %[[I]], %c24
// CHECK-DAG:       %[[M:.*]] = arith.divui %[[I]], %c24
// CHECK:           %[[OLD:.*]] = memref.load %[[C]][%[[M]], %[[N]]]
// CHECK:           %[[NEW:.*]] = scf.for %[[K:.*]] = %c0 to %c16 step %c1 iter_args(%[[ACC:.*]] = %[[OLD]]) -> (f32) {
// CHECK:             memref.load %[[A]][%[[M]], %[[K]]]
// CHECK:             memref.load %[[B]][%[[K]], %[[N]]]
// CHECK:             %[[MUL:.*]] = arith.mulf %{{.*}}, %{{.*}} fastmath<contract>
// CHECK:             %[[SUM:.*]] = arith.addf %[[ACC]], %[[MUL]] fastmath<contract>
// CHECK:             scf.yield %[[SUM]]
// CHECK:           memref.store %[[NEW]], %[[C]][%[[M]], %[[N]]]
// CHECK:         }
// CHECK-NOT:     gpu.barrier
// CHECK:         memref.load %[[C]]
gpu.module @kernels {
  gpu.func @matmul(%x: memref<48x16xbf16>, %y: memref<16x24xbf16>, %z: memref<48x24xf32>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %zero = arith.constant 0.0 : f32
    %a = memref.alloc() : memref<48x16xbf16>
    %b = memref.alloc() : memref<16x24xbf16>
    %c = memref.alloc() : memref<48x24xf32>
    memref.copy %x, %a : memref<48x16xbf16> to memref<48x16xbf16>
    memref.copy %y, %b : memref<16x24xbf16> to memref<16x24xbf16>
    linalg.fill ins(%zero : f32) outs(%c : memref<48x24xf32>)
    linalg.matmul ins(%a, %b : memref<48x16xbf16>, memref<16x24xbf16>)
                  outs(%c : memref<48x24xf32>)
    memref.copy %c, %z : memref<48x24xf32> to memref<48x24xf32>
    gpu.return
  }
}

// -----

// A multiplication that does not feed the accumulation, and an addition that is
// not one, keep their roundings.

// CHECK-LABEL: gpu.func @roundings(
// CHECK:         arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK:         arith.addf %{{.*}}, %{{.*}} : f32
// CHECK:         %[[MUL:.*]] = arith.mulf %{{.*}}, %{{.*}} fastmath<contract> : f32
// CHECK:         arith.addf %{{.*}}, %[[MUL]] fastmath<contract> : f32
#rows = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
gpu.module @kernels {
  gpu.func @roundings(%x: memref<64x16xf32>, %y: memref<64xf32>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %two = arith.constant 2.0 : f32
    linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
        ins(%x : memref<64x16xf32>) outs(%y : memref<64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %a = arith.mulf %in, %two : f32
      %b = arith.addf %a, %in : f32
      %c = arith.mulf %b, %two : f32
      %d = arith.addf %out, %c : f32
      linalg.yield %d : f32
    }
    gpu.return
  }
}

// -----

// Indices and predicated reads. The read from %x counts: it needs a barrier
// after the fill of %x.

// CHECK-LABEL: gpu.func @shift(
// CHECK-SAME:    %[[X:.*]]: memref<?xf32>, %[[Y:.*]]: memref<?xf32>
// CHECK:         memref.store %{{.*}}, %[[X]]
// CHECK:         gpu.barrier
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %c32 {
// CHECK:           %[[INSIDE:.*]] = arith.cmpi sgt, %[[I]], %c0
// CHECK:           %[[V:.*]] = scf.if %[[INSIDE]] -> (f32) {
// CHECK:             %[[BEFORE:.*]] = arith.subi %[[I]], %c1
// CHECK:             memref.load %[[X]][%[[BEFORE]]]
// CHECK:           memref.store %[[V]], %[[Y]][%[[I]]]
gpu.module @kernels {
  gpu.func @shift(%x: memref<?xf32>, %y: memref<?xf32>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    linalg.fill ins(%one : f32) outs(%x : memref<?xf32>)
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
        outs(%y : memref<?xf32>) {
    ^bb0(%out: f32):
      %i = linalg.index 0 : index
      %inside = arith.cmpi sgt, %i, %c0 : index
      %v = scf.if %inside -> (f32) {
        %before = arith.subi %i, %c1 : index
        %read = memref.load %x[%before] : memref<?xf32>
        scf.yield %read : f32
      } else {
        scf.yield %zero : f32
      }
      linalg.yield %v : f32
    }
    gpu.return
  }
}

// -----

// Scalars: the first thread stores, all threads load, with a barrier between.
// Between two stores of the first thread there is none.

// CHECK-LABEL: gpu.func @scalars(
// CHECK-SAME:    %[[X:.*]]: memref<4xf32>
// CHECK:         %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0
// CHECK:         scf.if %[[FIRST]] {
// CHECK:           memref.store %{{.*}}, %[[X]][%c0]
// CHECK-NOT:     gpu.barrier
// CHECK:           memref.store %{{.*}}, %[[X]][%c1]
// CHECK:         }
// CHECK-NEXT:    gpu.barrier
// CHECK-NEXT:    %[[V:.*]] = memref.load %[[X]][%c0]
// CHECK:         gpu.barrier
// CHECK:         scf.if %[[FIRST]] {
// CHECK:           memref.store %[[V]], %[[X]][%c1]
gpu.module @kernels {
  gpu.func @scalars(%x: memref<4xf32>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    memref.store %zero, %x[%c0] : memref<4xf32>
    memref.store %zero, %x[%c1] : memref<4xf32>
    %v = memref.load %x[%c0] : memref<4xf32>
    memref.store %v, %x[%c1] : memref<4xf32>
    gpu.return
  }
}
