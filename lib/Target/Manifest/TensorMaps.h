//===- TensorMaps.h - Parameters of the copy engine -------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_TARGET_MANIFEST_TENSORMAPS_H
#define MAMBA_LIB_TARGET_MANIFEST_TENSORMAPS_H

#include "HostSizes.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"

#include "llvm/Support/JSON.h"

namespace mamba {

/// The manifest's parameter for a tensor map. `parameter` names the buffer that
/// its base is the start of. Emits an error at `map` if no loader can encode
/// it.
mlir::FailureOr<llvm::json::Value>
describeTensorMap(TensorMapOp map, llvm::json::Object parameter,
                  HostSizes &sizes);

} // namespace mamba

#endif // MAMBA_LIB_TARGET_MANIFEST_TENSORMAPS_H
