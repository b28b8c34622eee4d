//===- LinearLayout.cpp - Linear maps between index bits ------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Layout/LinearLayout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

namespace mamba {

using llvm::ArrayRef;
using llvm::StringRef;

static uint64_t lowBits(unsigned count) {
  return count >= 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1;
}

static const LayoutDim *findDim(ArrayRef<LayoutDim> dims, StringRef name) {
  for (const LayoutDim &dim : dims)
    if (dim.name == name)
      return &dim;
  return nullptr;
}

static unsigned totalBits(ArrayRef<LayoutDim> dims) {
  unsigned bits = 0;
  for (const LayoutDim &dim : dims)
    bits += dim.bits;
  return bits;
}

/// Where the bits of `name` start in a flat index.
static unsigned firstBit(ArrayRef<LayoutDim> dims, StringRef name) {
  unsigned bit = 0;
  for (const LayoutDim &dim : dims) {
    if (dim.name == name)
      return bit;
    bit += dim.bits;
  }
  return bit;
}

static uint64_t flatten(ArrayRef<LayoutDim> dims, ArrayRef<uint32_t> values) {
  assert(dims.size() == values.size() && "expected one number per dimension");
  uint64_t flat = 0;
  unsigned bit = 0;
  for (auto [dim, value] : llvm::zip_equal(dims, values)) {
    assert(value < dim.size() && "out of range");
    flat |= uint64_t(value) << bit;
    bit += dim.bits;
  }
  return flat;
}

/// Moves a flat vector over `from` to one over `to`. Dimensions that `to` lacks
/// are dropped.
static uint64_t reorder(uint64_t flat, ArrayRef<LayoutDim> from,
                        ArrayRef<LayoutDim> to) {
  uint64_t result = 0;
  unsigned bit = 0;
  for (const LayoutDim &dim : from) {
    if (findDim(to, dim.name))
      result |= ((flat >> bit) & lowBits(dim.bits)) << firstBit(to, dim.name);
    bit += dim.bits;
  }
  return result;
}

std::string tensorDim(unsigned index) { return "dim" + std::to_string(index); }

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

llvm::Expected<LinearLayout>
LinearLayout::get(ArrayRef<std::pair<std::string, Bases>> ins,
                  ArrayRef<std::pair<std::string, uint32_t>> outs) {
  auto error = [](const llvm::Twine &message) {
    return llvm::createStringError(message);
  };
  LinearLayout layout;
  for (const auto &[name, size] : outs) {
    if (findDim(layout.outs, name))
      return error("expected one output `" + name + "`");
    if (!llvm::isPowerOf2_32(size))
      return error("expected the size of `" + name +
                   "` to be a power of two, got " + llvm::Twine(size));
    layout.outs.push_back({name, llvm::Log2_32(size)});
  }
  for (const auto &[name, bases] : ins) {
    if (findDim(layout.ins, name))
      return error("expected one input `" + name + "`");
    for (const std::vector<uint32_t> &basis : bases) {
      if (basis.size() != outs.size())
        return error("expected " + llvm::Twine(outs.size()) +
                     " coordinates in a basis of `" + name + "`, got " +
                     llvm::Twine(basis.size()));
      for (auto [dim, value] : llvm::zip_equal(layout.outs, basis))
        if (value >= dim.size())
          return error("expected coordinates below " + llvm::Twine(dim.size()) +
                       " along `" + dim.name + "`, got " + llvm::Twine(value));
    }
    layout.ins.push_back({name, unsigned(bases.size())});
  }
  if (layout.getTotalInBits() > 32 || layout.getTotalOutBits() > 32)
    return error("expected at most 32 bits of inputs and of outputs");
  for (const auto &[name, bases] : ins)
    for (const std::vector<uint32_t> &basis : bases)
      layout.columns.push_back(flatten(layout.outs, basis));
  return layout;
}

LinearLayout LinearLayout::fromColumns(LayoutDims ins, LayoutDims outs,
                                       BinaryVectors columns) {
  LinearLayout layout;
  layout.ins = std::move(ins);
  layout.outs = std::move(outs);
  layout.columns = std::move(columns);
  assert(layout.columns.size() == layout.getTotalInBits());
  assert(layout.getTotalInBits() <= 32 && layout.getTotalOutBits() <= 32);
  assert(llvm::all_of(layout.columns, [&](BinaryVector column) {
    return (column & ~lowBits(layout.getTotalOutBits())) == 0;
  }));
  return layout;
}

LinearLayout LinearLayout::identity(StringRef in, StringRef out,
                                    uint32_t size) {
  assert(llvm::isPowerOf2_32(size));
  BinaryVectors columns;
  for (unsigned bit = 0; bit < llvm::Log2_32(size); ++bit)
    columns.push_back(uint64_t(1) << bit);
  unsigned bits = columns.size();
  return fromColumns({{in.str(), bits}}, {{out.str(), bits}}, columns);
}

LinearLayout LinearLayout::broadcast(StringRef in, uint32_t size) {
  assert(llvm::isPowerOf2_32(size));
  unsigned bits = llvm::Log2_32(size);
  return fromColumns({{in.str(), bits}}, {}, BinaryVectors(bits, 0));
}

//===----------------------------------------------------------------------===//
// Access
//===----------------------------------------------------------------------===//

bool LinearLayout::hasIn(StringRef name) const { return findDim(ins, name); }
bool LinearLayout::hasOut(StringRef name) const { return findDim(outs, name); }

unsigned LinearLayout::getInBits(StringRef name) const {
  const LayoutDim *dim = findDim(ins, name);
  return dim ? dim->bits : 0;
}

unsigned LinearLayout::getOutBits(StringRef name) const {
  const LayoutDim *dim = findDim(outs, name);
  return dim ? dim->bits : 0;
}

uint32_t LinearLayout::getInSize(StringRef name) const {
  return uint32_t(1) << getInBits(name);
}

uint32_t LinearLayout::getOutSize(StringRef name) const {
  return uint32_t(1) << getOutBits(name);
}

unsigned LinearLayout::getTotalInBits() const { return totalBits(ins); }
unsigned LinearLayout::getTotalOutBits() const { return totalBits(outs); }

ArrayRef<BinaryVector> LinearLayout::getColumns(StringRef in) const {
  return getColumns().slice(firstBit(ins, in), getInBits(in));
}

Coordinates LinearLayout::getBasis(StringRef in, unsigned bit) const {
  return unflattenOut(getColumns(in)[bit]);
}

Coordinates LinearLayout::apply(ArrayRef<uint32_t> index) const {
  return unflattenOut(applyFlat(flattenIn(index)));
}

uint64_t LinearLayout::flattenIn(ArrayRef<uint32_t> index) const {
  return flatten(ins, index);
}

uint64_t LinearLayout::flattenOut(ArrayRef<uint32_t> coordinates) const {
  return flatten(outs, coordinates);
}

Coordinates LinearLayout::unflattenOut(uint64_t flat) const {
  Coordinates coordinates;
  for (const LayoutDim &dim : outs) {
    coordinates.push_back(flat & lowBits(dim.bits));
    flat >>= dim.bits;
  }
  return coordinates;
}

bool LinearLayout::operator==(const LinearLayout &other) const {
  return ins == other.ins && outs == other.outs && columns == other.columns;
}

//===----------------------------------------------------------------------===//
// Algebra
//===----------------------------------------------------------------------===//

bool LinearLayout::isSurjective() const {
  return BinarySpan(columns).rank() == getTotalOutBits();
}

bool LinearLayout::isInjective() const {
  return BinarySpan(columns).rank() == getTotalInBits();
}

LinearLayout LinearLayout::compose(const LinearLayout &outer) const {
  assert(outs.size() == outer.ins.size() && "expected matching dimensions");
  for ([[maybe_unused]] const LayoutDim &dim : outs)
    assert(outer.hasIn(dim.name) && dim.bits <= outer.getInBits(dim.name));
  BinaryVectors result;
  for (BinaryVector column : columns)
    result.push_back(outer.applyFlat(reorder(column, outs, outer.ins)));
  return fromColumns(ins, outer.outs, std::move(result));
}

static LayoutDims addDims(ArrayRef<LayoutDim> low, ArrayRef<LayoutDim> high) {
  LayoutDims sum(low.begin(), low.end());
  for (const LayoutDim &dim : high) {
    auto *at = llvm::find_if(
        sum, [&](const LayoutDim &mine) { return mine.name == dim.name; });
    if (at == sum.end())
      sum.push_back(dim);
    else
      at->bits += dim.bits;
  }
  return sum;
}

LinearLayout LinearLayout::operator*(const LinearLayout &other) const {
  LayoutDims newIns = addDims(ins, other.ins);
  LayoutDims newOuts = addDims(outs, other.outs);
  BinaryVectors result;
  for (const LayoutDim &dim : newIns) {
    for (BinaryVector column : getColumns(dim.name))
      result.push_back(reorder(column, outs, newOuts));
    for (BinaryVector column : other.getColumns(dim.name)) {
      uint64_t flat = 0;
      for (auto [out, value] :
           llvm::zip_equal(other.outs, other.unflattenOut(column)))
        flat |= uint64_t(value)
                << (firstBit(newOuts, out.name) + getOutBits(out.name));
      result.push_back(flat);
    }
  }
  return fromColumns(std::move(newIns), std::move(newOuts), std::move(result));
}

std::optional<LinearLayout>
LinearLayout::divide(const LinearLayout &divisor) const {
  LayoutDims newIns = ins, newOuts = outs;
  auto shrink = [](LayoutDims &dims, ArrayRef<LayoutDim> by) {
    for (const LayoutDim &dim : by) {
      auto *at = llvm::find_if(
          dims, [&](const LayoutDim &mine) { return mine.name == dim.name; });
      if (at == dims.end() ? dim.bits != 0 : at->bits < dim.bits)
        return false;
      if (at != dims.end())
        at->bits -= dim.bits;
    }
    return true;
  };
  if (!shrink(newIns, divisor.ins) || !shrink(newOuts, divisor.outs))
    return std::nullopt;

  BinaryVectors result;
  for (const LayoutDim &dim : ins) {
    ArrayRef<BinaryVector> mine = getColumns(dim.name);
    ArrayRef<BinaryVector> low = divisor.getColumns(dim.name);
    for (unsigned bit = 0; bit < mine.size(); ++bit) {
      uint64_t flat = 0;
      for (auto [out, value] : llvm::zip_equal(outs, unflattenOut(mine[bit]))) {
        unsigned cut = divisor.getOutBits(out.name);
        if (bit < low.size()) {
          uint64_t wanted =
              (low[bit] >> firstBit(divisor.outs, out.name)) & lowBits(cut);
          if (value != wanted)
            return std::nullopt;
          continue;
        }
        if (value & lowBits(cut))
          return std::nullopt;
        flat |= uint64_t(value >> cut) << firstBit(newOuts, out.name);
      }
      if (bit >= low.size())
        result.push_back(flat);
    }
  }
  return fromColumns(std::move(newIns), std::move(newOuts), std::move(result));
}

std::optional<LinearLayout> LinearLayout::rightInverse() const {
  BinarySpan span(columns);
  BinaryVectors result;
  for (unsigned bit = 0; bit < getTotalOutBits(); ++bit) {
    std::optional<uint64_t> place = span.express(uint64_t(1) << bit);
    if (!place)
      return std::nullopt;
    result.push_back(*place);
  }
  return fromColumns(outs, ins, std::move(result));
}

std::optional<LinearLayout> LinearLayout::leftInverse() const {
  if (!isInjective())
    return std::nullopt;
  // Complete the columns to a basis; what was added maps to 0.
  BinarySpan span(columns);
  for (unsigned bit = 0; bit < getTotalOutBits(); ++bit)
    span.add(uint64_t(1) << bit);
  BinaryVectors result;
  for (unsigned bit = 0; bit < getTotalOutBits(); ++bit)
    result.push_back(*span.express(uint64_t(1) << bit) &
                     lowBits(getTotalInBits()));
  return fromColumns(outs, ins, std::move(result));
}

uint32_t LinearLayout::getFreeMask(StringRef in) const {
  uint64_t mask = lowBits(getTotalInBits());
  for (unsigned index : independentVectors(columns))
    mask &= ~(uint64_t(1) << index);
  return (mask >> firstBit(ins, in)) & lowBits(getInBits(in));
}

uint32_t LinearLayout::getBroadcastMask(StringRef in) const {
  uint32_t mask = 0;
  for (auto [bit, column] : llvm::enumerate(getColumns(in)))
    if (column == 0)
      mask |= uint32_t(1) << bit;
  return mask;
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

static LayoutDims selectDims(ArrayRef<LayoutDim> dims,
                             ArrayRef<StringRef> names) {
  LayoutDims selected;
  for (StringRef name : names) {
    const LayoutDim *dim = findDim(dims, name);
    selected.push_back({name.str(), dim ? dim->bits : 0});
  }
  return selected;
}

LinearLayout LinearLayout::selectIns(ArrayRef<StringRef> names) const {
  BinaryVectors result;
  for (StringRef name : names)
    llvm::append_range(result, getColumns(name));
  return fromColumns(selectDims(ins, names), outs, std::move(result));
}

LinearLayout LinearLayout::selectOuts(ArrayRef<StringRef> names) const {
  LayoutDims selected = selectDims(outs, names);
  BinaryVectors result;
  for (BinaryVector column : columns)
    result.push_back(reorder(column, outs, selected));
  return fromColumns(ins, std::move(selected), std::move(result));
}

LinearLayout LinearLayout::renameIn(StringRef from, StringRef to) const {
  LinearLayout renamed = *this;
  for (LayoutDim &dim : renamed.ins)
    if (dim.name == from)
      dim.name = to.str();
  return renamed;
}

LinearLayout LinearLayout::renameOut(StringRef from, StringRef to) const {
  LinearLayout renamed = *this;
  for (LayoutDim &dim : renamed.outs)
    if (dim.name == from)
      dim.name = to.str();
  return renamed;
}

LinearLayout LinearLayout::resizeIn(StringRef in, unsigned bits) const {
  LayoutDims newIns = ins;
  BinaryVectors result;
  for (LayoutDim &dim : newIns) {
    BinaryVectors own(getColumns(dim.name));
    if (dim.name == in) {
      own.resize(bits, 0);
      dim.bits = bits;
    }
    llvm::append_range(result, own);
  }
  if (!hasIn(in)) {
    newIns.push_back({in.str(), bits});
    result.append(bits, 0);
  }
  return fromColumns(std::move(newIns), outs, std::move(result));
}

LinearLayout LinearLayout::dropBroadcast(StringRef in) const {
  LayoutDims newIns = ins;
  BinaryVectors result;
  for (LayoutDim &dim : newIns) {
    BinaryVectors own(getColumns(dim.name));
    if (dim.name == in) {
      llvm::erase(own, BinaryVector(0));
      dim.bits = own.size();
    }
    llvm::append_range(result, own);
  }
  return fromColumns(std::move(newIns), outs, std::move(result));
}

} // namespace mamba
