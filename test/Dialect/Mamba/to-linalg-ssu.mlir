// The meaning of mamba.ssu's unit tile: one row of one head.

// RUN: mamba-opt %s --mamba-to-linalg --canonicalize --cse --split-input-file \
// RUN:   | FileCheck %s

// A row without a slot reads nothing, gives 0 and stores nothing.
// CHECK-LABEL: func @one_token
// CHECK-SAME:    %[[STATE:[a-z0-9]+]]: tensor<?x1x8x6xbf16>, %[[X:[a-z0-9]+]]: tensor<1x1x8xf16>, %[[DT:[a-z0-9]+]]: tensor<1x1xf32>, %[[A:[a-z0-9]+]]: tensor<1xf32>, %[[B:[a-z0-9]+]]: tensor<1x1x6xf16>, %[[C:[a-z0-9]+]]: tensor<1x1x6xf16>
func.func @one_token(%state: tensor<?x1x8x6xbf16>, %x: tensor<1x1x8xf16>, %dt: tensor<1x1xf32>,
                     %A: tensor<1xf32>, %B: tensor<1x1x6xf16>, %C: tensor<1x1x6xf16>)
    -> (tensor<1x1x8xf16>, tensor<?x1x8x6xbf16>) {
  // CHECK-DAG: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
  // CHECK-DAG: %[[NONE:.+]] = arith.constant 0.000000e+00 : bf16
  // CHECK-DAG: %[[SLOTS:.+]] = tensor.dim %[[STATE]], %c0
  // CHECK-DAG: %[[VALID:.+]] = arith.cmpi ne, %[[SLOTS]], %c0
  // CHECK: %[[H:.+]] = linalg.generic {{.*}} outs(%{{.+}} : tensor<8x6xf32>)
  // CHECK-DAG: %[[P:.+]] = linalg.index 0
  // CHECK-DAG: %[[N:.+]] = linalg.index 1
  // CHECK: %[[OLD:.+]] = scf.if %[[VALID]] -> (bf16)
  // CHECK-NEXT: %[[READ:.+]] = tensor.extract %[[STATE]][%c0, %c0, %[[P]], %[[N]]]
  // CHECK-NEXT: scf.yield %[[READ]]
  // CHECK-NEXT: } else {
  // CHECK-NEXT: scf.yield %[[NONE]]
  // CHECK: %[[WIDE:.+]] = arith.extf %[[OLD]] : bf16 to f32
  // CHECK: linalg.yield %[[WIDE]]

  // CHECK: %[[D:.+]] = tensor.extract %[[DT]][%c0, %c0]
  // CHECK: %[[AH:.+]] = tensor.extract %[[A]][%c0]
  // CHECK: %[[AD:.+]] = arith.mulf %[[AH]], %[[D]]
  // CHECK: %[[MIN:.+]] = arith.minimumf %[[AD]], %[[ZERO]]
  // CHECK: %[[FACTOR:.+]] = math.exp %[[MIN]]
  // CHECK-DAG: %[[XT:.+]] = tensor.extract_slice %[[X]]{{.*}} to tensor<8xf16>
  // CHECK-DAG: %[[BT:.+]] = tensor.extract_slice %[[B]]{{.*}} to tensor<6xf16>
  // CHECK-DAG: %[[CT:.+]] = tensor.extract_slice %[[C]]{{.*}} to tensor<6xf16>
  // CHECK: %[[NEXT:.+]] = linalg.generic {{.*}} ins(%[[XT]], %[[BT]] : {{.*}}) outs(%[[H]] : tensor<8x6xf32>)
  // CHECK: ^bb0(%[[XP:[a-z0-9_]+]]: f16, %[[BN:[a-z0-9_]+]]: f16, %[[HPN:[a-z0-9_]+]]: f32):
  // CHECK-DAG: %[[X32:.+]] = arith.extf %[[XP]]
  // CHECK-DAG: %[[B32:.+]] = arith.extf %[[BN]]
  // CHECK-DAG: %[[KEPT:.+]] = arith.mulf %[[FACTOR]], %[[HPN]]
  // CHECK-DAG: %[[DX:.+]] = arith.mulf %[[D]], %[[X32]]
  // CHECK-DAG: %[[DXB:.+]] = arith.mulf %[[DX]], %[[B32]]
  // CHECK: arith.addf %[[KEPT]], %[[DXB]]
  // y reads the state before it is rounded.
  // CHECK: %[[SUM:.+]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[NEXT]], %[[CT]] :
  // CHECK: %[[Y:.+]] = linalg.generic {{.*}} ins(%[[SUM]] : tensor<8xf32>) outs(%{{.+}} : tensor<8xf16>)
  // CHECK: %[[MASKED:.+]] = arith.select %[[VALID]], %{{.+}}, %[[ZERO]]
  // CHECK: arith.truncf %[[MASKED]] : f32 to f16
  // CHECK: %[[STORED:.+]] = linalg.generic {{.*}} ins(%[[NEXT]] : tensor<8x6xf32>) outs(%{{.+}} : tensor<8x6xbf16>)
  // CHECK: arith.truncf %{{.+}} : f32 to bf16
  // CHECK: %[[SLOT:.+]] = tensor.insert_slice %[[STORED]] into %{{.+}} : tensor<8x6xbf16> into tensor<1x1x8x6xbf16>
  // CHECK: %[[NEW:.+]] = tensor.extract_slice %[[SLOT]][0, 0, 0, 0] [%[[SLOTS]], 1, 8, 6]
  // CHECK: return %{{.+}}, %[[NEW]]
  %y, %new = mamba.ssu row state(%state : tensor<?x1x8x6xbf16>) x(%x : tensor<1x1x8xf16>)
      dt(%dt : tensor<1x1xf32>) A(%A : tensor<1xf32>) B(%B : tensor<1x1x6xf16>)
      C(%C : tensor<1x1x6xf16>) -> y(tensor<1x1x8xf16>) new_state(tensor<?x1x8x6xbf16>)
  return %y, %new : tensor<1x1x8xf16>, tensor<?x1x8x6xbf16>
}

// -----

// The state stays f32 from token to token; what is kept of it after each token
// is rounded, and 0 for a row without a slot.
// CHECK-LABEL: func @tokens
// CHECK-SAME:    %[[STATE:[a-z0-9]+]]: tensor<?x1x8x6xbf16>, %[[X:[a-z0-9]+]]: tensor<1x?x1x8xbf16>, %[[DT:[a-z0-9]+]]: tensor<1x?x1xbf16>
func.func @tokens(%state: tensor<?x1x8x6xbf16>, %x: tensor<1x?x1x8xbf16>,
                  %dt: tensor<1x?x1xbf16>, %A: tensor<1xf32>, %B: tensor<1x?x1x6xbf16>,
                  %bias: tensor<1xf32>)
    -> (tensor<1x?x1x8xbf16>, tensor<1x?x1x8x6xf16>) {
  // CHECK-DAG: %[[VALID:.+]] = arith.cmpi ne, %{{.+}}, %c0
  // CHECK-DAG: %[[T:.+]] = tensor.dim %[[X]], %c1
  // CHECK: %[[LOOP:.+]]:3 = scf.for %[[I:.+]] = %c0 to %[[T]] step %c1 iter_args(%[[H:.+]] = %{{.+}}, %[[Y:.+]] = %{{.+}}, %[[BETWEEN:.+]] = %{{.+}}) -> (tensor<8x6xf32>, tensor<1x?x1x8xbf16>, tensor<1x?x1x8x6xf16>)
  // CHECK: tensor.extract %[[DT]][%c0, %[[I]], %c0]
  // No clamp after softplus.
  // CHECK: math.log1p
  // CHECK-NEXT: arith.maximumf
  // CHECK-NEXT: %[[D:.+]] = arith.addf
  // CHECK: arith.mulf %{{.+}}, %[[D]]
  // CHECK: tensor.extract_slice %[[X]][0, %[[I]], 0, 0] [1, 1, 1, 8]
  // CHECK: %[[NEXT:.+]] = linalg.generic {{.*}} outs(%[[H]] : tensor<8x6xf32>)
  // CHECK: %[[Y2:.+]] = tensor.insert_slice %{{.+}} into %[[Y]][0, %[[I]], 0, 0] [1, 1, 1, 8]
  // CHECK: %[[KEPT:.+]] = linalg.generic {{.*}} ins(%[[NEXT]] : tensor<8x6xf32>) outs(%{{.+}} : tensor<8x6xf16>)
  // CHECK: arith.select %[[VALID]]
  // CHECK: arith.truncf %{{.+}} : f32 to f16
  // CHECK: %[[BETWEEN2:.+]] = tensor.insert_slice %[[KEPT]] into %[[BETWEEN]][0, %[[I]], 0, 0, 0] [1, 1, 1, 8, 6]
  // CHECK: scf.yield %[[NEXT]], %[[Y2]], %[[BETWEEN2]]
  // CHECK: return %[[LOOP]]#1, %[[LOOP]]#2
  %y, %between = mamba.ssu row softplus disable_state_update
      state(%state : tensor<?x1x8x6xbf16>) x(%x : tensor<1x?x1x8xbf16>)
      dt(%dt : tensor<1x?x1xbf16>) A(%A : tensor<1xf32>) B(%B : tensor<1x?x1x6xbf16>)
      C(%B : tensor<1x?x1x6xbf16>) dt_bias(%bias : tensor<1xf32>)
      -> y(tensor<1x?x1x8xbf16>) intermediate_states(tensor<1x?x1x8x6xf16>)
  return %y, %between : tensor<1x?x1x8xbf16>, tensor<1x?x1x8x6xf16>
}

// -----

// A y that nobody reads is not computed.
// CHECK-LABEL: func @only_state
// CHECK:         scf.for {{.*}} -> (tensor<8x6xf32>) {
// CHECK-NOT:     iterator_types = ["parallel", "reduction"]
// CHECK:         return
func.func @only_state(%state: tensor<?x1x8x6xf32>, %x: tensor<1x?x1x8xf32>,
                      %dt: tensor<1x?x1xf32>, %A: tensor<1xf32>, %B: tensor<1x?x1x6xf32>)
    -> tensor<?x1x8x6xf32> {
  %y, %new, %between = mamba.ssu row state(%state : tensor<?x1x8x6xf32>)
      x(%x : tensor<1x?x1x8xf32>) dt(%dt : tensor<1x?x1xf32>) A(%A : tensor<1xf32>)
      B(%B : tensor<1x?x1x6xf32>) C(%B : tensor<1x?x1x6xf32>) -> y(tensor<1x?x1x8xf32>)
      new_state(tensor<?x1x8x6xf32>) intermediate_states(tensor<1x?x1x8x6xf32>)
  return %new : tensor<?x1x8x6xf32>
}

// -----

// Skip and gate come after the sum and before the only rounding.
// CHECK-LABEL: func @skip_and_gate
func.func @skip_and_gate(%state: tensor<?x1x8x6xf32>, %x: tensor<1x1x8xf32>, %dt: tensor<1x1xf32>,
                         %A: tensor<1xf32>, %B: tensor<1x1x6xf32>, %D: tensor<1x8xf32>,
                         %z: tensor<1x1x8xf32>) -> tensor<1x1x8xf32> {
  // CHECK: ^bb0(%[[SUM:[a-z0-9_]+]]: f32, %[[X:[a-z0-9_]+]]: f32, %[[D:[a-z0-9_]+]]: f32, %[[Z:[a-z0-9_]+]]: f32, %{{[a-z0-9_]+}}: f32):
  // CHECK-NEXT: %[[SKIP:.+]] = arith.mulf %[[D]], %[[X]]
  // CHECK-NEXT: %[[Y:.+]] = arith.addf %[[SUM]], %[[SKIP]]
  // CHECK: math.absf %[[Z]]
  // CHECK: %[[SILU:.+]] = arith.mulf %[[Z]],
  // CHECK-NEXT: %[[GATED:.+]] = arith.mulf %[[Y]], %[[SILU]]
  // CHECK-NEXT: %[[MASKED:.+]] = arith.select %{{.+}}, %[[GATED]], %{{.+}}
  // CHECK-NEXT: linalg.yield %[[MASKED]]
  %y = mamba.ssu row disable_state_update state(%state : tensor<?x1x8x6xf32>)
      x(%x : tensor<1x1x8xf32>) dt(%dt : tensor<1x1xf32>) A(%A : tensor<1xf32>)
      B(%B : tensor<1x1x6xf32>) C(%B : tensor<1x1x6xf32>) D(%D : tensor<1x8xf32>)
      z(%z : tensor<1x1x8xf32>) -> y(tensor<1x1x8xf32>)
  return %y : tensor<1x1x8xf32>
}

// -----

// The heads of a row do not start from its state, which other rows may still
// read where this row writes another slot.
// CHECK-LABEL: func @heads_of_row
// CHECK-SAME:    %[[STATE:[a-z0-9]+]]: tensor<?x2x8x6xf32>
func.func @heads_of_row(%state: tensor<?x2x8x6xf32>, %x: tensor<1x2x8xf32>, %dt: tensor<1x2xf32>,
                        %A: tensor<2xf32>, %B: tensor<1x1x6xf32>)
    -> (tensor<1x2x8xf32>, tensor<?x2x8x6xf32>) {
  // CHECK: %[[EMPTY:.+]] = tensor.empty(%{{.+}}) : tensor<?x2x8x6xf32>
  // CHECK: scf.for %{{.+}} = %c0 to %c2 step %c1 iter_args(%{{.+}} = %{{.+}}, %{{.+}} = %[[EMPTY]])
  // CHECK: tensor.extract_slice %[[STATE]]
  %y, %new = mamba.ssu row state(%state : tensor<?x2x8x6xf32>) x(%x : tensor<1x2x8xf32>)
      dt(%dt : tensor<1x2xf32>) A(%A : tensor<2xf32>) B(%B : tensor<1x1x6xf32>)
      C(%B : tensor<1x1x6xf32>) -> y(tensor<1x2x8xf32>) new_state(tensor<?x2x8x6xf32>)
  return %y, %new : tensor<1x2x8xf32>, tensor<?x2x8x6xf32>
}

// -----

// An operation that is no row is tiled to rows, which resolves the slots.
// CHECK-LABEL: func @loops
// CHECK-SAME:    %[[STATE:[a-z0-9]+]]: tensor<?x2x8x6xf32>, %[[SRC:[a-z0-9]+]]: tensor<?xi32>
func.func @loops(%state: tensor<?x2x8x6xf32>, %src: tensor<?xi32>, %x: tensor<?x2x8xf32>,
                 %dt: tensor<?x2xf32>, %A: tensor<2xf32>, %B: tensor<?x1x6xf32>)
    -> (tensor<?x2x8xf32>, tensor<?x2x8x6xf32>) {
  // CHECK: scf.for %[[I:.+]] = {{.*}} iter_args(%{{.+}} = %{{.+}}, %[[ALL:.+]] = %[[STATE]])
  // CHECK: scf.for {{.*}} iter_args(%{{.+}} = %{{.+}}, %[[NEW:.+]] = %[[ALL]])
  // CHECK: tensor.extract %[[SRC]][%[[I]]]
  // CHECK: tensor.extract_slice %[[NEW]]
  // CHECK: tensor.insert_slice %{{.+}} into %[[NEW]]
  %y, %new = mamba.ssu state(%state : tensor<?x2x8x6xf32>) x(%x : tensor<?x2x8xf32>)
      dt(%dt : tensor<?x2xf32>) A(%A : tensor<2xf32>) B(%B : tensor<?x1x6xf32>)
      C(%B : tensor<?x1x6xf32>) state_batch_indices(%src : tensor<?xi32>)
      -> y(tensor<?x2x8xf32>) new_state(tensor<?x2x8x6xf32>)
  return %y, %new : tensor<?x2x8xf32>, tensor<?x2x8x6xf32>
}
