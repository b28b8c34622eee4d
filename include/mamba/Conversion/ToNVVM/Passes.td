//===- Passes.td - From per-thread kernels to NVVM ---------*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_CONVERSION_TONVVM_PASSES_TD
#define MAMBA_CONVERSION_TONVVM_PASSES_TD

include "mlir/Pass/PassBase.td"

def ToNVVMPass : Pass<"mamba-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Lower the kernels of a gpu.module to llvm and nvvm";
  let description = [{
    Input: `gpu.func` kernels in per-thread form, made of `gpu`, `scf`, `cf`,
    `affine`, `arith`, `math`, `memref`, `index`, `nvgpu` (`ldmatrix`,
    `mma.sync` and asynchronous copies) and one-dimensional `vector`
    operations. A kernel argument is an `index`, an integer, a float, or a
    memref of rank 0 or static shape, which becomes one pointer. `index` is 64
    bits wide. Output: `llvm.func`s without anything but `llvm` and `nvvm`. An
    operation that has no lowering is an error; nothing is left to a device
    library.

    * `known_block_size` becomes `nvvm.reqntid`, and `nvvm.minctasm` is 1 unless
      the kernel says otherwise, so that ptxas gives a thread the registers it
      needs.
    * A subgroup is a warp of 32 threads; `gpu.subgroup_reduce` becomes
      shuffles. `gpu.all_reduce` has no lowering.
    * `gpu.dynamic_shared_memory` becomes the address of an external array that
      is 1024-byte aligned. The kernel must say in `mamba.shared_bytes` how many
      bytes it is launched with. (Upstream makes it a static array of one byte,
      which overlaps with other shared variables and is too little aligned for
      swizzled copies.)
    * `math` on f32 becomes polynomials and single instructions (see the table
      below); on bf16 and f16 it is computed in f32 and rounded once. On f64
      only what the hardware rounds correctly is accepted.
    * `arith.maximumf` and `minimumf` propagate NaN, `maxnumf` and `minnumf`
      drop it. Division is IEEE's. Conversions to narrower types round to the
      nearest even value.

    | operation | instruction | error in f32 |
    | --- | --- | --- |
    | `math.exp2` | `ex2.approx` | 2^-22 relative |
    | `math.exp` | `ex2.approx` of x * log2(e) | (2^-22 + 1.25 * abs(x) * 2^-24) relative, so at most 3e-7 absolute for x <= 0 |
    | `math.log`, `math.log1p` | exponent and a polynomial | 1 ulp, also for tiny arguments of `log1p` and near 1 |
    | `math.log2` | the same, times log2(e) | 2 ulp; exact for powers of two |
    | `math.log2` with `afn` | `lg2.approx` | 2^-22 absolute near 1, else relative |
    | `math.tanh` | polynomial below 0.6, else `ex2.approx` and a division | 2^-21 relative |
    | `math.rsqrt` | `rsqrt.approx` | 2^-22.9 relative |
    | `math.sqrt`, `math.fma` and roundings | `sqrt.rn`, `fma.rn`, `cvt` | correctly rounded |

    `exp` and `exp2` flush results below 2^-126 to zero if they carry
    `fastmath<afn>`, which saves three instructions.

    Before:

    ```mlir
    gpu.module @kernels {
      gpu.func @scale(%x: memref<bf16>, %n: index) kernel
          attributes {known_block_size = array<i32: 128, 1, 1>} {
        %i = gpu.thread_id x
        %xs = memref.reinterpret_cast %x to offset: [0], sizes: [%n], strides: [1]
            : memref<bf16> to memref<?xbf16>
        %v = memref.load %xs[%i] : memref<?xbf16>
        %f = arith.extf %v : bf16 to f32
        %e = math.exp2 %f : f32
        %t = arith.truncf %e : f32 to bf16
        memref.store %t, %xs[%i] : memref<?xbf16>
        gpu.return
      }
    }
    ```

    After:

    ```mlir
    gpu.module @kernels {
      llvm.func @scale(%x: !llvm.ptr, %n: i64) attributes {
          gpu.kernel, nvvm.kernel, nvvm.minctasm = 1 : i32,
          nvvm.reqntid = array<i32: 128, 1, 1>} {
        %tid = nvvm.read.ptx.sreg.tid.x range <i32, 0, 128> : i32
        %i = llvm.sext %tid : i32 to i64
        %p = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, bf16
        %v = llvm.load %p : !llvm.ptr -> bf16
        %f = llvm.fpext %v : bf16 to f32
        %e = llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"(%f) : (f32) -> f32
        %t = llvm.fptrunc %e : f32 to bf16
        llvm.store %t, %p : bf16, !llvm.ptr
        llvm.return
      }
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_90a\"",
           "Name of the GPU target the module is lowered for">
  ];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::nvgpu::NVGPUDialect",
    "::mlir::vector::VectorDialect"
  ];
}

#endif // MAMBA_CONVERSION_TONVVM_PASSES_TD
