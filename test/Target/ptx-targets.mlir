// Everything that `mamba-to-nvvm` lowers, assembled for every target.

// REQUIRES: ptxas
// RUN: rm -rf %t && mkdir %t
// RUN: mamba-opt %s -o %t/out.mlir --pass-pipeline='builtin.module(gpu.module(mamba-to-nvvm{target=sm_80}),mamba-serialize{target=sm_80},mamba-write-bundle{target=sm_80 folder=%t/sm_80})'
// RUN: mamba-opt %s -o %t/out.mlir --pass-pipeline='builtin.module(gpu.module(mamba-to-nvvm{target=sm_86}),mamba-serialize{target=sm_86},mamba-write-bundle{target=sm_86 folder=%t/sm_86})'
// RUN: mamba-opt %s -o %t/out.mlir --pass-pipeline='builtin.module(gpu.module(mamba-to-nvvm{target=sm_89}),mamba-serialize{target=sm_89},mamba-write-bundle{target=sm_89 folder=%t/sm_89})'
// RUN: mamba-opt %s -o %t/out.mlir --pass-pipeline='builtin.module(gpu.module(mamba-to-nvvm{target=sm_90a}),mamba-serialize{target=sm_90a},mamba-write-bundle{target=sm_90a folder=%t/sm_90a})'
// RUN: mamba-opt %s -o %t/out.mlir --pass-pipeline='builtin.module(gpu.module(mamba-to-nvvm{target=sm_100a}),mamba-serialize{target=sm_100a},mamba-write-bundle{target=sm_100a folder=%t/sm_100a})'
// RUN: mamba-opt %s -o %t/out.mlir --pass-pipeline='builtin.module(gpu.module(mamba-to-nvvm{target=sm_103a}),mamba-serialize{target=sm_103a},mamba-write-bundle{target=sm_103a folder=%t/sm_103a})'
// RUN: mamba-opt %s -o %t/out.mlir --pass-pipeline='builtin.module(gpu.module(mamba-to-nvvm{target=sm_120a}),mamba-serialize{target=sm_120a},mamba-write-bundle{target=sm_120a folder=%t/sm_120a})'
// RUN: %ptxas -arch=sm_80 -v %t/sm_80/f.ptx -o %t/f.cubin 2>&1 | FileCheck %s --implicit-check-not=warning
// RUN: %ptxas -arch=sm_86 -v %t/sm_86/f.ptx -o %t/f.cubin 2>&1 | FileCheck %s --implicit-check-not=warning
// RUN: %ptxas -arch=sm_89 -v %t/sm_89/f.ptx -o %t/f.cubin 2>&1 | FileCheck %s --implicit-check-not=warning
// RUN: %ptxas -arch=sm_90a -v %t/sm_90a/f.ptx -o %t/f.cubin 2>&1 | FileCheck %s --implicit-check-not=warning
// RUN: %ptxas -arch=sm_100a -v %t/sm_100a/f.ptx -o %t/f.cubin 2>&1 | FileCheck %s --implicit-check-not=warning
// RUN: %ptxas -arch=sm_103a -v %t/sm_103a/f.ptx -o %t/f.cubin 2>&1 | FileCheck %s --implicit-check-not=warning
// RUN: %ptxas -arch=sm_120a -v %t/sm_120a/f.ptx -o %t/f.cubin 2>&1 | FileCheck %s --implicit-check-not=warning

// CHECK-COUNT-3: 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads

module attributes {gpu.container_module} {
  gpu.module @f_kernels {
    gpu.func @math(%x: memref<f32>, %h: memref<bf16>, %q: memref<f16>,
                   %n: index) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>} {
      %i = gpu.thread_id x
      %xs = memref.reinterpret_cast %x to offset: [0], sizes: [%n],
          strides: [1] : memref<f32> to memref<?xf32>
      %0 = memref.load %xs[%i] : memref<?xf32>
      %1 = math.exp %0 : f32
      %2 = math.exp2 %1 : f32
      %3 = math.log1p %2 : f32
      %4 = math.log %3 : f32
      %5 = math.log2 %4 : f32
      %6 = math.tanh %5 : f32
      %7 = math.rsqrt %6 : f32
      %8 = math.sqrt %7 : f32
      %9 = arith.divf %8, %0 : f32
      %10 = arith.maximumf %9, %1 : f32
      %11 = arith.minimumf %10, %2 : f32
      %12 = arith.maxnumf %11, %3 : f32
      %13 = arith.minnumf %12, %4 : f32
      %14 = math.copysign %13, %0 : f32
      %15 = math.floor %14 : f32
      %16 = math.ceil %15 : f32
      %17 = math.roundeven %16 : f32
      %18 = math.trunc %17 : f32
      %19 = math.round %18 : f32
      %20 = arith.remf %19, %0 : f32
      %21 = math.isnan %20 : f32
      %22 = math.isfinite %20 : f32
      %23 = arith.andi %21, %22 : i1
      %24 = arith.select %23, %20, %0 : f32
      %id = arith.index_cast %i : index to i32
      %25 = arith.sitofp %id : i32 to f32
      %26 = arith.addf %24, %25 : f32
      memref.store %26, %xs[%i] : memref<?xf32>

      %h0 = memref.load %h[] : memref<bf16>
      %h1 = math.exp %h0 : bf16
      %h2 = arith.mulf %h1, %h0 : bf16
      %h3 = arith.addf %h2, %h0 : bf16
      %h4 = arith.maximumf %h3, %h0 : bf16
      %h5 = arith.divf %h4, %h0 : bf16
      %h6 = arith.cmpf olt, %h5, %h0 : bf16
      %h7 = arith.select %h6, %h5, %h1 : bf16
      %h8 = math.absf %h7 : bf16
      memref.store %h8, %h[] : memref<bf16>

      %q0 = memref.load %q[] : memref<f16>
      %q1 = math.log1p %q0 : f16
      %q2 = arith.mulf %q1, %q0 : f16
      %q3 = arith.subf %q2, %q0 : f16
      %q4 = arith.minnumf %q3, %q0 : f16
      memref.store %q4, %q[] : memref<f16>
      gpu.return
    }

    gpu.func @memory(%x: memref<bf16>, %y: memref<f32>, %ids: memref<i32>,
                     %n: index) kernel
        attributes {known_block_size = array<i32: 32, 4, 1>,
                    mamba.shared_bytes = 65536 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %zero = arith.constant 0.0 : f32
      %i = gpu.thread_id x
      %j = gpu.thread_id y
      %b = gpu.block_id x
      %blocks = gpu.grid_dim x
      %bytes = gpu.dynamic_shared_memory
          : memref<?xi8, #gpu.address_space<workgroup>>
      %tile = memref.view %bytes[%c64][]
          : memref<?xi8, #gpu.address_space<workgroup>>
            to memref<4x64xbf16, #gpu.address_space<workgroup>>
      %xs = memref.reinterpret_cast %x to offset: [0], sizes: [%n, 64],
          strides: [64, 1] : memref<bf16> to memref<?x64xbf16>
      %idx = memref.reinterpret_cast %ids to offset: [0], sizes: [%n],
          strides: [1] : memref<i32> to memref<?xi32>
      %ys = memref.reinterpret_cast %y to offset: [0], sizes: [%n, 64],
          strides: [64, 1] : memref<f32> to memref<?x64xf32>
      %sum = scf.for %k = %b to %n step %blocks iter_args(%s = %zero) -> f32 {
        %id = memref.load %idx[%k] : memref<?xi32>
        %row = arith.index_cast %id : i32 to index
        %last = arith.subi %n, %c1 : index
        %clamped = arith.minsi %row, %last : index
        %from = memref.subview %xs[%clamped, 0] [1, 64] [1, 1]
            : memref<?x64xbf16> to memref<64xbf16, strided<[1], offset: ?>>
        %column = affine.apply affine_map<(d0) -> (d0 * 2)>(%i)
        %v = vector.load %from[%column] {alignment = 4 : i64}
            : memref<64xbf16, strided<[1], offset: ?>>, vector<2xbf16>
        vector.store %v, %tile[%j, %column]
            : memref<4x64xbf16, #gpu.address_space<workgroup>>, vector<2xbf16>
        gpu.barrier
        %w = memref.load %tile[%j, %i]
            : memref<4x64xbf16, #gpu.address_space<workgroup>>
        gpu.barrier
        %f = arith.extf %w : bf16 to f32
        %t = arith.addf %s, %f : f32
        scf.yield %t : f32
      } {loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>}
      %lane = arith.constant 16 : i32
      %width = arith.constant 32 : i32
      %other, %valid = gpu.shuffle xor %sum, %lane, %width : f32
      %total = arith.addf %sum, %other : f32
      %group = arith.ceildivsi %b, %c64 : index
      %row = arith.remsi %group, %n : index
      %inside = arith.cmpi slt, %row, %n : index
      scf.if %inside {
        memref.store %total, %ys[%row, %i] : memref<?x64xf32>
      }
      gpu.return
    }

    gpu.func @unused(%x: memref<f32>) kernel {
      gpu.return
    }
  }

  func.func @f(%x: memref<?x64xbf16>, %q: memref<f16>, %ids: memref<?xi32>,
               %y: memref<?x64xf32> {mamba.result}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c32 = arith.constant 32 : index
    %c128 = arith.constant 128 : index
    %n = memref.dim %x, %c0 : memref<?x64xbf16>
    %px = memref.reinterpret_cast %x to offset: [0], sizes: [], strides: []
        : memref<?x64xbf16> to memref<bf16>
    %pids = memref.reinterpret_cast %ids to offset: [0], sizes: [], strides: []
        : memref<?xi32> to memref<i32>
    %py = memref.reinterpret_cast %y to offset: [0], sizes: [], strides: []
        : memref<?x64xf32> to memref<f32>
    gpu.launch_func @f_kernels::@math blocks in (%c1, %c1, %c1)
        threads in (%c128, %c1, %c1)
        args(%py : memref<f32>, %px : memref<bf16>, %q : memref<f16>,
             %n : index)
    gpu.launch_func @f_kernels::@memory blocks in (%n, %c1, %c1)
        threads in (%c32, %c4, %c1)
        args(%px : memref<bf16>, %py : memref<f32>, %pids : memref<i32>,
             %n : index)
    return
  }
}
