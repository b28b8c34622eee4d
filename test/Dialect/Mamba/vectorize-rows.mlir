// RUN: mamba-opt %s --mamba-vectorize --canonicalize --cse --split-input-file | FileCheck %s

// Sums of products of rows, and what stands around them.

// A row-wise dot product is worth vectors without a contraction of matrices.
// What depends on a row only, or on a column only, has one dimension.

// CHECK-LABEL: func.func @dot(
// CHECK-SAME:      %[[A:.+]]: tensor<?x16x96xbf16>, %[[V:.+]]: tensor<96xf32>, %[[S:.+]]: tensor<16xf32>)
// CHECK:         scf.forall (%[[I:.+]]) in
// CHECK-DAG:       %[[AI:.+]] = tensor.extract_slice %[[A]][%[[I]], 0, 0] [1, 16, 96] [1, 1, 1]
// CHECK-DAG:       %[[AV:.+]] = vector.transfer_read %[[AI]]{{.+}} {in_bounds = [true, true]} : tensor<16x96xbf16>, vector<16x96xbf16>
// CHECK-DAG:       %[[VV:.+]] = vector.transfer_read %[[V]]{{.+}} : tensor<96xf32>, vector<96xf32>
// CHECK-DAG:       %[[SV:.+]] = vector.transfer_read %[[S]]{{.+}} : tensor<16xf32>, vector<16xf32>
// CHECK-DAG:       math.exp %[[SV]] : vector<16xf32>
// CHECK-DAG:       math.absf %[[VV]] : vector<96xf32>
// CHECK:           arith.mulf %{{.+}}, %{{.+}} : vector<16x96xf32>
// CHECK:           %[[P:.+]] = arith.mulf %{{.+}}, %{{.+}} : vector<16x96xf32>
// CHECK:           vector.multi_reduction <add>, %[[P]], %{{.+}} [1] : vector<16x96xf32> to vector<16xf32>
// CHECK:           } {mamba.vectorized, mapping
func.func @dot(%a: tensor<?x16x96xbf16>, %v: tensor<96xf32>, %s: tensor<16xf32>) -> tensor<?x16xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %a, %c0 : tensor<?x16x96xbf16>
  %empty = tensor.empty(%n) : tensor<?x16xf32>
  %y = scf.forall (%i) in (%n) shared_outs(%out = %empty) -> (tensor<?x16xf32>) {
    %ai = tensor.extract_slice %a[%i, 0, 0] [1, 16, 96] [1, 1, 1] : tensor<?x16x96xbf16> to tensor<16x96xbf16>
    %e = tensor.empty() : tensor<16xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
        ins(%ai, %v, %s : tensor<16x96xbf16>, tensor<96xf32>, tensor<16xf32>) outs(%f : tensor<16xf32>) {
    ^bb0(%ae: bf16, %ve: f32, %se: f32, %o: f32):
      %w = arith.extf %ae : bf16 to f32
      %exp = math.exp %se : f32
      %abs = math.absf %ve : f32
      %p = arith.mulf %w, %abs : f32
      %q = arith.mulf %exp, %p : f32
      %t = arith.addf %o, %q : f32
      linalg.yield %t : f32
    } -> tensor<16xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r into %out[%i, 0] [1, 16] [1, 1] : tensor<16xf32> into tensor<?x16xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %y : tensor<?x16xf32>
}

// -----

// A sum of the elements themselves is not.

// CHECK-LABEL: func.func @only_sum(
// CHECK-NOT:     vector
// CHECK:         return
func.func @only_sum(%a: tensor<8x16x96xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x16xf32>
  %y = scf.forall (%i) in (8) shared_outs(%out = %empty) -> (tensor<8x16xf32>) {
    %ai = tensor.extract_slice %a[%i, 0, 0] [1, 16, 96] [1, 1, 1] : tensor<8x16x96xf32> to tensor<16x96xf32>
    %e = tensor.empty() : tensor<16xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
    %r = linalg.reduce {arith.addf} ins(%ai : tensor<16x96xf32>) outs(%f : tensor<16xf32>) dimensions = [1]
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r into %out[%i, 0] [1, 16] [1, 1] : tensor<16xf32> into tensor<8x16xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %y : tensor<8x16xf32>
}

// -----

// Elements read by the positions of loops, under a condition that is the same
// for all, are a vector that is read under the condition. The row that an
// index from a table selects may not be there: then nothing is written, and a
// tile of no rows is a vector of one that is out of bounds. A loop carries the
// vector.

// CHECK-LABEL: func.func @slots(
// CHECK-SAME:      %[[STATE:.+]]: tensor<?x8x32xbf16>, %[[IDS:.+]]: tensor<4xi32>, %[[V:.+]]: tensor<4x?x32xf32>
// CHECK-DAG:     %[[NONE:.+]] = arith.constant dense<0.000000e+00> : vector<8x32xbf16>
// CHECK:         scf.forall (%[[B:.+]]) in (4) shared_outs(%[[OUT:.+]] = %[[STATE]], %{{.+}} = %{{.+}})
// CHECK:           %[[VALID:.+]] = arith.cmpi ult
// CHECK:           %[[COUNT:.+]] = arith.select %[[VALID]], %c1, %c0
// CHECK:           %[[SLOT:.+]] = tensor.extract_slice %[[OUT]]{{.*}} [%[[COUNT]], 8, 32]
// CHECK:           %[[OLD:.+]] = scf.if %[[VALID]] -> (vector<8x32xbf16>) {
// CHECK-NEXT:        %[[PART:.+]] = tensor.extract_slice %[[SLOT]][0, 0, 0] [1, 8, 32] [1, 1, 1] : tensor<?x8x32xbf16> to tensor<8x32xbf16>
// CHECK-NEXT:        %[[READ:.+]] = vector.transfer_read %[[PART]]{{.+}} {in_bounds = [true, true]} : tensor<8x32xbf16>, vector<8x32xbf16>
// CHECK-NEXT:        scf.yield %[[READ]]
// CHECK-NEXT:      } else {
// CHECK-NEXT:        scf.yield %[[NONE]]
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[WIDE:.+]] = arith.extf %[[OLD]] : vector<8x32xbf16> to vector<8x32xf32>
// CHECK:           %[[LOOP:.+]]:2 = scf.for {{.+}} iter_args(%[[H:.+]] = %[[WIDE]], %{{.+}} = %{{.+}}) -> (vector<8x32xf32>, tensor<?x8xf32>) {
// CHECK:             vector.multi_reduction <add>
// CHECK:           %[[NEW:.+]] = arith.truncf %[[LOOP]]#0 : vector<8x32xf32> to vector<8x32xbf16>
// CHECK:           %[[UNIT:.+]] = vector.shape_cast %[[NEW]] : vector<8x32xbf16> to vector<1x8x32xbf16>
// CHECK:           %[[WRITTEN:.+]] = vector.transfer_write %[[UNIT]], %[[SLOT]]{{.+}} {in_bounds = [false, true, true]}
// CHECK:           tensor.parallel_insert_slice %[[WRITTEN]] into %[[OUT]]
func.func @slots(%state: tensor<?x8x32xbf16>, %ids: tensor<4xi32>, %v: tensor<4x?x32xf32>) -> (tensor<?x8x32xbf16>, tensor<4x?x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0.0 : bf16
  %slots = tensor.dim %state, %c0 : tensor<?x8x32xbf16>
  %steps = tensor.dim %v, %c1 : tensor<4x?x32xf32>
  %empty = tensor.empty(%steps) : tensor<4x?x8xf32>
  %y:2 = scf.forall (%b) in (4) shared_outs(%out = %state, %sums = %empty) -> (tensor<?x8x32xbf16>, tensor<4x?x8xf32>) {
    %id = tensor.extract %ids[%b] : tensor<4xi32>
    %slot = arith.index_cast %id : i32 to index
    %valid = arith.cmpi ult, %slot, %slots : index
    %place = arith.select %valid, %slot, %c0 : index
    %count = arith.select %valid, %c1, %c0 : index
    %tile = tensor.extract_slice %out[%place, 0, 0] [%count, 8, 32] [1, 1, 1] : tensor<?x8x32xbf16> to tensor<?x8x32xbf16>
    %e = tensor.empty() : tensor<8x32xf32>
    %h0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<8x32xf32>) {
    ^bb0(%o: f32):
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %old = scf.if %valid -> (bf16) {
        %x = tensor.extract %tile[%c0, %i, %j] : tensor<?x8x32xbf16>
        scf.yield %x : bf16
      } else {
        scf.yield %none : bf16
      }
      %wide = arith.extf %old : bf16 to f32
      linalg.yield %wide : f32
    } -> tensor<8x32xf32>
    %e1 = tensor.empty(%steps) : tensor<?x8xf32>
    %h:2 = scf.for %t = %c0 to %steps step %c1 iter_args(%ht = %h0, %st = %e1) -> (tensor<8x32xf32>, tensor<?x8xf32>) {
      %vt = tensor.extract_slice %v[%b, %t, 0] [1, 1, 32] [1, 1, 1] : tensor<4x?x32xf32> to tensor<32xf32>
      %next = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
          ins(%vt : tensor<32xf32>) outs(%ht : tensor<8x32xf32>) {
      ^bb0(%a: f32, %o: f32):
        %sum = arith.addf %a, %o : f32
        linalg.yield %sum : f32
      } -> tensor<8x32xf32>
      %e2 = tensor.empty() : tensor<8xf32>
      %f = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8xf32>) -> tensor<8xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
          ins(%next, %vt : tensor<8x32xf32>, tensor<32xf32>) outs(%f : tensor<8xf32>) {
      ^bb0(%a: f32, %c: f32, %o: f32):
        %p = arith.mulf %a, %c : f32
        %sum = arith.addf %o, %p : f32
        linalg.yield %sum : f32
      } -> tensor<8xf32>
      %s = tensor.insert_slice %r into %st[%t, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<?x8xf32>
      scf.yield %next, %s : tensor<8x32xf32>, tensor<?x8xf32>
    }
    %e3 = tensor.empty() : tensor<8x32xbf16>
    %narrow = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%h#0 : tensor<8x32xf32>) outs(%e3 : tensor<8x32xbf16>) {
    ^bb0(%a: f32, %o: bf16):
      %c = arith.truncf %a : f32 to bf16
      linalg.yield %c : bf16
    } -> tensor<8x32xbf16>
    %e4 = tensor.empty() : tensor<1x8x32xbf16>
    %whole = tensor.insert_slice %narrow into %e4[0, 0, 0] [1, 8, 32] [1, 1, 1] : tensor<8x32xbf16> into tensor<1x8x32xbf16>
    %kept = tensor.extract_slice %whole[0, 0, 0] [%count, 8, 32] [1, 1, 1] : tensor<1x8x32xbf16> to tensor<?x8x32xbf16>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %kept into %out[%place, 0, 0] [%count, 8, 32] [1, 1, 1] : tensor<?x8x32xbf16> into tensor<?x8x32xbf16>
      tensor.parallel_insert_slice %h#1 into %sums[%b, 0, 0] [1, %steps, 8] [1, 1, 1] : tensor<?x8xf32> into tensor<4x?x8xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %y#0, %y#1 : tensor<?x8x32xbf16>, tensor<4x?x8xf32>
}

// -----

// The positions in a transposed result, and a column of the tensor.

// CHECK-LABEL: func.func @positions(
// CHECK:           %[[M:.+]] = vector.transfer_read %{{.+}} : tensor<16x32xf32>, vector<16x32xf32>
// CHECK:           vector.transpose %[[M]], [1, 0] : vector<16x32xf32> to vector<32x16xf32>
// CHECK:           %[[COLUMN:.+]] = tensor.extract_slice %{{.+}}[0, %{{.+}}] [16, 1] [1, 1] : tensor<16x32xf32> to tensor<16xf32>
// CHECK:           vector.transfer_read %[[COLUMN]]{{.+}} : tensor<16xf32>, vector<16xf32>
// CHECK:           mamba.vectorized
func.func @positions(%x: tensor<16x32xf32>, %v: tensor<16xf32>) -> tensor<4x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x32xf32>
  %y = scf.forall (%b) in (4) shared_outs(%out = %empty) -> (tensor<4x32xf32>) {
    %e = tensor.empty() : tensor<32x16xf32>
    %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<32x16xf32>) {
    ^bb0(%o: f32):
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %p = tensor.extract %x[%i, %j] : tensor<16x32xf32>
      %q = tensor.extract %x[%i, %b] : tensor<16x32xf32>
      %s = arith.addf %p, %q : f32
      linalg.yield %s : f32
    } -> tensor<32x16xf32>
    %e1 = tensor.empty() : tensor<32xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e1 : tensor<32xf32>) -> tensor<32xf32>
    %r = linalg.matvec ins(%m, %v : tensor<32x16xf32>, tensor<16xf32>) outs(%f : tensor<32xf32>) -> tensor<32xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r into %out[%b, 0] [1, 32] [1, 1] : tensor<32xf32> into tensor<4x32xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %y : tensor<4x32xf32>
}
