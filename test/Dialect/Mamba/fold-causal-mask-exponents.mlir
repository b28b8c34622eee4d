// RUN: mamba-opt %s --mamba-fold-causal-mask="peel runs tails-at-least=1" --split-input-file | FileCheck %s

#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>

// A matrix of decays: the selection moves before the exponential, which is 0
// where the mask does not hold, and so is what it is multiplied by.
// CHECK-LABEL: func @moved
// CHECK:         %[[D:.+]] = arith.subf
// CHECK:         %[[LE:.+]] = arith.cmpi ule
// CHECK:         %[[LOWEST:.+]] = arith.constant 0xFF800000 : f32
// CHECK:         %[[S:.+]] = arith.select %[[LE]], %[[D]], %[[LOWEST]] : f32
// CHECK:         %[[E:.+]] = math.exp %[[S]] : f32
// CHECK:         %[[SCALED:.+]] = arith.mulf %[[E]]
// CHECK:         linalg.yield %[[SCALED]]
func.func @moved(%g: tensor<16xf32>) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.125 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %w = linalg.generic {indexing_maps = [#row, #col, #all], iterator_types = ["parallel", "parallel"]}
      ins(%g, %g : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%gi: f32, %gj: f32, %old: f32):
    %d = arith.subf %gi, %gj : f32
    %exp = math.exp %d : f32
    %scaled = arith.mulf %exp, %scale : f32
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %counts = arith.cmpi ule, %j, %i : index
    %masked = arith.select %counts, %scaled, %zero : f32
    linalg.yield %masked : f32
  } -> tensor<16x16xf32>
  return %w : tensor<16x16xf32>
}

// -----

#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>

// What else is multiplied may be an infinity, so the selection after it stays;
// a negative factor would make the 0 negative.
// CHECK-LABEL: func @guarded
// CHECK:         %[[LE:.+]] = arith.cmpi sgt
// CHECK:         %[[S:.+]] = arith.select %[[LE]], %{{.+}}, %{{.+}} : f32
// CHECK:         %[[E:.+]] = math.exp2 %[[S]]
// CHECK:         %[[P:.+]] = arith.mulf %{{.+}}, %[[E]]
// CHECK:         arith.select %[[LE]], %{{.+}}, %[[P]] : f32
// CHECK:         %[[S2:.+]] = arith.select %[[LE]], %{{.+}}, %{{.+}} : f32
// CHECK:         math.exp %[[S2]]
// CHECK:         arith.select %[[LE]]
func.func @guarded(%s: tensor<16x16xf32>, %g: tensor<16xf32>) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %negative = arith.constant -1.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %w = linalg.generic {indexing_maps = [#all, #row, #col, #all], iterator_types = ["parallel", "parallel"]}
      ins(%s, %g, %g : tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%sij: f32, %gi: f32, %gj: f32, %old: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %right = arith.cmpi sgt, %j, %i : index
    %d = arith.subf %gi, %gj : f32
    %exp = math.exp2 %d : f32
    %p = arith.mulf %sij, %exp : f32
    %masked = arith.select %right, %zero, %p : f32
    %exp2 = math.exp %d : f32
    %q = arith.mulf %exp2, %negative : f32
    %masked2 = arith.select %right, %zero, %q : f32
    %sum = arith.addf %masked, %masked2 : f32
    linalg.yield %sum : f32
  } -> tensor<16x16xf32>
  return %w : tensor<16x16xf32>
}

// -----

#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>

// Masked before the multiplication: 0 times an infinity would be NaN.
// CHECK-LABEL: func @before_multiplication
// CHECK:         %[[LE:.+]] = arith.cmpi ule
// CHECK:         %[[S:.+]] = arith.select %[[LE]], %{{.+}}, %{{.+}} : f32
// CHECK:         math.exp %[[S]]
// CHECK:         %[[M:.+]] = arith.select %[[LE]], %{{.+}}, %{{.+}} : f32
// CHECK:         arith.mulf %[[M]]
func.func @before_multiplication(%s: tensor<16x16xf32>, %g: tensor<16xf32>) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %w = linalg.generic {indexing_maps = [#all, #row, #col, #all], iterator_types = ["parallel", "parallel"]}
      ins(%s, %g, %g : tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%sij: f32, %gi: f32, %gj: f32, %old: f32):
    %d = arith.subf %gi, %gj : f32
    %exp = math.exp %d : f32
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %counts = arith.cmpi ule, %j, %i : index
    %kept = arith.select %counts, %sij, %zero : f32
    %p = arith.mulf %kept, %exp : f32
    linalg.yield %p : f32
  } -> tensor<16x16xf32>
  return %w : tensor<16x16xf32>
}

// -----

#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>

// Nothing to do: a bounded exponent; an exponential that counts elsewhere too;
// flags that exclude infinities.
// CHECK-LABEL: func @kept
// CHECK-NOT:     0xFF800000
// CHECK:         return
func.func @kept(%g: tensor<16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %w:2 = linalg.generic {indexing_maps = [#row, #col, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%g, %g : tensor<16xf32>, tensor<16xf32>) outs(%e, %e : tensor<16x16xf32>, tensor<16x16xf32>) {
  ^bb0(%gi: f32, %gj: f32, %old: f32, %old2: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %counts = arith.cmpi ule, %j, %i : index
    %d = arith.subf %gi, %gj : f32
    %low = arith.minimumf %d, %zero : f32
    %bounded = math.exp %low : f32
    %a = arith.select %counts, %bounded, %zero : f32
    %exp = math.exp %d : f32
    %b = arith.select %counts, %exp, %zero : f32
    %flags = math.exp %d fastmath<ninf> : f32
    %c = arith.select %counts, %flags, %zero : f32
    %ab = arith.addf %a, %b : f32
    %abc = arith.addf %ab, %c : f32
    linalg.yield %abc, %exp : f32, f32
  } -> (tensor<16x16xf32>, tensor<16x16xf32>)
  return %w#0, %w#1 : tensor<16x16xf32>, tensor<16x16xf32>
}
