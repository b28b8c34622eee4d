//===- TensorMap.h - Tensor maps of the simulator ---------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `cuTensorMapEncodeTiled` makes for a GPU: a tensor in global memory and
// the boxes that tensor copies move, as 128 opaque bytes. The bytes are the
// simulator's own.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_SIM_TENSORMAP_H
#define MAMBA_SIM_TENSORMAP_H

#include "mamba/Sim/Ptx.h"

#include <array>

namespace mamba::sim {

struct TensorMap {
  static constexpr unsigned kBytes = 128, kAlignment = 64, kMaxRank = 5;

  uint64_t address = 0;
  /// U8, U16, U32, S32, U64, S64, F16, BF16, TF32, F32 or F64.
  ptx::Type element = ptx::Type::F32;
  unsigned rank = 1;
  /// By dimension, innermost first. Strides are in bytes; the innermost one is
  /// the element's size whatever stands here.
  std::array<uint64_t, kMaxRank> sizes{1, 1, 1, 1, 1}, strides{};
  std::array<unsigned, kMaxRank> box{1, 1, 1, 1, 1},
      elementStrides{1, 1, 1, 1, 1};
  /// A tensor without elements, which loaders encode as well: all is fill.
  bool isEmpty = false;
  /// Span in bytes: 0, 32, 64 or 128.
  unsigned swizzle = 0;
  /// 0, 64, 128 or 256; without effect.
  unsigned l2Promotion = 0;
  /// What is outside is NaN instead of zero.
  bool fillsNaN = false;

  /// Elements of the box along a dimension that a copy moves.
  unsigned getExtent(unsigned dimension) const {
    unsigned stride = dimension ? elementStrides[dimension] : 1;
    return (box[dimension] + stride - 1) / stride;
  }
  /// Bytes that a copy of the box signals.
  uint64_t getBoxBytes() const;

  /// Fails with one message if a GPU would not take it.
  llvm::Error verify() const;

  std::array<uint8_t, kBytes> encode() const;
  /// Nothing if the bytes are no map.
  static std::optional<TensorMap> decode(const uint8_t *bytes);
};

/// The element type of a name such as "bf16"; i8, i16, i32 and i64 are
/// accepted too.
std::optional<ptx::Type> parseTensorElement(llvm::StringRef name);

} // namespace mamba::sim

#endif // MAMBA_SIM_TENSORMAP_H
