//===- Distributed.cpp - Tiles spread over threads ------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Layout/Distributed.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace mamba {

using llvm::ArrayRef;
using llvm::StringRef;

/// No inputs; every dimension of a tile with size 1.
static LinearLayout emptyTile(unsigned rank) {
  LayoutDims outs;
  for (unsigned dim = 0; dim < rank; ++dim)
    outs.push_back({tensorDim(dim), 0});
  return LinearLayout::fromColumns({{kRegister.str(), 0}}, std::move(outs), {});
}

/// Spreads `count` values of `in` along `dim`, as far as there is room.
static LinearLayout spread(const LinearLayout &layout, StringRef in,
                           uint32_t count, unsigned dim, uint32_t size) {
  std::string out = tensorDim(dim);
  uint32_t room = size / layout.getOutSize(out);
  uint32_t used = std::min(count, room);
  LinearLayout result = layout * LinearLayout::identity(in, out, used);
  if (in == kRegister)
    return result;
  return result * LinearLayout::broadcast(in, count / used);
}

static LinearLayout fill(LinearLayout layout, ArrayRef<uint32_t> shape,
                         ArrayRef<unsigned> order) {
  for (unsigned dim : order)
    layout = spread(layout, kRegister, shape[dim], dim, shape[dim]);
  return layout;
}

LinearLayout blockedLayout(ArrayRef<uint32_t> shape,
                           const BlockedShape &block) {
  assert(block.elements.size() == shape.size() &&
         block.lanes.size() == shape.size() &&
         block.warps.size() == shape.size() &&
         block.order.size() == shape.size());
  LinearLayout layout = emptyTile(shape.size());
  for (unsigned dim : block.order)
    layout = spread(layout, kRegister, block.elements[dim], dim, shape[dim]);
  for (unsigned dim : block.order)
    layout = spread(layout, kLane, block.lanes[dim], dim, shape[dim]);
  for (unsigned dim : block.order)
    layout = spread(layout, kWarp, block.warps[dim], dim, shape[dim]);
  assert(layout.getInSize(kLane) == 32 && "expected 32 lanes");
  return fill(std::move(layout), shape, block.order);
}

LinearLayout coalescedLayout(ArrayRef<uint32_t> shape, unsigned elementBytes,
                             uint32_t warps, unsigned vectorBytes) {
  BlockedShape block;
  block.elements.assign(shape.size(), 1);
  block.lanes.assign(shape.size(), 1);
  block.warps.assign(shape.size(), 1);
  uint32_t vector = std::max(vectorBytes / elementBytes, 1u);
  uint32_t lanes = 32;
  for (unsigned dim = shape.size(); dim-- > 0;) {
    block.order.push_back(dim);
    if (dim + 1 == shape.size())
      block.elements[dim] = std::min(vector, shape[dim]);
    uint32_t room = shape[dim] / block.elements[dim];
    block.lanes[dim] = std::min(lanes, room);
    lanes /= block.lanes[dim];
    block.warps[dim] = std::min(warps, room / block.lanes[dim]);
    warps /= block.warps[dim];
  }
  // What found no room.
  block.lanes[0] *= lanes;
  block.warps[0] *= warps;
  return blockedLayout(shape, block);
}

LinearLayout coverShape(const LinearLayout &tile, ArrayRef<uint32_t> shape,
                        ArrayRef<WarpShare> warps, ArrayRef<unsigned> order) {
  assert(tile.getOuts().size() == shape.size() && "expected the tile's rank");
  llvm::SmallVector<unsigned, 4> dims(order);
  if (dims.empty())
    for (unsigned dim = shape.size(); dim-- > 0;)
      dims.push_back(dim);
  assert(dims.size() == shape.size());
  LinearLayout layout = tile;
  for (const WarpShare &share : warps) {
    if (share.dim < 0)
      layout = layout * LinearLayout::broadcast(kWarp, share.count);
    else
      layout = spread(layout, kWarp, share.count, share.dim, shape[share.dim]);
  }
  return fill(std::move(layout), shape, dims);
}

LinearLayout sliceLayout(const LinearLayout &layout, unsigned dim) {
  llvm::SmallVector<std::string, 4> names;
  for (unsigned i = 0; i < layout.getOuts().size(); ++i)
    if (i != dim)
      names.push_back(tensorDim(i));
  llvm::SmallVector<StringRef, 4> kept(names.begin(), names.end());
  LinearLayout slice = layout.selectOuts(kept);
  for (unsigned i = dim; i + 1 < layout.getOuts().size(); ++i)
    slice = slice.renameOut(tensorDim(i + 1), tensorDim(i));
  // Keep the register bits that no combination of the others replaces.
  ArrayRef<BinaryVector> columns = slice.getColumns(kRegister);
  BinaryVectors independent;
  for (unsigned index : independentVectors(columns))
    independent.push_back(columns[index]);
  LayoutDims ins;
  BinaryVectors all;
  for (const LayoutDim &in : slice.getIns()) {
    BinaryVectors own(in.name == kRegister ? ArrayRef<BinaryVector>(independent)
                                           : slice.getColumns(in.name));
    ins.push_back({in.name, unsigned(own.size())});
    llvm::append_range(all, own);
  }
  return LinearLayout::fromColumns(std::move(ins), LayoutDims(slice.getOuts()),
                                   std::move(all));
}

} // namespace mamba
