//===- HostArrayType.cpp - Element types in MLIR --------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Driver/HostArray.h"

#include "mlir/IR/BuiltinTypes.h"

namespace mamba {

mlir::Type getType(mlir::MLIRContext *context, Dtype dtype) {
  switch (dtype) {
  case Dtype::BF16:
    return mlir::BFloat16Type::get(context);
  case Dtype::F16:
    return mlir::Float16Type::get(context);
  case Dtype::F32:
    return mlir::Float32Type::get(context);
  case Dtype::F64:
    return mlir::Float64Type::get(context);
  case Dtype::I32:
    return mlir::IntegerType::get(context, 32);
  case Dtype::I64:
    return mlir::IntegerType::get(context, 64);
  }
  llvm_unreachable("unknown dtype");
}

std::optional<Dtype> getDtype(mlir::Type type) {
  if (type.isBF16())
    return Dtype::BF16;
  if (type.isF16())
    return Dtype::F16;
  if (type.isF32())
    return Dtype::F32;
  if (type.isF64())
    return Dtype::F64;
  if (type.isSignlessInteger(32))
    return Dtype::I32;
  if (type.isSignlessInteger(64))
    return Dtype::I64;
  return std::nullopt;
}

} // namespace mamba
