// RUN: mamba-compile --list-models | FileCheck %s --check-prefix=MODELS
// RUN: mamba-compile --list-targets | FileCheck %s --check-prefix=TARGETS

// MODELS: {{^}}name heads head-dim state-dim groups chunk-size
// MODELS: {{^}}mamba2-130m 24 64 128 1 256
// MODELS: {{^}}codestral-mamba-7b 128 64 128 8 256

// TARGETS: {{^}}name
// TARGETS-NEXT: {{^}}sm_80 llvm, ptx, bundle 166912
// TARGETS-NEXT: {{^}}sm_86 llvm, ptx, bundle 101376
// TARGETS-NEXT: {{^}}sm_89 llvm, ptx, bundle 101376
// TARGETS-NEXT: {{^}}sm_90a llvm, ptx, bundle
// TARGETS-NEXT: {{^}}sm_100a
// TARGETS-NEXT: {{^}}sm_103a
// TARGETS-NEXT: {{^}}sm_120a
// TARGETS-NEXT: {{^}}cpu llvm, obj, bundle, --run
