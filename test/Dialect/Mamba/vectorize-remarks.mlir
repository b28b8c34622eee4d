// RUN: mamba-opt %s --mamba-vectorize="all max-elements=4096" --split-input-file --verify-diagnostics | FileCheck %s

// What cannot be in vectors leaves the whole block as it was.

// CHECK-LABEL: func.func @unbounded(
// CHECK-NOT:     vector
// CHECK:         linalg.fill
// CHECK-NOT:     mamba.vectorized
func.func @unbounded(%x: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c1 : tensor<4x?xf32>
  %empty = tensor.empty(%n) : tensor<4x?xf32>
  %y = scf.forall (%i) in (4) shared_outs(%out = %empty) -> (tensor<4x?xf32>) {
    %e = tensor.empty(%n) : tensor<?xf32>
    // expected-remark @below {{expected sizes with a constant upper bound to keep the block's tiles in vectors}}
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %f into %out[%i, 0] [1, %n] [1, 1] : tensor<?xf32> into tensor<4x?xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %y : tensor<4x?xf32>
}

// -----

// CHECK-LABEL: func.func @large(
// CHECK-NOT:     vector
// CHECK:         return
func.func @large(%x: tensor<4x64x65xf32>) -> tensor<4x64x65xf32> {
  %empty = tensor.empty() : tensor<4x64x65xf32>
  %y = scf.forall (%i) in (4) shared_outs(%out = %empty) -> (tensor<4x64x65xf32>) {
    %xi = tensor.extract_slice %x[%i, 0, 0] [1, 64, 65] [1, 1, 1] : tensor<4x64x65xf32> to tensor<64x65xf32>
    %e = tensor.empty() : tensor<64x65xf32>
    // expected-remark @below {{expected vectors of at most 4096 elements, got 4160}}
    %f = linalg.exp ins(%xi : tensor<64x65xf32>) outs(%e : tensor<64x65xf32>) -> tensor<64x65xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %f into %out[%i, 0, 0] [1, 64, 65] [1, 1, 1] : tensor<64x65xf32> into tensor<4x64x65xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %y : tensor<4x64x65xf32>
}

// -----

// A sum over selected elements, but no prefixes: they end before their place.

// CHECK-LABEL: func.func @triangle(
// CHECK-NOT:     vector
// CHECK:         return
func.func @triangle(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x64xf32>
  %y = scf.forall (%b) in (4) shared_outs(%out = %empty) -> (tensor<4x64xf32>) {
    %xb = tensor.extract_slice %x[%b, 0] [1, 64] [1, 1] : tensor<4x64xf32> to tensor<64xf32>
    %e = tensor.empty() : tensor<64xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
    // expected-remark @below {{expected reductions that do not depend on their indices to keep}}
    %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%xb : tensor<64xf32>) outs(%f : tensor<64xf32>) {
    ^bb0(%a: f32, %o: f32):
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %c = arith.cmpi ult, %j, %i : index
      %t = arith.select %c, %a, %zero : f32
      %u = arith.addf %o, %t : f32
      linalg.yield %u : f32
    } -> tensor<64xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %out[%b, 0] [1, 64] [1, 1] : tensor<64xf32> into tensor<4x64xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %y : tensor<4x64xf32>
}

// -----

// CHECK-LABEL: func.func @f64(
// CHECK-NOT:     vector
// CHECK:         return
func.func @f64(%x: tensor<4x16xf64>) -> tensor<4x16xf64> {
  %empty = tensor.empty() : tensor<4x16xf64>
  %y = scf.forall (%i) in (4) shared_outs(%out = %empty) -> (tensor<4x16xf64>) {
    %xi = tensor.extract_slice %x[%i, 0] [1, 16] [1, 1] : tensor<4x16xf64> to tensor<16xf64>
    %e = tensor.empty() : tensor<16xf64>
    // expected-remark @below {{expected elements of type f32, f16, bf16, index or integer to keep the block's tiles in vectors, got 'f64'}}
    %f = linalg.exp ins(%xi : tensor<16xf64>) outs(%e : tensor<16xf64>) -> tensor<16xf64>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %f into %out[%i, 0] [1, 16] [1, 1] : tensor<16xf64> into tensor<4x16xf64>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %y : tensor<4x16xf64>
}

// -----

// A tile padded with zeros, and parts of it.

// CHECK-LABEL: func.func @padded(
// CHECK-NOT:     vector
// CHECK:         return
func.func @padded(%x: tensor<4x16xf32>) -> tensor<4x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x32xf32>
  %y = scf.forall (%i) in (4) shared_outs(%out = %empty) -> (tensor<4x32xf32>) {
    %xi = tensor.extract_slice %x[%i, 0] [1, 16] [1, 1] : tensor<4x16xf32> to tensor<16xf32>
    %e = tensor.empty() : tensor<32xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32xf32>) -> tensor<32xf32>
    // expected-remark @below {{expected insertions only into results of the block, or of first elements into a tile of the same bounds, to keep}}
    %p = tensor.insert_slice %xi into %f[0] [16] [1] : tensor<16xf32> into tensor<32xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %p into %out[%i, 0] [1, 32] [1, 1] : tensor<32xf32> into tensor<4x32xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %y : tensor<4x32xf32>
}

// -----

// CHECK-LABEL: func.func @part(
// CHECK-NOT:     vector
// CHECK:         return
func.func @part(%x: tensor<4x16xf32>) -> tensor<4x8xf32> {
  %empty = tensor.empty() : tensor<4x8xf32>
  %y = scf.forall (%i) in (4) shared_outs(%out = %empty) -> (tensor<4x8xf32>) {
    %xi = tensor.extract_slice %x[%i, 0] [1, 16] [1, 1] : tensor<4x16xf32> to tensor<16xf32>
    %e = tensor.empty() : tensor<16xf32>
    %f = linalg.exp ins(%xi : tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
    // expected-remark @below {{expected no slices of computed tiles to keep}}
    %p = tensor.extract_slice %f[8] [8] [1] : tensor<16xf32> to tensor<8xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %p into %out[%i, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<4x8xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %y : tensor<4x8xf32>
}

// -----

// Work in conditions.

// CHECK-LABEL: func.func @condition(
// CHECK-NOT:     vector
// CHECK:         return
func.func @condition(%x: tensor<4x16xf32>, %c: i1) -> tensor<4x16xf32> {
  %empty = tensor.empty() : tensor<4x16xf32>
  %y = scf.forall (%i) in (4) shared_outs(%out = %empty) -> (tensor<4x16xf32>) {
    %xi = tensor.extract_slice %x[%i, 0] [1, 16] [1, 1] : tensor<4x16xf32> to tensor<16xf32>
    // expected-remark @below {{expected linalg, slices, loops and scalar operations to keep}}
    %f = scf.if %c -> tensor<16xf32> {
      %e = tensor.empty() : tensor<16xf32>
      %r = linalg.exp ins(%xi : tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
      scf.yield %r : tensor<16xf32>
    } else {
      scf.yield %xi : tensor<16xf32>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %f into %out[%i, 0] [1, 16] [1, 1] : tensor<16xf32> into tensor<4x16xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %y : tensor<4x16xf32>
}

// -----

// A loop may not carry a vector whose valid part changes.

// CHECK-LABEL: func.func @shrinking(
// CHECK-NOT:     vector
// CHECK:         return
func.func @shrinking(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %empty = tensor.empty(%n) : tensor<?xf32>
  %y = scf.forall (%i) = (0) to (%n) step (16) shared_outs(%out = %empty) -> (tensor<?xf32>) {
    %len = affine.min affine_map<(d0)[s0] -> (s0 - d0, 16)>(%i)[%n]
    %xi = tensor.extract_slice %x[%i] [%len] [1] : tensor<?xf32> to tensor<?xf32>
    %e = tensor.empty(%len) : tensor<?xf32>
    %f = linalg.exp ins(%xi : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
    // expected-remark @below {{expected carried tensors that keep their size to keep}}
    %l = scf.for %k = %c0 to %c4 step %c1 iter_args(%a = %f) -> (tensor<?xf32>) {
      %less = affine.min affine_map<(d0)[s0] -> (s0 - d0, 16)>(%k)[%len]
      %part = tensor.extract_slice %a[0] [%less] [1] : tensor<?xf32> to tensor<?xf32>
      %e1 = tensor.empty(%less) : tensor<?xf32>
      %g = linalg.exp ins(%part : tensor<?xf32>) outs(%e1 : tensor<?xf32>) -> tensor<?xf32>
      scf.yield %g : tensor<?xf32>
    }
    %size = tensor.dim %l, %c0 : tensor<?xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %l into %out[%i] [%size] [1] : tensor<?xf32> into tensor<?xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %y : tensor<?xf32>
}

// -----

// Loops that are not over blocks are left alone without a remark.

// CHECK-LABEL: func.func @threads(
// CHECK-NOT:     vector
// CHECK:         return
func.func @threads(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %empty = tensor.empty() : tensor<4x16xf32>
  %y = scf.forall (%i) in (4) shared_outs(%out = %empty) -> (tensor<4x16xf32>) {
    %xi = tensor.extract_slice %x[%i, 0] [1, 16] [1, 1] : tensor<4x16xf32> to tensor<16xf32>
    %e = tensor.empty() : tensor<16xf32>
    %f = linalg.exp ins(%xi : tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %f into %out[%i, 0] [1, 16] [1, 1] : tensor<16xf32> into tensor<4x16xf32>
    }
  }
  return %y : tensor<4x16xf32>
}

// -----

// A condition that differs from element to element.

// CHECK-LABEL: func.func @condition_of_element(
// CHECK-NOT:     vector
// CHECK:         return
func.func @condition_of_element(%x: tensor<16xf32>) -> tensor<4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x16xf32>
  %y = scf.forall (%b) in (4) shared_outs(%out = %empty) -> (tensor<4x16xf32>) {
    %e = tensor.empty() : tensor<16xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<16xf32>) {
    ^bb0(%o: f32):
      %i = linalg.index 0 : index
      %c = arith.cmpi ult, %i, %b : index
      // expected-remark @below {{expected conditions from outside of linalg bodies to keep}}
      %v = scf.if %c -> (f32) {
        %p = tensor.extract %x[%i] : tensor<16xf32>
        scf.yield %p : f32
      } else {
        scf.yield %zero : f32
      }
      linalg.yield %v : f32
    } -> tensor<16xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r into %out[%b, 0] [1, 16] [1, 1] : tensor<16xf32> into tensor<4x16xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %y : tensor<4x16xf32>
}

// -----

// Elements of a row that is looked up; in reverse; of a loop whose end is not
// known, past which a vector would be read.

// CHECK-LABEL: func.func @gather(
// CHECK-NOT:     vector
// CHECK:         return
func.func @gather(%x: tensor<16x16xf32>, %n: index) -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x?xf32>) {
  %c15 = arith.constant 15 : index
  %empty = tensor.empty() : tensor<4x16xf32>
  %y = scf.forall (%b) in (4) shared_outs(%out = %empty) -> (tensor<4x16xf32>) {
    %e = tensor.empty() : tensor<16xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<16xf32>) {
    ^bb0(%o: f32):
      %i = linalg.index 0 : index
      // expected-remark @below {{expected indices that are positions of loops in order to keep}}
      %p = tensor.extract %x[%i, %i] : tensor<16x16xf32>
      linalg.yield %p : f32
    } -> tensor<16xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r into %out[%b, 0] [1, 16] [1, 1] : tensor<16xf32> into tensor<4x16xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  %z = scf.forall (%b) in (4) shared_outs(%out = %empty) -> (tensor<4x16xf32>) {
    %e = tensor.empty() : tensor<16xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<16xf32>) {
    ^bb0(%o: f32):
      %i = linalg.index 0 : index
      %j = arith.subi %c15, %i : index
      // expected-remark @below {{expected indices that are positions of loops in order to keep}}
      %p = tensor.extract %x[%b, %j] : tensor<16x16xf32>
      linalg.yield %p : f32
    } -> tensor<16xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r into %out[%b, 0] [1, 16] [1, 1] : tensor<16xf32> into tensor<4x16xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  %some = tensor.empty(%n) : tensor<4x?xf32>
  %w = scf.forall (%b) in (4) shared_outs(%out = %some) -> (tensor<4x?xf32>) {
    %m = affine.min affine_map<()[s0] -> (s0, 16)>()[%n]
    %e = tensor.empty(%m) : tensor<?xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<?xf32>) {
    ^bb0(%o: f32):
      %i = linalg.index 0 : index
      // expected-remark @below {{expected reads by loops of static extent to keep}}
      %p = tensor.extract %x[%b, %i] : tensor<16x16xf32>
      linalg.yield %p : f32
    } -> tensor<?xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r into %out[%b, 0] [1, %m] [1, 1] : tensor<?xf32> into tensor<4x?xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %y, %z, %w : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x?xf32>
}
