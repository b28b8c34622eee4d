// A bundle for the CPU: a manifest without launches, and a shared library.

// RUN: rm -rf %t && mkdir -p %t/none %t/broken
// RUN: mamba-compile %s --target=cpu --emit=bundle -o %t/bundle
// RUN: FileCheck %s --input-file=%t/bundle/manifest.json
// RUN: llvm-nm --dynamic --defined-only %t/bundle/functions.so | FileCheck %s --check-prefix=SYMBOLS

// An older bundle is replaced, by the same bytes.
// RUN: cp %t/bundle/functions.so %t/first.so
// RUN: mamba-compile %s --target=cpu --emit=bundle -o %t/bundle
// RUN: cmp %t/first.so %t/bundle/functions.so
// RUN: not mamba-compile %s --target=cpu --emit=bundle -o %t/none 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: will not replace '{{.*}}none', which is not a bundle

// RUN: env PATH=%t/none not mamba-compile %s --target=cpu --emit=bundle -o %t/other 2>&1 | FileCheck %s --check-prefix=NO-LINKER
// NO-LINKER: error: a bundle for the cpu needs a linker, and there is no ld.lld-22, ld.lld, ld, cc or clang on PATH
// RUN: ln -s %S/Inputs/broken-linker.sh %t/broken/ld
// RUN: env PATH=%t/broken not mamba-compile %s --target=cpu --emit=bundle -o %t/other 2>&1 | FileCheck %s --check-prefix=BROKEN
// BROKEN: error: the linker '{{.*}}broken/ld' failed: no space left
// RUN: not ls %t/other

// CHECK:      "functions": [
// CHECK-NOT:  "launches"
// CHECK:        "arguments": [
// CHECK:            "name": "x",
// CHECK-NEXT:       "role": "input",
// CHECK-NEXT:       "shape": [
// CHECK-NEXT:         "batch",
// CHECK:            "name": "y",
// CHECK-NEXT:       "role": "output",
// CHECK:        "constraints": [
// CHECK-NEXT:     "mod(heads, groups) == 0"
// CHECK:        "name": "scan",
// CHECK:        "operations": [
// CHECK:            "chunk_size": 64,
// CHECK-NEXT:       "op": "mamba.ssd"
// CHECK:        "sizes": {
// CHECK:            "name": "state",
// CHECK-NEXT:       "result": "next",
// CHECK-NEXT:       "role": "inout",
// CHECK:        "name": "step",
// CHECK-NOT:  "launches"
// CHECK:      "library": "functions.so",
// CHECK-NEXT: "target": "cpu",
// CHECK-NEXT: "version": 1

// SYMBOLS:     T scan
// SYMBOLS-NEXT: T step
// SYMBOLS-NOT: {{.}}

func.func @scan(%x: tensor<?x?x?x4xf32> {mamba.name = "x"},
                %dt: tensor<?x?x?xf32> {mamba.name = "dt"},
                %A: tensor<?xf32> {mamba.name = "A"},
                %B: tensor<?x?x?x4xf32> {mamba.name = "B"},
                %C: tensor<?x?x?x4xf32> {mamba.name = "C"})
    -> (tensor<?x?x?x4xf32> {mamba.name = "y"}) {
  %y = mamba.ssd chunk_size(64) x(%x : tensor<?x?x?x4xf32>)
      dt(%dt : tensor<?x?x?xf32>) A(%A : tensor<?xf32>)
      B(%B : tensor<?x?x?x4xf32>) C(%C : tensor<?x?x?x4xf32>)
      -> y(tensor<?x?x?x4xf32>)
  return %y : tensor<?x?x?x4xf32>
}

func.func @step(%state: tensor<?x2x4x4xf32> {mamba.name = "state"},
                %x: tensor<?x2x4xf32> {mamba.name = "x"},
                %dt: tensor<?x2xf32> {mamba.name = "dt"},
                %A: tensor<2xf32> {mamba.name = "A"},
                %B: tensor<?x1x4xf32> {mamba.name = "B"},
                %C: tensor<?x1x4xf32> {mamba.name = "C"})
    -> (tensor<?x2x4xf32> {mamba.name = "y"}, tensor<?x2x4x4xf32> {mamba.name = "next"}) {
  %y, %next = mamba.ssu state(%state : tensor<?x2x4x4xf32>)
      x(%x : tensor<?x2x4xf32>) dt(%dt : tensor<?x2xf32>) A(%A : tensor<2xf32>)
      B(%B : tensor<?x1x4xf32>) C(%C : tensor<?x1x4xf32>)
      -> y(tensor<?x2x4xf32>) new_state(tensor<?x2x4x4xf32>)
  return %y, %next : tensor<?x2x4xf32>, tensor<?x2x4x4xf32>
}
