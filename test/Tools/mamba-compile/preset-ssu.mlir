// RUN: mamba-compile --model=bamba-9b --op=ssu --emit=mamba | FileCheck %s
// RUN: mamba-compile --model=bamba-9b --op=ssu --emit=mamba --state-dtype=f32 --tokens=3 --state-indices --dst-state-indices --intermediate-states | FileCheck %s --check-prefix=ALL
// RUN: mamba-compile --model=bamba-9b --op=ssu --emit=mamba --no-state-update | FileCheck %s --check-prefix=KEEP
// RUN: mamba-compile --model=falcon-h1-0.5b --op=ssu --emit=mamba | FileCheck %s --check-prefix=SCAN
// RUN: mamba-compile --model=falcon-h1-0.5b --op=ssu --emit=mamba --z=false | FileCheck %s --check-prefix=NORM

// CHECK:      func.func @ssu(%state: tensor<?x?x64x128xbf16> {mamba.name = "state"}
// CHECK-SAME: %x: tensor<?x?x64xbf16>
// CHECK-SAME: %dt: tensor<?x?xbf16>
// CHECK-SAME: %B: tensor<?x?x128xbf16>
// CHECK-SAME: tensor<?x?x64x128xbf16> {mamba.name = "new_state"}
// CHECK-NEXT: mamba.ssu softplus state(%state

// ALL:      %state: tensor<?x?x64x128xf32>
// ALL-SAME: %x: tensor<?x3x?x64xbf16>
// ALL-SAME: %state_batch_indices: tensor<?xi32>
// ALL-SAME: %dst_state_batch_indices: tensor<?xi32>
// ALL-SAME: tensor<?x3x?x64x128xf32> {mamba.name = "intermediate_states"}

// KEEP:      -> (tensor<?x?x64xbf16> {mamba.name = "y"}) {
// KEEP-NEXT: mamba.ssu softplus disable_state_update

// SCAN: z(%z
// NORM: mamba.ssu
// NORM-NOT: z(
