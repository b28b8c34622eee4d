// RUN: mamba-opt %s --mamba-results-to-arguments --split-input-file | FileCheck %s

// A result is computed in its argument from the start.
// CHECK-LABEL: func @computed_in_place
// CHECK-SAME:    (%[[X:[a-z0-9]+]]: memref<?xf32> {mamba.name = "x"}, %[[Y:[a-z0-9]+]]: memref<?xf32> {mamba.name = "y", mamba.result}) {
func.func @computed_in_place(%x: tensor<?xf32> {mamba.name = "x"})
    -> (tensor<?xf32> {mamba.name = "y"}) {
  %c0 = arith.constant 0 : index
  // CHECK: %[[XT:.+]] = bufferization.to_tensor %[[X]] restrict : memref<?xf32> to tensor<?xf32>
  // CHECK: %[[YT:.+]] = bufferization.to_tensor %[[Y]] restrict writable : memref<?xf32> to tensor<?xf32>
  // CHECK: %[[R:.+]] = linalg.exp ins(%[[XT]] : tensor<?xf32>) outs(%[[YT]] : tensor<?xf32>)
  // CHECK: bufferization.materialize_in_destination %[[R]] in restrict writable %[[Y]]
  // CHECK: return{{$}}
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %y = linalg.exp ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// Through loops and fills; names by number where there are none.
// CHECK-LABEL: func @through_loop
// CHECK-SAME:    (%{{.+}}: f32 {mamba.name = "arg0"}, %{{.+}}: index {mamba.name = "arg1"}, %[[R:[a-z0-9]+]]: memref<4xf32> {mamba.name = "result0", mamba.result}) {
func.func @through_loop(%value: f32, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[RT:.+]] = bufferization.to_tensor %[[R]] restrict writable
  // CHECK: %[[FILL:.+]] = linalg.fill ins(%{{.+}} : f32) outs(%[[RT]] : tensor<4xf32>)
  // CHECK: %[[LOOP:.+]] = scf.for {{.*}} iter_args(%{{.+}} = %[[FILL]])
  // CHECK: bufferization.materialize_in_destination %[[LOOP]] in restrict writable %[[R]]
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%value : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %f) -> tensor<4xf32> {
    %y = linalg.exp ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %y : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// An updated argument gets no second one. It is written last: y still reads it.
// CHECK-LABEL: func @updated
// CHECK-SAME:    (%[[S:[a-z0-9]+]]: memref<4xf32> {mamba.name = "state", mamba.updated = "new_state"}, %[[Y:[a-z0-9]+]]: memref<4xf32> {mamba.name = "y", mamba.result}) {
func.func @updated(%s: tensor<4xf32> {mamba.name = "state"})
    -> (tensor<4xf32> {mamba.name = "new_state"}, tensor<4xf32> {mamba.name = "y"}) {
  // CHECK: %[[ST:.+]] = bufferization.to_tensor %[[S]] restrict writable
  // CHECK: %[[NEW:.+]] = linalg.exp ins(%[[ST]] : {{.*}}) outs(%[[ST]] :
  // CHECK: %[[R:.+]] = linalg.log ins(%[[ST]] :
  // CHECK: bufferization.materialize_in_destination %[[R]] in restrict writable %[[Y]]
  // CHECK-NEXT: bufferization.materialize_in_destination %[[NEW]] in restrict writable %[[S]]
  // CHECK-NEXT: return
  %new = linalg.exp ins(%s : tensor<4xf32>) outs(%s : tensor<4xf32>) -> tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.log ins(%s : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %new, %y : tensor<4xf32>, tensor<4xf32>
}

// -----

// Of two results that start from one argument, the first updates it; the
// second is a copy of its own.
// CHECK-LABEL: func @two_updates
// CHECK-SAME:    (%[[S:[a-z0-9]+]]: memref<4xf32> {mamba.name = "arg0", mamba.updated = "result0"}, %[[R:[a-z0-9]+]]: memref<4xf32> {mamba.name = "result1", mamba.result}) {
func.func @two_updates(%s: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[EXP:.+]] = linalg.exp
  // CHECK: %[[LOG:.+]] = linalg.log
  // CHECK: bufferization.materialize_in_destination %[[LOG]] in restrict writable %[[R]]
  // CHECK-NEXT: bufferization.materialize_in_destination %[[EXP]] in restrict writable %[[S]]
  // CHECK-NEXT: return
  %a = linalg.exp ins(%s : tensor<4xf32>) outs(%s : tensor<4xf32>) -> tensor<4xf32>
  %b = linalg.log ins(%s : tensor<4xf32>) outs(%s : tensor<4xf32>) -> tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// -----

// One value as two results.
// CHECK-LABEL: func @same_value
// CHECK-SAME:    (%{{.+}}: memref<4xf32> {mamba.name = "x"}, %[[A:[a-z0-9]+]]: memref<4xf32> {mamba.name = "a", mamba.result}, %[[B:[a-z0-9]+]]: memref<4xf32> {mamba.name = "b", mamba.result}) {
func.func @same_value(%x: tensor<4xf32> {mamba.name = "x"})
    -> (tensor<4xf32> {mamba.name = "a"}, tensor<4xf32> {mamba.name = "b"}) {
  // CHECK: %[[AT:.+]] = bufferization.to_tensor %[[A]] restrict writable
  // CHECK: %[[R:.+]] = linalg.exp {{.*}} outs(%[[AT]] :
  // CHECK: bufferization.materialize_in_destination %[[R]] in restrict writable %[[A]]
  // CHECK: bufferization.materialize_in_destination %[[R]] in restrict writable %[[B]]
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %r, %r : tensor<4xf32>, tensor<4xf32>
}

// -----

// A result that is an argument itself is copied; nothing is updated.
// CHECK-LABEL: func @argument
// CHECK-SAME:    (%[[X:[a-z0-9]+]]: memref<4xf32> {mamba.name = "x"}, %[[Y:[a-z0-9]+]]: memref<4xf32> {mamba.name = "y", mamba.result}) {
func.func @argument(%x: tensor<4xf32> {mamba.name = "x"})
    -> (tensor<4xf32> {mamba.name = "y"}) {
  // CHECK: %[[XT:.+]] = bufferization.to_tensor %[[X]] restrict :
  // CHECK: bufferization.materialize_in_destination %[[XT]] in restrict writable %[[Y]]
  return %x : tensor<4xf32>
}

// -----

// The argument as it was beside its update: copied before it is written.
// CHECK-LABEL: func @argument_and_update
// CHECK-SAME:    (%[[S:[a-z0-9]+]]: memref<4xf32> {mamba.name = "s", mamba.updated = "new"}, %[[OLD:[a-z0-9]+]]: memref<4xf32> {mamba.name = "old", mamba.result}) {
func.func @argument_and_update(%s: tensor<4xf32> {mamba.name = "s"})
    -> (tensor<4xf32> {mamba.name = "new"}, tensor<4xf32> {mamba.name = "old"}) {
  // CHECK: %[[ST:.+]] = bufferization.to_tensor %[[S]] restrict writable
  // CHECK: %[[NEW:.+]] = linalg.exp
  // CHECK: bufferization.materialize_in_destination %[[ST]] in restrict writable %[[OLD]]
  // CHECK-NEXT: bufferization.materialize_in_destination %[[NEW]] in restrict writable %[[S]]
  %new = linalg.exp ins(%s : tensor<4xf32>) outs(%s : tensor<4xf32>) -> tensor<4xf32>
  return %new, %s : tensor<4xf32>, tensor<4xf32>
}

// -----

// An update of another type, or inside a region, is no update in place; nor is
// a loop whose results are not its initial values.
// CHECK-LABEL: func @not_in_place
// CHECK-SAME:    (%{{[a-z0-9]+}}: memref<?xf32> {mamba.name = "arg0"}, %{{[a-z0-9]+}}: i1 {mamba.name = "arg1"},
// CHECK-SAME:    memref<4xf32> {mamba.name = "result0", mamba.result},
// CHECK-SAME:    memref<?xf32> {mamba.name = "result1", mamba.result},
// CHECK-SAME:    memref<?xf32> {mamba.name = "result2", mamba.result}) {
func.func @not_in_place(%x: tensor<?xf32>, %condition: i1)
    -> (tensor<4xf32>, tensor<?xf32>, tensor<?xf32>) {
  %cast = tensor.cast %x : tensor<?xf32> to tensor<4xf32>
  %a = linalg.exp ins(%cast : tensor<4xf32>) outs(%cast : tensor<4xf32>) -> tensor<4xf32>
  %b = scf.if %condition -> tensor<?xf32> {
    %c = linalg.exp ins(%x : tensor<?xf32>) outs(%x : tensor<?xf32>) -> tensor<?xf32>
    scf.yield %c : tensor<?xf32>
  } else {
    scf.yield %x : tensor<?xf32>
  }
  %w:2 = scf.while (%again = %condition) : (i1) -> (i1, tensor<?xf32>) {
    scf.condition(%again) %again, %b : i1, tensor<?xf32>
  } do {
  ^bb0(%again: i1, %t: tensor<?xf32>):
    scf.yield %again : i1
  }
  return %a, %b, %w#1 : tensor<4xf32>, tensor<?xf32>, tensor<?xf32>
}

// -----

// Without results, and functions that have no tensors: private ones stay.
// CHECK-LABEL: func private @helper(f32) -> f32
func.func private @helper(f32) -> f32

// CHECK-LABEL: func @no_result
// CHECK-SAME:    (%[[X:[a-z0-9]+]]: memref<4xf32> {mamba.name = "arg0"}) {
// CHECK:         call @helper
func.func @no_result(%x: tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %v = tensor.extract %x[%c0] : tensor<4xf32>
  %r = call @helper(%v) : (f32) -> f32
  return
}

// -----

// A state may have one name before and after its update.
// CHECK-LABEL: func @one_name
// CHECK-SAME:    {mamba.name = "state", mamba.updated = "state"}
func.func @one_name(%s: tensor<4xf32> {mamba.name = "state"})
    -> (tensor<4xf32> {mamba.name = "state"}) {
  %new = linalg.exp ins(%s : tensor<4xf32>) outs(%s : tensor<4xf32>) -> tensor<4xf32>
  return %new : tensor<4xf32>
}

// -----

// Rows may be slices of longer ones: two strides are the caller's. Behind them
// the size of one axis may be dynamic.

// CHECK-LABEL: func.func @rows(
// CHECK-SAME:    %{{.*}}: memref<?x?x?x64xbf16, strided<[?, ?, 64, 1]>> {mamba.name = "x", mamba.pitches = 2 : i64},
// CHECK-SAME:    %{{.*}}: memref<?x8xf32, strided<[?, 1]>>
func.func @rows(%x: tensor<?x?x?x64xbf16> {mamba.name = "x", mamba.pitches = 2 : i64},
                %y: tensor<?x8xf32> {mamba.pitches = 1 : i64}) {
  return
}
