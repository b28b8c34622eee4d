//===- Padding.cpp - Sizes that are no powers of two ----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Layout/Padding.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace mamba {

using llvm::ArrayRef;

llvm::SmallVector<uint32_t, 4> getPaddedShape(ArrayRef<uint32_t> extents) {
  llvm::SmallVector<uint32_t, 4> shape;
  for (uint32_t extent : extents)
    shape.push_back(llvm::PowerOf2Ceil(extent));
  return shape;
}

Presence getPresence(const LinearLayout &layout, ArrayRef<uint32_t> extents,
                     uint32_t registerIndex) {
  assert(extents.size() == layout.getOuts().size());
  BinaryVector own =
      multiply(layout.getColumns(kRegister), uint64_t(registerIndex));
  Presence presence = Presence::All;
  bool boundedTogether = false;
  unsigned bit = 0;
  for (auto [dim, extent] : llvm::zip_equal(layout.getOuts(), extents)) {
    auto project = [&, dim = dim](BinaryVector vector) {
      return (vector >> bit) & (dim.size() - 1);
    };
    // All threads together reach a coset along this dimension.
    BinarySpan threads;
    for (const LayoutDim &in : layout.getIns())
      if (in.name != kRegister)
        for (BinaryVector column : layout.getColumns(in.name))
          threads.add(project(column));
    if (threads.reduce(project(own)) >= extent)
      return Presence::None;
    if (threads.maximize(project(own)) >= extent) {
      boundedTogether |= presence == Presence::Some;
      presence = Presence::Some;
    }
    bit += dim.bits;
  }
  if (!boundedTogether)
    return presence;

  // Two dimensions may be within their extents in different threads only.
  BinaryVectors columns;
  for (const LayoutDim &in : layout.getIns())
    if (in.name != kRegister)
      llvm::append_range(columns, layout.getColumns(in.name));
  for (uint64_t thread = 0; thread < uint64_t(1) << columns.size(); ++thread) {
    Coordinates at = layout.unflattenOut(own ^ multiply(columns, thread));
    if (llvm::all_of(llvm::zip_equal(at, extents), [](auto pair) {
          return std::get<0>(pair) < std::get<1>(pair);
        }))
      return Presence::Some;
  }
  return Presence::None;
}

llvm::SmallVector<uint32_t, 64>
getPresentRegisters(const LinearLayout &layout, ArrayRef<uint32_t> extents) {
  llvm::SmallVector<uint32_t, 64> present;
  for (uint32_t reg = 0; reg < layout.getInSize(kRegister); ++reg)
    if (getPresence(layout, extents, reg) != Presence::None)
      present.push_back(reg);
  return present;
}

bool isWithin(const LinearLayout &layout, ArrayRef<uint32_t> extents,
              ArrayRef<uint32_t> index) {
  Coordinates at = layout.apply(index);
  return llvm::all_of(llvm::zip_equal(at, extents), [](auto pair) {
    return std::get<0>(pair) < std::get<1>(pair);
  });
}

llvm::SmallVector<ExtentPiece, 4> splitExtent(uint32_t extent) {
  llvm::SmallVector<ExtentPiece, 4> pieces;
  uint32_t start = 0;
  while (extent != 0) {
    uint32_t size = llvm::bit_floor(extent);
    pieces.push_back({start, size});
    start += size;
    extent -= size;
  }
  return pieces;
}

} // namespace mamba
