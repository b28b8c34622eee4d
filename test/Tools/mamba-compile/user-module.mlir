// A module with a call, and arithmetic on whole tensors around an operation.

// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/Inputs/npy.py write %t/dt.npy f4 1,3,2 1 2 3 4 5 6
// RUN: %python %S/Inputs/npy.py write %t/A.npy f4 2 -1 -2
// RUN: mamba-compile %s --run --arg=dt=%t/dt.npy --arg=A=%t/A.npy --result=sums=%t/sums.npy
// RUN: %python %S/Inputs/npy.py print %t/sums.npy | FileCheck %s --check-prefix=SUMS
// Two chunks of head 0 and of head 1: twice the sums, less the steps.
// SUMS: f4 [1, 2, 2, 2] -6 -22 -30 -20 -20 -56 -60 -48

// RUN: mamba-compile %s -o %t/f.o
// RUN: mamba-compile %s --target=sm_90a -o %t/f.sm_90a
// RUN: FileCheck %s --check-prefix=MANIFEST --input-file=%t/f.sm_90a/manifest.json
// MANIFEST: "kernel": "f_generic",
// MANIFEST: "kernel": "f_chunk_cumsum",
// MANIFEST: "kernel": "f_generic_1",

func.func private @twice(%x: tensor<?x?x?xf32>) -> tensor<?x?x?xf32> {
  %r = arith.addf %x, %x : tensor<?x?x?xf32>
  return %r : tensor<?x?x?xf32>
}

func.func @f(%dt: tensor<?x?x?xf32> {mamba.name = "dt"}, %A: tensor<?xf32> {mamba.name = "A"})
    -> (tensor<?x?x?x2xf32> {mamba.name = "sums"}) {
  %steps = func.call @twice(%dt) : (tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %d, %cs = mamba.chunk_cumsum chunk_size(2) dt(%steps : tensor<?x?x?xf32>) A(%A : tensor<?xf32>)
      -> tensor<?x?x?x2xf32>, tensor<?x?x?x2xf32>
  %double = arith.addf %cs, %cs : tensor<?x?x?x2xf32>
  %r = arith.subf %double, %d : tensor<?x?x?x2xf32>
  return %r : tensor<?x?x?x2xf32>
}
