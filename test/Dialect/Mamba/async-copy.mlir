// RUN: mamba-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @copy
func.func @copy(%x: memref<?x64xbf16, strided<[?, 1], offset: ?>>,
                %y: memref<128x64xbf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>) {
  // CHECK: mamba.async_copy %{{.*}} to %{{.*}} : memref<?x64xbf16, strided<[?, 1], offset: ?>>, memref<128x64xbf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
  mamba.async_copy %x to %y
      : memref<?x64xbf16, strided<[?, 1], offset: ?>>,
        memref<128x64xbf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @rank(%x: memref<64xbf16>, %y: memref<1x64xbf16, #gpu.address_space<workgroup>>) {
  // expected-error @below {{expected source and destination of the same rank and element type, got 'memref<64xbf16>'}}
  mamba.async_copy %x to %y : memref<64xbf16>, memref<1x64xbf16, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @space(%x: memref<64xbf16>, %y: memref<64xbf16>) {
  // expected-error @below {{expected a destination in workgroup memory, got 'memref<64xbf16>'}}
  mamba.async_copy %x to %y : memref<64xbf16>, memref<64xbf16>
  return
}

// -----

func.func @dynamic(%x: memref<64xbf16>, %y: memref<?xbf16, #gpu.address_space<workgroup>>) {
  // expected-error @below {{expected a destination of static shape}}
  mamba.async_copy %x to %y : memref<64xbf16>, memref<?xbf16, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @large(%x: memref<64x65xbf16>, %y: memref<64x64xbf16, #gpu.address_space<workgroup>>) {
  // expected-error @below {{expected at most 64 elements in dimension 1 of the source, got 65}}
  mamba.async_copy %x to %y : memref<64x65xbf16>, memref<64x64xbf16, #gpu.address_space<workgroup>>
  return
}
