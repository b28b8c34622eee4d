// RUN: mamba-opt %s --mamba-serialize=target=sm_80 \
// RUN:   --mamba-print-manifest=target=sm_80 -o %t.mlir | FileCheck %s

// What kernels demand of the address of an argument: that its widest access is
// aligned. 16 bytes go without saying, which is also where it is not known.

module attributes {gpu.container_module} {
  gpu.module @kernels {
    llvm.func @narrow(%narrow: !llvm.ptr<1>, %copied: !llvm.ptr<1>,
                      %wide: !llvm.ptr<1>, %escaped: !llvm.ptr<1>,
                      %both: !llvm.ptr<1>, %looped: !llvm.ptr<1>, %n: i64)
        attributes {gpu.kernel, nvvm.kernel} {
      %shared = llvm.mlir.zero : !llvm.ptr<3>
      %four = llvm.getelementptr %narrow[%n]
          : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      %a = llvm.load %narrow {alignment = 2 : i64} : !llvm.ptr<1> -> bf16
      %b = llvm.load %four : !llvm.ptr<1> -> f32
      nvvm.cp.async.shared.global %shared, %copied, 8, cache = ca
          : !llvm.ptr<3>, !llvm.ptr<1>
      %c = llvm.load %wide {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
      %address = llvm.ptrtoint %escaped : !llvm.ptr<1> to i64
      llvm.store %address, %both {alignment = 8 : i64} : i64, !llvm.ptr<1>
      llvm.br ^loop(%looped : !llvm.ptr<1>)
    ^loop(%p: !llvm.ptr<1>):
      llvm.store %b, %p {alignment = 4 : i64} : f32, !llvm.ptr<1>
      %next = llvm.getelementptr %p[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
      %more = llvm.icmp "slt" %n, %address : i64
      llvm.cond_br %more, ^loop(%next : !llvm.ptr<1>), ^end
    ^end:
      llvm.return
    }
    llvm.func @second(%both: !llvm.ptr<1>)
        attributes {gpu.kernel, nvvm.kernel} {
      %zero = llvm.mlir.constant(0 : i16) : i16
      llvm.store %zero, %both : i16, !llvm.ptr<1>
      llvm.return
    }
  }

  func.func @f(%narrow: memref<bf16> {mamba.name = "narrow"},
               %copied: memref<bf16> {mamba.name = "copied"},
               %wide: memref<bf16> {mamba.name = "wide"},
               %escaped: memref<bf16> {mamba.name = "escaped"},
               %both: memref<i16> {mamba.name = "both"},
               %looped: memref<f32> {mamba.name = "looped"},
               %unused: memref<f32> {mamba.name = "unused"}) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @kernels::@second blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%both : memref<i16>)
    gpu.launch_func @kernels::@narrow blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1)
        args(%narrow : memref<bf16>, %copied : memref<bf16>,
             %wide : memref<bf16>, %escaped : memref<bf16>,
             %both : memref<i16>, %looped : memref<f32>, %c1 : index)
    return
  }
}

//      CHECK: "alignment": 4,
// CHECK-NEXT: "dtype": "bf16",
// CHECK-NEXT: "name": "narrow",
//      CHECK: "alignment": 8,
// CHECK-NEXT: "dtype": "bf16",
// CHECK-NEXT: "name": "copied",
//  CHECK-NOT: "alignment"
//      CHECK: "name": "wide",
//  CHECK-NOT: "alignment"
//      CHECK: "name": "escaped",
//      CHECK: "alignment": 8,
// CHECK-NEXT: "dtype": "i16",
// CHECK-NEXT: "name": "both",
//      CHECK: "alignment": 4,
// CHECK-NEXT: "dtype": "f32",
// CHECK-NEXT: "name": "looped",
//  CHECK-NOT: "alignment"
//      CHECK: "name": "unused",
