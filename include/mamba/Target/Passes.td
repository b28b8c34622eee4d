//===- Passes.td - From NVVM to PTX and bundles ------------*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_TARGET_PASSES_TD
#define MAMBA_TARGET_PASSES_TD

include "mlir/Pass/PassBase.td"

class TargetOption<string description>
    : Option<"target", "target", "std::string", "\"sm_90a\"", description>;

def SerializePass : Pass<"mamba-serialize", "::mlir::ModuleOp"> {
  let summary = "Replace each gpu.module by a gpu.binary that holds its PTX";
  let description = [{
    Input: `gpu.module`s of `llvm` and `nvvm` operations, as `mamba-to-nvvm`
    leaves them. The binary keeps the name and the attributes of the module, and
    a table with the block size and the `mamba.` attributes of every kernel.
    The same input gives the same bytes.

    What LLVM cannot generate code for is an error at the operation, or, if the
    code generator itself gives up, an error with its message at the module.

    Before:

    ```mlir
    gpu.module @kernels {
      llvm.func @k(%p: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel,
          mamba.shared_bytes = 4096 : i64, nvvm.reqntid = array<i32: 128, 1, 1>} {
        llvm.return
      }
    }
    ```

    After:

    ```mlir
    gpu.binary @kernels [#gpu.object<
      #nvvm.target<O = 3, chip = "sm_90a", features = "+ptx80", verifyTarget = false>,
      kernels = #gpu.kernel_table<[#gpu.kernel_metadata<"k", !llvm.func<void (ptr)>,
        metadata = {block_size = array<i32: 128, 1, 1>, mamba.shared_bytes = 4096 : i64}>]>,
      assembly = ".version 8.0\0A.target sm_90a\0A...">]
    ```
  }];
  let options = [TargetOption<"Name of the GPU target to generate code for">];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect"];
}

def PrintManifestPass : Pass<"mamba-print-manifest", "::mlir::ModuleOp"> {
  let summary = "Print the bundle manifest of a module to standard output";
  let description = [{
    Leaves the module as it is. For the form of the input see
    `mamba-write-bundle`; kernels need not have been serialized.
  }];
  let options = [TargetOption<"Name of the GPU target the manifest is for">];
}

def WriteBundlePass : Pass<"mamba-write-bundle", "::mlir::ModuleOp"> {
  let summary = "Write PTX and manifest of a module into a folder";
  let description = [{
    Leaves the module as it is. Every public `func.func` takes memrefs, returns
    nothing and has one block of index arithmetic (`arith`, `affine.apply`,
    `affine.min`, `affine.max`, `memref.dim`, strides of arguments), tensor maps
    (`mamba.tensor_map`), function-level `memref.alloc`s (the workspace) and
    `gpu.launch_func`s of serialized kernels. Anything that a manifest cannot
    express is an error at the operation.

    Before:

    ```mlir
    func.func @f(%x: memref<?x64xf32> {mamba.name = "x"},
                 %y: memref<?x64xf32> {mamba.name = "y", mamba.result}) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c128 = arith.constant 128 : index
      %n = memref.dim %x, %c0 : memref<?x64xf32>
      %grid = arith.ceildivsi %n, %c128 : index
      %px = memref.reinterpret_cast %x to offset: [0], sizes: [], strides: []
          : memref<?x64xf32> to memref<f32>
      %py = memref.reinterpret_cast %y to offset: [0], sizes: [], strides: []
          : memref<?x64xf32> to memref<f32>
      gpu.launch_func @f_kernels::@k blocks in (%grid, %c1, %c1)
          threads in (%c128, %c1, %c1)
          args(%px : memref<f32>, %py : memref<f32>, %n : index)
      return
    }
    gpu.binary @f_kernels [..]
    ```

    Written (beside `f.ptx`):

    ```json
    { "version": 1, "target": "sm_90a", "functions": [ { "name": "f",
        "arguments": [
          { "name": "x", "dtype": "f32", "shape": ["d0", 64], "role": "input" },
          { "name": "y", "dtype": "f32", "shape": ["d1", 64], "role": "output" } ],
        "sizes": { "d0": { "argument": "x", "axis": 0 },
                   "d1": { "argument": "y", "axis": 0 } },
        "workspace": [],
        "launches": [ { "kernel": "k", "ptx": "f.ptx",
            "grid": ["ceildiv(d0, 128)", "1", "1"], "block": [128, 1, 1],
            "cluster": [1, 1, 1], "shared_bytes": 0,
            "parameters": [
              { "kind": "pointer", "argument": "x" },
              { "kind": "pointer", "argument": "y" },
              { "kind": "i64", "value": "d0" } ] } ] } ] }
    ```
  }];
  let options = [
    TargetOption<"Name of the GPU target the kernels were serialized for">,
    Option<"folder", "folder", "std::string", "\"\"",
           "Folder to write; replaced if it holds a bundle">
  ];
}

#endif // MAMBA_TARGET_PASSES_TD
