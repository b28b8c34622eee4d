//===- SizeNames.h - Sizes of arguments that have one name ------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_DIALECT_MAMBA_IR_SIZENAMES_H
#define MAMBA_DIALECT_MAMBA_IR_SIZENAMES_H

#include "mlir/IR/Value.h"

#include <utility>

namespace mamba {

/// The first argument of `argument`'s function that has a dimension of the same
/// name in `mamba.dims` as dimension `axis` of `argument`, and that dimension.
/// Both have the same size. `argument` and `axis` themselves without a name.
std::pair<mlir::BlockArgument, int64_t>
getFirstOfSize(mlir::BlockArgument argument, int64_t axis);

} // namespace mamba

#endif // MAMBA_DIALECT_MAMBA_IR_SIZENAMES_H
