//===- TensorMap.h - Tensors as the copy engine sees them -------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_RUNTIME_TENSORMAP_H
#define MAMBA_LIB_RUNTIME_TENSORMAP_H

#include "Driver.h"
#include "Expression.h"

#include <array>
#include <functional>

namespace mamba::runtime {

class JsonReader;

/// A parameter of kind "tensor_map" as the manifest has it: numbers in
/// elements, innermost dimension first.
struct TensorMap {
  /// Reads the fields beside the buffer; throws Error where no sizes of a call
  /// would make them legal.
  static TensorMap
  read(const JsonReader &json,
       const std::function<Expression(const JsonReader &)> &readExpression);

  size_t getRank() const { return sizes.size(); }

  int dataType;
  uint64_t elementBytes;
  Expression offset = Expression::constant(0);
  std::vector<Expression> sizes;
  /// Of dimension 1 and the following.
  std::vector<Expression> strides;
  std::vector<uint32_t> box, elementStrides;
  int swizzle, l2Promotion, fill;
};

/// The numbers of a tensor map for the sizes of a call.
struct PreparedTensorMap {
  /// Throws Error, whose text starts with a lower-case letter, if the driver
  /// would not encode them.
  PreparedTensorMap(const TensorMap &map, const std::vector<int64_t> &symbols);

  /// `zeros` is the address of some zero bytes, which stand for an empty
  /// tensor.
  CUtensorMap encode(const Driver &driver, uint64_t base, uint64_t zeros) const;

  const TensorMap *map;
  uint64_t offsetBytes = 0;
  /// An empty tensor, which the driver cannot encode, becomes one element, the
  /// first of `zeros`: what a kernel reads of it is zero all the same.
  bool isEmpty = false;
  std::array<uint64_t, 5> sizes = {};
  std::array<uint64_t, 4> strideBytes = {};
};

} // namespace mamba::runtime

#endif // MAMBA_LIB_RUNTIME_TENSORMAP_H
