// RUN: mamba-opt %s -pass-pipeline='builtin.module(gpu.module(mamba-distribute,canonicalize,cse))' -split-input-file | FileCheck %s

// Where a block's buffers lie, and where its threads wait for each other.

// %a is dead when %c is written, so that they share their bytes; a barrier keeps
// the writers of %c behind the readers of %a. %b is live until the end. The
// last copy reads what the same thread wrote.

// CHECK-LABEL: gpu.func @reuse(
// CHECK-SAME:    mamba.shared_bytes = 512
// CHECK-DAG:     %[[A:.*]] = memref.view %{{.*}}[%c0][] {{.*}} to memref<100xf32, #gpu.address_space<workgroup>>
// CHECK-DAG:     %[[B:.*]] = memref.view %{{.*}}[%c400][] {{.*}} to memref<25xf32, #gpu.address_space<workgroup>>
// CHECK-DAG:     %[[C:.*]] = memref.view %{{.*}}[%c0][] {{.*}} to memref<90xf32, #gpu.address_space<workgroup>>
// CHECK:         memref.store %{{.*}}, %[[A]]
// CHECK:         gpu.barrier
// CHECK:         memref.load %[[A]]
// CHECK:         memref.store %{{.*}}, %[[B]]
// CHECK:         gpu.barrier
// CHECK:         memref.store %{{.*}}, %[[C]]
// CHECK-NOT:     gpu.barrier
// CHECK:         memref.load %[[B]]
// CHECK-NOT:     memref.dealloc
#id = affine_map<(d0) -> (d0)>
#fourth = affine_map<(d0) -> (d0 * 4)>
gpu.module @kernels {
  gpu.func @reuse(%x: memref<100xf32>, %y: memref<25xf32>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %zero = arith.constant 0.0 : f32
    %a = memref.alloc() : memref<100xf32>
    %b = memref.alloc() : memref<25xf32>
    %c = memref.alloca() : memref<90xf32>
    memref.copy %x, %a : memref<100xf32> to memref<100xf32>
    linalg.generic {indexing_maps = [#fourth, #id], iterator_types = ["parallel"]}
        ins(%a : memref<100xf32>) outs(%b : memref<25xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }
    linalg.fill ins(%zero : f32) outs(%c : memref<90xf32>)
    memref.copy %b, %y : memref<25xf32> to memref<25xf32>
    memref.dealloc %b : memref<25xf32>
    memref.dealloc %a : memref<100xf32>
    gpu.return
  }
}

// -----

// A buffer from outside the loop is live in the whole loop, one of an iteration
// is not: %a keeps its bytes, %b and %c share theirs. The size of %c is at most
// its constant bound.

// CHECK-LABEL: gpu.func @loops(
// CHECK-SAME:    %{{.*}}: memref<?xf32>, %[[N:.*]]: index
// CHECK-SAME:    mamba.shared_bytes = 2048
// CHECK-DAG:     %[[A:.*]] = memref.view %{{.*}}[%c0][] {{.*}} to memref<256xf32
// CHECK-DAG:     %[[B:.*]] = memref.view %{{.*}}[%c1024][] {{.*}} to memref<256xf32
// CHECK:         scf.for
// CHECK:           %[[SIZE:.*]] = arith.minsi %{{.*}}, %c256
// CHECK:           %[[C:.*]] = memref.view %{{.*}}[%c1024][%[[SIZE]]] {{.*}} to memref<?xf32
gpu.module @kernels {
  gpu.func @loops(%x: memref<?xf32>, %n: index) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant 0.0 : f32
    %a = memref.alloc() : memref<256xf32>
    linalg.fill ins(%zero : f32) outs(%a : memref<256xf32>)
    scf.for %i = %c0 to %n step %c1 {
      %b = memref.alloc() : memref<256xf32>
      memref.copy %a, %b : memref<256xf32> to memref<256xf32>
      memref.copy %b, %a : memref<256xf32> to memref<256xf32>
      %rest = arith.subi %n, %i : index
      %size = arith.minsi %rest, %c256 : index
      %c = memref.alloc(%size) : memref<?xf32>
      linalg.fill ins(%zero : f32) outs(%c : memref<?xf32>)
      %part = memref.subview %x[%i] [%size] [1]
          : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
      memref.copy %c, %part : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    }
    gpu.return
  }
}

// -----

// The barrier at the top of the loop is for the back edge: an iteration
// overwrites what the last one still reads. The scalar load in a branch needs
// one too; all threads take the same branch.

// CHECK-LABEL: gpu.func @back_edge(
// CHECK-SAME:    %[[X:.*]]: memref<?x64xf32>, %[[Y:.*]]: memref<64xf32>
// CHECK:         %[[T:.*]] = memref.view
// CHECK:         scf.for
// CHECK-NEXT:      memref.subview %[[X]]
// CHECK-NEXT:      gpu.barrier
// CHECK:           memref.store %{{.*}}, %[[T]]
// CHECK:           gpu.barrier
// CHECK:           memref.load %[[T]][%{{.*}}]
// CHECK:           memref.store %{{.*}}, %[[Y]][%{{.*}}]
// CHECK:           scf.if
// CHECK-NEXT:        gpu.barrier
// CHECK-NEXT:        memref.load %[[Y]][%c5]
// CHECK-NOT:       gpu.barrier
// CHECK:         gpu.return
#reverse = affine_map<(d0) -> (63 - d0)>
#id = affine_map<(d0) -> (d0)>
gpu.module @kernels {
  gpu.func @back_edge(%x: memref<?x64xf32>, %y: memref<64xf32>, %z: memref<?xf32>,
                      %n: index, %c: i1) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    %t = memref.alloc() : memref<64xf32>
    scf.for %i = %c0 to %n step %c1 {
      %row = memref.subview %x[%i, 0] [1, 64] [1, 1]
          : memref<?x64xf32> to memref<64xf32, strided<[1], offset: ?>>
      memref.copy %row, %t : memref<64xf32, strided<[1], offset: ?>> to memref<64xf32>
      linalg.generic {indexing_maps = [#reverse, #id], iterator_types = ["parallel"]}
          ins(%t : memref<64xf32>) outs(%y : memref<64xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      }
      scf.if %c {
        %v = memref.load %y[%c5] : memref<64xf32>
        memref.store %v, %z[%i] : memref<?xf32>
      }
    }
    gpu.return
  }
}

// -----

// The same view means other memory in the next iteration, where it is computed
// in the loop: each row is written to the next one by other threads.

// CHECK-LABEL: gpu.func @moving_view(
// CHECK:         scf.for
// CHECK-NEXT:      memref.subview
// CHECK-NEXT:      gpu.barrier
// CHECK:           memref.store
// CHECK-NOT:       gpu.barrier
// CHECK:         gpu.return
#id = affine_map<(d0) -> (d0)>
gpu.module @kernels {
  gpu.func @moving_view(%x: memref<?xf32>, %n: index) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %part = memref.subview %x[%i] [64] [1]
          : memref<?xf32> to memref<64xf32, strided<[1], offset: ?>>
      linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]}
          outs(%part : memref<64xf32, strided<[1], offset: ?>>) {
      ^bb0(%out: f32):
        %twice = arith.addf %out, %out : f32
        linalg.yield %twice : f32
      }
    }
    gpu.return
  }
}

// -----

// A buffer that a loop carries keeps its place, and its views are in workgroup
// memory.

// CHECK-LABEL: gpu.func @carried(
// CHECK:         %[[T:.*]] = memref.view
// CHECK:         memref.subview %[[T]][2] [8] [1] : memref<16xf32, #gpu.address_space<workgroup>> to memref<8xf32, strided<[1], offset: 2>, #gpu.address_space<workgroup>>
// CHECK:         memref.store
gpu.module @kernels {
  gpu.func @carried(%n: index) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %t = memref.alloc() : memref<16xf32>
    %end = scf.for %i = %c0 to %n step %c1 iter_args(%carried = %t) -> (memref<16xf32>) {
      %part = memref.subview %carried[2] [8] [1]
          : memref<16xf32> to memref<8xf32, strided<[1], offset: 2>>
      linalg.fill ins(%zero : f32) outs(%part : memref<8xf32, strided<[1], offset: 2>>)
      scf.yield %carried : memref<16xf32>
    }
    %v = memref.load %end[%c0] : memref<16xf32>
    memref.store %v, %t[%c1] : memref<16xf32>
    gpu.return
  }
}
