// RUN: mamba-opt %s --split-input-file --pass-pipeline="builtin.module( \
// RUN:     mamba-vectorize,canonicalize,cse,mamba-separate-destinations, \
// RUN:     mamba-results-to-arguments,eliminate-empty-tensors, \
// RUN:     one-shot-bufferize{allow-return-allocs-from-loops=true}, \
// RUN:     mamba-unify-sizes,canonicalize,cse,canonicalize, \
// RUN:     mamba-outline-kernels,canonicalize,cse)" | FileCheck %s

// The form of a kernel on vectors: reads of views of memory in rank and order,
// no buffers of the block, no copies, no linalg.

// CHECK-DAG: #[[$MK:.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[$NK:.+]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[$KN:.+]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[$MN:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: gpu.func @chunk_out_chunk_out(
// CHECK-SAME:      mamba.vectorized
// CHECK-NOT:     {{alloc|copy|linalg}}
// CHECK:         %[[LEN:.+]] = affine.min
// CHECK:         %[[H:.+]] = vector.transfer_read %{{.+}} {in_bounds = [true, true]} : memref<64x128xbf16, strided<[128, 1], offset: ?>>, vector<64x128xbf16>
// CHECK:         %[[STEP:.+]] = vector.step : vector<64xindex>
// CHECK:         scf.for %[[I0:.+]] = %{{.+}} to %[[LEN]] step %{{.+}} {
// CHECK-NEXT:      %[[ROWS:.+]] = affine.min
// CHECK-NEXT:      %[[CI:.+]] = memref.subview %{{.+}}[%[[I0]], 0] [%[[ROWS]], 128] [1, 1]
// CHECK:           %[[LIMIT:.+]] = arith.minsi %[[LEN]], %{{.+}} : index
// CHECK:           %[[C:.+]] = vector.transfer_read %[[CI]][%{{.+}}, %{{.+}}], %{{.+}} {in_bounds = [false, true]} : memref<?x128xbf16, strided<[128, 1], offset: ?>>, vector<64x128xbf16>
// CHECK:           %[[G:.+]] = vector.transfer_read %{{.+}} : memref<?xf32, strided<[1], offset: ?>>, vector<64xf32>
// CHECK:           %[[ACC:.+]] = scf.for %[[J0:.+]] = %{{.+}} to %[[LIMIT]] step %{{.+}} iter_args(%[[SUM:.+]] = %{{.+}}) -> (vector<64x64xf32>) {
// CHECK-NEXT:        %[[COLS:.+]] = affine.min
// CHECK:             %[[B:.+]] = vector.transfer_read %{{.+}} {in_bounds = [false, true]} : memref<?x128xbf16, strided<[128, 1], offset: ?>>, vector<64x128xbf16>
// CHECK-NEXT:        %[[S:.+]] = vector.contract {indexing_maps = [#[[$MK]], #[[$NK]], #[[$MN]]], {{.+}}} %[[C]], %[[B]], %{{.+}} : vector<64x128xbf16>, vector<64x128xbf16> into vector<64x64xf32>
// CHECK:             %[[SEEN:.+]] = arith.cmpi ule, %{{.+}}, %{{.+}} : vector<64x64xindex>
// CHECK:             %[[X:.+]] = vector.transfer_read %{{.+}} {in_bounds = [false, true]} : memref<?x64xbf16, strided<[1536, 1], offset: ?>>, vector<64x64xbf16>
// CHECK-NEXT:        %[[BOUND:.+]] = vector.broadcast %[[COLS]] : index to vector<64xindex>
// CHECK-NEXT:        %[[VALID:.+]] = arith.cmpi ult, %[[STEP]], %[[BOUND]] : vector<64xindex>
// CHECK-NEXT:        %[[MASK:.+]] = vector.broadcast %[[VALID]] : vector<64xi1> to vector<64x64xi1>
// CHECK-NEXT:        %[[BOTH:.+]] = arith.andi %[[SEEN]], %[[MASK]] : vector<64x64xi1>
// CHECK-NEXT:        %[[W:.+]] = arith.select %[[BOTH]], %{{.+}}, %{{.+}} : vector<64x64xi1>, vector<64x64xf32>
// CHECK-NEXT:        %[[WM:.+]] = arith.truncf %[[W]] : vector<64x64xf32> to vector<64x64xbf16>
// CHECK-NEXT:        %[[NEXT:.+]] = vector.contract {indexing_maps = [#[[$MK]], #[[$KN]], #[[$MN]]], {{.+}}} %[[WM]], %[[X]], %[[SUM]] : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
// CHECK-NEXT:        scf.yield %[[NEXT]]
// CHECK:           vector.contract {indexing_maps = [#[[$MK]], #[[$NK]], #[[$MN]]], {{.+}}} %[[C]], %[[H]], %{{.+}}
// CHECK:           %[[LOW:.+]] = arith.minimumf %[[G]], %{{.+}} : vector<64xf32>
// CHECK-NEXT:      math.exp %[[LOW]] : vector<64xf32>
// CHECK:           %[[PLACE:.+]] = memref.subview %{{.+}}[%[[I0]], 0] [%[[ROWS]], 64] [1, 1]
// CHECK-NEXT:      vector.transfer_write %{{.+}}, %[[PLACE]][%{{.+}}, %{{.+}}] {in_bounds = [false, true]} : vector<64x64xbf16>, memref<?x64xbf16, strided<[1536, 1], offset: ?>>
// CHECK-NEXT:    }
// CHECK-NEXT:    gpu.return

#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
#all = affine_map<(i, j) -> (i, j)>
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @chunk_out(%x: tensor<?x?x24x64xbf16>, %B: tensor<?x?x1x128xbf16>,
    %C: tensor<?x?x1x128xbf16>, %dt: tensor<?x24x?x128xf32>,
    %g: tensor<?x24x?x128xf32>, %h: tensor<?x?x24x64x128xbf16>,
    %D: tensor<24xf32>) -> tensor<?x?x24x64xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %batch = tensor.dim %x, %c0 : tensor<?x?x24x64xbf16>
  %length = tensor.dim %x, %c1 : tensor<?x?x24x64xbf16>
  %chunks = affine.apply affine_map<()[s0] -> (s0 ceildiv 128)>()[%length]
  %empty = tensor.empty(%batch, %length) : tensor<?x?x24x64xbf16>
  %y = scf.forall (%b, %c, %head) in (%batch, %chunks, 24) shared_outs(%out = %empty) -> (tensor<?x?x24x64xbf16>) {
    %first = affine.apply affine_map<(d0) -> (d0 * 128)>(%c)
    %len = affine.min affine_map<(d0)[s0] -> (d0 * -128 + s0, 128)>(%c)[%length]
    %d1 = tensor.extract_slice %D[%head] [1] [1] : tensor<24xf32> to tensor<1xf32>
    %d = tensor.extract %d1[%c0] : tensor<1xf32>
    %xc = tensor.extract_slice %x[%b, %first, %head, 0] [1, %len, 1, 64] [1, 1, 1, 1] : tensor<?x?x24x64xbf16> to tensor<?x64xbf16>
    %Bc = tensor.extract_slice %B[%b, %first, 0, 0] [1, %len, 1, 128] [1, 1, 1, 1] : tensor<?x?x1x128xbf16> to tensor<?x128xbf16>
    %Cc = tensor.extract_slice %C[%b, %first, 0, 0] [1, %len, 1, 128] [1, 1, 1, 1] : tensor<?x?x1x128xbf16> to tensor<?x128xbf16>
    %dtc = tensor.extract_slice %dt[%b, %head, %c, 0] [1, 1, 1, %len] [1, 1, 1, 1] : tensor<?x24x?x128xf32> to tensor<?xf32>
    %gc = tensor.extract_slice %g[%b, %head, %c, 0] [1, 1, 1, %len] [1, 1, 1, 1] : tensor<?x24x?x128xf32> to tensor<?xf32>
    %hc = tensor.extract_slice %h[%b, %c, %head, 0, 0] [1, 1, 1, 64, 128] [1, 1, 1, 1, 1] : tensor<?x?x24x64x128xbf16> to tensor<64x128xbf16>
    %e0 = tensor.empty(%len) : tensor<?x64xbf16>
    %yc = scf.for %i0 = %c0 to %len step %c64 iter_args(%yi = %e0) -> (tensor<?x64xbf16>) {
      %rows = affine.min affine_map<(d0)[s0] -> (-d0 + s0, 64)>(%i0)[%len]
      %Ci = tensor.extract_slice %Cc[%i0, 0] [%rows, 128] [1, 1] : tensor<?x128xbf16> to tensor<?x128xbf16>
      %gi = tensor.extract_slice %gc[%i0] [%rows] [1] : tensor<?xf32> to tensor<?xf32>
      %e1 = tensor.empty(%rows) : tensor<?x64xf32>
      %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x64xf32>) -> tensor<?x64xf32>
      %end = arith.addi %i0, %c64 : index
      %limit = arith.minsi %len, %end : index
      %acc = scf.for %j0 = %c0 to %limit step %c64 iter_args(%accj = %f1) -> (tensor<?x64xf32>) {
        %cols = affine.min affine_map<(d0)[s0] -> (-d0 + s0, 64)>(%j0)[%len]
        %Bj = tensor.extract_slice %Bc[%j0, 0] [%cols, 128] [1, 1] : tensor<?x128xbf16> to tensor<?x128xbf16>
        %e2 = tensor.empty(%rows, %cols) : tensor<?x?xf32>
        %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<?x?xf32>) -> tensor<?x?xf32>
        %S = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%Ci, %Bj : tensor<?x128xbf16>, tensor<?x128xbf16>) outs(%f2 : tensor<?x?xf32>) -> tensor<?x?xf32>
        %gj = tensor.extract_slice %gc[%j0] [%cols] [1] : tensor<?xf32> to tensor<?xf32>
        %dtj = tensor.extract_slice %dtc[%j0] [%cols] [1] : tensor<?xf32> to tensor<?xf32>
        %e3 = tensor.empty(%rows, %cols) : tensor<?x?xbf16>
        %W = linalg.generic {indexing_maps = [#all, #row, #col, #col, #all], iterator_types = ["parallel", "parallel"]}
            ins(%S, %gi, %gj, %dtj : tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) outs(%e3 : tensor<?x?xbf16>) {
        ^bb0(%s: f32, %gr: f32, %gs: f32, %w: f32, %o: bf16):
          %diff = arith.subf %gr, %gs : f32
          %low = arith.minimumf %diff, %zero : f32
          %exp = math.exp %low : f32
          %p0 = arith.mulf %s, %exp : f32
          %p1 = arith.mulf %p0, %w : f32
          %j = linalg.index 1 : index
          %i = linalg.index 0 : index
          %jj = affine.apply affine_map<(d0)[s0] -> (d0 + s0)>(%j)[%j0]
          %ii = affine.apply affine_map<(d0)[s0] -> (d0 + s0)>(%i)[%i0]
          %seen = arith.cmpi ule, %jj, %ii : index
          %p2 = arith.select %seen, %p1, %zero : f32
          %p3 = arith.truncf %p2 : f32 to bf16
          linalg.yield %p3 : bf16
        } -> tensor<?x?xbf16>
        %xj = tensor.extract_slice %xc[%j0, 0] [%cols, 64] [1, 1] : tensor<?x64xbf16> to tensor<?x64xbf16>
        %next = linalg.matmul ins(%W, %xj : tensor<?x?xbf16>, tensor<?x64xbf16>) outs(%accj : tensor<?x64xf32>) -> tensor<?x64xf32>
        scf.yield %next : tensor<?x64xf32>
      }
      %e4 = tensor.empty(%rows) : tensor<?x64xf32>
      %f4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<?x64xf32>) -> tensor<?x64xf32>
      %Ch = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%Ci, %hc : tensor<?x128xbf16>, tensor<64x128xbf16>) outs(%f4 : tensor<?x64xf32>) -> tensor<?x64xf32>
      %xi = tensor.extract_slice %xc[%i0, 0] [%rows, 64] [1, 1] : tensor<?x64xbf16> to tensor<?x64xbf16>
      %place = tensor.extract_slice %yi[%i0, 0] [%rows, 64] [1, 1] : tensor<?x64xbf16> to tensor<?x64xbf16>
      %yr = linalg.generic {indexing_maps = [#all, #all, #row, #all, #all], iterator_types = ["parallel", "parallel"]}
          ins(%acc, %Ch, %gi, %xi : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?xf32>, tensor<?x64xbf16>) outs(%place : tensor<?x64xbf16>) {
      ^bb0(%a: f32, %ch: f32, %gr: f32, %xv: bf16, %o: bf16):
        %low = arith.minimumf %gr, %zero : f32
        %exp = math.exp %low : f32
        %p0 = arith.mulf %exp, %ch : f32
        %p1 = arith.addf %a, %p0 : f32
        %xf = arith.extf %xv : bf16 to f32
        %p2 = arith.mulf %d, %xf : f32
        %p3 = arith.addf %p1, %p2 : f32
        %p4 = arith.truncf %p3 : f32 to bf16
        linalg.yield %p4 : bf16
      } -> tensor<?x64xbf16>
      %ins = tensor.insert_slice %yr into %yi[%i0, 0] [%rows, 64] [1, 1] : tensor<?x64xbf16> into tensor<?x64xbf16>
      scf.yield %ins : tensor<?x64xbf16>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %yc into %out[%b, %first, %head, 0] [1, %len, 1, 64] [1, 1, 1, 1] : tensor<?x64xbf16> into tensor<?x?x24x64xbf16>
    }
  } {mamba.kernel = "chunk_out", mapping = [#gpu.block<linear_dim_2>, #gpu.block<linear_dim_1>, #gpu.block<linear_dim_0>]}
  return %y : tensor<?x?x24x64xbf16>
}

// -----

// The state stays in a vector over all chunks; the products add to it. P = 80.

// CHECK-DAG: #[[$KM:.+]] = affine_map<(d0, d1, d2) -> (d2, d0)>
// CHECK-DAG: #[[$KN:.+]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[$MN:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: gpu.func @state_pass_state_pass(
// CHECK-SAME:      mamba.vectorized
// CHECK-NOT:     {{alloc|copy|linalg}}
// CHECK:         %[[LAST:.+]] = scf.for %{{.+}} iter_args(%[[H:.+]] = %{{.+}}) -> (vector<80x32xf32>) {
// CHECK:           %[[T:.+]] = arith.truncf %[[H]] : vector<80x32xf32> to vector<80x32xf16>
// CHECK:           vector.transfer_write %[[T]], %{{.+}} {in_bounds = [true, true]} : vector<80x32xf16>, memref<80x32xf16, strided<[128, 1], offset: ?>>
// CHECK:           %[[LEN:.+]] = affine.min
// CHECK:           math.exp %{{.+}} : vector<128xf32>
// CHECK:           vector.transfer_read %{{.+}} {in_bounds = [false, true]} : memref<?x32xf16, strided<[128, 1], offset: ?>>, vector<128x32xf16>
// CHECK:           %[[WB:.+]] = arith.mulf %{{.+}} : vector<128x32xf32>
// CHECK:           %[[X:.+]] = vector.transfer_read %{{.+}} {in_bounds = [false, true]} : memref<?x80xf16, strided<[1920, 1], offset: ?>>, vector<128x80xf16>
// CHECK-NEXT:      vector.broadcast %[[LEN]] : index to vector<128xindex>
// CHECK:           %[[W:.+]] = arith.select %{{.+}}, %[[WB]], %{{.+}} : vector<128x32xi1>, vector<128x32xf32>
// CHECK-NEXT:      %[[MASKED:.+]] = arith.truncf %[[W]] : vector<128x32xf32> to vector<128x32xf16>
// CHECK:           %[[DECAYED:.+]] = arith.mulf %{{.+}}, %[[H]] : vector<80x32xf32>
// CHECK-NEXT:      %[[NEXT:.+]] = vector.contract {indexing_maps = [#[[$KM]], #[[$KN]], #[[$MN]]], {{.+}}} %[[X]], %[[MASKED]], %[[DECAYED]] : vector<128x80xf16>, vector<128x32xf16> into vector<80x32xf32>
// CHECK-NEXT:      scf.yield %[[NEXT]]
// CHECK:         vector.transfer_write %[[LAST]], %{{.+}} {in_bounds = [true, true]} : vector<80x32xf32>, memref<80x32xf32, strided<[128, 1], offset: ?>>
// CHECK-NEXT:    gpu.return

#row = affine_map<(i, j) -> (i)>
#all = affine_map<(i, j) -> (i, j)>
#mn = affine_map<(m, n, k) -> (m, n)>
#km = affine_map<(m, n, k) -> (k, m)>
#kn = affine_map<(m, n, k) -> (k, n)>
func.func @state_pass(%x: tensor<?x?x24x80xf16>, %B: tensor<?x?x1x128xf16>,
    %dt: tensor<?x24x?x128xf32>, %g: tensor<?x24x?x128xf32>)
    -> (tensor<?x?x24x80x128xf16>, tensor<?x24x80x128xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c127 = arith.constant 127 : index
  %zero = arith.constant 0.0 : f32
  %batch = tensor.dim %x, %c0 : tensor<?x?x24x80xf16>
  %length = tensor.dim %x, %c1 : tensor<?x?x24x80xf16>
  %chunks = affine.apply affine_map<()[s0] -> (s0 ceildiv 128)>()[%length]
  %empty = tensor.empty(%batch, %chunks) : tensor<?x?x24x80x128xf16>
  %empty2 = tensor.empty(%batch) : tensor<?x24x80x128xf32>
  %r:2 = scf.forall (%b, %head, %n0) = (0, 0, 0) to (%batch, 24, 128) step (1, 1, 32)
      shared_outs(%out = %empty, %outf = %empty2) -> (tensor<?x?x24x80x128xf16>, tensor<?x24x80x128xf32>) {
    %e0 = tensor.empty() : tensor<80x32xf32>
    %h0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<80x32xf32>) -> tensor<80x32xf32>
    %s0 = tensor.empty(%chunks) : tensor<1x?x1x80x32xf16>
    %l:2 = scf.for %c = %c0 to %chunks step %c1 iter_args(%h = %h0, %states = %s0) -> (tensor<80x32xf32>, tensor<1x?x1x80x32xf16>) {
      %e1 = tensor.empty() : tensor<80x32xf16>
      %hs = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%h : tensor<80x32xf32>) outs(%e1 : tensor<80x32xf16>) {
      ^bb0(%a: f32, %o: f16):
        %t = arith.truncf %a : f32 to f16
        linalg.yield %t : f16
      } -> tensor<80x32xf16>
      %ins = tensor.insert_slice %hs into %states[0, %c, 0, 0, 0] [1, 1, 1, 80, 32] [1, 1, 1, 1, 1] : tensor<80x32xf16> into tensor<1x?x1x80x32xf16>
      %first = affine.apply affine_map<(d0) -> (d0 * 128)>(%c)
      %len = affine.min affine_map<(d0)[s0] -> (d0 * -128 + s0, 128)>(%c)[%length]
      %xc = tensor.extract_slice %x[%b, %first, %head, 0] [1, %len, 1, 80] [1, 1, 1, 1] : tensor<?x?x24x80xf16> to tensor<?x80xf16>
      %Bc = tensor.extract_slice %B[%b, %first, 0, %n0] [1, %len, 1, 32] [1, 1, 1, 1] : tensor<?x?x1x128xf16> to tensor<?x32xf16>
      %dtc = tensor.extract_slice %dt[%b, %head, %c, 0] [1, 1, 1, %len] [1, 1, 1, 1] : tensor<?x24x?x128xf32> to tensor<?xf32>
      %gc = tensor.extract_slice %g[%b, %head, %c, 0] [1, 1, 1, %len] [1, 1, 1, 1] : tensor<?x24x?x128xf32> to tensor<?xf32>
      %last = tensor.extract %g[%b, %head, %c, %c127] : tensor<?x24x?x128xf32>
      %e2 = tensor.empty(%len) : tensor<?xf32>
      %w = linalg.generic {indexing_maps = [affine_map<(t) -> (t)>, affine_map<(t) -> (t)>, affine_map<(t) -> (t)>], iterator_types = ["parallel"]} ins(%dtc, %gc : tensor<?xf32>, tensor<?xf32>) outs(%e2 : tensor<?xf32>) {
      ^bb0(%a: f32, %q: f32, %o: f32):
        %diff = arith.subf %last, %q : f32
        %low = arith.minimumf %diff, %zero : f32
        %exp = math.exp %low : f32
        %p = arith.mulf %a, %exp : f32
        linalg.yield %p : f32
      } -> tensor<?xf32>
      %e3 = tensor.empty(%len) : tensor<?x32xf16>
      %wB = linalg.generic {indexing_maps = [#row, #all, #all], iterator_types = ["parallel", "parallel"]} ins(%w, %Bc : tensor<?xf32>, tensor<?x32xf16>) outs(%e3 : tensor<?x32xf16>) {
      ^bb0(%a: f32, %q: f16, %o: f16):
        %qf = arith.extf %q : f16 to f32
        %p = arith.mulf %a, %qf : f32
        %t = arith.truncf %p : f32 to f16
        linalg.yield %t : f16
      } -> tensor<?x32xf16>
      %e4 = tensor.empty() : tensor<80x32xf32>
      %f4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<80x32xf32>) -> tensor<80x32xf32>
      %contrib = linalg.matmul indexing_maps = [#km, #kn, #mn] ins(%xc, %wB : tensor<?x80xf16>, tensor<?x32xf16>) outs(%f4 : tensor<80x32xf32>) -> tensor<80x32xf32>
      %lowl = arith.minimumf %last, %zero : f32
      %decay = math.exp %lowl : f32
      %hn = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%contrib : tensor<80x32xf32>) outs(%h : tensor<80x32xf32>) {
      ^bb0(%a: f32, %o: f32):
        %p = arith.mulf %decay, %o : f32
        %q = arith.addf %p, %a : f32
        linalg.yield %q : f32
      } -> tensor<80x32xf32>
      scf.yield %hn, %ins : tensor<80x32xf32>, tensor<1x?x1x80x32xf16>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %l#1 into %out[%b, 0, %head, 0, %n0] [1, %chunks, 1, 80, 32] [1, 1, 1, 1, 1] : tensor<1x?x1x80x32xf16> into tensor<?x?x24x80x128xf16>
      tensor.parallel_insert_slice %l#0 into %outf[%b, %head, 0, %n0] [1, 1, 80, 32] [1, 1, 1, 1] : tensor<80x32xf32> into tensor<?x24x80x128xf32>
    }
  } {mamba.kernel = "state_pass", mapping = [#gpu.block<linear_dim_2>, #gpu.block<linear_dim_1>, #gpu.block<linear_dim_0>]}
  return %r#0, %r#1 : tensor<?x?x24x80x128xf16>, tensor<?x24x80x128xf32>
}

// -----

// Causal linear attention in f32, o = tril(q k^T) v: nothing of Mamba. The
// queries are read once, before the loop.

// CHECK-LABEL: gpu.func @attention_attention(
// CHECK-SAME:      mamba.vectorized
// CHECK-NOT:     {{alloc|copy|linalg}}
// CHECK:         %[[Q:.+]] = vector.transfer_read %{{.+}} {in_bounds = [false, true]} : memref<?x80xf32, strided<[80, 1], offset: ?>>, vector<64x80xf32>
// CHECK:         %[[O:.+]] = scf.for %{{.+}} iter_args(%[[SUM:.+]] = %{{.+}}) -> (vector<64x48xf32>) {
// CHECK:           %[[K:.+]] = vector.transfer_read %{{.+}} {in_bounds = [false, true]} : memref<?x80xf32, strided<[80, 1], offset: ?>>, vector<32x80xf32>
// CHECK-NEXT:      %[[S:.+]] = vector.contract {{.+}} %[[Q]], %[[K]], %{{.+}} : vector<64x80xf32>, vector<32x80xf32> into vector<64x32xf32>
// CHECK:           %[[SEEN:.+]] = arith.cmpi ule
// CHECK:           %[[V:.+]] = vector.transfer_read %{{.+}} {in_bounds = [false, true]} : memref<?x48xf32, strided<[48, 1], offset: ?>>, vector<32x48xf32>
// CHECK:           %[[BOTH:.+]] = arith.andi %[[SEEN]], %{{.+}}
// CHECK-NEXT:      %[[PM:.+]] = arith.select %[[BOTH]], %[[S]], %{{.+}}
// CHECK-NEXT:      vector.contract {{.+}} %[[PM]], %[[V]], %[[SUM]]
// CHECK:         vector.transfer_write %[[O]], %{{.+}} {in_bounds = [false, true]} : vector<64x48xf32>, memref<?x48xf32, strided<[48, 1], offset: ?>>

func.func @attention(%q: tensor<?x80xf32>, %k: tensor<?x80xf32>, %v: tensor<?x48xf32>) -> tensor<?x48xf32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %q, %c0 : tensor<?x80xf32>
  %empty = tensor.empty(%n) : tensor<?x48xf32>
  %o = scf.forall (%i0) = (0) to (%n) step (64) shared_outs(%out = %empty) -> (tensor<?x48xf32>) {
    %rows = affine.min affine_map<(d0)[s0] -> (s0 - d0, 64)>(%i0)[%n]
    %qi = tensor.extract_slice %q[%i0, 0] [%rows, 80] [1, 1] : tensor<?x80xf32> to tensor<?x80xf32>
    %e0 = tensor.empty(%rows) : tensor<?x48xf32>
    %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<?x48xf32>) -> tensor<?x48xf32>
    %end = affine.min affine_map<(d0)[s0] -> (s0, d0 + 64)>(%i0)[%n]
    %acc = scf.for %j0 = %c0 to %end step %c32 iter_args(%a = %f0) -> (tensor<?x48xf32>) {
      %cols = affine.min affine_map<(d0)[s0] -> (s0 - d0, 32)>(%j0)[%n]
      %kj = tensor.extract_slice %k[%j0, 0] [%cols, 80] [1, 1] : tensor<?x80xf32> to tensor<?x80xf32>
      %vj = tensor.extract_slice %v[%j0, 0] [%cols, 48] [1, 1] : tensor<?x48xf32> to tensor<?x48xf32>
      %e1 = tensor.empty(%rows, %cols) : tensor<?x?xf32>
      %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x?xf32>) -> tensor<?x?xf32>
      %s = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
          ins(%qi, %kj : tensor<?x80xf32>, tensor<?x80xf32>) outs(%f1 : tensor<?x?xf32>) -> tensor<?x?xf32>
      %p = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%s : tensor<?x?xf32>) {
      ^bb0(%x: f32):
        %i = linalg.index 0 : index
        %j = linalg.index 1 : index
        %ii = affine.apply affine_map<(d0)[s0] -> (d0 + s0)>(%i)[%i0]
        %jj = affine.apply affine_map<(d0)[s0] -> (d0 + s0)>(%j)[%j0]
        %seen = arith.cmpi ule, %jj, %ii : index
        %y = arith.select %seen, %x, %zero : f32
        linalg.yield %y : f32
      } -> tensor<?x?xf32>
      %next = linalg.matmul ins(%p, %vj : tensor<?x?xf32>, tensor<?x48xf32>) outs(%a : tensor<?x48xf32>) -> tensor<?x48xf32>
      scf.yield %next : tensor<?x48xf32>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %acc into %out[%i0, 0] [%rows, 48] [1, 1] : tensor<?x48xf32> into tensor<?x48xf32>
    }
  } {mamba.kernel = "attention", mapping = [#gpu.block<linear_dim_0>]}
  return %o : tensor<?x48xf32>
}
