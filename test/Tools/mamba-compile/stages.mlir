// Each stage is written; a bundle is a folder.

// RUN: mamba-compile --model=mamba2-130m --emit=tiles | FileCheck %s --check-prefix=CHUNKS
// RUN: mamba-compile --model=mamba2-130m --emit=tiles --target=sm_90a | FileCheck %s --check-prefix=TILES
// RUN: mamba-compile --model=mamba2-130m --emit=tiles --target=sm_90a --schedule=chunk_parallel | FileCheck %s --check-prefix=PARALLEL
// RUN: mamba-compile --model=mamba2-130m --emit=linalg | FileCheck %s --check-prefix=LINALG
// RUN: mamba-compile --model=mamba2-130m --emit=llvm | FileCheck %s --check-prefix=LLVM
// RUN: mamba-compile --model=mamba2-130m --emit=ptx --target=sm_90a | FileCheck %s --check-prefix=PTX
// RUN: rm -rf %t.bundle
// RUN: mamba-compile --model=mamba2-130m --target=sm_90a -o %t.bundle
// RUN: FileCheck %s --check-prefix=MANIFEST --input-file=%t.bundle/manifest.json
// RUN: FileCheck %s --check-prefix=PTX --input-file=%t.bundle/ssd.ptx
// RUN: rm -rf %t.folder && mkdir %t.folder && echo > %t.folder/mine
// RUN: %python %S/Inputs/fails.py mamba-compile --model=mamba2-130m --target=sm_90a -o %t.folder | FileCheck %s --check-prefix=FOLDER
// RUN: mamba-compile --model=mamba2-130m --emit=tiles --time 2>&1 | FileCheck %s --check-prefix=TIME
// RUN: mamba-compile --model=mamba2-130m --emit=tiles --target=sm_90a --mlir-print-ir-before=mamba-tile 2>&1 >%t.out | FileCheck %s --check-prefix=DUMP

// CHUNKS: mamba.chunk_cumsum
// CHUNKS: mamba.chunk_out
// TILES: scf.forall
// TILES: three_kernel
// PARALLEL-NOT: three_kernel
// PARALLEL: mamba.kernel = "chunk_state"
// LINALG: linalg.
// LLVM: llvm.func @ssd(
// PTX: .target sm_90a
// PTX: .visible .entry ssd_chunk_out(
// MANIFEST: "version"
// TIME: Execution time report
// TIME: lower to tiles
// DUMP: IR Dump Before MambaTilePass
// FOLDER: {{^}}mamba-compile: error: will not replace '{{.*}}.folder', {{.*}}{{$}}
// FOLDER-NOT: {{[a-z]}}
