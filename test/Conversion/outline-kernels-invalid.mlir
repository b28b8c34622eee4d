// RUN: mamba-opt %s -mamba-outline-kernels -split-input-file -verify-diagnostics

// expected-note@+1 {{captured here}}
func.func @strided(%x: memref<8xf32, strided<[2]>>) {
  %zero = arith.constant 0.0 : f32
  // expected-error@+1 {{'scf.forall' op expected captured buffers that are dense but for their leading strides, got 'memref<8xf32, strided<[2]>>'}}
  scf.forall (%i) in (8) {
    memref.store %zero, %x[%i] : memref<8xf32, strided<[2]>>
  } {mapping = [#gpu.block<x>]}
  return
}

// -----

func.func @unknown_buffer(%c: i1, %x: memref<8xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-note@+1 {{captured here}}
  %z = scf.if %c -> (memref<8xf32>) {
    scf.yield %x : memref<8xf32>
  } else {
    scf.yield %y : memref<8xf32>
  }
  // expected-error@+1 {{'scf.forall' op expected captured buffers to be arguments of the function, allocs in it or views of those, got 'memref<8xf32>'}}
  scf.forall (%i) in (8) {
    memref.store %zero, %z[%i] : memref<8xf32>
  } {mapping = [#gpu.block<x>]}
  return
}

// -----

// expected-note@+1 {{captured here}}
func.func @scalar(%x: memref<8xf32>, %value: f32) {
  // expected-error@+1 {{'scf.forall' op expected captured values of type index or memref, or computed from such values, got 'f32'}}
  scf.forall (%i) in (8) {
    memref.store %value, %x[%i] : memref<8xf32>
  } {mapping = [#gpu.block<x>]}
  return
}

// -----

func.func @results(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'scf.forall' op expected a loop over blocks on buffers, without results}}
  %y = scf.forall (%i) in (8) shared_outs(%o = %x) -> (tensor<8xf32>) {
  } {mapping = [#gpu.block<x>]}
  return %y : tensor<8xf32>
}

// -----

func.func @nested(%x: memref<8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %k = %c0 to %n step %c1 {
    // expected-error@+1 {{'scf.forall' op expected a loop over blocks directly in the body of the function}}
    scf.forall (%i) in (8) {
      memref.store %zero, %x[%i] : memref<8xf32>
    } {mapping = [#gpu.block<x>]}
  }
  return
}

// -----

func.func @mixed_mapping(%x: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error@+1 {{'scf.forall' op expected every dimension mapped to a different #gpu.block, got #gpu.thread<x>}}
  scf.forall (%i, %j) in (8, 8) {
    memref.store %zero, %x[%i] : memref<8xf32>
  } {mapping = [#gpu.block<x>, #gpu.thread<x>]}
  return
}

// -----

memref.global "private" constant @table : memref<8xf32> = dense<1.0>

func.func @constant_outside(%x: memref<8xf32>) {
  // expected-note@+1 {{captured here}}
  %table = memref.get_global @table : memref<8xf32>
  // expected-error@+1 {{'scf.forall' op expected captured buffers to be arguments of the function, allocs in it or views of those, got 'memref<8xf32>'}}
  scf.forall (%i) in (8) {
    %value = memref.load %table[%i] : memref<8xf32>
    memref.store %value, %x[%i] : memref<8xf32>
  } {mapping = [#gpu.block<x>]}
  return
}

// -----

memref.global "private" constant @table : memref<8xf32> = dense<1.0>

func.func @constant_inside(%x: memref<8xf32>) {
  // expected-error@+1 {{'scf.forall' op expected no constant tensors in a kernel (pass them as arguments), got 'memref<8xf32>'}}
  scf.forall (%i) in (8) {
    // expected-note@+1 {{captured here}}
    %table = memref.get_global @table : memref<8xf32>
    %value = memref.load %table[%i] : memref<8xf32>
    memref.store %value, %x[%i] : memref<8xf32>
  } {mapping = [#gpu.block<x>]}
  return
}
