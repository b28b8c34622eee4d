// RUN: mamba-opt %s --mamba-results-to-arguments --split-input-file --verify-diagnostics

// expected-error @+1 {{expected a single block}}
func.func @blocks(%x: tensor<4xf32>, %condition: i1) -> tensor<4xf32> {
  cf.cond_br %condition, ^a, ^b
^a:
  return %x : tensor<4xf32>
^b:
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{expected tensors or scalars as arguments, got 'memref<4xf32>'}}
func.func @memref(%x: memref<4xf32>) {
  return
}

// -----

// expected-error @+1 {{expected tensors or scalars as arguments, got 'vector<4xf32>'}}
func.func @vector(%x: vector<4xf32>) {
  return
}

// -----

// expected-error @+1 {{expected tensors or scalars as arguments, got 'tensor<*xf32>'}}
func.func @unranked(%x: tensor<*xf32>) {
  return
}

// -----

// expected-error @+1 {{expected tensors as results, got 'f32'}}
func.func @scalar_result(%x: tensor<4xf32>, %y: f32) -> (tensor<4xf32>, f32) {
  return %x, %y : tensor<4xf32>, f32
}

// -----

// expected-error @+1 {{expected no tensors in the signature of a private function}}
func.func private @callee(%x: tensor<4xf32>) {
  return
}

// -----

// expected-error @+1 {{expected no tensors in the signature of a private function}}
func.func private @declared() -> tensor<4xf32>

// -----

module @outer {
  module @inner {
    // expected-error @+1 {{expected no tensors in the signature of a nested module's function}}
    func.func @nested(%x: tensor<4xf32>) {
      return
    }
  }
}

// -----

func.func @callee(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

func.func @caller(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'func.call' op expected no tensors in a call}}
  %y = call @callee(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// expected-error @+1 {{expected distinct names of arguments and results, got "x" twice}}
func.func @same_name(%x: tensor<4xf32> {mamba.name = "x"})
    -> (tensor<4xf32> {mamba.name = "x"}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{expected distinct names of arguments and results, got "arg1" twice}}
func.func @default_name(%x: tensor<4xf32> {mamba.name = "arg1"}, %y: tensor<4xf32>) {
  return
}

// -----

// expected-error @+1 {{expected distinct names of arguments and results, got "y" twice}}
func.func @name_of_update(%s: tensor<4xf32> {mamba.name = "s"}, %y: tensor<4xf32> {mamba.name = "y"})
    -> (tensor<4xf32> {mamba.name = "y"}) {
  %new = linalg.exp ins(%s : tensor<4xf32>) outs(%s : tensor<4xf32>) -> tensor<4xf32>
  return %new : tensor<4xf32>
}

// -----

// expected-error @+1 {{expected 'mamba.pitches' of argument 0 to be 1 or more, and less than its rank of 2, got 2 : i64}}
func.func @no_row(%x: tensor<?x4xf32> {mamba.pitches = 2 : i64}) {
  return
}

// -----

// expected-error @+1 {{expected 'mamba.pitches' of argument 1 to be 1 or more, and less than its rank of 2, got "all"}}
func.func @no_number(%x: tensor<4xf32>, %y: tensor<?x4xf32> {mamba.pitches = "all"}) {
  return
}

// -----

// expected-error @+1 {{expected at most one dynamic size behind the first 1 axes of argument 0, and that first, got 'tensor<?x4x?xf32>'}}
func.func @dynamic_row(%x: tensor<?x4x?xf32> {mamba.pitches = 1 : i64}) {
  return
}

// -----

// expected-error @+1 {{expected argument 0, which is updated in place, to be dense, got 'mamba.pitches'}}
func.func @updated(%s: tensor<?x4xf32> {mamba.pitches = 1 : i64}) -> tensor<?x4xf32> {
  %new = linalg.exp ins(%s : tensor<?x4xf32>) outs(%s : tensor<?x4xf32>) -> tensor<?x4xf32>
  return %new : tensor<?x4xf32>
}
