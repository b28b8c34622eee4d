// The meaning of mamba.chunk_out's unit tile.

// RUN: mamba-opt %s --mamba-to-linalg --canonicalize --cse --split-input-file \
// RUN:   | FileCheck %s

// CHECK-DAG:   #[[$MK:.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG:   #[[$NK:.+]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG:   #[[$ROWCOL:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG:   #[[$ROW:.+]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG:   #[[$COL:.+]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @least
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x?x1x8xbf16>, %[[B:[a-z0-9]+]]: tensor<1x?x1x6xbf16>, %[[C:[a-z0-9]+]]: tensor<1x?x1x6xbf16>, %[[D:[a-z0-9]+]]: tensor<1x1x1x16xf32>, %[[CS:[a-z0-9]+]]: tensor<1x1x1x16xf32>, %[[H:[a-z0-9]+]]: tensor<1x1x1x8x6xf32>
func.func @least(%x: tensor<1x?x1x8xbf16>, %B: tensor<1x?x1x6xbf16>, %C: tensor<1x?x1x6xbf16>,
                 %d: tensor<1x1x1x16xf32>, %cs: tensor<1x1x1x16xf32>,
                 %h: tensor<1x1x1x8x6xf32>) -> tensor<1x?x1x8xbf16> {
  // CHECK-DAG: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
  // CHECK-DAG: %[[XT:.+]] = tensor.extract_slice %[[X]]{{.*}} to tensor<?x8xbf16>
  // CHECK-DAG: %[[BT:.+]] = tensor.extract_slice %[[B]]{{.*}} to tensor<?x6xbf16>
  // CHECK-DAG: %[[CT:.+]] = tensor.extract_slice %[[C]]{{.*}} to tensor<?x6xbf16>
  // CHECK-DAG: %[[DT:.+]] = tensor.extract_slice %[[D]]{{.*}} to tensor<?xf32>
  // CHECK-DAG: %[[CST:.+]] = tensor.extract_slice %[[CS]]{{.*}} to tensor<?xf32>
  // CHECK: %[[CB:.+]] = linalg.matmul indexing_maps = [#[[$MK]], #[[$NK]], #{{.+}}] ins(%[[CT]], %[[BT]] : {{.*}}) outs(%{{.+}} : tensor<?x?xf32>)
  // The mask selects, and what it drops is no exponential of a positive number
  // either. W is rounded.
  // CHECK: %[[W:.+]] = linalg.generic {indexing_maps = [#[[$ROWCOL]], #[[$ROW]], #[[$COL]], #[[$COL]], #[[$ROWCOL]]]
  // CHECK-SAME: ins(%[[CB]], %[[CST]], %[[CST]], %[[DT]] :
  // CHECK: ^bb0(%[[CBMK:[a-z0-9_]+]]: f32, %[[CSM:[a-z0-9_]+]]: f32, %[[CSK:[a-z0-9_]+]]: f32, %[[DK:[a-z0-9_]+]]: f32, %{{[a-z0-9_]+}}: bf16):
  // CHECK-DAG: %[[DIFF:.+]] = arith.subf %[[CSM]], %[[CSK]]
  // CHECK-DAG: %[[MIN:.+]] = arith.minimumf %[[DIFF]], %[[ZERO]]
  // CHECK-DAG: %[[EXP:.+]] = math.exp %[[MIN]]
  // CHECK-DAG: %[[DECAYED:.+]] = arith.mulf %[[CBMK]], %[[EXP]]
  // CHECK-DAG: %[[WEIGHT:.+]] = arith.mulf %[[DECAYED]], %[[DK]]
  // CHECK-DAG: %[[K:.+]] = linalg.index 1
  // CHECK-DAG: %[[M:.+]] = linalg.index 0
  // CHECK-DAG: %[[CAUSAL:.+]] = arith.cmpi ule, %[[K]], %[[M]]
  // CHECK-DAG: %[[MASKED:.+]] = arith.select %[[CAUSAL]], %[[WEIGHT]], %[[ZERO]]
  // CHECK: %[[ROUND:.+]] = arith.truncf %[[MASKED]] : f32 to bf16
  // CHECK: linalg.yield %[[ROUND]]
  // CHECK: %[[INSIDE:.+]] = linalg.matmul ins(%[[W]], %[[XT]] : tensor<?x?xbf16>, tensor<?x8xbf16>) outs(%{{.+}} : tensor<?x8xf32>)
  // The state is rounded to the type of x before it is multiplied.
  // CHECK: %[[HT:.+]] = tensor.extract_slice %[[H]]{{.*}} to tensor<8x6xf32>
  // CHECK: %[[H16:.+]] = linalg.generic {{.*}} ins(%[[HT]] : tensor<8x6xf32>) outs(%{{.+}} : tensor<8x6xbf16>)
  // CHECK: arith.truncf
  // CHECK: %[[CH:.+]] = linalg.matmul indexing_maps = [#[[$MK]], #[[$NK]], #{{.+}}] ins(%[[CT]], %[[H16]] : {{.*}}) outs(%{{.+}} : tensor<?x8xf32>)
  // y is rounded once.
  // CHECK: linalg.generic {{.*}} ins(%[[INSIDE]], %[[CH]], %[[CST]] : {{.*}}) outs(%{{.+}} : tensor<?x8xbf16>)
  // CHECK: ^bb0(%[[IN:[a-z0-9_]+]]: f32, %[[CARRIED:[a-z0-9_]+]]: f32, %[[CSM:[a-z0-9_]+]]: f32, %{{[a-z0-9_]+}}: bf16):
  // CHECK-NEXT: %[[MIN:.+]] = arith.minimumf %[[CSM]], %[[ZERO]]
  // CHECK-NEXT: %[[EXP:.+]] = math.exp %[[MIN]]
  // CHECK-NEXT: %[[ENTERING:.+]] = arith.mulf %[[EXP]], %[[CARRIED]]
  // CHECK-NEXT: %[[Y:.+]] = arith.addf %[[IN]], %[[ENTERING]]
  // CHECK-NEXT: %[[ROUND:.+]] = arith.truncf %[[Y]] : f32 to bf16
  // CHECK-NEXT: linalg.yield %[[ROUND]]
  %y = mamba.chunk_out mask<causal> x(%x : tensor<1x?x1x8xbf16>) B(%B : tensor<1x?x1x6xbf16>)
      C(%C : tensor<1x?x1x6xbf16>) dt(%d : tensor<1x1x1x16xf32>)
      dA_cumsum(%cs : tensor<1x1x1x16xf32>) chunk_states(%h : tensor<1x1x1x8x6xf32>)
      -> tensor<1x?x1x8xbf16>
  return %y : tensor<1x?x1x8xbf16>
}

// -----

// A state of the type of x needs no rounding, and f32 none at all.
// CHECK-LABEL: func @f32
// CHECK-NOT:     arith.truncf
// CHECK:         return
func.func @f32(%x: tensor<1x?x1x8xf32>, %B: tensor<1x?x1x6xf32>, %d: tensor<1x1x1x16xf32>,
               %h: tensor<1x1x1x8x6xf32>, %D: tensor<1xf32>, %z: tensor<1x?x1x8xf32>)
    -> tensor<1x?x1x8xf32> {
  %y = mamba.chunk_out mask<causal> x(%x : tensor<1x?x1x8xf32>) B(%B : tensor<1x?x1x6xf32>)
      C(%B : tensor<1x?x1x6xf32>) dt(%d : tensor<1x1x1x16xf32>)
      dA_cumsum(%d : tensor<1x1x1x16xf32>) chunk_states(%h : tensor<1x1x1x8x6xf32>)
      D(%D : tensor<1xf32>) z(%z : tensor<1x?x1x8xf32>) -> tensor<1x?x1x8xf32>
  return %y : tensor<1x?x1x8xf32>
}

// -----

// D of a head, then the gate z * sigmoid(z) of exp(-|z|).
// CHECK-LABEL: func @skip_and_gate
// CHECK-SAME:    %[[D:[a-z0-9]+]]: tensor<1xf16>, %[[Z:[a-z0-9]+]]: tensor<1x?x1x8xbf16>
func.func @skip_and_gate(%D: tensor<1xf16>, %z: tensor<1x?x1x8xbf16>, %x: tensor<1x?x1x8xbf16>,
                         %B: tensor<1x?x1x6xbf16>, %d: tensor<1x1x1x16xf32>,
                         %h: tensor<1x1x1x8x6xbf16>) -> tensor<1x?x1x8xbf16> {
  // CHECK-DAG: %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
  // CHECK-DAG: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
  // CHECK: %[[D16:.+]] = tensor.extract %[[D]][%c0]
  // CHECK: %[[DH:.+]] = arith.extf %[[D16]] : f16 to f32
  // CHECK: linalg.generic
  // CHECK: ^bb0(%{{[a-z0-9_]+}}: f32, %{{[a-z0-9_]+}}: f32, %{{[a-z0-9_]+}}: f32, %[[X16:[a-z0-9_]+]]: bf16, %[[Z16:[a-z0-9_]+]]: bf16, %{{[a-z0-9_]+}}: bf16):
  // CHECK-DAG: %[[XMP:.+]] = arith.extf %[[X16]]
  // CHECK-DAG: %[[ZMP:.+]] = arith.extf %[[Z16]]
  // CHECK-DAG: %[[SKIP:.+]] = arith.mulf %[[DH]], %[[XMP]]
  // CHECK-DAG: %[[Y:.+]] = arith.addf %{{.+}}, %[[SKIP]]
  // CHECK-DAG: %[[ABS:.+]] = math.absf %[[ZMP]]
  // CHECK-DAG: %[[NEG:.+]] = arith.negf %[[ABS]]
  // CHECK-DAG: %[[EXP:.+]] = math.exp %[[NEG]]
  // CHECK-DAG: %[[LESS:.+]] = arith.cmpf olt, %[[ZMP]], %[[ZERO]]
  // CHECK-DAG: %[[TOP:.+]] = arith.select %[[LESS]], %[[EXP]], %[[ONE]]
  // CHECK-DAG: %[[BOTTOM:.+]] = arith.addf %[[EXP]], %[[ONE]]
  // CHECK-DAG: %[[SIGMOID:.+]] = arith.divf %[[TOP]], %[[BOTTOM]]
  // CHECK-DAG: %[[SILU:.+]] = arith.mulf %[[ZMP]], %[[SIGMOID]]
  // CHECK: %[[GATED:.+]] = arith.mulf %[[Y]], %[[SILU]]
  // CHECK: arith.truncf %[[GATED]]
  %y = mamba.chunk_out mask<causal> x(%x : tensor<1x?x1x8xbf16>) B(%B : tensor<1x?x1x6xbf16>)
      C(%B : tensor<1x?x1x6xbf16>) dt(%d : tensor<1x1x1x16xf32>)
      dA_cumsum(%d : tensor<1x1x1x16xf32>) chunk_states(%h : tensor<1x1x1x8x6xbf16>)
      D(%D : tensor<1xf16>) z(%z : tensor<1x?x1x8xbf16>) -> tensor<1x?x1x8xbf16>
  return %y : tensor<1x?x1x8xbf16>
}

// -----

// D of a head-dim row.
// CHECK:       #[[$COL:.+]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @skip_of_rows
// CHECK-SAME:    %[[D:[a-z0-9]+]]: tensor<1x8xf32>
func.func @skip_of_rows(%D: tensor<1x8xf32>, %x: tensor<1x?x1x8xbf16>, %B: tensor<1x?x1x6xbf16>,
                        %d: tensor<1x1x1x16xf32>, %h: tensor<1x1x1x8x6xbf16>)
    -> tensor<1x?x1x8xbf16> {
  // CHECK: %[[DP:.+]] = tensor.extract_slice %[[D]][0, 0] [1, 8] [1, 1] : tensor<1x8xf32> to tensor<8xf32>
  // CHECK: linalg.generic {indexing_maps = [#{{.+}}, #{{.+}}, #{{.+}}, #{{.+}}, #[[$COL]], #{{.+}}]
  // CHECK-SAME: %[[DP]] :
  %y = mamba.chunk_out mask<causal> x(%x : tensor<1x?x1x8xbf16>) B(%B : tensor<1x?x1x6xbf16>)
      C(%B : tensor<1x?x1x6xbf16>) dt(%d : tensor<1x1x1x16xf32>)
      dA_cumsum(%d : tensor<1x1x1x16xf32>) chunk_states(%h : tensor<1x1x1x8x6xbf16>)
      D(%D : tensor<1x8xf32>) -> tensor<1x?x1x8xbf16>
  return %y : tensor<1x?x1x8xbf16>
}

// -----

// Packed sequences: tokens of one id see each other, the entering state is
// that of the id before the chunk if the chunk continues it, and padding gives
// 0.
// CHECK-LABEL: func @packed
// CHECK-SAME:    %[[ID:[a-z0-9]+]]: tensor<1x?xi32>, %[[PREVS:[a-z0-9]+]]: tensor<1x1xi32>
func.func @packed(%id: tensor<1x?xi32>, %prev: tensor<1x1xi32>, %x: tensor<1x?x1x8xbf16>,
                  %B: tensor<1x?x1x6xbf16>, %d: tensor<1x1x1x16xf32>,
                  %h: tensor<1x1x1x8x6xbf16>) -> tensor<1x?x1x8xbf16> {
  // CHECK-DAG: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
  // CHECK-DAG: %[[IDS:.+]] = tensor.extract_slice %[[ID]]{{.*}} to tensor<?xi32>
  // CHECK: linalg.generic {{.*}} ins(%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %[[IDS]], %[[IDS]] :
  // CHECK: ^bb0(%{{[a-z0-9_]+}}: f32, %{{[a-z0-9_]+}}: f32, %{{[a-z0-9_]+}}: f32, %{{[a-z0-9_]+}}: f32, %[[IDM:[a-z0-9_]+]]: i32, %[[IDK:[a-z0-9_]+]]: i32, %{{[a-z0-9_]+}}: bf16):
  // CHECK-DAG: %[[CAUSAL:.+]] = arith.cmpi ule
  // CHECK-DAG: %[[SAME:.+]] = arith.cmpi eq, %[[IDM]], %[[IDK]]
  // CHECK-DAG: %[[TOKEN:.+]] = arith.cmpi sge, %[[IDM]], %c0_i32
  // CHECK-DAG: %[[BOTH:.+]] = arith.andi %[[SAME]], %[[TOKEN]]
  // CHECK-DAG: %[[COUNTS:.+]] = arith.andi %[[CAUSAL]], %[[BOTH]]
  // CHECK: arith.select %[[COUNTS]], %{{.+}}, %[[ZERO]]
  // CHECK: %[[PREV:.+]] = tensor.extract %[[PREVS]][%c0, %c0]
  // CHECK: %[[ID0:.+]] = tensor.extract %[[ID]][%c0, %c0]
  // CHECK: %[[CONTINUES:.+]] = arith.cmpi eq, %[[ID0]], %[[PREV]]
  // CHECK: linalg.generic
  // CHECK: ^bb0(%[[IN:[a-z0-9_]+]]: f32, %{{[a-z0-9_]+}}: f32, %{{[a-z0-9_]+}}: f32, %[[IDM:[a-z0-9_]+]]: i32, %{{[a-z0-9_]+}}: bf16):
  // CHECK: %[[ENTERING:.+]] = arith.mulf
  // CHECK: %[[SAME:.+]] = arith.cmpi eq, %[[IDM]], %[[PREV]]
  // CHECK: %[[BOTH:.+]] = arith.andi %[[CONTINUES]], %[[SAME]]
  // CHECK: %[[REACHES:.+]] = arith.select %[[BOTH]], %[[ENTERING]], %[[ZERO]]
  // CHECK: %[[Y:.+]] = arith.addf %[[IN]], %[[REACHES]]
  // CHECK: %[[TOKEN:.+]] = arith.cmpi sge, %[[IDM]], %c0_i32
  // CHECK: %[[MASKED:.+]] = arith.select %[[TOKEN]], %[[Y]], %[[ZERO]]
  // CHECK: arith.truncf %[[MASKED]]
  %y = mamba.chunk_out mask<causal> x(%x : tensor<1x?x1x8xbf16>) B(%B : tensor<1x?x1x6xbf16>)
      C(%B : tensor<1x?x1x6xbf16>) dt(%d : tensor<1x1x1x16xf32>)
      dA_cumsum(%d : tensor<1x1x1x16xf32>) chunk_states(%h : tensor<1x1x1x8x6xbf16>)
      seq_idx(%id : tensor<1x?xi32>) prev_seq_idx(%prev : tensor<1x1xi32>)
      -> tensor<1x?x1x8xbf16>
  return %y : tensor<1x?x1x8xbf16>
}

// -----

// The only chunk is the first: the id before it is 0.
// CHECK-LABEL: func @packed_one_chunk
func.func @packed_one_chunk(%id: tensor<1x?xi32>, %x: tensor<1x?x1x8xbf16>,
                            %B: tensor<1x?x1x6xbf16>, %d: tensor<1x1x1x16xf32>,
                            %h: tensor<1x1x1x8x6xbf16>) -> tensor<1x?x1x8xbf16> {
  // CHECK: ^bb0(%{{[a-z0-9_]+}}: f32, %{{[a-z0-9_]+}}: f32, %{{[a-z0-9_]+}}: f32, %[[IDM:[a-z0-9_]+]]: i32, %{{[a-z0-9_]+}}: bf16):
  // CHECK: arith.cmpi eq, %[[IDM]], %c0_i32
  %y = mamba.chunk_out mask<causal> x(%x : tensor<1x?x1x8xbf16>) B(%B : tensor<1x?x1x6xbf16>)
      C(%B : tensor<1x?x1x6xbf16>) dt(%d : tensor<1x1x1x16xf32>)
      dA_cumsum(%d : tensor<1x1x1x16xf32>) chunk_states(%h : tensor<1x1x1x8x6xbf16>)
      seq_idx(%id : tensor<1x?xi32>) -> tensor<1x?x1x8xbf16>
  return %y : tensor<1x?x1x8xbf16>
}
