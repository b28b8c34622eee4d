// RUN: rm -rf %t && mkdir -p %t

// A new folder, below one that does not exist yet.
// RUN: mamba-opt %s -o %t/out.mlir --pass-pipeline='builtin.module(mamba-serialize,mamba-write-bundle{folder=%t/new/bundle})'
// RUN: ls %t/new | FileCheck %s --check-prefix=PARENT
// RUN: ls %t/new/bundle | FileCheck %s --check-prefix=FILES
// PARENT: bundle
// PARENT-NOT: {{.}}
// FILES: f.ptx
// FILES-NEXT: g.ptx
// FILES-NEXT: manifest.json
// FILES-NEXT: shared_kernels.ptx
// FILES-NOT: {{.}}

// RUN: FileCheck %s --input-file=%t/new/bundle/manifest.json --check-prefix=MANIFEST
// MANIFEST: "kernel": "k"
// MANIFEST: "ptx": "f.ptx"
// MANIFEST: "shared_bytes": 512
// MANIFEST: "kernel": "s"
// MANIFEST: "ptx": "shared_kernels.ptx"
// MANIFEST: "name": "f"
// MANIFEST: "ptx": "g.ptx"
// MANIFEST: "ptx": "shared_kernels.ptx"
// MANIFEST: "name": "g"

// A bundle is replaced as a whole.
// RUN: touch %t/new/bundle/stale.ptx
// RUN: mamba-opt %s -o %t/out.mlir --pass-pipeline='builtin.module(mamba-serialize,mamba-write-bundle{folder=%t/new/bundle/})'
// RUN: ls %t/new | FileCheck %s --check-prefix=PARENT
// RUN: ls %t/new/bundle | FileCheck %s --check-prefix=FILES

// Anything else is not.
// RUN: mkdir %t/precious && touch %t/precious/file
// RUN: not mamba-opt %s --pass-pipeline='builtin.module(mamba-serialize,mamba-write-bundle{folder=%t/precious})' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=PRECIOUS
// RUN: ls %t/precious | FileCheck %s --check-prefix=KEPT
// PRECIOUS: error: will not replace '{{.*}}precious', which is not a bundle: it has no manifest.json
// KEPT: file

// RUN: not mamba-opt %s --pass-pipeline='builtin.module(mamba-serialize,mamba-write-bundle{target=sm_120a folder=%t/other})' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OTHER
// OTHER: error: 'gpu.binary' op expected PTX for sm_120a

// RUN: not mamba-opt %s --mamba-write-bundle=folder=%t/other 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SERIALIZE
// SERIALIZE: error: expected a gpu.binary (see mamba-serialize)

// RUN: not mamba-opt %s --mamba-write-bundle 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: error: expected the option 'folder'

module attributes {gpu.container_module} {
  gpu.module @f_kernels {
    llvm.func @k(%x: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel, mamba.shared_bytes = 512 : i64} {
      llvm.return
    }
  }
  gpu.module @g_kernels {
    llvm.func @k(%x: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }
  gpu.module @shared_kernels {
    llvm.func @s(%x: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }
  func.func @f(%x: memref<f32>) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @f_kernels::@k blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%x : memref<f32>)
    gpu.launch_func @shared_kernels::@s blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%x : memref<f32>)
    return
  }
  func.func @g(%x: memref<f32>) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @g_kernels::@k blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%x : memref<f32>)
    gpu.launch_func @shared_kernels::@s blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%x : memref<f32>)
    return
  }
}
