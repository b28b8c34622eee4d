// RUN: mamba-opt %s --split-input-file --verify-diagnostics

#workgroup = #gpu.address_space<workgroup>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xbf16, 3>, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none>

func.func @coordinates(%map: !map, %to: memref<64x64xbf16, #workgroup>, %i: index) {
  // expected-error @below {{expected 2 coordinates, as the box has dimensions, got 1}}
  mamba.tensor_copy %map[%i] to %to : !map to memref<64x64xbf16, #workgroup>
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xbf16, 3>, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none>

func.func @space(%map: !map, %to: memref<64x64xbf16>, %i: index) {
  // expected-error @below {{expected a destination in workgroup memory, got 'memref<64x64xbf16>'}}
  mamba.tensor_copy %map[%i, %i] to %to : !map to memref<64x64xbf16>
  return
}

// -----

#workgroup = #gpu.address_space<workgroup>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xbf16, 3>, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none>

func.func @shape(%map: !map, %to: memref<?x64xbf16, #workgroup>, %i: index) {
  // expected-error @below {{expected a destination of static shape and of rank 1 or 2, got 'memref<?x64xbf16, #gpu.address_space<workgroup>>'}}
  mamba.tensor_copy %map[%i, %i] to %to : !map to memref<?x64xbf16, #workgroup>
  return
}

// -----

#workgroup = #gpu.address_space<workgroup>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xbf16, 3>, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none>

func.func @elements(%map: !map, %to: memref<64x64xf16, #workgroup>, %i: index) {
  // expected-error @below {{expected a destination of the map's elements, got 'memref<64x64xf16, #gpu.address_space<workgroup>>' and 'memref<64x64xbf16, 3>'}}
  mamba.tensor_copy %map[%i, %i] to %to : !map to memref<64x64xf16, #workgroup>
  return
}

// -----

#workgroup = #gpu.address_space<workgroup>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xbf16, 3>, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none>

func.func @rows(%map: !map, %to: memref<32x64xbf16, #workgroup>, %i: index) {
  // expected-error @below {{expected boxes of the 32 rows of the tile, or of the next power of two, got 64}}
  mamba.tensor_copy %map[%i, %i] to %to : !map to memref<32x64xbf16, #workgroup>
  return
}

// -----

#workgroup = #gpu.address_space<workgroup>
!map = !nvgpu.tensormap.descriptor<tensor = memref<1x1x1x1x64x64xbf16, 3>, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none>

func.func @rank(%map: !map, %to: memref<64x64xbf16, #workgroup>, %i: index) {
  // expected-error @below {{expected a box of static shape and of rank 1 to 5, got 'memref<1x1x1x1x64x64xbf16, 3>'}}
  mamba.tensor_copy %map[%i, %i, %i, %i, %i, %i] to %to : !map to memref<64x64xbf16, #workgroup>
  return
}
