// The meaning of a chunk operation's unit tile: where it rounds, and that it
// takes no exponential of a positive number. mamba.ssu: to-linalg-ssu.mlir.

// RUN: mamba-opt %s --mamba-to-linalg --canonicalize --cse --split-input-file \
// RUN:   | FileCheck %s

//===----------------------------------------------------------------------===//
// chunk_cumsum
//===----------------------------------------------------------------------===//

// The bias first, the clamp last; 0 past the end of a short chunk.
// Steps are read by tokens and heads, and from then on heads come first.
// CHECK-DAG: #[[$TURNED:.+]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[$HEAD:.+]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #[[$ALL:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @chunk_cumsum
// CHECK-SAME:    %[[DT:[a-z0-9]+]]: tensor<1x?x1xbf16>, %[[A:[a-z0-9]+]]: tensor<1xf32>, %[[BIAS:[a-z0-9]+]]: tensor<1xf16>
func.func @chunk_cumsum(%dt: tensor<1x?x1xbf16>, %A: tensor<1xf32>, %bias: tensor<1xf16>)
    -> (tensor<1x1x1x16xf32>, tensor<1x1x1x16xf32>) {
  // CHECK-DAG: %[[LO:.+]] = arith.constant 1.000000e-03 : f32
  // CHECK-DAG: %[[HI:.+]] = arith.constant 1.000000e-01 : f32
  // CHECK-DAG: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
  // CHECK: linalg.generic {indexing_maps = [#[[$TURNED]], #[[$HEAD]], #[[$ALL]]]{{.*}} ins(%{{.+}}, %[[BIAS]] : tensor<?x1xbf16>, tensor<1xf16>) outs(%{{.+}} : tensor<1x?xf32>)
  // CHECK: ^bb0(%[[IN:[a-z0-9_]+]]: bf16, %[[BIAS16:[a-z0-9_]+]]: f16, %{{[a-z0-9_]+}}: f32):
  // CHECK-NEXT: %[[WIDE:.+]] = arith.extf %[[IN]]
  // CHECK-NEXT: %[[BIAS32:.+]] = arith.extf %[[BIAS16]] : f16 to f32
  // CHECK-NEXT: %[[U:.+]] = arith.addf %[[WIDE]], %[[BIAS32]]
  // CHECK-NEXT: %[[ABS:.+]] = math.absf %[[U]]
  // CHECK-NEXT: %[[NEG:.+]] = arith.negf %[[ABS]]
  // CHECK-NEXT: %[[EXP:.+]] = math.exp %[[NEG]]
  // CHECK-NEXT: %[[LOG:.+]] = math.log1p %[[EXP]]
  // CHECK-NEXT: %[[MAX:.+]] = arith.maximumf %[[U]], %[[ZERO]]
  // CHECK-NEXT: %[[V:.+]] = arith.addf %[[MAX]], %[[LOG]]
  // CHECK-NEXT: %[[ATLEAST:.+]] = arith.maximumf %[[V]], %[[LO]]
  // CHECK-NEXT: %[[ATMOST:.+]] = arith.minimumf %[[ATLEAST]], %[[HI]]
  // CHECK-NEXT: linalg.yield %[[ATMOST]]
  // CHECK: %[[ZEROS:.+]] = linalg.fill ins(%[[ZERO]] : f32)
  // CHECK: %[[STEPS:.+]] = tensor.insert_slice %{{.+}} into %[[ZEROS]][0, 0] [1, %{{.+}}] [1, 1] : tensor<1x?xf32> into tensor<1x16xf32>
  // The sum counts element j at i >= j.
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[A]], %[[STEPS]] : tensor<1xf32>, tensor<1x16xf32>) outs(%[[ZEROS]] : tensor<1x16xf32>)
  // CHECK: ^bb0(%[[AH:[a-z0-9_]+]]: f32, %[[D:[a-z0-9_]+]]: f32, %[[SUM:[a-z0-9_]+]]: f32):
  // CHECK-DAG: %[[J:.+]] = linalg.index 2
  // CHECK-DAG: %[[I:.+]] = linalg.index 1
  // CHECK: %[[JOINS:.+]] = arith.cmpi ule, %[[J]], %[[I]]
  // CHECK: %[[AD:.+]] = arith.mulf %[[AH]], %[[D]]
  // CHECK: %[[TERM:.+]] = arith.select %[[JOINS]], %[[AD]], %[[ZERO]]
  // CHECK: arith.addf %[[SUM]], %[[TERM]]
  %d, %cs = mamba.chunk_cumsum chunk_size(16) softplus dt_limit(0.001, 0.1)
      dt(%dt : tensor<1x?x1xbf16>) A(%A : tensor<1xf32>) dt_bias(%bias : tensor<1xf16>)
      -> tensor<1x1x1x16xf32>, tensor<1x1x1x16xf32>
  return %d, %cs : tensor<1x1x1x16xf32>, tensor<1x1x1x16xf32>
}

// -----

// The default limits are (0, inf): without softplus 0 is a bound.
// CHECK-LABEL: func @default_limits
func.func @default_limits(%dt: tensor<1x16x1xf32>, %A: tensor<1xf32>)
    -> (tensor<1x1x1x16xf32>, tensor<1x1x1x16xf32>) {
  // CHECK: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
  // CHECK: ^bb0(%[[IN:[a-z0-9_]+]]: f32, %{{[a-z0-9_]+}}: f32):
  // CHECK-NEXT: %[[V:.+]] = arith.maximumf %[[IN]], %[[ZERO]]
  // CHECK-NEXT: linalg.yield %[[V]]
  %d, %cs = mamba.chunk_cumsum chunk_size(16) dt(%dt : tensor<1x16x1xf32>)
      A(%A : tensor<1xf32>) -> tensor<1x1x1x16xf32>, tensor<1x1x1x16xf32>
  return %d, %cs : tensor<1x1x1x16xf32>, tensor<1x1x1x16xf32>
}

// -----

// Limits that f32 does not reach are not computed.
// CHECK-LABEL: func @no_limits
// CHECK-NOT:     arith.maximumf
// CHECK-NOT:     arith.minimumf
// CHECK:         return
func.func @no_limits(%dt: tensor<1x16x1xf32>, %A: tensor<1xf32>)
    -> (tensor<1x1x1x16xf32>, tensor<1x1x1x16xf32>) {
  %d, %cs = mamba.chunk_cumsum chunk_size(16) dt_limit(-1.0e308, 1.0e308)
      dt(%dt : tensor<1x16x1xf32>) A(%A : tensor<1xf32>)
      -> tensor<1x1x1x16xf32>, tensor<1x1x1x16xf32>
  return %d, %cs : tensor<1x1x1x16xf32>, tensor<1x1x1x16xf32>
}

// -----

// Nor is a lower bound of 0 after softplus.
// CHECK-LABEL: func @softplus_is_not_negative
func.func @softplus_is_not_negative(%dt: tensor<1x16x1xf32>, %A: tensor<1xf32>)
    -> (tensor<1x1x1x16xf32>, tensor<1x1x1x16xf32>) {
  // CHECK: math.log1p
  // CHECK-NEXT: arith.maximumf
  // CHECK-NEXT: %[[V:.+]] = arith.addf
  // CHECK-NEXT: linalg.yield %[[V]]
  %d, %cs = mamba.chunk_cumsum chunk_size(16) softplus dt(%dt : tensor<1x16x1xf32>)
      A(%A : tensor<1xf32>) -> tensor<1x1x1x16xf32>, tensor<1x1x1x16xf32>
  return %d, %cs : tensor<1x1x1x16xf32>, tensor<1x1x1x16xf32>
}

// -----

//===----------------------------------------------------------------------===//
// chunk_state
//===----------------------------------------------------------------------===//

// The weighted B is rounded, and the product of it accumulates in f32.
// CHECK-DAG:   #[[$M:.+]] = affine_map<(d0, d1, d2) -> (d2, d0)>
// CHECK-DAG:   #[[$N:.+]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-LABEL: func @chunk_state
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x?x1x8xbf16>, %[[B:[a-z0-9]+]]: tensor<1x?x1x6xbf16>, %[[D:[a-z0-9]+]]: tensor<1x1x1x16xf32>, %[[CS:[a-z0-9]+]]: tensor<1x1x1x16xf32>
func.func @chunk_state(%x: tensor<1x?x1x8xbf16>, %B: tensor<1x?x1x6xbf16>,
                       %d: tensor<1x1x1x16xf32>, %cs: tensor<1x1x1x16xf32>)
    -> tensor<1x1x1x8x6xf32> {
  // CHECK-DAG: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
  // CHECK-DAG: %[[XT:.+]] = tensor.extract_slice %[[X]][0, 0, 0, 0] [1, %{{.+}}, 1, 8] {{.*}} to tensor<?x8xbf16>
  // CHECK-DAG: %[[BT:.+]] = tensor.extract_slice %[[B]][0, 0, 0, 0] [1, %{{.+}}, 1, 6] {{.*}} to tensor<?x6xbf16>
  // Only the tokens that there are; the last sum is the whole chunk's.
  // CHECK-DAG: %[[L:.+]] = tensor.dim %[[XT]], %c0
  // CHECK-DAG: %[[DT:.+]] = tensor.extract_slice %[[D]][0, 0, 0, 0] [1, 1, 1, %[[L]]] {{.*}} to tensor<?xf32>
  // CHECK-DAG: %[[CST:.+]] = tensor.extract_slice %[[CS]][0, 0, 0, 0] [1, 1, 1, %[[L]]] {{.*}} to tensor<?xf32>
  // CHECK-DAG: %[[LAST:.+]] = tensor.extract %[[CS]][%c0, %c0, %c0, %c15]
  // CHECK: %[[W:.+]] = linalg.generic {{.*}} ins(%[[DT]], %[[CST]] :
  // CHECK: ^bb0(%[[DK:[a-z0-9_]+]]: f32, %[[CSK:[a-z0-9_]+]]: f32, %{{[a-z0-9_]+}}: f32):
  // CHECK-NEXT: %[[DIFF:.+]] = arith.subf %[[LAST]], %[[CSK]]
  // CHECK-NEXT: %[[MIN:.+]] = arith.minimumf %[[DIFF]], %[[ZERO]]
  // CHECK-NEXT: %[[EXP:.+]] = math.exp %[[MIN]]
  // CHECK-NEXT: %[[WK:.+]] = arith.mulf %[[DK]], %[[EXP]]
  // CHECK-NEXT: linalg.yield %[[WK]]
  // CHECK: %[[WB:.+]] = linalg.generic {{.*}} ins(%[[W]], %[[BT]] :
  // CHECK: ^bb0(%[[WK:[a-z0-9_]+]]: f32, %[[BKN:[a-z0-9_]+]]: bf16, %{{[a-z0-9_]+}}: bf16):
  // CHECK-NEXT: %[[WIDE:.+]] = arith.extf %[[BKN]]
  // CHECK-NEXT: %[[PROD:.+]] = arith.mulf %[[WK]], %[[WIDE]]
  // CHECK-NEXT: %[[ROUND:.+]] = arith.truncf %[[PROD]] : f32 to bf16
  // CHECK-NEXT: linalg.yield %[[ROUND]]
  // CHECK: %[[ACC:.+]] = linalg.fill ins(%[[ZERO]] : f32) {{.*}} -> tensor<8x6xf32>
  // CHECK: linalg.matmul indexing_maps = [#[[$M]], #[[$N]], #{{.+}}] ins(%[[XT]], %[[WB]] : tensor<?x8xbf16>, tensor<?x6xbf16>) outs(%[[ACC]] : tensor<8x6xf32>)
  %s = mamba.chunk_state x(%x : tensor<1x?x1x8xbf16>) B(%B : tensor<1x?x1x6xbf16>)
      dt(%d : tensor<1x1x1x16xf32>) dA_cumsum(%cs : tensor<1x1x1x16xf32>)
      -> tensor<1x1x1x8x6xf32>
  return %s : tensor<1x1x1x8x6xf32>
}

// -----

// Only tokens of the last token's sequence count, and none if that is padding.
// CHECK-LABEL: func @chunk_state_packed
// CHECK-SAME:    %[[ID:[a-z0-9]+]]: tensor<1x?xi32>
func.func @chunk_state_packed(%id: tensor<1x?xi32>, %x: tensor<1x?x1x8xf32>,
                              %B: tensor<1x?x1x6xf32>, %d: tensor<1x1x1x16xf32>)
    -> tensor<1x1x1x8x6xf32> {
  // CHECK-DAG: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
  // CHECK-DAG: %[[END:.+]] = arith.subi %{{.+}}, %c1
  // CHECK-DAG: %[[LAST:.+]] = tensor.extract %[[ID]][%c0, %[[END]]]
  // CHECK: linalg.generic
  // CHECK: ^bb0(%{{[a-z0-9_]+}}: f32, %{{[a-z0-9_]+}}: f32, %[[IDK:[a-z0-9_]+]]: i32, %{{[a-z0-9_]+}}: f32):
  // CHECK: %[[W:.+]] = arith.mulf
  // CHECK-NEXT: %[[SAME:.+]] = arith.cmpi eq, %[[IDK]], %[[LAST]]
  // CHECK-NEXT: %[[TOKEN:.+]] = arith.cmpi sge, %[[LAST]], %c0_i32
  // CHECK-NEXT: %[[COUNTS:.+]] = arith.andi %[[SAME]], %[[TOKEN]]
  // CHECK-NEXT: %[[WK:.+]] = arith.select %[[COUNTS]], %[[W]], %[[ZERO]]
  // CHECK-NEXT: linalg.yield %[[WK]]
  // f32 is never rounded.
  // CHECK-NOT: arith.truncf
  // CHECK: return
  %s = mamba.chunk_state x(%x : tensor<1x?x1x8xf32>) B(%B : tensor<1x?x1x6xf32>)
      dt(%d : tensor<1x1x1x16xf32>) dA_cumsum(%d : tensor<1x1x1x16xf32>)
      seq_idx(%id : tensor<1x?xi32>) -> tensor<1x1x1x8x6xf32>
  return %s : tensor<1x1x1x8x6xf32>
}

// -----

//===----------------------------------------------------------------------===//
// state_pass
//===----------------------------------------------------------------------===//

// The state is f32 from chunk to chunk; what is stored is rounded, each to its
// own type.
// CHECK-LABEL: func @state_pass
// CHECK-SAME:    %[[S:[a-z0-9]+]]: tensor<1x?x1x8x6xf32>, %[[CS:[a-z0-9]+]]: tensor<1x1x?x16xf32>, %[[INIT:[a-z0-9]+]]: tensor<1x1x8x6xf16>
func.func @state_pass(%s: tensor<1x?x1x8x6xf32>, %cs: tensor<1x1x?x16xf32>,
                      %init: tensor<1x1x8x6xf16>)
    -> (tensor<1x?x1x8x6xbf16>, tensor<1x1x8x6xf16>, tensor<1x1xf32>) {
  // CHECK-DAG: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
  // CHECK-DAG: %[[NC:.+]] = tensor.dim %[[S]], %c1
  // CHECK: %[[START:.+]] = linalg.generic {{.*}} outs(%{{.+}} : tensor<8x6xf32>)
  // CHECK: arith.extf %{{.+}} : f16 to f32
  // CHECK: %[[LOOP:.+]]:3 = scf.for %[[C:.+]] = %c0 to %[[NC]] step %c1 iter_args(%[[H:.+]] = %[[START]], %[[OUT:.+]] = %{{.+}}, %[[TOTAL:.+]] = %[[ZERO]])
  // The state entering the chunk is stored before the update.
  // CHECK: linalg.generic {{.*}} ins(%[[H]] : tensor<8x6xf32>) outs(%{{.+}} : tensor<8x6xbf16>)
  // CHECK: arith.truncf %{{.+}} : f32 to bf16
  // CHECK: %[[STORED:.+]] = tensor.insert_slice %{{.+}} into %[[OUT]][0, %[[C]], 0, 0, 0] [1, 1, 1, 8, 6]
  // CHECK: %[[LAST:.+]] = tensor.extract %[[CS]][%c0, %c0, %[[C]], %c15]
  // CHECK: %[[MIN:.+]] = arith.minimumf %[[LAST]], %[[ZERO]]
  // CHECK: %[[FACTOR:.+]] = math.exp %[[MIN]]
  // CHECK: %[[ADDED:.+]] = tensor.extract_slice %[[S]][0, %[[C]], 0, 0, 0] [1, 1, 1, 8, 6]
  // CHECK: %[[NEXT:.+]] = linalg.generic {{.*}} ins(%[[ADDED]] : tensor<8x6xf32>) outs(%[[H]] : tensor<8x6xf32>)
  // CHECK: ^bb0(%[[SPN:[a-z0-9_]+]]: f32, %[[HPN:[a-z0-9_]+]]: f32):
  // CHECK-NEXT: %[[KEPT:.+]] = arith.mulf %[[FACTOR]], %[[HPN]]
  // CHECK-NEXT: %[[SUM:.+]] = arith.addf %[[KEPT]], %[[SPN]]
  // CHECK-NEXT: linalg.yield %[[SUM]]
  // CHECK: %[[DECAY:.+]] = arith.addf %[[TOTAL]], %[[LAST]]
  // CHECK: scf.yield %[[NEXT]], %[[STORED]], %[[DECAY]]
  // CHECK: linalg.generic {{.*}} ins(%[[LOOP]]#0 : tensor<8x6xf32>) outs(%{{.+}} : tensor<8x6xf16>)
  // CHECK: arith.truncf %{{.+}} : f32 to f16
  // CHECK: %[[TD:.+]] = tensor.from_elements %[[LOOP]]#2 : tensor<1x1xf32>
  // CHECK: return %[[LOOP]]#1, %{{.+}}, %[[TD]]
  %h, %last, %decay = mamba.state_pass states(%s : tensor<1x?x1x8x6xf32>)
      dA_cumsum(%cs : tensor<1x1x?x16xf32>) initial_state(%init : tensor<1x1x8x6xf16>)
      -> chunk_states(tensor<1x?x1x8x6xbf16>) final_state(tensor<1x1x8x6xf16>)
         total_decay(tensor<1x1xf32>)
  return %h, %last, %decay
      : tensor<1x?x1x8x6xbf16>, tensor<1x1x8x6xf16>, tensor<1x1xf32>
}

// -----

// States that nobody reads are not kept.
// CHECK-LABEL: func @state_pass_only_last
// CHECK:         scf.for {{.*}} -> (tensor<8x6xf32>) {
// CHECK-NOT:     tensor.insert_slice
// CHECK:         scf.yield
func.func @state_pass_only_last(%s: tensor<1x?x1x8x6xf32>, %cs: tensor<1x1x?x16xf32>)
    -> tensor<1x1x8x6xf32> {
  %h, %last = mamba.state_pass states(%s : tensor<1x?x1x8x6xf32>)
      dA_cumsum(%cs : tensor<1x1x?x16xf32>) -> chunk_states(tensor<1x?x1x8x6xf32>)
      final_state(tensor<1x1x8x6xf32>)
  return %last : tensor<1x1x8x6xf32>
}

// -----

// Unless the chunk is of the sequence carried in from its first to its last
// token, nothing is carried and the decay is -inf. The first chunk's
// predecessor has id 0, and the last chunk may be short.
// CHECK-DAG:   #[[$LAST:.+]] = affine_map<(d0)[s0] -> (s0 - 1, d0 * 16 + 15)>
// CHECK-DAG:   #[[$FIRST:.+]] = affine_map<(d0) -> (d0 * 16)>
// CHECK-LABEL: func @state_pass_packed
// CHECK-SAME:    %[[ID:[a-z0-9]+]]: tensor<1x?xi32>
func.func @state_pass_packed(%id: tensor<1x?xi32>, %s: tensor<1x?x1x8x6xf32>,
                             %cs: tensor<1x1x?x16xf32>)
    -> (tensor<1x?x1x8x6xf32>, tensor<1x1xf32>) {
  // CHECK-DAG: %[[INF:.+]] = arith.constant 0xFF800000 : f32
  // CHECK-DAG: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
  // CHECK-DAG: %[[START:.+]] = linalg.fill ins(%[[ZERO]] : f32)
  // CHECK: scf.for %[[C:.+]] = {{.*}} iter_args(%{{.+}} = %[[START]], %{{.+}} = %{{.+}}, %[[TOTAL:.+]] = %[[ZERO]], %[[PREV:.+]] = %c0_i32)
  // CHECK: %[[LAST:.+]] = tensor.extract %{{.+}}[%c0, %c0, %[[C]], %c15]
  // CHECK: %[[L:.+]] = tensor.dim %[[ID]], %c1
  // CHECK: %[[T:.+]] = affine.min #[[$LAST]](%[[C]])[%[[L]]]
  // CHECK: %[[IDC:.+]] = tensor.extract %[[ID]][%c0, %[[T]]]
  // CHECK: %[[T0:.+]] = affine.apply #[[$FIRST]](%[[C]])
  // CHECK: %[[ID0:.+]] = tensor.extract %[[ID]][%c0, %[[T0]]]
  // CHECK-DAG: %[[ENDS:.+]] = arith.cmpi eq, %[[IDC]], %[[PREV]]
  // CHECK-DAG: %[[STARTS:.+]] = arith.cmpi eq, %[[ID0]], %[[PREV]]
  // CHECK-DAG: %[[SAME:.+]] = arith.andi %[[ENDS]], %[[STARTS]]
  // CHECK: linalg.generic
  // CHECK: %[[KEPT:.+]] = arith.mulf
  // CHECK: %[[CARRIED:.+]] = arith.select %[[SAME]], %[[KEPT]], %[[ZERO]]
  // CHECK: arith.addf %[[CARRIED]],
  // CHECK: %[[TERM:.+]] = arith.select %[[SAME]], %[[LAST]], %[[INF]]
  // CHECK: %[[DECAY:.+]] = arith.addf %[[TOTAL]], %[[TERM]]
  // CHECK: scf.yield %{{.+}}, %{{.+}}, %[[DECAY]], %[[IDC]]
  %h, %decay = mamba.state_pass states(%s : tensor<1x?x1x8x6xf32>)
      dA_cumsum(%cs : tensor<1x1x?x16xf32>) seq_idx(%id : tensor<1x?xi32>)
      -> chunk_states(tensor<1x?x1x8x6xf32>) total_decay(tensor<1x1xf32>)
  return %h, %decay : tensor<1x?x1x8x6xf32>, tensor<1x1xf32>
}

// -----

//===----------------------------------------------------------------------===//
// Larger operations
//===----------------------------------------------------------------------===//

// An operation that is no unit tile is tiled to them with scf.for. Its `inner`
// sizes go to the linalg operation that ends each tile.
// CHECK-LABEL: func @loops
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK:               linalg.generic
// CHECK-NOT:           mamba.plan
// CHECK:               linalg.matmul {{.*}}mamba.plan = #mamba.plan<chunk_parallel tile[1, 1, 1, 0, 0] inner[0, 2, 0]>
// CHECK-NOT:     mamba.chunk_state
// CHECK:         return
func.func @loops(%x: tensor<2x?x4x8xbf16>, %B: tensor<2x?x1x6xbf16>, %d: tensor<2x4x?x16xf32>)
    -> tensor<2x?x4x8x6xf32> {
  %s = mamba.chunk_state x(%x : tensor<2x?x4x8xbf16>) B(%B : tensor<2x?x1x6xbf16>)
      dt(%d : tensor<2x4x?x16xf32>) dA_cumsum(%d : tensor<2x4x?x16xf32>)
      {mamba.plan = #mamba.plan<chunk_parallel tile [1, 1, 1, 0, 0] inner [0, 2, 0]>}
      -> tensor<2x?x4x8x6xf32>
  return %s : tensor<2x?x4x8x6xf32>
}

// -----

// A tile's result goes into the whole without its unit dimensions.
// CHECK-LABEL: func @insert
// CHECK:         %[[SUM:.+]] = linalg.matmul
// CHECK-NEXT:    tensor.insert_slice %[[SUM]] into %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}, 0, 0] [1, 1, 1, 8, 6] [1, 1, 1, 1, 1] : tensor<8x6xf32> into tensor<2x?x4x8x6xf32>
func.func @insert(%x: tensor<2x?x4x8xbf16>, %B: tensor<2x?x1x6xbf16>, %d: tensor<2x4x?x16xf32>)
    -> tensor<2x?x4x8x6xf32> {
  %s = mamba.chunk_state x(%x : tensor<2x?x4x8xbf16>) B(%B : tensor<2x?x1x6xbf16>)
      dt(%d : tensor<2x4x?x16xf32>) dA_cumsum(%d : tensor<2x4x?x16xf32>)
      -> tensor<2x?x4x8x6xf32>
  return %s : tensor<2x?x4x8x6xf32>
}
