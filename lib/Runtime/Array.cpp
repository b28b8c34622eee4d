//===- Array.cpp - An array bound to an argument --------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Array.h"

#include <algorithm>

namespace mamba::runtime {

/// Sets `strides` and `bytes` from `sizes`, of which there are as many as the
/// argument has.
void Array::setStrides(const Argument &argument,
                       const std::optional<std::vector<int64_t>> &given,
                       Mistakes &mistakes) {
  std::string prefix = "argument " + quote(argument.name) + ": ";
  size_t rank = sizes.size();
  bool isEmpty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  int64_t dense = 1, last = 0;
  bool overflows = false;
  strides.resize(rank);
  for (size_t axis = rank; axis-- > 0;) {
    std::optional<int64_t> expected = dense;
    if (!argument.strides.empty())
      expected = argument.strides[axis].getConstant();
    int64_t stride = given ? (*given)[axis] : dense;
    if (isEmpty || sizes[axis] == 1)
      stride = expected.value_or(0);
    else if (expected && stride != *expected)
      mistakes.add(prefix + "expected stride " + std::to_string(*expected) +
                   " of axis " + std::to_string(axis) +
                   (argument.strides.empty() ? " (the array is dense)" : "") +
                   ", got " + std::to_string(stride));
    else if (stride < 0)
      mistakes.add(prefix + "stride " + std::to_string(stride) + " of axis " +
                   std::to_string(axis) + " is negative");
    strides[axis] = stride;
    int64_t steps = 0;
    overflows |= __builtin_mul_overflow(sizes[axis] - 1,
                                        std::max<int64_t>(stride, 0), &steps) ||
                 __builtin_add_overflow(last, steps, &last) ||
                 __builtin_mul_overflow(dense, sizes[axis], &dense);
  }
  int64_t size = 0;
  overflows |=
      __builtin_add_overflow(last, 1, &size) ||
      __builtin_mul_overflow(size, int64_t(argument.elementBytes), &size);
  if (overflows && !isEmpty)
    mistakes.add(prefix + "its bytes do not fit in 64 bits");
  bytes = isEmpty ? 0 : uint64_t(size);
}

Array Array::make(const Argument &argument, void *address,
                  const std::string &dtype, const std::vector<int64_t> &sizes,
                  const std::optional<std::vector<int64_t>> &strides,
                  Mistakes &mistakes) {
  std::string prefix = "argument " + quote(argument.name) + ": ";
  if (dtype != argument.dtype)
    mistakes.add(prefix + "expected dtype " + argument.dtype + ", got " +
                 dtype);
  size_t rank = argument.shape.size();
  bool isRight = sizes.size() == rank;
  if (!isRight)
    mistakes.add(prefix + "expected " + std::to_string(rank) + " axes, got " +
                 std::to_string(sizes.size()));
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    int64_t size = sizes[axis];
    std::optional<int64_t> fixed;
    if (axis < rank)
      fixed = argument.shape[axis].getConstant();
    if (size < 0)
      mistakes.add(prefix + "size " + std::to_string(size) + " of axis " +
                   std::to_string(axis) + " is negative");
    else if (fixed && sizes.size() == rank && size != *fixed)
      mistakes.add(prefix + "expected size " + std::to_string(*fixed) +
                   " of axis " + std::to_string(axis) + ", got " +
                   std::to_string(size));
    else
      continue;
    isRight = false;
  }
  Array array;
  array.isBound = true;
  array.address = reinterpret_cast<uintptr_t>(address);
  array.sizes = sizes;
  if (isRight)
    array.setStrides(argument, strides, mistakes);
  return array;
}

} // namespace mamba::runtime
