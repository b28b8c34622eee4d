// Tiles of the chunk operations; mamba.ssu: tile-ssu.mlir.

// RUN: mamba-opt %s --mamba-tile --canonicalize --cse --split-input-file \
// RUN:   | FileCheck %s
// RUN: mamba-opt %s --mamba-tile=loops=for --canonicalize --cse --split-input-file \
// RUN:   | FileCheck %s --check-prefix=FOR

// Without a plan, unit tiles. The last chunk may be short.
// CHECK-DAG:   #[[$NC:.+]] = affine_map<()[s0] -> (s0 ceildiv 128)>
// CHECK-DAG:   #[[$START:.+]] = affine_map<(d0) -> (d0 * 128)>
// CHECK-DAG:   #[[$COUNT:.+]] = affine_map<(d0)[s0] -> (d0 * -128 + s0, 128)>
// CHECK-LABEL: func @chunk_cumsum
// CHECK-SAME:    %[[DT:[a-z0-9]+]]: tensor<2x?x24xbf16>, %[[A:[a-z0-9]+]]: tensor<24xf32>, %[[BIAS:[a-z0-9]+]]: tensor<24xf32>
// FOR-LABEL:   func @chunk_cumsum
func.func @chunk_cumsum(%dt: tensor<2x?x24xbf16>, %A: tensor<24xf32>, %bias: tensor<24xf32>)
    -> (tensor<2x24x?x128xf32>, tensor<2x24x?x128xf32>) {
  // CHECK: %[[L:.+]] = tensor.dim %[[DT]], %c1
  // CHECK: %[[CHUNKS:.+]] = affine.apply #[[$NC]]()[%[[L]]]
  // CHECK: %[[OUT:.+]] = tensor.empty(%[[CHUNKS]]) : tensor<2x24x?x128xf32>
  // CHECK: %[[R:.+]]:2 = scf.forall (%[[B:.+]], %[[C:.+]]) in (2, %[[CHUNKS]])
  // CHECK-SAME: shared_outs(%[[D:.+]] = %[[OUT]], %[[CS:.+]] = %[[OUT]])
  // CHECK-DAG: %[[T:.+]] = affine.apply #[[$START]](%[[C]])
  // CHECK-DAG: %[[N:.+]] = affine.min #[[$COUNT]](%[[C]])[%[[L]]]
  // CHECK-DAG: %[[DTT:.+]] = tensor.extract_slice %[[DT]][%[[B]], %[[T]], 0] [1, %[[N]], 24]
  // CHECK: %[[TD:.+]], %[[TCS:.+]] = mamba.chunk_cumsum chunk_size(128) softplus
  // CHECK-SAME: dt(%[[DTT]] : tensor<1x?x24xbf16>) A(%[[A]] : tensor<24xf32>) dt_bias(%[[BIAS]] : tensor<24xf32>)
  // CHECK-SAME: -> tensor<1x24x1x128xf32>, tensor<1x24x1x128xf32>
  // CHECK: tensor.parallel_insert_slice %[[TD]] into %[[D]][%[[B]], 0, %[[C]], 0] [1, 24, 1, 128]
  // CHECK: tensor.parallel_insert_slice %[[TCS]] into %[[CS]][%[[B]], 0, %[[C]], 0] [1, 24, 1, 128]
  // CHECK: {mamba.kernel = "chunk_cumsum", mapping = [#gpu.block<linear_dim_1>, #gpu.block<linear_dim_0>]}
  // CHECK: return %[[R]]#0, %[[R]]#1

  // FOR: scf.for
  // FOR:   scf.for
  // FOR-NOT: scf.for
  // FOR:       mamba.chunk_cumsum
  // FOR:       tensor.insert_slice
  // FOR:       tensor.insert_slice
  // FOR:       scf.yield
  // FOR-NOT: mamba.kernel
  // FOR: return
  %d, %cs = mamba.chunk_cumsum chunk_size(128) softplus dt(%dt : tensor<2x?x24xbf16>)
      A(%A : tensor<24xf32>) dt_bias(%bias : tensor<24xf32>)
      -> tensor<2x24x?x128xf32>, tensor<2x24x?x128xf32>
  return %d, %cs : tensor<2x24x?x128xf32>, tensor<2x24x?x128xf32>
}

// -----

// A unit tile has all heads: where there are any number, the last tile is short.
// CHECK:       #[[$HEADS:.+]] = affine_map<(d0)[s0] -> (-d0 + s0, 8)>
// CHECK-LABEL: func @some_heads
// CHECK-SAME:    %[[DT:[a-z0-9]+]]: tensor<2x128x?xbf16>, %[[A:[a-z0-9]+]]: tensor<?xf32>
// CHECK:         %[[ALL:.+]] = tensor.dim %[[DT]], %c2
// CHECK:         scf.forall (%[[B:.+]], %[[H:.+]], %{{.+}}) = (0, 0, 0) to (2, %[[ALL]], 1) step (1, 8, 1)
// CHECK:           %[[N:.+]] = affine.min #[[$HEADS]](%[[H]])[%[[ALL]]]
// CHECK-DAG:       tensor.extract_slice %[[DT]][%[[B]], 0, %[[H]]] [1, 128, %[[N]]]
// CHECK-DAG:       %[[AT:.+]] = tensor.extract_slice %[[A]][%[[H]]] [%[[N]]]
// CHECK:           mamba.chunk_cumsum {{.*}} A(%[[AT]] : tensor<?xf32>)
// CHECK-SAME:        -> tensor<1x?x1x128xf32>, tensor<1x?x1x128xf32>
func.func @some_heads(%dt: tensor<2x128x?xbf16>, %A: tensor<?xf32>) -> tensor<2x?x1x128xf32> {
  %d, %cs = mamba.chunk_cumsum chunk_size(128) dt(%dt : tensor<2x128x?xbf16>)
      A(%A : tensor<?xf32>) {mamba.plan = #mamba.plan<chunk_parallel tile [1, 8, 1]>}
      -> tensor<2x?x1x128xf32>, tensor<2x?x1x128xf32>
  return %cs : tensor<2x?x1x128xf32>
}

// -----

// A plan's tile, which covers the batch whole and several heads; the loops and
// the tiles keep the plan.
// CHECK:       #[[$START:.+]] = affine_map<(d0) -> (d0 * 128)>
// CHECK:       #[[$COUNT:.+]] = affine_map<(d0) -> (d0 * -128 + 200, 128)>
// CHECK-LABEL: func @planned
// CHECK-SAME:    %[[DT:[a-z0-9]+]]: tensor<2x200x24xbf16>
func.func @planned(%dt: tensor<2x200x24xbf16>, %A: tensor<24xf32>)
    -> (tensor<2x24x2x128xf32>, tensor<2x24x2x128xf32>) {
  // CHECK: scf.forall (%[[H:.+]], %[[C:.+]]) = (0, 0) to (24, 2) step (12, 1)
  // CHECK-DAG: %[[T:.+]] = affine.apply #[[$START]](%[[C]])
  // CHECK-DAG: %[[N:.+]] = affine.min #[[$COUNT]](%[[C]])
  // CHECK-DAG: %[[DTT:.+]] = tensor.extract_slice %[[DT]][0, %[[T]], %[[H]]] [2, %[[N]], 12]
  // CHECK: mamba.chunk_cumsum {{.*}} dt(%[[DTT]] : tensor<2x?x12xbf16>)
  // CHECK-SAME: mamba.plan = #mamba.plan<chunk_parallel tile[0, 12, 1] warps 8>
  // CHECK-SAME: -> tensor<2x12x1x128xf32>, tensor<2x12x1x128xf32>
  // CHECK: {mamba.kernel = "chunk_cumsum", mamba.plan = #mamba.plan<chunk_parallel tile[0, 12, 1] warps 8>, mapping = [#gpu.block<linear_dim_1>, #gpu.block<linear_dim_0>]}
  %d, %cs = mamba.chunk_cumsum chunk_size(128) dt(%dt : tensor<2x200x24xbf16>)
      A(%A : tensor<24xf32>) {mamba.plan = #mamba.plan<chunk_parallel tile [0, 12, 1] warps 8>}
      -> tensor<2x24x2x128xf32>, tensor<2x24x2x128xf32>
  return %d, %cs : tensor<2x24x2x128xf32>, tensor<2x24x2x128xf32>
}

// -----

// A tile of nothing but whole loops is the operation itself, also where sizes
// and the number of heads of a group are dynamic.
// CHECK-LABEL: func @whole
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x?x?x64xbf16>, %[[B:[a-z0-9]+]]: tensor<?x?x?x128xbf16>
func.func @whole(%x: tensor<?x?x?x64xbf16>, %B: tensor<?x?x?x128xbf16>,
                 %d: tensor<?x?x?x128xf32>) -> tensor<?x?x?x64x128xf32> {
  // CHECK-NOT: scf.forall
  // CHECK: %[[R:.+]] = mamba.chunk_state x(%[[X]] : {{.*}}) B(%[[B]] :
  // CHECK: return %[[R]]
  %s = mamba.chunk_state x(%x : tensor<?x?x?x64xbf16>) B(%B : tensor<?x?x?x128xbf16>)
      dt(%d : tensor<?x?x?x128xf32>) dA_cumsum(%d : tensor<?x?x?x128xf32>)
      {mamba.plan = #mamba.plan<chunk_parallel tile [0, 0, 0, 0, 0]>} -> tensor<?x?x?x64x128xf32>
  return %s : tensor<?x?x?x64x128xf32>
}

// -----

// One group: every head reads it.
// CHECK-LABEL: func @one_group
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x?x24x64xbf16>, %[[B:[a-z0-9]+]]: tensor<2x?x1x128xbf16>, %[[D:[a-z0-9]+]]: tensor<2x24x?x128xf32>
func.func @one_group(%x: tensor<2x?x24x64xbf16>, %B: tensor<2x?x1x128xbf16>,
                     %d: tensor<2x24x?x128xf32>) -> tensor<2x?x24x64x128xf32> {
  // CHECK: scf.forall (%[[I:.+]], %[[C:.+]], %[[H:.+]]) in (2, %{{.+}}, 24) shared_outs(%[[OUT:.+]] = %{{.+}})
  // CHECK-DAG: tensor.extract_slice %[[X]][%[[I]], %[[T:.+]], %[[H]], 0] [1, %[[N:.+]], 1, 64]
  // CHECK-DAG: tensor.extract_slice %[[B]][%[[I]], %[[T]], 0, 0] [1, %[[N]], 1, 128]
  // CHECK-DAG: tensor.extract_slice %[[D]][%[[I]], %[[H]], %[[C]], 0] [1, 1, 1, 128]
  // CHECK: %[[TILE:.+]] = mamba.chunk_state {{.*}} -> tensor<1x1x1x64x128xf32>
  // CHECK: tensor.parallel_insert_slice %[[TILE]] into %[[OUT]][%[[I]], %[[C]], %[[H]], 0, 0] [1, 1, 1, 64, 128]
  %s = mamba.chunk_state x(%x : tensor<2x?x24x64xbf16>) B(%B : tensor<2x?x1x128xbf16>)
      dt(%d : tensor<2x24x?x128xf32>) dA_cumsum(%d : tensor<2x24x?x128xf32>)
      -> tensor<2x?x24x64x128xf32>
  return %s : tensor<2x?x24x64x128xf32>
}

// -----

// Group h / (H / G) of head h; here each head has its own.
// CHECK-LABEL: func @group_a_head
// CHECK-SAME:    %[[B:[a-z0-9]+]]: tensor<2x?x24x128xbf16>
func.func @group_a_head(%B: tensor<2x?x24x128xbf16>, %x: tensor<2x?x24x64xbf16>,
                        %d: tensor<2x24x?x128xf32>) -> tensor<2x?x24x64x128xf32> {
  // CHECK: scf.forall (%{{.+}}, %{{.+}}, %[[H:.+]]) in (2,
  // CHECK: tensor.extract_slice %[[B]][%{{.+}}, %{{.+}}, %[[H]], 0] [1, %{{.+}}, 1, 128]
  %s = mamba.chunk_state x(%x : tensor<2x?x24x64xbf16>) B(%B : tensor<2x?x24x128xbf16>)
      dt(%d : tensor<2x24x?x128xf32>) dA_cumsum(%d : tensor<2x24x?x128xf32>)
      -> tensor<2x?x24x64x128xf32>
  return %s : tensor<2x?x24x64x128xf32>
}

// -----

// Heads and groups known at run time only, and packed sequences.
// CHECK-LABEL: func @dynamic_groups
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x?x?x64xbf16>, %[[B:[a-z0-9]+]]: tensor<2x?x?x128xbf16>, %[[ID:[a-z0-9]+]]: tensor<2x?xi32>
func.func @dynamic_groups(%x: tensor<2x?x?x64xbf16>, %B: tensor<2x?x?x128xbf16>,
                          %id: tensor<2x?xi32>, %d: tensor<2x?x?x128xf32>)
    -> tensor<2x?x?x64x128xf32> {
  // CHECK: %[[HEADS:.+]] = tensor.dim %[[X]], %c2
  // CHECK: scf.forall (%[[I:.+]], %{{.+}}, %[[H:.+]]) in (2, %{{.+}}, %[[HEADS]])
  // CHECK-DAG: %[[GROUPS:.+]] = tensor.dim %[[B]], %c2
  // CHECK-DAG: %[[RATIO:.+]] = arith.divui %[[HEADS]], %[[GROUPS]]
  // CHECK-DAG: %[[G:.+]] = arith.divui %[[H]], %[[RATIO]]
  // CHECK-DAG: tensor.extract_slice %[[B]][%[[I]], %[[T:.+]], %[[G]], 0] [1, %[[N:.+]], 1, 128]
  // CHECK-DAG: %[[IDS:.+]] = tensor.extract_slice %[[ID]][%[[I]], %[[T]]] [1, %[[N]]]
  // CHECK: mamba.chunk_state {{.*}} seq_idx(%[[IDS]] : tensor<1x?xi32>)
  %s = mamba.chunk_state x(%x : tensor<2x?x?x64xbf16>) B(%B : tensor<2x?x?x128xbf16>)
      dt(%d : tensor<2x?x?x128xf32>) dA_cumsum(%d : tensor<2x?x?x128xf32>)
      seq_idx(%id : tensor<2x?xi32>) -> tensor<2x?x?x64x128xf32>
  return %s : tensor<2x?x?x64x128xf32>
}

// -----

// A tile of a group's heads and of part of the head dim. It lacks the token
// before the chunk, so its id is read here: 0 before the first chunk.
// CHECK-DAG:   #[[$START:.+]] = affine_map<(d0) -> (d0 * 128)>
// CHECK-DAG:   #[[$BEFORE:.+]] = affine_map<(d0) -> (0, d0 * 128 - 1)>
// CHECK-LABEL: func @previous_id
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x?x24x64xbf16>, %[[B:[a-z0-9]+]]: tensor<2x?x8x32xbf16>, %[[ID:[a-z0-9]+]]: tensor<2x?xi32>, %[[STATES:[a-z0-9]+]]: tensor<2x?x24x64x32xbf16>, %[[D:[a-z0-9]+]]: tensor<24x64xf32>
func.func @previous_id(%x: tensor<2x?x24x64xbf16>, %B: tensor<2x?x8x32xbf16>,
                       %id: tensor<2x?xi32>, %h: tensor<2x?x24x64x32xbf16>,
                       %D: tensor<24x64xf32>, %d: tensor<2x24x?x128xf32>)
    -> tensor<2x?x24x64xbf16> {
  // CHECK: scf.forall (%[[I:.+]], %[[C:.+]], %[[H:.+]], %[[P:.+]]) = (0, 0, 0, 0) to (2, %{{.+}}, 24, 64) step (1, 1, 3, 32)
  // CHECK-DAG: %[[T:.+]] = affine.apply #[[$START]](%[[C]])
  // CHECK-DAG: tensor.extract_slice %[[X]][%[[I]], %[[T]], %[[H]], %[[P]]] [1, %[[N:.+]], 3, 32]
  // CHECK-DAG: %[[G:.+]] = arith.divui %[[H]], %c3
  // CHECK-DAG: tensor.extract_slice %[[B]][%[[I]], %[[T]], %[[G]], 0] [1, %[[N]], 1, 32]
  // CHECK-DAG: tensor.extract_slice %[[STATES]][%[[I]], %[[C]], %[[H]], %[[P]], 0] [1, 1, 3, 32, 32]
  // CHECK-DAG: tensor.extract_slice %[[D]][%[[H]], %[[P]]] [3, 32]
  // CHECK-DAG: %[[IDS:.+]] = tensor.extract_slice %[[ID]][%[[I]], %[[T]]] [1, %[[N]]]
  // CHECK-DAG: %[[BEFORE:.+]] = affine.max #[[$BEFORE]](%[[C]])
  // CHECK-DAG: %[[LAST:.+]] = tensor.extract %[[ID]][%[[I]], %[[BEFORE]]]
  // CHECK-DAG: %[[FIRST:.+]] = arith.cmpi eq, %[[C]], %c0
  // CHECK-DAG: %[[PREV:.+]] = arith.select %[[FIRST]], %c0_i32, %[[LAST]]
  // CHECK-DAG: %[[PREVS:.+]] = tensor.from_elements %[[PREV]] : tensor<1x1xi32>
  // CHECK: mamba.chunk_out mask<causal>
  // CHECK-SAME: seq_idx(%[[IDS]] : tensor<1x?xi32>) prev_seq_idx(%[[PREVS]] : tensor<1x1xi32>)
  // CHECK-SAME: -> tensor<1x?x3x32xbf16>
  %y = mamba.chunk_out mask<causal> x(%x : tensor<2x?x24x64xbf16>)
      B(%B : tensor<2x?x8x32xbf16>) C(%B : tensor<2x?x8x32xbf16>)
      dt(%d : tensor<2x24x?x128xf32>) dA_cumsum(%d : tensor<2x24x?x128xf32>)
      chunk_states(%h : tensor<2x?x24x64x32xbf16>) D(%D : tensor<24x64xf32>)
      seq_idx(%id : tensor<2x?xi32>)
      {mamba.plan = #mamba.plan<chunk_parallel tile [1, 1, 3, 32]>} -> tensor<2x?x24x64xbf16>
  return %y : tensor<2x?x24x64xbf16>
}

// -----

// Where the ids before the chunks are given, or no chunk is cut off, nothing
// is read.
// CHECK-LABEL: func @previous_id_known
// CHECK-SAME:    %[[PREV:[a-z0-9]+]]: tensor<2x?xi32>
func.func @previous_id_known(%prev: tensor<2x?xi32>, %id: tensor<2x?xi32>,
                             %x: tensor<2x?x8x64xbf16>, %B: tensor<2x?x8x32xbf16>,
                             %h: tensor<2x?x8x64x32xbf16>, %d: tensor<2x8x?x128xf32>)
    -> (tensor<2x?x8x64xbf16>, tensor<2x?x8x64xbf16>) {
  // CHECK: scf.forall (%[[I:.+]], %[[C:.+]], %{{.+}}) in (2,
  // CHECK: %[[PREVS:.+]] = tensor.extract_slice %[[PREV]][%[[I]], %[[C]]] [1, 1]
  // CHECK: mamba.chunk_out {{.*}} prev_seq_idx(%[[PREVS]] : tensor<1x1xi32>)
  %y = mamba.chunk_out mask<causal> x(%x : tensor<2x?x8x64xbf16>)
      B(%B : tensor<2x?x8x32xbf16>) C(%B : tensor<2x?x8x32xbf16>)
      dt(%d : tensor<2x8x?x128xf32>) dA_cumsum(%d : tensor<2x8x?x128xf32>)
      chunk_states(%h : tensor<2x?x8x64x32xbf16>) seq_idx(%id : tensor<2x?xi32>)
      prev_seq_idx(%prev : tensor<2x?xi32>) -> tensor<2x?x8x64xbf16>
  // CHECK: scf.forall (%{{.+}}) in (8)
  // CHECK: mamba.chunk_out
  // CHECK-NOT: prev_seq_idx
  // CHECK: scf.forall.in_parallel
  %z = mamba.chunk_out mask<causal> x(%x : tensor<2x?x8x64xbf16>)
      B(%B : tensor<2x?x8x32xbf16>) C(%B : tensor<2x?x8x32xbf16>)
      dt(%d : tensor<2x8x?x128xf32>) dA_cumsum(%d : tensor<2x8x?x128xf32>)
      chunk_states(%h : tensor<2x?x8x64x32xbf16>) seq_idx(%id : tensor<2x?xi32>)
      {mamba.plan = #mamba.plan<chunk_parallel tile [0, 0, 1, 0]>} -> tensor<2x?x8x64xbf16>
  return %y, %z : tensor<2x?x8x64xbf16>, tensor<2x?x8x64xbf16>
}

// -----

// total_decay does not depend on the head dim: of the tiles along it, the
// first writes it and the others write nothing.
// CHECK-LABEL: func @state_pass
// CHECK-SAME:    %[[S:[a-z0-9]+]]: tensor<2x?x24x64x128xf32>, %[[CS:[a-z0-9]+]]: tensor<2x24x?x128xf32>, %[[INIT:[a-z0-9]+]]: tensor<2x24x64x128xbf16>
// FOR-LABEL:   func @state_pass
func.func @state_pass(%s: tensor<2x?x24x64x128xf32>, %cs: tensor<2x24x?x128xf32>,
                      %init: tensor<2x24x64x128xbf16>)
    -> (tensor<2x?x24x64x128xbf16>, tensor<2x24x64x128xbf16>, tensor<2x24xf32>) {
  // CHECK: %[[NC:.+]] = tensor.dim %[[S]], %c1
  // CHECK: scf.forall (%[[I:.+]], %[[H:.+]], %[[P:.+]]) = (0, 0, 0) to (2, 24, 64) step (1, 1, 16)
  // CHECK-SAME: shared_outs(%[[O0:.+]] = %{{.+}}, %[[O1:.+]] = %{{.+}}, %[[O2:.+]] = %{{.+}})
  // CHECK-DAG: tensor.extract_slice %[[S]][%[[I]], 0, %[[H]], %[[P]], 0] [1, %[[NC]], 1, 16, 128]
  // CHECK-DAG: tensor.extract_slice %[[CS]][%[[I]], %[[H]], 0, 0] [1, 1, %[[NC]], 128]
  // CHECK-DAG: tensor.extract_slice %[[INIT]][%[[I]], %[[H]], %[[P]], 0] [1, 1, 16, 128]
  // CHECK: %{{.+}}, %{{.+}}, %[[DECAY:.+]] = mamba.state_pass {{.*}} total_decay(tensor<1x1xf32>)
  // CHECK: %[[FIRST:.+]] = arith.cmpi eq, %[[P]], %c0
  // CHECK: %[[SIZE:.+]] = arith.select %[[FIRST]], %c1, %c0
  // CHECK: %[[OWNED:.+]] = tensor.extract_slice %[[DECAY]][0, 0] [1, %[[SIZE]]]
  // CHECK: tensor.parallel_insert_slice %{{.+}} into %[[O0]][%[[I]], 0, %[[H]], %[[P]], 0] [1, %[[NC]], 1, 16, 128]
  // CHECK: tensor.parallel_insert_slice %{{.+}} into %[[O1]][%[[I]], %[[H]], %[[P]], 0] [1, 1, 16, 128]
  // CHECK: tensor.parallel_insert_slice %[[OWNED]] into %[[O2]][%[[I]], %[[H]]] [1, %[[SIZE]]]

  // FOR: scf.for %[[I:.+]] = %c0 to %c2 step %c1
  // FOR: scf.for %[[H:.+]] = %c0 to %c24 step %c1
  // FOR: scf.for %[[P:.+]] = %c0 to %c64 step %c16
  // FOR: %[[FIRST:.+]] = arith.cmpi eq, %[[P]], %c0
  // FOR: %[[SIZE:.+]] = arith.select %[[FIRST]], %c1, %c0
  // FOR: tensor.insert_slice %{{.+}} into %{{.+}}[%[[I]], %[[H]]] [1, %[[SIZE]]]
  %h, %last, %decay = mamba.state_pass states(%s : tensor<2x?x24x64x128xf32>)
      dA_cumsum(%cs : tensor<2x24x?x128xf32>) initial_state(%init : tensor<2x24x64x128xbf16>)
      {mamba.plan = #mamba.plan<chunk_parallel tile [1, 1, 16, 0]>}
      -> chunk_states(tensor<2x?x24x64x128xbf16>) final_state(tensor<2x24x64x128xbf16>)
         total_decay(tensor<2x24xf32>)
  return %h, %last, %decay
      : tensor<2x?x24x64x128xbf16>, tensor<2x24x64x128xbf16>, tensor<2x24xf32>
}

// -----

// Cut along both dimensions that total_decay lacks.
// CHECK-LABEL: func @first_of_two
func.func @first_of_two(%s: tensor<2x?x24x64x128xf32>, %cs: tensor<2x24x?x128xf32>)
    -> (tensor<2x?x24x64x128xf32>, tensor<2x24xf32>) {
  // CHECK: scf.forall (%[[H:.+]], %[[P:.+]], %[[N:.+]]) = (0, 0, 0) to (24, 64, 128) step (6, 16, 64)
  // CHECK: %[[FIRSTP:.+]] = arith.cmpi eq, %[[P]], %c0
  // CHECK: %[[FIRSTN:.+]] = arith.cmpi eq, %[[N]], %c0
  // CHECK: %[[FIRST:.+]] = arith.andi %[[FIRSTP]], %[[FIRSTN]]
  // CHECK: %[[SIZE:.+]] = arith.select %[[FIRST]], %c6, %c0
  // CHECK: tensor.parallel_insert_slice %{{.+}} into %{{.+}}[0, %[[H]]] [2, %[[SIZE]]]
  %h, %decay = mamba.state_pass states(%s : tensor<2x?x24x64x128xf32>)
      dA_cumsum(%cs : tensor<2x24x?x128xf32>)
      {mamba.plan = #mamba.plan<chunk_parallel tile [0, 6, 16, 64]>}
      -> chunk_states(tensor<2x?x24x64x128xf32>) total_decay(tensor<2x24xf32>)
  return %h, %decay : tensor<2x?x24x64x128xf32>, tensor<2x24xf32>
}

// -----

// Operations in loops are tiles already.
// CHECK-LABEL: func @in_loop
// CHECK:         scf.for
// CHECK-NOT:     scf.for
// CHECK:         mamba.chunk_cumsum {{.*}} dt(%{{.+}} : tensor<1x?x24xbf16>)
func.func @in_loop(%dt: tensor<1x?x24xbf16>, %A: tensor<24xf32>, %n: index,
                   %init: tensor<1x24x?x128xf32>) -> tensor<1x24x?x128xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%carried = %init)
      -> tensor<1x24x?x128xf32> {
    %d, %cs = mamba.chunk_cumsum chunk_size(128) dt(%dt : tensor<1x?x24xbf16>)
        A(%A : tensor<24xf32>) -> tensor<1x24x?x128xf32>, tensor<1x24x?x128xf32>
    scf.yield %cs : tensor<1x24x?x128xf32>
  }
  return %r : tensor<1x24x?x128xf32>
}
