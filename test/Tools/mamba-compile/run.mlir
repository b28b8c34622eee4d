// Running a function on the CPU with arrays from files.

// RUN: mkdir -p %t
// RUN: %python %S/Inputs/npy.py write %t/a.npy f4 2,3 1 2 3 4 5 6.0078125
// RUN: %python %S/Inputs/npy.py write %t/b.npy f4 3,1 1 1 1
// RUN: %python %S/Inputs/npy.py write %t/i.npy i8 2 7 -3
// RUN: %python %S/Inputs/npy.py write %t/h.npy f2 2 0.5 1.5
// RUN: mamba-compile %s --run --function=mm --arg=a=%t/a.npy --arg b=%t/b.npy --arg=arg2=%t/i.npy --arg=h=%t/h.npy --result=c=%t/c.npy --result result1=%t/r1.npy --result=h2=%t/h2.npy
// RUN: %python %S/Inputs/npy.py print %t/c.npy | FileCheck %s --check-prefix=C
// RUN: %python %S/Inputs/npy.py print %t/r1.npy | FileCheck %s --check-prefix=R1
// RUN: %python %S/Inputs/npy.py print %t/h2.npy | FileCheck %s --check-prefix=H2
// 6.0078125 becomes 6 as a bf16.
// C: f4 [2, 1] 6 15
// R1: i4 [2] 14 -6
// H2: f2 [2] 1 3

// An empty array.
// RUN: %python %S/Inputs/npy.py write %t/e.npy f4 0,3
// RUN: mamba-compile %s --run --function=mm --arg=a=%t/e.npy --arg=b=%t/b.npy --arg=arg2=%t/i.npy --arg=h=%t/h.npy --result=c=%t/c.npy
// RUN: %python %S/Inputs/npy.py print %t/c.npy | FileCheck %s --check-prefix=EMPTY
// EMPTY: f4 [0, 1]{{$}}

// DEFINE: %{fails} = %python %S/Inputs/fails.py mamba-compile %s --run --result=y=%t/never.npy
// RUN: %{fails} | FileCheck %s --check-prefix=SEVERAL
// SEVERAL: {{^}}mamba-compile: error: the module has several functions ('mm', 'scan'); choose one with --function
// RUN: %{fails} --function=nm | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: {{^}}mamba-compile: error: the module has no public function 'nm'; it has 'mm', 'scan'
// RUN: %{fails} --function=mm | FileCheck %s --check-prefix=NO-RESULT
// NO-RESULT: {{^}}mamba-compile: error: function 'mm' has no result 'y'; it has c, result1, h2
// RUN: %{fails} --function=scan --result=y=%t/other.npy | FileCheck %s --check-prefix=TWICE
// TWICE: {{^}}mamba-compile: error: result 'y' is given twice
// RUN: %python %S/Inputs/fails.py mamba-compile %s --run --function=mm --result=c=%t/never.npy --result=h2=%t/./never.npy | FileCheck %s --check-prefix=ONE-FILE
// ONE-FILE: {{^}}mamba-compile: error: results 'c' and 'h2' have one file
// RUN: %{fails} --function=scan --arg=q=%t/a.npy | FileCheck %s --check-prefix=NO-ARG
// NO-ARG: {{^}}mamba-compile: error: function 'scan' has no argument 'q'; it has dt, A
// RUN: %{fails} --function=scan --arg=A=%t/none.npy | FileCheck %s --check-prefix=NO-FILE
// NO-FILE: {{^}}mamba-compile: error: could not read '{{.*}}none.npy': No such file or directory
// RUN: %{fails} --function=scan --arg=A=%s | FileCheck %s --check-prefix=NO-NPY
// NO-NPY: {{^}}mamba-compile: error: could not read '{{.*}}run.mlir': not a .npy file
// RUN: %{fails} --function=scan --arg=A=%t/h.npy | FileCheck %s --check-prefix=MISSING
// MISSING: {{^}}mamba-compile: error: expected an array for argument 'dt' of function 'scan', f32 [batch, length, heads]
// RUN: %python %S/Inputs/npy.py write %t/dt.npy f4 1,2,3 0 0 0 0 0 0
// RUN: %{fails} --function=scan --arg=A=%t/i.npy --arg=dt=%t/dt.npy | FileCheck %s --check-prefix=DTYPE
// DTYPE: {{^}}mamba-compile: error: expected 'A' (f32) to be float32, got int64
// RUN: %python %S/Inputs/npy.py write %t/A.npy f4 2 0 0
// RUN: %{fails} --function=scan --arg=A=%t/A.npy --arg=dt=%t/dt.npy | FileCheck %s --check-prefix=SHAPE
// SHAPE: {{^}}mamba-compile: error: expected dimension 0 (heads) of 'A' to be 3 as in 'dt', got 2
// RUN: not ls %t/never.npy

func.func @mm(%a: tensor<?x?xbf16> {mamba.name = "a"},
              %b: tensor<?x?xbf16> {mamba.name = "b"}, %i: tensor<?xi32>,
              %h: tensor<?xf16> {mamba.name = "h"})
    -> (tensor<?x?xbf16> {mamba.name = "c"}, tensor<?xi32>,
        tensor<?xf16> {mamba.name = "h2"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : bf16
  %m = tensor.dim %a, %c0 : tensor<?x?xbf16>
  %n = tensor.dim %b, %c1 : tensor<?x?xbf16>
  %e = tensor.empty(%m, %n) : tensor<?x?xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<?x?xbf16>) -> tensor<?x?xbf16>
  %c = linalg.matmul ins(%a, %b : tensor<?x?xbf16>, tensor<?x?xbf16>)
      outs(%f : tensor<?x?xbf16>) -> tensor<?x?xbf16>
  %d = tensor.dim %i, %c0 : tensor<?xi32>
  %ei = tensor.empty(%d) : tensor<?xi32>
  %i2 = linalg.add ins(%i, %i : tensor<?xi32>, tensor<?xi32>)
      outs(%ei : tensor<?xi32>) -> tensor<?xi32>
  %dh = tensor.dim %h, %c0 : tensor<?xf16>
  %eh = tensor.empty(%dh) : tensor<?xf16>
  %h2 = linalg.add ins(%h, %h : tensor<?xf16>, tensor<?xf16>)
      outs(%eh : tensor<?xf16>) -> tensor<?xf16>
  return %c, %i2, %h2 : tensor<?x?xbf16>, tensor<?xi32>, tensor<?xf16>
}

func.func @scan(%dt: tensor<?x?x?xf32> {mamba.name = "dt"},
                %A: tensor<?xf32> {mamba.name = "A"})
    -> (tensor<?x?x?x16xf32> {mamba.name = "y"}) {
  %0, %1 = mamba.chunk_cumsum chunk_size(16) dt(%dt : tensor<?x?x?xf32>)
      A(%A : tensor<?xf32>) -> tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>
  return %1 : tensor<?x?x?x16xf32>
}
