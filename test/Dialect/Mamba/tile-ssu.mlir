// Tiles of mamba.ssu, which resolve a row's slot.

// RUN: mamba-opt %s --mamba-tile --canonicalize --cse --split-input-file \
// RUN:   | FileCheck %s
// RUN: mamba-opt %s --mamba-tile=loops=for --canonicalize --cse --split-input-file \
// RUN:   | FileCheck %s --check-prefix=FOR

// Row i has slot i if there is one. The state is read and written through the
// loops, which start from it.
// CHECK-LABEL: func @rows
// CHECK-SAME:    %[[STATE:[a-z0-9]+]]: tensor<?x6x16x8xf32>, %[[X:[a-z0-9]+]]: tensor<?x6x16xbf16>, %[[DT:[a-z0-9]+]]: tensor<?x6xbf16>, %[[A:[a-z0-9]+]]: tensor<6xf32>, %[[B:[a-z0-9]+]]: tensor<?x3x8xbf16>
// FOR-LABEL:   func @rows
// FOR-SAME:      %[[STATE:[a-z0-9]+]]: tensor<?x6x16x8xf32>
func.func @rows(%state: tensor<?x6x16x8xf32>, %x: tensor<?x6x16xbf16>, %dt: tensor<?x6xbf16>,
                %A: tensor<6xf32>, %B: tensor<?x3x8xbf16>)
    -> (tensor<?x6x16xbf16>, tensor<?x6x16x8xf32>) {
  // CHECK: %[[R:.+]]:2 = scf.forall (%[[I:.+]], %[[H:.+]], %[[P:.+]]) = (0, 0, 0) to (%{{.+}}, 6, 16) step (1, 1, 4)
  // CHECK-SAME: shared_outs(%[[Y:.+]] = %{{.+}}, %[[NEW:.+]] = %[[STATE]])
  // CHECK-DAG: %[[SLOTS:.+]] = tensor.dim %[[NEW]], %c0
  // CHECK-DAG: %[[VALID:.+]] = arith.cmpi ult, %[[I]], %[[SLOTS]]
  // CHECK-DAG: %[[SLOT:.+]] = arith.select %[[VALID]], %[[I]], %c0
  // CHECK-DAG: %[[SIZE:.+]] = arith.select %[[VALID]], %c1, %c0
  // CHECK-DAG: %[[ST:.+]] = tensor.extract_slice %[[NEW]][%[[SLOT]], %[[H]], %[[P]], 0] [%[[SIZE]], 1, 4, 8]
  // CHECK-DAG: %[[XT:.+]] = tensor.extract_slice %[[X]][%[[I]], %[[H]], %[[P]]] [1, 1, 4]
  // CHECK-DAG: %[[DTT:.+]] = tensor.extract_slice %[[DT]][%[[I]], %[[H]]] [1, 1]
  // CHECK-DAG: %[[AT:.+]] = tensor.extract_slice %[[A]][%[[H]]] [1]
  // CHECK-DAG: %[[G:.+]] = arith.divui %[[H]], %c2
  // CHECK-DAG: %[[BT:.+]] = tensor.extract_slice %[[B]][%[[I]], %[[G]], 0] [1, 1, 8]
  // CHECK: %[[YT:.+]], %[[NEWT:.+]] = mamba.ssu row state(%[[ST]] : tensor<?x1x4x8xf32>)
  // CHECK-SAME: x(%[[XT]] : tensor<1x1x4xbf16>) dt(%[[DTT]] : tensor<1x1xbf16>) A(%[[AT]] : tensor<1xf32>) B(%[[BT]] : tensor<1x1x8xbf16>)
  // CHECK-SAME: -> y(tensor<1x1x4xbf16>) new_state(tensor<?x1x4x8xf32>)
  // CHECK: tensor.parallel_insert_slice %[[YT]] into %[[Y]][%[[I]], %[[H]], %[[P]]] [1, 1, 4]
  // CHECK: tensor.parallel_insert_slice %[[NEWT]] into %[[NEW]][%[[SLOT]], %[[H]], %[[P]], 0] [%[[SIZE]], 1, 4, 8]
  // CHECK: return %[[R]]#0, %[[R]]#1

  // FOR: scf.for {{.*}} iter_args(%{{.+}} = %{{.+}}, %[[A0:.+]] = %[[STATE]])
  // FOR: scf.for {{.*}} iter_args(%{{.+}} = %{{.+}}, %[[A1:.+]] = %[[A0]])
  // FOR: scf.for {{.*}} iter_args(%{{.+}} = %{{.+}}, %[[A2:.+]] = %[[A1]])
  // FOR: tensor.extract_slice %[[A2]]
  // FOR: %{{.+}}, %[[NEWT:.+]] = mamba.ssu row
  // FOR: tensor.insert_slice %[[NEWT]] into %[[A2]]
  %y, %new = mamba.ssu state(%state : tensor<?x6x16x8xf32>) x(%x : tensor<?x6x16xbf16>)
      dt(%dt : tensor<?x6xbf16>) A(%A : tensor<6xf32>) B(%B : tensor<?x3x8xbf16>)
      C(%B : tensor<?x3x8xbf16>) {mamba.plan = #mamba.plan<chunk_parallel tile [1, 1, 4]>}
      -> y(tensor<?x6x16xbf16>) new_state(tensor<?x6x16x8xf32>)
  return %y, %new : tensor<?x6x16xbf16>, tensor<?x6x16x8xf32>
}

// -----

// An index that is negative, past the last slot or pad_slot_id is a pad.
// CHECK-LABEL: func @source
// CHECK-SAME:    %[[STATE:[a-z0-9]+]]: tensor<9x6x16x8xf32>, %[[SRC:[a-z0-9]+]]: tensor<?xi64>
func.func @source(%state: tensor<9x6x16x8xf32>, %src: tensor<?xi64>, %x: tensor<?x?x6x16xbf16>,
                  %dt: tensor<?x?x6xbf16>, %A: tensor<6xf32>, %B: tensor<?x?x1x8xbf16>)
    -> (tensor<?x?x6x16xbf16>, tensor<9x6x16x8xf32>) {
  // CHECK: scf.forall (%[[I:.+]], %[[H:.+]]) in (%{{.+}}, 6) shared_outs(%{{.+}} = %{{.+}}, %[[NEW:.+]] = %[[STATE]])
  // CHECK-DAG: %[[READ:.+]] = tensor.extract %[[SRC]][%[[I]]] : tensor<?xi64>
  // CHECK-DAG: %[[INDEX:.+]] = arith.index_cast %[[READ]] : i64 to index
  // CHECK-DAG: %[[INSIDE:.+]] = arith.cmpi ult, %[[INDEX]], %c9
  // CHECK-DAG: %[[NOPAD:.+]] = arith.cmpi ne, %[[INDEX]], %c7
  // CHECK-DAG: %[[VALID:.+]] = arith.andi %[[INSIDE]], %[[NOPAD]]
  // CHECK-DAG: %[[SLOT:.+]] = arith.select %[[VALID]], %[[INDEX]], %c0
  // CHECK-DAG: %[[SIZE:.+]] = arith.select %[[VALID]], %c1, %c0
  // CHECK-DAG: %[[ST:.+]] = tensor.extract_slice %[[NEW]][%[[SLOT]], %[[H]], 0, 0] [%[[SIZE]], 1, 16, 8]
  // CHECK: mamba.ssu row
  // CHECK-SAME: x(%{{.+}} : tensor<1x?x1x16xbf16>)
  // CHECK-NOT: state_batch_indices
  // CHECK-SAME: new_state(
  // CHECK: tensor.parallel_insert_slice %{{.+}} into %[[NEW]][%[[SLOT]], %[[H]], 0, 0] [%[[SIZE]], 1, 16, 8]
  %y, %new = mamba.ssu pad_slot_id(7) state(%state : tensor<9x6x16x8xf32>)
      x(%x : tensor<?x?x6x16xbf16>) dt(%dt : tensor<?x?x6xbf16>) A(%A : tensor<6xf32>)
      B(%B : tensor<?x?x1x8xbf16>) C(%B : tensor<?x?x1x8xbf16>)
      state_batch_indices(%src : tensor<?xi64>)
      -> y(tensor<?x?x6x16xbf16>) new_state(tensor<9x6x16x8xf32>)
  return %y, %new : tensor<?x?x6x16xbf16>, tensor<9x6x16x8xf32>
}

// -----

// Another slot to write to. A row whose source is a pad writes nothing.
// CHECK-LABEL: func @destination
// CHECK-SAME:    %[[STATE:[a-z0-9]+]]: tensor<?x6x16x8xf32>, %[[SRC:[a-z0-9]+]]: tensor<?xi32>, %[[DST:[a-z0-9]+]]: tensor<?xi64>
func.func @destination(%state: tensor<?x6x16x8xf32>, %src: tensor<?xi32>, %dst: tensor<?xi64>,
                       %x: tensor<?x6x16xbf16>, %dt: tensor<?x6xbf16>, %A: tensor<6xf32>,
                       %B: tensor<?x1x8xbf16>)
    -> (tensor<?x6x16xbf16>, tensor<?x6x16x8xf32>, tensor<?x1x6x16x8xf32>) {
  // CHECK: scf.forall (%[[I:.+]], %[[H:.+]]) in
  // CHECK-SAME: shared_outs(%{{.+}} = %{{.+}}, %[[NEW:.+]] = %[[STATE]], %[[BETWEEN:.+]] = %{{.+}})
  // CHECK-DAG: tensor.extract %[[SRC]][%[[I]]]
  // CHECK-DAG: %[[ST:.+]] = tensor.extract_slice %[[NEW]][%[[SLOT:.+]], %[[H]], 0, 0] [%[[SIZE:.+]], 1, 16, 8]
  // CHECK: %{{.+}}, %[[NEWT:.+]], %[[BETWEENT:.+]] = mamba.ssu row {{.*}} intermediate_states(tensor<1x1x1x16x8xf32>)
  // CHECK-DAG: %[[HASSOURCE:.+]] = arith.cmpi ne, %[[SIZE]], %c0
  // CHECK-DAG: %[[READ:.+]] = tensor.extract %[[DST]][%[[I]]] : tensor<?xi64>
  // CHECK-DAG: %[[INDEX:.+]] = arith.index_cast %[[READ]] : i64 to index
  // CHECK-DAG: %[[INSIDE:.+]] = arith.cmpi ult, %[[INDEX]],
  // CHECK-DAG: %[[NOPAD:.+]] = arith.cmpi ne, %[[INDEX]], %c-1
  // CHECK-DAG: %[[VALID:.+]] = arith.andi %[[INSIDE]], %[[NOPAD]]
  // CHECK-DAG: %[[WRITES:.+]] = arith.andi %[[VALID]], %[[HASSOURCE]]
  // CHECK-DAG: %[[TO:.+]] = arith.select %[[WRITES]], %[[INDEX]], %c0
  // CHECK-DAG: %[[COUNT:.+]] = arith.select %[[WRITES]], %c1, %c0
  // CHECK-DAG: %[[WRITTEN:.+]] = tensor.extract_slice %[[NEWT]][0, 0, 0, 0] [%[[COUNT]], 1, 16, 8]
  // CHECK-DAG: tensor.parallel_insert_slice %[[WRITTEN]] into %[[NEW]][%[[TO]], %[[H]], 0, 0] [%[[COUNT]], 1, 16, 8]
  // CHECK-DAG: tensor.parallel_insert_slice %[[BETWEENT]] into %[[BETWEEN]][%[[I]], 0, %[[H]], 0, 0] [1, 1, 1, 16, 8]
  %y, %new, %between = mamba.ssu state(%state : tensor<?x6x16x8xf32>)
      x(%x : tensor<?x6x16xbf16>) dt(%dt : tensor<?x6xbf16>) A(%A : tensor<6xf32>)
      B(%B : tensor<?x1x8xbf16>) C(%B : tensor<?x1x8xbf16>)
      state_batch_indices(%src : tensor<?xi32>) dst_state_batch_indices(%dst : tensor<?xi64>)
      -> y(tensor<?x6x16xbf16>) new_state(tensor<?x6x16x8xf32>)
         intermediate_states(tensor<?x1x6x16x8xf32>)
  return %y, %new, %between
      : tensor<?x6x16xbf16>, tensor<?x6x16x8xf32>, tensor<?x1x6x16x8xf32>
}

// -----

// Without a new state nothing starts from the state.
// CHECK-LABEL: func @no_update
// CHECK-SAME:    %[[STATE:[a-z0-9]+]]: tensor<?x6x16x8xf32>
func.func @no_update(%state: tensor<?x6x16x8xf32>, %x: tensor<?x6x16xbf16>,
                     %dt: tensor<?x6xbf16>, %A: tensor<6xf32>, %B: tensor<?x1x8xbf16>)
    -> tensor<?x6x16xbf16> {
  // CHECK: scf.forall (%{{.+}}, %{{.+}}) in (%{{.+}}, 6) shared_outs(%{{.+}} = %{{.+}}) -> (tensor<?x6x16xbf16>)
  // CHECK: tensor.extract_slice %[[STATE]]
  // CHECK: mamba.ssu row disable_state_update
  %y = mamba.ssu disable_state_update state(%state : tensor<?x6x16x8xf32>)
      x(%x : tensor<?x6x16xbf16>) dt(%dt : tensor<?x6xbf16>) A(%A : tensor<6xf32>)
      B(%B : tensor<?x1x8xbf16>) C(%B : tensor<?x1x8xbf16>) -> y(tensor<?x6x16xbf16>)
  return %y : tensor<?x6x16xbf16>
}

// -----

// A batch of 1 that needs no loop is a row too.
// CHECK-LABEL: func @batch_of_one
func.func @batch_of_one(%state: tensor<8x1x16x8xf32>, %src: tensor<1xi32>,
                        %x: tensor<1x1x16xbf16>, %dt: tensor<1x1xbf16>, %A: tensor<1xf32>,
                        %B: tensor<1x1x8xbf16>) -> (tensor<1x1x16xbf16>, tensor<8x1x16x8xf32>) {
  // CHECK: scf.forall (%[[P:.+]]) = (0) to (16) step (4)
  // CHECK: tensor.extract %{{.+}}[%c0]
  // CHECK: mamba.ssu row state(%{{.+}} : tensor<?x1x4x8xf32>)
  %y, %new = mamba.ssu state(%state : tensor<8x1x16x8xf32>) x(%x : tensor<1x1x16xbf16>)
      dt(%dt : tensor<1x1xbf16>) A(%A : tensor<1xf32>) B(%B : tensor<1x1x8xbf16>)
      C(%B : tensor<1x1x8xbf16>) state_batch_indices(%src : tensor<1xi32>)
      {mamba.plan = #mamba.plan<chunk_parallel tile [0, 0, 4]>}
      -> y(tensor<1x1x16xbf16>) new_state(tensor<8x1x16x8xf32>)
  return %y, %new : tensor<1x1x16xbf16>, tensor<8x1x16x8xf32>
}

// -----

// A tile of all rows keeps the indices and all slots.
// CHECK-LABEL: func @all_rows
// CHECK-SAME:    %[[STATE:[a-z0-9]+]]: tensor<?x6x16x8xf32>, %{{[a-z0-9]+}}: tensor<?xi32>
func.func @all_rows(%state: tensor<?x6x16x8xf32>, %src: tensor<?xi32>,
                    %x: tensor<?x6x16xbf16>, %dt: tensor<?x6xbf16>, %A: tensor<6xf32>,
                    %B: tensor<?x1x8xbf16>) -> (tensor<?x6x16xbf16>, tensor<?x6x16x8xf32>) {
  // CHECK: scf.forall (%[[H:.+]]) = (0) to (6) step (2) shared_outs(%{{.+}} = %{{.+}}, %[[NEW:.+]] = %[[STATE]])
  // CHECK: %[[ST:.+]] = tensor.extract_slice %[[NEW]][0, %[[H]], 0, 0] [%[[SLOTS:.+]], 2, 16, 8]
  // CHECK: mamba.ssu state(%[[ST]] : tensor<?x2x16x8xf32>) {{.*}} state_batch_indices(%{{.+}} : tensor<?xi32>)
  // CHECK: tensor.parallel_insert_slice %{{.+}} into %[[NEW]][0, %[[H]], 0, 0] [%[[SLOTS]], 2, 16, 8]
  %y, %new = mamba.ssu state(%state : tensor<?x6x16x8xf32>) x(%x : tensor<?x6x16xbf16>)
      dt(%dt : tensor<?x6xbf16>) A(%A : tensor<6xf32>) B(%B : tensor<?x1x8xbf16>)
      C(%B : tensor<?x1x8xbf16>) state_batch_indices(%src : tensor<?xi32>)
      {mamba.plan = #mamba.plan<chunk_parallel tile [0, 2, 0]>}
      -> y(tensor<?x6x16xbf16>) new_state(tensor<?x6x16x8xf32>)
  return %y, %new : tensor<?x6x16xbf16>, tensor<?x6x16x8xf32>
}

// -----

// The new state knows its slots and the state does not.
// CHECK-LABEL: func @cast_state
// CHECK-SAME:    %[[STATE:[a-z0-9]+]]: tensor<?x6x16x8xf32>
func.func @cast_state(%state: tensor<?x6x16x8xf32>, %x: tensor<?x6x16xbf16>,
                      %dt: tensor<?x6xbf16>, %A: tensor<6xf32>, %B: tensor<?x1x8xbf16>)
    -> (tensor<?x6x16xbf16>, tensor<9x6x16x8xf32>) {
  // CHECK: %[[CAST:.+]] = tensor.cast %[[STATE]] : tensor<?x6x16x8xf32> to tensor<9x6x16x8xf32>
  // CHECK: scf.forall {{.*}} shared_outs(%{{.+}} = %{{.+}}, %{{.+}} = %[[CAST]])
  %y, %new = mamba.ssu state(%state : tensor<?x6x16x8xf32>) x(%x : tensor<?x6x16xbf16>)
      dt(%dt : tensor<?x6xbf16>) A(%A : tensor<6xf32>) B(%B : tensor<?x1x8xbf16>)
      C(%B : tensor<?x1x8xbf16>) -> y(tensor<?x6x16xbf16>) new_state(tensor<9x6x16x8xf32>)
  return %y, %new : tensor<?x6x16xbf16>, tensor<9x6x16x8xf32>
}
