// RUN: rm -rf %t
// RUN: mamba-opt %s -o %t.mlir --pass-pipeline='builtin.module(mamba-serialize,mamba-write-bundle{folder=%t})'
// RUN: FileCheck %s --input-file=%t/f.ptx
// RUN: FileCheck %s --input-file=%t.mlir --check-prefix=BINARY

// The same input gives the same bytes.
// RUN: rm -rf %t.again
// RUN: mamba-opt %s -o %t.mlir --pass-pipeline='builtin.module(mamba-serialize,mamba-write-bundle{folder=%t.again})'
// RUN: diff -r %t %t.again

// BINARY: gpu.binary @f_kernels
// BINARY-SAME: #nvvm.target<O = 3, chip = "sm_90a", features = "+ptx80", verifyTarget = false>
// BINARY-SAME: #gpu.kernel_metadata<"k", !llvm.func<void (ptr, ptr, i64)>
// BINARY-SAME: metadata = {alignments = array<i64: {{[0-9]+}}, {{[0-9]+}}, {{[0-9]+}}>, block_size = array<i32: 128, 1, 1>, mamba.plan = #mamba.plan<chunk_parallel tile[1]>, mamba.shared_bytes = 4096 : i64}
// BINARY-SAME: assembly = "// mamba

// CHECK: // mamba {{[0-9.]+}}, target sm_90a
// CHECK-NEXT: // kernel k, mamba.plan = #mamba.plan<chunk_parallel tile[1]>, mamba.shared_bytes = 4096 : i64
// CHECK-NEXT: // kernel asm
// CHECK: .version 8.0
// CHECK: .target sm_90a
// CHECK: .extern .shared .align 1024 .b8 mamba_shared[];

module attributes {gpu.container_module} {
  gpu.module @f_kernels {
    llvm.mlir.global external @mamba_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>

    // CHECK: .visible .entry k(
    // CHECK: .reqntid 128, 1, 1
    llvm.func @k(%x: !llvm.ptr, %y: !llvm.ptr, %n: i64) attributes {
        gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>,
        mamba.plan = #mamba.plan<chunk_parallel tile [1]>, mamba.shared_bytes = 4096 : i64} {
      // Offsets into shared memory are folded into addresses.
      // CHECK: ld.shared.b32 %[[S:r[0-9]+]], [mamba_shared+1024];
      %shared = llvm.mlir.addressof @mamba_shared : !llvm.ptr<3>
      %p = llvm.getelementptr %shared[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
      %s = llvm.load %p : !llvm.ptr<3> -> f32
      // A product and a sum are contracted, whatever their flags.
      // CHECK: fma.rn.f32 %{{r[0-9]+}}, %[[S]], %{{r[0-9]+}}, %[[S]];
      %a = llvm.load %x : !llvm.ptr -> f32
      %m = llvm.fmul %a, %s : f32
      %f = llvm.fadd %m, %s : f32
      // CHECK: div.rn.f32
      %d = llvm.fdiv %f, %a : f32
      llvm.store %d, %y : f32, !llvm.ptr
      llvm.return
    }

    // Assembly that all threads must reach together is not duplicated into the
    // arms of a branch, which upstream's serialization would do here.
    // CHECK: .visible .entry asm(
    // CHECK: bar.arrive 1, 256;
    // CHECK-NOT: bar.arrive
    llvm.func @asm(%x: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
      %c1 = llvm.mlir.constant(1 : i32) : i32
      %elected = nvvm.elect.sync -> i1
      llvm.cond_br %elected, ^before, ^arrive
    ^before:
      llvm.store volatile %c1, %x : i32, !llvm.ptr
      llvm.br ^arrive
    ^arrive:
      llvm.inline_asm has_side_effects "bar.arrive 1, 256;", "" : () -> ()
      llvm.cond_br %elected, ^after, ^end
    ^after:
      llvm.store volatile %c1, %x : i32, !llvm.ptr
      llvm.br ^end
    ^end:
      llvm.return
    }
  }

  func.func @f(%x: memref<f32>, %y: memref<f32> {mamba.result}) {
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    gpu.launch_func @f_kernels::@k blocks in (%c1, %c1, %c1)
        threads in (%c128, %c1, %c1)
        args(%x : memref<f32>, %y : memref<f32>, %c1 : index)
    return
  }
}
