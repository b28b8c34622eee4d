// Sums of what a tile program computes, some steps at a time.

// RUN: mamba-opt %s --mamba-tile-inner --canonicalize --cse --split-input-file \
// RUN:   | FileCheck %s

// The second of two products: the first is computed for the columns that the
// second sums, and its sum over what is only read stays whole. The accumulator
// is carried.
// CHECK-LABEL: func @two_products
// CHECK-SAME:    %[[A:[a-z0-9]+]]: tensor<?x256xf32>, %[[B:[a-z0-9]+]]: tensor<256x128xf32>, %[[C:[a-z0-9]+]]: tensor<128x32xf32>
// CHECK:         scf.for %[[I:.+]] = %c0 to %{{.+}} step %c8
// CHECK:           %[[ROWS:.+]] = affine.min
// CHECK:           %[[AI:.+]] = tensor.extract_slice %[[A]][%[[I]], 0] [%[[ROWS]], 256]
// CHECK:           %[[ZERO:.+]] = linalg.fill {{.*}} -> tensor<?x32xf32>
// CHECK:           %[[SUM:.+]] = scf.for %[[K:.+]] = %c0 to %c128 step %c64 iter_args(%[[ACC:.+]] = %[[ZERO]])
// CHECK-DAG:         %[[BK:.+]] = tensor.extract_slice %[[B]][0, %[[K]]] [256, 64]
// CHECK-DAG:         %[[FIRST:.+]] = linalg.matmul ins(%[[AI]], %[[BK]] : {{.*}}) outs(%{{.+}} : tensor<?x64xf32>)
// CHECK-DAG:         %[[CK:.+]] = tensor.extract_slice %[[C]][%[[K]], 0] [64, 32]
// CHECK:             %[[NEXT:.+]] = linalg.matmul ins(%[[FIRST]], %[[CK]] : {{.*}}) outs(%[[ACC]] : tensor<?x32xf32>)
// CHECK-NEXT:        scf.yield %[[NEXT]]
// CHECK:           tensor.insert_slice %[[SUM]]
func.func @two_products(%a: tensor<?x256xf32>, %b: tensor<256x128xf32>,
                        %c: tensor<128x32xf32>) -> tensor<?x32xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %rows = tensor.dim %a, %c0 : tensor<?x256xf32>
  %e = tensor.empty(%rows) : tensor<?x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x128xf32>) -> tensor<?x128xf32>
  %p = linalg.matmul ins(%a, %b : tensor<?x256xf32>, tensor<256x128xf32>)
      outs(%f : tensor<?x128xf32>) -> tensor<?x128xf32>
  %e2 = tensor.empty(%rows) : tensor<?x32xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<?x32xf32>) -> tensor<?x32xf32>
  %r = linalg.matmul {mamba.plan = #mamba.plan<three_kernel tile [1] inner [8] reduction 64>}
      ins(%p, %c : tensor<?x128xf32>, tensor<128x32xf32>)
      outs(%f2 : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %r : tensor<?x32xf32>
}

// -----

// No rows are cut here; a sum of no more steps stays, also where its bound is
// a minimum.
// CHECK-LABEL: func @short
// CHECK-NOT:     scf.for
// CHECK:         return
func.func @short(%a: tensor<16x?xf32>, %b: tensor<?x8xf32>, %n: index) -> tensor<16x8xf32> {
  %zero = arith.constant 0.0 : f32
  %k = affine.min affine_map<(d0) -> (64, d0)>(%n)
  %at = tensor.extract_slice %a[0, 0] [16, %k] [1, 1] : tensor<16x?xf32> to tensor<16x?xf32>
  %bt = tensor.extract_slice %b[0, 0] [%k, 8] [1, 1] : tensor<?x8xf32> to tensor<?x8xf32>
  %e = tensor.empty(%k) : tensor<16x?xf32>
  %exp = linalg.exp ins(%at : tensor<16x?xf32>) outs(%e : tensor<16x?xf32>) -> tensor<16x?xf32>
  %e2 = tensor.empty() : tensor<16x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e2 : tensor<16x8xf32>) -> tensor<16x8xf32>
  %r = linalg.matmul {mamba.plan = #mamba.plan<three_kernel tile [1] inner [0, 0] reduction 64>}
      ins(%exp, %bt : tensor<16x?xf32>, tensor<?x8xf32>)
      outs(%f : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}

// -----

// A short last tile of the sum; an operand that every step reads whole is
// computed once.
// CHECK-LABEL: func @dynamic
// CHECK:         %[[WHOLE:.+]] = linalg.exp {{.*}} -> tensor<16xf32>
// CHECK:         scf.for %[[K:.+]] = %c0 to %[[N:.+]] step %c64
// CHECK:           %[[STEPS:.+]] = affine.min #{{.+}}(%[[K]])[%[[N]]]
// CHECK:           %[[W:.+]] = linalg.generic {{.*}} ins(%{{.+}}, %[[WHOLE]] : tensor<16x?xf32>, tensor<16xf32>)
// CHECK:           linalg.matmul ins(%[[W]],
func.func @dynamic(%a: tensor<16x?xf32>, %s: tensor<16xf32>, %b: tensor<?x8xf32>, %n: index)
    -> tensor<16x8xf32> {
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  %k = tensor.dim %a, %c1 : tensor<16x?xf32>
  %e = tensor.empty(%k) : tensor<16x?xf32>
  %es = tensor.empty() : tensor<16xf32>
  %exp = linalg.exp ins(%s : tensor<16xf32>) outs(%es : tensor<16xf32>) -> tensor<16xf32>
  %w = linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>,
                     affine_map<(d0, d1) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%a, %exp : tensor<16x?xf32>, tensor<16xf32>) outs(%e : tensor<16x?xf32>) {
  ^bb0(%in: f32, %scale: f32, %out: f32):
    %0 = arith.mulf %in, %scale : f32
    linalg.yield %0 : f32
  } -> tensor<16x?xf32>
  %e2 = tensor.empty() : tensor<16x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e2 : tensor<16x8xf32>) -> tensor<16x8xf32>
  %r = linalg.matmul {mamba.plan = #mamba.plan<three_kernel tile [1] reduction 64>}
      ins(%w, %b : tensor<16x?xf32>, tensor<?x8xf32>)
      outs(%f : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}

// -----

// Nothing computed is summed: what is read may be read at any time.
// CHECK-LABEL: func @only_read
// CHECK-NOT:     scf.for
// CHECK:         return
func.func @only_read(%a: tensor<16x256xf32>, %b: tensor<256x8xf32>, %c: tensor<16x8xf32>)
    -> tensor<16x8xf32> {
  %r = linalg.matmul {mamba.plan = #mamba.plan<three_kernel tile [1] reduction 64>}
      ins(%a, %b : tensor<16x256xf32>, tensor<256x8xf32>)
      outs(%c : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}
