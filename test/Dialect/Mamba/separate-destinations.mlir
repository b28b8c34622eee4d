// RUN: mamba-opt %s --mamba-separate-destinations --split-input-file | FileCheck %s

// CHECK-LABEL: func @fill_and_empty
func.func @fill_and_empty(%a: tensor<4xf32>, %n: index)
    -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  // Each fill has its own empty tensor, and each use its own fill.
  // CHECK: %[[E0:.+]] = tensor.empty(%{{.+}}) : tensor<?xf32>
  // CHECK: %[[E1:.+]] = tensor.empty(%{{.+}}) : tensor<?xf32>
  // CHECK: %[[E2:.+]] = tensor.empty(%{{.+}}) : tensor<?xf32>
  // CHECK: %[[F1:.+]] = linalg.fill ins(%cst : f32) outs(%[[E1]] : tensor<?xf32>)
  // CHECK: %[[F2:.+]] = linalg.fill ins(%cst : f32) outs(%[[E2]] : tensor<?xf32>)
  // CHECK: %[[G:.+]] = linalg.fill ins(%cst_0 : f32) outs(%[[E0]] : tensor<?xf32>)
  // CHECK: return %[[F2]], %[[F1]], %[[G]]
  %e = tensor.empty(%n) : tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %g = linalg.fill ins(%one : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %f, %f, %g : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}

// -----

// One operation may use a tensor twice. What is overwritten in a loop is made
// there.
// CHECK-LABEL: func @twice
func.func @twice(%a: tensor<4xf32>, %n: index) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK-DAG: %[[E0:.+]] = tensor.empty() : tensor<4xf32>
  // CHECK-DAG: %[[E1:.+]] = tensor.empty() : tensor<4xf32>
  // CHECK: scf.for {{.*}} iter_args(%[[X:.+]] = %[[E1]], %[[Y:.+]] = %[[E0]])
  // CHECK: %[[E2:.+]] = tensor.empty() : tensor<4xf32>
  // CHECK: linalg.exp ins(%[[X]] : tensor<4xf32>) outs(%[[E2]] : tensor<4xf32>)
  %e = tensor.empty() : tensor<4xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %e, %y = %e)
      -> (tensor<4xf32>, tensor<4xf32>) {
    %z = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %z, %y : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func @one_use
// CHECK-COUNT-1: tensor.empty
// CHECK-NOT:     tensor.empty
// CHECK:         return
func.func @one_use(%a: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.exp ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
