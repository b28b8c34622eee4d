// Arguments that are slices of longer rows.

// RUN: mamba-compile --model=mamba2-130m --dtype=bf16 --strided=x,dt --emit=mamba | FileCheck %s --check-prefix=MAMBA
// MAMBA: @ssd(%[[X:.*]]: tensor<?x?x?x64xbf16> {mamba.name = "x", mamba.pitches = 2 : i64},
// MAMBA-SAME: tensor<?x?x?xbf16> {mamba.name = "dt", mamba.pitches = 2 : i64}, %{{.*}}: tensor<?xf32> {mamba.name = "A"}

// RUN: rm -rf %t && mkdir %t
// RUN: mamba-compile --model=mamba2-130m --strided=x,dt --target=sm_90a -o %t/gpu
// RUN: FileCheck %s --input-file=%t/gpu/manifest.json --check-prefixes=MANIFEST,GPU
// RUN: mamba-compile --model=mamba2-130m --strided=x,dt --target=cpu --emit=bundle -o %t/cpu
// RUN: FileCheck %s --input-file=%t/cpu/manifest.json --check-prefixes=MANIFEST,CPU

// Threads of a GPU move 16 bytes of x at once, and single elements of dt.
// MANIFEST:           "name": "x",
// MANIFEST:           "strides": [
// MANIFEST-NEXT:        "x_pitch_0",
// MANIFEST-NEXT:        "x_pitch_1",
// MANIFEST-NEXT:        64,
// MANIFEST-NEXT:        1
// MANIFEST-NEXT:      ]
// MANIFEST:           "name": "dt",
// MANIFEST:           "strides": [
// MANIFEST-NEXT:        "dt_pitch_0",
// MANIFEST-NEXT:        "dt_pitch_1",
// MANIFEST-NEXT:        1
// MANIFEST-NEXT:      ]
// MANIFEST:         "constraints": [
// GPU-NEXT:           "mod(heads, groups) == 0",
// GPU-NEXT:           "mod(x_pitch_0, 8) == 0",
// GPU-NEXT:           "mod(x_pitch_1, 8) == 0"
// CPU-NEXT:           "mod(heads, groups) == 0"
// MANIFEST-NEXT:    ],
// GPU-DAG:          "value": "floordiv(x_pitch_1, 8)"
// GPU-DAG:          "value": "dt_pitch_1"
// MANIFEST:         "sizes": {
// MANIFEST:           "x_pitch_0": {
// MANIFEST-NEXT:        "argument": "x",
// MANIFEST-NEXT:        "stride": 0
// MANIFEST:         "version": 2

// RUN: mamba-compile --model=mamba2-130m --dtype=f32 --strided=x,dt --target=cpu -o %t/scan.o
// RUN: FileCheck %s --input-file=%t/scan.h --check-prefix=HEADER
// HEADER:      x: float [batch, length, heads, 64], in, the first 2 strides are the caller's
// HEADER-NEXT: dt: float [batch, length, heads], in, the first 2 strides are the caller's
// HEADER-NEXT: A: float [heads], in{{$}}

// RUN: not mamba-compile --model=mamba2-130m --strided=x,A --emit=mamba 2>&1 | FileCheck %s --check-prefix=NO-ROWS
// NO-ROWS: error: --strided=A: expected an array of rows for batch or tokens, got [heads]
// RUN: not mamba-compile --model=mamba2-130m --strided=q --emit=mamba 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: --strided=q: there is no argument 'q'
// RUN: not mamba-compile --model=mamba2-130m --strided=x --run --result=y=y.npy 2>&1 | FileCheck %s --check-prefix=RUNS
// RUNS: error: --strided contradicts --run
