// Upstream's fault: the text of a group without tokens is not parsed.
// RUN: not mlir-opt-22 %s 2>&1 | FileCheck %s --check-prefix=UPSTREAM
// UPSTREAM: error: expected operation name in quotes

// Ours prints an attribute.
// RUN: sed -e 's/create_group$/create_group {mamba.group}/' %s | mamba-opt | mamba-opt | FileCheck %s
// CHECK:      nvgpu.device_async_create_group {mamba.group}
// CHECK-NEXT: arith.constant
func.func @group() -> index {
  %group = nvgpu.device_async_create_group
  %c1 = arith.constant 1 : index
  return %c1 : index
}
