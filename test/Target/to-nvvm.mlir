// RUN: mamba-opt %s --pass-pipeline='builtin.module(gpu.module(mamba-to-nvvm))' \
// RUN:   | FileCheck %s

// CHECK-LABEL: gpu.module @kernels
gpu.module @kernels {
  // The upstream form of dynamic shared memory is wrong, see
  // upstream-dynamic-shared-memory.mlir.
  // CHECK: llvm.mlir.global external @mamba_shared()
  // CHECK-SAME: {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>

  // CHECK-LABEL: llvm.func @arguments(
  // CHECK-SAME: %[[X:[^:]*]]: !llvm.ptr, %[[Y:[^:]*]]: !llvm.ptr, %[[N:[^:]*]]: i64,
  // CHECK-SAME: %[[S:[^:]*]]: f32)
  // CHECK-SAME: gpu.kernel
  // CHECK-SAME: mamba.kernel = "scale"
  // CHECK-SAME: nvvm.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 128, 1, 1>
  // CHECK-NOT: nvvm.maxntid
  gpu.func @arguments(%x: memref<bf16>, %y: memref<8xf32>, %n: index, %s: f32)
      kernel attributes {known_block_size = array<i32: 128, 1, 1>,
                         mamba.kernel = "scale"} {
    // CHECK: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x range <i32, 0, 128> : i32
    // CHECK: %[[I:.*]] = llvm.sext %[[TID]] : i32 to i64
    %i = gpu.thread_id x
    %b = gpu.block_id y
    %xs = memref.reinterpret_cast %x to offset: [0], sizes: [%n, 64],
        strides: [64, 1] : memref<bf16> to memref<?x64xbf16>
    %row = memref.subview %xs[%b, 0] [1, 64] [1, 1]
        : memref<?x64xbf16> to memref<64xbf16, strided<[1], offset: ?>>
    // CHECK: %[[ROW:.*]] = llvm.getelementptr %[[X]][%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, bf16
    // CHECK: %[[P:.*]] = llvm.getelementptr {{.*}}%[[ROW]][%[[I]]]
    // CHECK: llvm.load %[[P]] : !llvm.ptr -> bf16
    // CHECK: llvm.fpext
    %v = memref.load %row[%i] : memref<64xbf16, strided<[1], offset: ?>>
    %f = arith.extf %v : bf16 to f32
    %scaled = arith.mulf %f, %s : f32
    %c8 = arith.constant 8 : index
    %inside = arith.cmpi ult, %i, %c8 : index
    // CHECK: llvm.cond_br
    scf.if %inside {
      // CHECK: llvm.store %{{.*}}, %{{.*}} : f32, !llvm.ptr
      memref.store %scaled, %y[%i] : memref<8xf32>
    }
    gpu.return
  }

  // CHECK-LABEL: llvm.func @shared
  gpu.func @shared(%x: memref<f32>) kernel
      attributes {mamba.shared_bytes = 4096 : i64} {
    %c2048 = arith.constant 2048 : index
    %i = gpu.thread_id x
    %bytes = gpu.dynamic_shared_memory
        : memref<?xi8, #gpu.address_space<workgroup>>
    %tile = memref.view %bytes[%c2048][]
        : memref<?xi8, #gpu.address_space<workgroup>>
          to memref<512xf32, #gpu.address_space<workgroup>>
    %v = memref.load %x[] : memref<f32>
    // CHECK: %[[BASE:.*]] = llvm.mlir.addressof @mamba_shared : !llvm.ptr<3>
    // CHECK: %[[TILE:.*]] = llvm.getelementptr %[[BASE]][2048] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    // CHECK: %[[P:.*]] = llvm.getelementptr {{.*}}%[[TILE]]
    // CHECK: llvm.store %{{.*}}, %[[P]] : f32, !llvm.ptr<3>
    memref.store %v, %tile[%i] : memref<512xf32, #gpu.address_space<workgroup>>
    // CHECK: nvvm.barrier0
    gpu.barrier
    // CHECK: nvvm.shfl.sync bfly
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %other, %valid = gpu.shuffle xor %v, %c1, %c32 : f32
    memref.store %other, %x[] : memref<f32>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @loops
  gpu.func @loops(%x: memref<f32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %xs = memref.reinterpret_cast %x to offset: [0], sizes: [%n], strides: [1]
        : memref<f32> to memref<?xf32>
    // CHECK: llvm.br ^[[HEAD:bb[0-9]+]](%{{.*}} : i64, f32)
    // CHECK: ^[[HEAD]](%{{.*}}: i64, %{{.*}}: f32)
    // CHECK: llvm.cond_br
    // CHECK: llvm.br ^[[HEAD]]{{.*}} {loop_annotation = #{{.*}}}
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
      %j = affine.apply affine_map<(d0)[s0] -> (d0 mod s0)>(%i)[%n]
      %v = memref.load %xs[%j] : memref<?xf32>
      %t = arith.addf %s, %v : f32
      scf.yield %t : f32
    } {loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>}
    memref.store %sum, %xs[%c0] : memref<?xf32>
    gpu.return
  }

  // NaN passes maximumf and minimumf; maxnumf and minnumf ignore it.
  // CHECK-LABEL: llvm.func @nans
  gpu.func @nans(%x: memref<f32>) kernel {
    %v = memref.load %x[] : memref<f32>
    %c = arith.constant 1.0 : f32
    // CHECK: llvm.intr.maximum
    // CHECK: llvm.intr.minimum
    // CHECK: llvm.intr.maxnum
    // CHECK: llvm.intr.minnum
    %0 = arith.maximumf %v, %c : f32
    %1 = arith.minimumf %0, %v : f32
    %2 = arith.maxnumf %1, %c : f32
    %3 = arith.minnumf %2, %v : f32
    memref.store %3, %x[] : memref<f32>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @vectors
  gpu.func @vectors(%x: memref<64xbf16>) kernel {
    %c0 = arith.constant 0 : index
    // CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<8xbf16>
    %v = vector.load %x[%c0] {alignment = 16 : i64}
        : memref<64xbf16>, vector<8xbf16>
    // CHECK: llvm.bitcast %{{.*}} : vector<8xbf16> to vector<4xi32>
    %f = arith.extf %v : vector<8xbf16> to vector<8xf32>
    // CHECK-COUNT-8: llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"
    %e = math.exp2 %f : vector<8xf32>
    %t = arith.truncf %e : vector<8xf32> to vector<8xbf16>
    vector.store %t, %x[%c0] : memref<64xbf16>, vector<8xbf16>
    gpu.return
  }

  // A sum over a warp is five exchanges between lanes.
  // CHECK-LABEL: llvm.func @subgroups
  gpu.func @subgroups(%x: memref<f32>) kernel {
    %v = memref.load %x[] : memref<f32>
    // CHECK-COUNT-5: nvvm.shfl.sync bfly
    // CHECK-NOT: nvvm.shfl.sync
    %sum = gpu.subgroup_reduce add %v : (f32) -> f32
    // CHECK: nvvm.read.ptx.sreg.tid.x
    %id = gpu.subgroup_id : index
    %int = arith.index_cast %id : index to i32
    %float = arith.uitofp %int : i32 to f32
    %result = arith.addf %sum, %float : f32
    memref.store %result, %x[] : memref<f32>
    gpu.return
  }
}
