// RUN: mamba-compile --model=mamba2-130m --emit=mamba | FileCheck %s
// RUN: mamba-compile --model=MAMBA2-130M --emit=mamba -o - | FileCheck %s
// RUN: mamba-compile --model=mamba2-130m --emit=mamba | mamba-compile - --emit=mamba | FileCheck %s --check-prefix=AGAIN
// RUN: mamba-compile --model=codestral-mamba-7b --emit=mamba --static-heads | FileCheck %s --check-prefix=STATIC
// RUN: mamba-compile --model=codestral-mamba-7b --emit=mamba --heads=16 | FileCheck %s --check-prefix=HEADS
// RUN: mamba-compile --model=mamba2-130m --emit=mamba --dtype=f32 --dt-dtype=bf16 --state-dtype=f32 --chunk-size=64 --head-dim=32 --state-dim=16 --z --d-has-head-dim --initial-state --seq-idx --chunk-states --total-decay --no-dt-bias --no-softplus --dt-limit=0.001,inf | FileCheck %s --check-prefix=ALL
// RUN: mamba-compile --model=mamba2-130m --emit=mamba --no-d --no-final-state | FileCheck %s --check-prefix=FEW

// CHECK:      func.func @ssd(%x: tensor<?x?x?x64xf16> {mamba.name = "x"}
// CHECK-SAME: %dt: tensor<?x?x?xf16> {mamba.name = "dt"}
// CHECK-SAME: %A: tensor<?xf32> {mamba.name = "A"}
// CHECK-SAME: %B: tensor<?x?x?x128xf16> {mamba.name = "B"}
// CHECK-SAME: %C: tensor<?x?x?x128xf16> {mamba.name = "C"}
// CHECK-SAME: %D: tensor<?xf32> {mamba.name = "D"}
// CHECK-SAME: %dt_bias: tensor<?xf32> {mamba.name = "dt_bias"})
// CHECK-SAME: -> (tensor<?x?x?x64xf16> {mamba.name = "y"}, tensor<?x?x64x128xf16> {mamba.name = "final_state"})
// CHECK-NEXT: mamba.ssd chunk_size(256) softplus x(%x
// CHECK-NEXT: return

// AGAIN: mamba.ssd chunk_size(256) softplus

// STATIC:      @ssd(%x: tensor<?x?x128x64x
// STATIC-SAME: %A: tensor<128xf32>
// STATIC-SAME: %B: tensor<?x?x8x128x

// HEADS:      @ssd(%x: tensor<?x?x16x64x
// HEADS-SAME: %B: tensor<?x?x?x128x

// ALL:      @ssd(%x: tensor<?x?x?x32xf32>
// ALL-SAME: %dt: tensor<?x?x?xbf16>
// ALL-SAME: %B: tensor<?x?x?x16xf32>
// ALL-SAME: %D: tensor<?x32xf32>
// ALL-SAME: %z: tensor<?x?x?x32xf32>
// ALL-SAME: %initial_state: tensor<?x?x32x16xf32>
// ALL-SAME: %seq_idx: tensor<?x?xi32>
// ALL-SAME: tensor<?x?x?x32x16xf32> {mamba.name = "chunk_states"}
// ALL-SAME: tensor<?x?xf32> {mamba.name = "total_decay"}
// ALL-NEXT: mamba.ssd chunk_size(64) dt_limit(1.000000e-03, inf) x(

// FEW:      @ssd(
// FEW-SAME: -> (tensor<?x?x?x64xf16> {mamba.name = "y"}) {
// FEW-NOT:  D(
