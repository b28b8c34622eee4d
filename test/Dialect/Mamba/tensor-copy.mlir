// RUN: mamba-opt %s | mamba-opt | FileCheck %s

#workgroup = #gpu.address_space<workgroup>
!map = !nvgpu.tensormap.descriptor<tensor = memref<1x64x1x64xbf16, 3>, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none>
!row = !nvgpu.tensormap.descriptor<tensor = memref<128xf32, 3>, swizzle = none, l2promo = l2promo_128b, oob = zero, interleave = none>
!barriers = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>

// CHECK-LABEL: func.func @copies
func.func @copies(%map: !map, %row: !row, %to: memref<64x128xbf16, #workgroup>, %v: memref<100xf32, #workgroup>,
                  %barriers: !barriers, %i: index) {
  // Two boxes.
  // CHECK: mamba.tensor_copy %{{.*}}[%[[I:.*]], %[[I]], %[[I]], %[[I]]] to %{{.*}} : !nvgpu.tensormap.descriptor<{{.*}}> to memref<64x128xbf16, #gpu.address_space<workgroup>>
  mamba.tensor_copy %map[%i, %i, %i, %i] to %to : !map to memref<64x128xbf16, #workgroup>
  // CHECK: mamba.tensor_copy %{{.*}}[%[[I]]] to %{{.*}}, %{{.*}}[%[[I]]] : !nvgpu.tensormap.descriptor<{{.*}}> to memref<100xf32, #gpu.address_space<workgroup>>, !nvgpu.mbarrier.group<
  mamba.tensor_copy %row[%i] to %v, %barriers[%i] : !row to memref<100xf32, #workgroup>, !barriers
  return
}
