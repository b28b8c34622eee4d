// RUN: not mamba-opt %s --mamba-to-linalg-pipeline="without=mamba-fus" 2>&1 | FileCheck %s
// RUN: mamba-opt %s --mamba-to-linalg-pipeline="without=mamba-fuse,mamba-rewrite-exp2" | FileCheck %s --check-prefix=OK

// CHECK: error: expected option 'without' to name one of mamba-fuse, {{.*}}, got 'mamba-fus'
// OK: func.func @f
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
