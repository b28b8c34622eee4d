// What is wrong on the command line: one message and exit code 1.

// DEFINE: %{fails} = %python %S/Inputs/fails.py mamba-compile
// DEFINE: %{model} = %{fails} --model=mamba2-130m

// RUN: %{fails} --fast 2>&1 | FileCheck %s --check-prefix=FLAG
// FLAG: {{^}}mamba-compile: error: unknown flag '--fast' (see --help)

// RUN: %{fails} | FileCheck %s --check-prefix=NOTHING
// NOTHING: {{^}}mamba-compile: error: expected an input file or --model (see --help)
// RUN: %{model} %s | FileCheck %s --check-prefix=BOTH
// BOTH: {{^}}mamba-compile: error: expected an input file or --model, not both
// RUN: %{fails} a.mlir b.mlir | FileCheck %s --check-prefix=TWO
// TWO: {{^}}mamba-compile: error: expected one input file, got 'a.mlir' and 'b.mlir'
// RUN: %{fails} %t.none.mlir --emit=mamba | FileCheck %s --check-prefix=FILE
// FILE: {{^}}mamba-compile: error: could not read '{{.*}}.none.mlir': No such file or directory
// RUN: %{fails} %s --heads=3 --emit=mamba | FileCheck %s --check-prefix=NEEDS-MODEL
// NEEDS-MODEL: {{^}}mamba-compile: error: --heads needs --model

// RUN: %{fails} --model=mamba2-130 | FileCheck %s --check-prefix=MODEL
// MODEL: {{^}}mamba-compile: error: unknown model 'mamba2-130', did you mean 'mamba2-130m'? (--list-models lists them)
// RUN: %{model} --target=sm_90 | FileCheck %s --check-prefix=TARGET
// TARGET: {{^}}mamba-compile: error: unknown target 'sm_90', did you mean 'sm_90a'? {{.*}}sm_120a
// RUN: %{model} --target=sm_90a -o %t.bundle --schedule=three_kernels | FileCheck %s --check-prefix=SCHEDULE
// SCHEDULE: {{^}}mamba-compile: error: unknown --schedule 'three_kernels', did you mean 'three_kernel'? (known: auto, three_kernel, chunk_parallel, fused, segmented)
// RUN: %{model} -o %t.o --schedule=auto | FileCheck %s --check-prefix=SCHEDULE-CPU
// SCHEDULE-CPU: {{^}}mamba-compile: error: --schedule needs the --target of a GPU (--list-targets lists them)
// RUN: %{model} --emit=linag | FileCheck %s --check-prefix=STAGE
// STAGE: {{^}}mamba-compile: error: unknown --emit stage 'linag', did you mean 'linalg'? (known: mamba, tiles, linalg, llvm, ptx, bundle, obj)
// RUN: %{model} --op=conv1d | FileCheck %s --check-prefix=OP
// OP: {{^}}mamba-compile: error: unknown --op 'conv1d' (known: ssd, ssu)
// RUN: %{model} --dtype=fp16 | FileCheck %s --check-prefix=DTYPE
// DTYPE: {{^}}mamba-compile: error: unknown --dtype 'fp16', did you mean 'f16'? (known: bf16, f16, f32)

// RUN: %{model} --emit=ptx | FileCheck %s --check-prefix=PTX
// PTX: {{^}}mamba-compile: error: --emit=ptx needs the --target of a GPU (--list-targets lists them)
// RUN: %{model} --emit=obj --target=sm_90a -o %t.o | FileCheck %s --check-prefix=OBJ
// OBJ: {{^}}mamba-compile: error: --emit=obj needs --target=cpu, got sm_90a
// RUN: %{model} --target=sm_90a | FileCheck %s --check-prefix=BUNDLE
// BUNDLE: {{^}}mamba-compile: error: --emit=bundle needs a folder: -o PATH
// RUN: %{model} | FileCheck %s --check-prefix=OBJECT-NAME
// OBJECT-NAME: {{^}}mamba-compile: error: --emit=obj needs a name that ends in .o
// RUN: %{model} -o %t.o --mcpu=z80x | FileCheck %s --check-prefix=MCPU
// MCPU: {{^}}mamba-compile: error: unknown processor 'z80x' for --mcpu
// RUN: %{model} --emit=mamba --mcpu=native | FileCheck %s --check-prefix=MCPU-STAGE
// MCPU-STAGE: {{^}}mamba-compile: error: --mcpu needs --target=cpu and --emit=obj or --emit=bundle

// RUN: %{model} --heads=0 | FileCheck %s --check-prefix=ZERO
// ZERO: {{^}}mamba-compile: error: expected --heads to be at least 1, got 0
// RUN: %{model} --heads=12x | FileCheck %s --check-prefix=INTEGER
// INTEGER: {{^}}mamba-compile: error: expected --heads to be an integer, got '12x'
// RUN: %{model} --heads=6 --groups=4 | FileCheck %s --check-prefix=GROUPS
// GROUPS: {{^}}mamba-compile: error: expected --heads (6) to be a multiple of --groups (4)
// RUN: %{fails} --model=codestral-mamba-7b --heads=12 | FileCheck %s --check-prefix=MODEL-GROUPS
// MODEL-GROUPS: {{^}}mamba-compile: error: expected --heads (12) to be a multiple of groups of the model (8)
// RUN: %{model} --op=ssu --chunk-size=64 | FileCheck %s --check-prefix=NOT-SSU
// NOT-SSU: {{^}}mamba-compile: error: --chunk-size does not apply to --op=ssu
// RUN: %{model} --tokens=3 | FileCheck %s --check-prefix=NOT-SSD
// NOT-SSD: {{^}}mamba-compile: error: --tokens does not apply to --op=ssd
// RUN: %{model} --no-d --d-has-head-dim | FileCheck %s --check-prefix=NO-D
// NO-D: {{^}}mamba-compile: error: --d-has-head-dim contradicts --no-d
// RUN: %{model} --op=ssu --no-state-update --dst-state-indices | FileCheck %s --check-prefix=NO-UPDATE
// NO-UPDATE: {{^}}mamba-compile: error: --dst-state-indices contradicts --no-state-update
// RUN: %{model} --dt-limit=1 | FileCheck %s --check-prefix=LIMIT
// LIMIT: {{^}}mamba-compile: error: expected --dt-limit=LOW,HIGH, got '1'
// RUN: %{model} --dt-limit=1,0 | FileCheck %s --check-prefix=LIMIT-ORDER
// LIMIT-ORDER: {{^}}mamba-compile: error: expected --dt-limit=LOW,HIGH with LOW <= HIGH

// RUN: %{model} --arg=x=x.npy --emit=mamba | FileCheck %s --check-prefix=NEEDS-EXECUTION
// NEEDS-EXECUTION: {{^}}mamba-compile: error: --arg needs --run
// RUN: %{model} --run | FileCheck %s --check-prefix=NO-RESULT
// NO-RESULT: {{^}}mamba-compile: error: expected at least one --result=NAME=FILE
// RUN: %{model} --run --result=y | FileCheck %s --check-prefix=RESULT
// RESULT: {{^}}mamba-compile: error: expected --result=NAME=FILE, got 'y'
// RUN: %{model} --run --emit=mamba | FileCheck %s --check-prefix=EMIT-TOO
// EMIT-TOO: {{^}}mamba-compile: error: --emit contradicts --run
// RUN: %{model} --run --target=sm_90a | FileCheck %s --check-prefix=ON-GPU
// ON-GPU: {{^}}mamba-compile: error: --run runs on the cpu, got --target=sm_90a
