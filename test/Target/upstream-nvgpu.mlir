// Shows why `mamba-to-nvvm` has its own lowering of nvgpu. When this test
// fails, see whether patterns of NvgpuPatterns.cpp can go.

// RUN: mamba-opt %s --split-input-file --convert-nvgpu-to-nvvm -o %t 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ERROR
// RUN: FileCheck %s --input-file=%t --check-prefix=UPSTREAM
// RUN: mamba-opt %s --split-input-file \
// RUN:   --pass-pipeline='builtin.module(gpu.module(mamba-to-nvvm))' \
// RUN:   | FileCheck %s --check-prefix=OURS

// ERROR: failed to deduce operand PTX types
// OURS: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<bf16>
gpu.module @bf16 {
  gpu.func @k(%a: vector<4x2xbf16>, %b: vector<2x2xbf16>, %c: vector<2x2xf32>)
      -> vector<2x2xf32> {
    %d = nvgpu.mma.sync (%a, %b, %c) {mmaShape = [16, 8, 16]}
        : (vector<4x2xbf16>, vector<2x2xbf16>, vector<2x2xf32>) -> vector<2x2xf32>
    gpu.return %d : vector<2x2xf32>
  }
}

// -----

// The low 13 bits of f32 are dropped by the instruction.
// UPSTREAM-NOT: nvvm.convert.float.to.tf32
// UPSTREAM: multiplicandAPtxType = #nvvm.mma_type<tf32>
// OURS: nvvm.convert.float.to.tf32 {{.*}}rnd = #nvvm.fp_rnd_mode<rna>
// OURS: multiplicandAPtxType = #nvvm.mma_type<tf32>
gpu.module @tf32 {
  gpu.func @k(%a: vector<4x1xf32>, %b: vector<2x1xf32>, %c: vector<2x2xf32>)
      -> vector<2x2xf32> {
    %d = nvgpu.mma.sync (%a, %b, %c) {mmaShape = [16, 8, 8], tf32Enabled}
        : (vector<4x1xf32>, vector<2x1xf32>, vector<2x2xf32>) -> vector<2x2xf32>
    gpu.return %d : vector<2x2xf32>
  }
}
