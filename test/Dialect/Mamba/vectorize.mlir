// RUN: mamba-opt %s --mamba-vectorize=all --split-input-file | FileCheck %s
// RUN: mamba-opt %s --mamba-vectorize --split-input-file \
// RUN:   | FileCheck %s --check-prefix=DEFAULT

// Reads with zeros past the end, a contraction, writes without what is past
// the end. The bound of an affine.min is exact.

// CHECK-DAG: #[[$MK:.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[$KN:.+]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[$MN:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func @rows(
// CHECK-SAME:      %[[X:.+]]: tensor<?x80xbf16>, %[[W:.+]]: tensor<80x16xbf16>)
// CHECK:         scf.forall (%[[I:.+]]) = (0) {{.+}} shared_outs(%[[OUT:.+]] = %{{.+}})
// CHECK-NEXT:      %[[ROWS:.+]] = affine.min
// CHECK-NEXT:      %[[XI:.+]] = tensor.extract_slice %[[X]][%[[I]], 0] [%[[ROWS]], 80]
// CHECK-NEXT:      %[[ZERO:.+]] = vector.broadcast %{{.+}} : f32 to vector<64x16xf32>
// CHECK:           %[[XV:.+]] = vector.transfer_read %[[XI]][%{{.+}}, %{{.+}}], %{{.+}} {in_bounds = [false, true]} : tensor<?x80xbf16>, vector<64x80xbf16>
// CHECK:           %[[WV:.+]] = vector.transfer_read %[[W]]{{.+}} {in_bounds = [true, true]} : tensor<80x16xbf16>, vector<80x16xbf16>
// CHECK-NEXT:      %[[Y:.+]] = vector.contract {indexing_maps = [#[[$MK]], #[[$KN]], #[[$MN]]], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %[[XV]], %[[WV]], %[[ZERO]]
// CHECK-NEXT:      %[[PLACE:.+]] = tensor.extract_slice %[[OUT]][%[[I]], 0] [%[[ROWS]], 16]
// CHECK:           %[[WRITTEN:.+]] = vector.transfer_write %[[Y]], %[[PLACE]]{{.+}} {in_bounds = [false, true]} : vector<64x16xf32>, tensor<?x16xf32>
// CHECK-NEXT:      scf.forall.in_parallel {
// CHECK-NEXT:        tensor.parallel_insert_slice %[[WRITTEN]] into %[[OUT]][%[[I]], 0] [%[[ROWS]], 16]
// CHECK:         } {mamba.vectorized, mapping = [#gpu.block<linear_dim_0>]}
// DEFAULT-LABEL: func.func @rows(
// DEFAULT-NOT:     linalg
// DEFAULT:         mamba.vectorized
func.func @rows(%x: tensor<?x80xbf16>, %w: tensor<80x16xbf16>) -> tensor<?x16xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x80xbf16>
  %empty = tensor.empty(%n) : tensor<?x16xf32>
  %y = scf.forall (%i) = (0) to (%n) step (64) shared_outs(%out = %empty) -> (tensor<?x16xf32>) {
    %rows = affine.min affine_map<(d0)[s0] -> (s0 - d0, 64)>(%i)[%n]
    %xi = tensor.extract_slice %x[%i, 0] [%rows, 80] [1, 1] : tensor<?x80xbf16> to tensor<?x80xbf16>
    %all = tensor.extract_slice %xi[0, 0] [%rows, 80] [1, 1] : tensor<?x80xbf16> to tensor<?x80xbf16>
    %e = tensor.empty(%rows) : tensor<?x16xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x16xf32>) -> tensor<?x16xf32>
    %r = linalg.matmul ins(%all, %w : tensor<?x80xbf16>, tensor<80x16xbf16>) outs(%f : tensor<?x16xf32>) -> tensor<?x16xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r into %out[%i, 0] [%rows, 16] [1, 1] : tensor<?x16xf32> into tensor<?x16xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %y : tensor<?x16xf32>
}

// -----

// arith.minsi bounds a size too. A sum over a dynamic size: the read operand
// has zeros past the end, the computed one is masked, before it is narrowed.
// The contraction's result has the order (n, m).

// CHECK-DAG: #[[$KM:.+]] = affine_map<(d0, d1, d2) -> (d2, d0)>
// CHECK-DAG: #[[$NK:.+]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[$MN:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func @sum(
// CHECK:           %[[LEN:.+]] = arith.minsi
// CHECK:           %[[W:.+]] = vector.transfer_read %{{.+}} : tensor<?xf32>, vector<48xf32>
// CHECK:           %[[B:.+]] = vector.transfer_read %{{.+}} {in_bounds = [true, false]} : tensor<8x?xf16>, vector<8x48xf16>
// CHECK:           %[[EXP:.+]] = math.exp %[[W]] : vector<48xf32>
// CHECK:           %[[BF:.+]] = arith.extf %[[B]]
// CHECK:           %[[ALL:.+]] = vector.broadcast %[[EXP]] : vector<48xf32> to vector<8x48xf32>
// CHECK:           %[[WBF:.+]] = arith.mulf %[[ALL]], %[[BF]]
// CHECK:           %[[X:.+]] = vector.transfer_read %{{.+}} {in_bounds = [false, true]} : tensor<?x16xf16>, vector<48x16xf16>
// CHECK:           %[[STEP:.+]] = vector.step : vector<48xindex>
// CHECK-NEXT:      %[[LIMIT:.+]] = vector.broadcast %[[LEN]] : index to vector<48xindex>
// CHECK-NEXT:      %[[VALID:.+]] = arith.cmpi ult, %[[STEP]], %[[LIMIT]]
// CHECK-NEXT:      %[[MASK:.+]] = vector.broadcast %[[VALID]] : vector<48xi1> to vector<8x48xi1>
// CHECK:           %[[SELECTED:.+]] = arith.select %[[MASK]], %[[WBF]], %{{.+}} : vector<8x48xi1>, vector<8x48xf32>
// CHECK-NEXT:      %[[MASKED:.+]] = arith.truncf %[[SELECTED]] : vector<8x48xf32> to vector<8x48xf16>
// CHECK-NEXT:      vector.contract {indexing_maps = [#[[$KM]], #[[$NK]], #[[$MN]]], {{.+}}} %[[X]], %[[MASKED]]
#kn = affine_map<(m, n, k) -> (k, n)>
#mk = affine_map<(m, n, k) -> (m, k)>
#nm = affine_map<(m, n, k) -> (n, m)>
func.func @sum(%x: tensor<?x16xf16>, %b: tensor<8x?xf16>, %w: tensor<?xf32>) -> tensor<1x16x8xf32> {
  %c0 = arith.constant 0 : index
  %c48 = arith.constant 48 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x16xf16>
  %empty = tensor.empty() : tensor<1x16x8xf32>
  %y = scf.forall (%i) in (1) shared_outs(%out = %empty) -> (tensor<1x16x8xf32>) {
    %len = arith.minsi %n, %c48 : index
    %xi = tensor.extract_slice %x[0, 0] [%len, 16] [1, 1] : tensor<?x16xf16> to tensor<?x16xf16>
    %bi = tensor.extract_slice %b[0, 0] [8, %len] [1, 1] : tensor<8x?xf16> to tensor<8x?xf16>
    %wi = tensor.extract_slice %w[0] [%len] [1] : tensor<?xf32> to tensor<?xf32>
    %e = tensor.empty(%len) : tensor<8x?xf16>
    %wb = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%wi, %bi : tensor<?xf32>, tensor<8x?xf16>) outs(%e : tensor<8x?xf16>) {
    ^bb0(%a: f32, %q: f16, %o: f16):
      %exp = math.exp %a : f32
      %qf = arith.extf %q : f16 to f32
      %p = arith.mulf %exp, %qf : f32
      %t = arith.truncf %p : f32 to f16
      linalg.yield %t : f16
    } -> tensor<8x?xf16>
    %e1 = tensor.empty() : tensor<16x8xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e1 : tensor<16x8xf32>) -> tensor<16x8xf32>
    %r = linalg.generic {indexing_maps = [#mk, #kn, #nm], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%wb, %xi : tensor<8x?xf16>, tensor<?x16xf16>) outs(%f : tensor<16x8xf32>) {
    ^bb0(%p: f16, %q: f16, %o: f32):
      %pf = arith.extf %p : f16 to f32
      %qf = arith.extf %q : f16 to f32
      %m = arith.mulf %qf, %pf : f32
      %s = arith.addf %o, %m : f32
      linalg.yield %s : f32
    } -> tensor<16x8xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r into %out[%i, 0, 0] [1, 16, 8] [1, 1, 1] : tensor<16x8xf32> into tensor<1x16x8xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %y : tensor<1x16x8xf32>
}

// -----

// A block without a contraction. Maxima are masked though their operand is
// read; sums are masked because it is computed.

// CHECK-LABEL: func.func @softmax(
// CHECK:           %[[LOW:.+]] = vector.broadcast %{{.+}} : f32 to vector<64xf32>
// CHECK:           %[[X:.+]] = vector.transfer_read %{{.+}} : tensor<?x?xf32>, vector<64x48xf32>
// CHECK:           %[[NEUTRAL:.+]] = arith.constant dense<0xFF800000> : vector<64x48xf32>
// CHECK-NEXT:      %[[MASKED:.+]] = arith.select %{{.+}}, %[[X]], %[[NEUTRAL]]
// CHECK-NEXT:      %[[MAX:.+]] = vector.multi_reduction <maximumf>, %[[MASKED]], %[[LOW]] [1] : vector<64x48xf32> to vector<64xf32>
// CHECK:           %[[SPREAD:.+]] = vector.broadcast %[[MAX]] : vector<64xf32> to vector<48x64xf32>
// CHECK-NEXT:      %[[ROWS:.+]] = vector.transpose %[[SPREAD]], [1, 0]
// CHECK-NEXT:      %[[DIFF:.+]] = arith.subf %[[X]], %[[ROWS]]
// CHECK-NEXT:      %[[P:.+]] = math.exp %[[DIFF]]
// CHECK:           %[[PM:.+]] = arith.select %{{.+}}, %[[P]], %{{.+}}
// CHECK-NEXT:      vector.multi_reduction <add>, %[[PM]], %{{.+}} [1]
// CHECK:           arith.divf %[[P]], %{{.+}} : vector<64x48xf32>
// DEFAULT-LABEL: func.func @softmax(
// DEFAULT-NOT:     vector
// DEFAULT:         linalg.reduce
#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @softmax(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  %m = tensor.dim %x, %c1 : tensor<?x?xf32>
  %cols = affine.min affine_map<()[s0] -> (s0, 48)>()[%m]
  %empty = tensor.empty(%n, %m) : tensor<?x?xf32>
  %y = scf.forall (%i) = (0) to (%n) step (64) shared_outs(%out = %empty) -> (tensor<?x?xf32>) {
    %rows = affine.min affine_map<(d0)[s0] -> (s0 - d0, 64)>(%i)[%n]
    %xi = tensor.extract_slice %x[%i, 0] [%rows, %cols] [1, 1] : tensor<?x?xf32> to tensor<?x?xf32>
    %e0 = tensor.empty(%rows) : tensor<?xf32>
    %f0 = linalg.fill ins(%low : f32) outs(%e0 : tensor<?xf32>) -> tensor<?xf32>
    %max = linalg.reduce ins(%xi : tensor<?x?xf32>) outs(%f0 : tensor<?xf32>) dimensions = [1]
      (%a: f32, %b: f32) { %t = arith.maximumf %a, %b : f32 linalg.yield %t : f32 }
    %e1 = tensor.empty(%rows, %cols) : tensor<?x?xf32>
    %p = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%xi, %max : tensor<?x?xf32>, tensor<?xf32>) outs(%e1 : tensor<?x?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.subf %a, %b : f32
      %t = math.exp %s : f32
      linalg.yield %t : f32
    } -> tensor<?x?xf32>
    %e2 = tensor.empty(%rows) : tensor<?xf32>
    %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<?xf32>) -> tensor<?xf32>
    %sum = linalg.reduce ins(%p : tensor<?x?xf32>) outs(%f2 : tensor<?xf32>) dimensions = [1]
      (%a: f32, %b: f32) { %t = arith.addf %a, %b : f32 linalg.yield %t : f32 }
    %e3 = tensor.empty(%rows, %cols) : tensor<?x?xf32>
    %q = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%p, %sum : tensor<?x?xf32>, tensor<?xf32>) outs(%e3 : tensor<?x?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %t = arith.divf %a, %b : f32
      linalg.yield %t : f32
    } -> tensor<?x?xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %q into %out[%i, 0] [%rows, %cols] [1, 1] : tensor<?x?xf32> into tensor<?x?xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %y : tensor<?x?xf32>
}

// -----

// Element-wise operations: transposed results, splat and rank-0 operands,
// index arithmetic, a copy of an input, sizes of computed tiles.

// CHECK-LABEL: func.func @elementwise(
// CHECK-SAME:      %[[X:.+]]: tensor<16x32xf32>, %[[S:.+]]: tensor<f32>
// CHECK:         scf.forall
// CHECK:           %[[READ:.+]] = vector.transfer_read %[[X]]
// CHECK:           %[[SPLAT:.+]] = arith.constant dense<2.000000e+00> : vector<32xf32>
// CHECK-NEXT:      %[[SCALAR:.+]] = tensor.extract %[[S]][] : tensor<f32>
// CHECK-NEXT:      %[[T:.+]] = vector.transpose %[[READ]], [1, 0] : vector<16x32xf32> to vector<32x16xf32>
// CHECK:           %[[STEP:.+]] = vector.step : vector<16xindex>
// CHECK:           %[[SCALED:.+]] = arith.muli %[[STEP]], %{{.+}} : vector<16xindex>
// CHECK:           %[[SHIFTED:.+]] = arith.addi %[[SCALED]], %{{.+}} : vector<16xindex>
// CHECK-NEXT:      arith.index_cast %[[SHIFTED]] : vector<16xindex> to vector<16xi32>
// CHECK:           vector.transfer_write %{{.+}} {in_bounds = [true, true]} : vector<32x16xf32>, tensor<32x16xf32>
// CHECK:           %[[COPY:.+]] = vector.transfer_write %[[READ]], %{{.+}} : vector<16x32xf32>, tensor<16x32xf32>
func.func @elementwise(%x: tensor<16x32xf32>, %s: tensor<f32>) -> (tensor<4x32x16xf32>, tensor<4x16x32xf32>) {
  %two = arith.constant dense<2.0> : tensor<32xf32>
  %empty = tensor.empty() : tensor<4x32x16xf32>
  %empty1 = tensor.empty() : tensor<4x16x32xf32>
  %y:2 = scf.forall (%i) in (4) shared_outs(%out = %empty, %copy = %empty1) -> (tensor<4x32x16xf32>, tensor<4x16x32xf32>) {
    %e = tensor.empty() : tensor<32x16xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> ()>, affine_map<(i, j) -> (j, i)>], iterator_types = ["parallel", "parallel"]}
        ins(%x, %two, %s : tensor<16x32xf32>, tensor<32xf32>, tensor<f32>) outs(%e : tensor<32x16xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
      %row = linalg.index 0 : index
      %place = affine.apply affine_map<(d0)[s0] -> (d0 * 3 + s0)>(%row)[%i]
      %int = arith.index_cast %place : index to i32
      %f = arith.sitofp %int : i32 to f32
      %p = arith.mulf %a, %b : f32
      %q = arith.addf %p, %c : f32
      %t = arith.addf %q, %f : f32
      linalg.yield %t : f32
    } -> tensor<32x16xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r into %out[%i, 0, 0] [1, 32, 16] [1, 1, 1] : tensor<32x16xf32> into tensor<4x32x16xf32>
      tensor.parallel_insert_slice %x into %copy[%i, 0, 0] [1, 16, 32] [1, 1, 1] : tensor<16x32xf32> into tensor<4x16x32xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %y#0, %y#1 : tensor<4x32x16xf32>, tensor<4x16x32xf32>
}

// -----

// A scalar in a tensor; a result that only some blocks write.

// CHECK-LABEL: func.func @scalar(
// CHECK:           %[[X:.+]] = tensor.extract
// CHECK:           %[[V:.+]] = vector.broadcast %[[X]] : f32 to vector<1x1xf32>
// CHECK:           vector.transfer_write %[[V]], %{{.+}} {in_bounds = [true, false]} : vector<1x1xf32>, tensor<1x?xf32>
func.func @scalar(%x: tensor<4xf32>) -> tensor<4x1xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %empty = tensor.empty() : tensor<4x1xf32>
  %y = scf.forall (%i, %j) in (4, 2) shared_outs(%out = %empty) -> (tensor<4x1xf32>) {
    %e = tensor.extract %x[%i] : tensor<4xf32>
    %one = tensor.from_elements %e : tensor<1x1xf32>
    %first = arith.cmpi eq, %j, %c0 : index
    %count = arith.select %first, %c1, %c0 : index
    %part = tensor.extract_slice %one[0, 0] [1, %count] [1, 1] : tensor<1x1xf32> to tensor<1x?xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %part into %out[%i, 0] [1, %count] [1, 1] : tensor<1x?xf32> into tensor<4x1xf32>
    }
  } {mapping = [#gpu.block<linear_dim_1>, #gpu.block<linear_dim_0>]}
  return %y : tensor<4x1xf32>
}
