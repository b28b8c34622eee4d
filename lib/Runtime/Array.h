//===- Array.h - An array bound to an argument ------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_RUNTIME_ARRAY_H
#define MAMBA_LIB_RUNTIME_ARRAY_H

#include "Plan.h"

#include <optional>

namespace mamba::runtime {

struct Array {
  bool isBound = false;
  uint64_t address = 0;
  /// From the first element to the last.
  uint64_t bytes = 0;
  std::vector<int64_t> sizes;
  /// In elements. Along axes of one element, where none is used, 0 or what a
  /// dense array has.
  std::vector<int64_t> strides;

  /// Checks what the argument alone demands; without `strides` the array is
  /// dense.
  static Array make(const Argument &argument, void *address,
                    const std::string &dtype, const std::vector<int64_t> &sizes,
                    const std::optional<std::vector<int64_t>> &strides,
                    Mistakes &mistakes);

private:
  void setStrides(const Argument &argument,
                  const std::optional<std::vector<int64_t>> &given,
                  Mistakes &mistakes);
};

} // namespace mamba::runtime

#endif // MAMBA_LIB_RUNTIME_ARRAY_H
