//===- LinearLayout.h - Linear maps between index bits ----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layout says which element of a tensor a piece of hardware holds. It maps
// indices (register, lane, warp; or an offset in shared memory) to coordinates
// (dim0, dim1, ..), and it is linear over GF(2): the coordinates of an index
// are the exclusive or of the coordinates of its bits. So the images of the
// powers of two, the *bases*, say everything. All sizes are powers of two.
// docs/layouts.md introduces the algebra; Padding.h treats other sizes.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LAYOUT_LINEARLAYOUT_H
#define MAMBA_LAYOUT_LINEARLAYOUT_H

#include "mamba/Layout/BinarySpan.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <utility>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace mamba {

/// Names of dimensions. A register holds one element, whatever its width.
constexpr llvm::StringLiteral kRegister("register");
constexpr llvm::StringLiteral kLane("lane");
constexpr llvm::StringLiteral kWarp("warp");
/// Place in shared memory, counted in elements.
constexpr llvm::StringLiteral kOffset("offset");
/// Lane (0-127) and column (32 bits) of tensor memory.
constexpr llvm::StringLiteral kTensorRow("row");
constexpr llvm::StringLiteral kTensorColumn("column");

/// "dim0", "dim1", ..: the coordinates of a tensor.
std::string tensorDim(unsigned index);

/// A named dimension of 2^bits values.
struct LayoutDim {
  std::string name;
  unsigned bits = 0;

  uint32_t size() const { return uint32_t(1) << bits; }
  bool operator==(const LayoutDim &other) const {
    return bits == other.bits && name == other.name;
  }
};

using LayoutDims = llvm::SmallVector<LayoutDim, 4>;
/// One number for each dimension, in their order.
using Coordinates = llvm::SmallVector<uint32_t, 4>;
/// The images of bit 0, bit 1, .. of one input dimension.
using Bases = std::vector<std::vector<uint32_t>>;

class LinearLayout {
public:
  /// No dimensions: one element, held once.
  LinearLayout() = default;

  /// The layout with these bases and output sizes. Fails if a name occurs
  /// twice, a size is no power of two, a basis has another number of
  /// coordinates than there are outputs, a coordinate is out of range, or a
  /// side has more than 32 bits.
  static llvm::Expected<LinearLayout>
  get(llvm::ArrayRef<std::pair<std::string, Bases>> ins,
      llvm::ArrayRef<std::pair<std::string, uint32_t>> outs);

  /// The same from dimensions and one column for each input bit; a column is a
  /// *flat* output: the coordinates side by side, the first dimension in the
  /// low bits. Inputs are flattened in the same way.
  static LinearLayout fromColumns(LayoutDims ins, LayoutDims outs,
                                  BinaryVectors columns);

  /// in -> out = in.
  static LinearLayout identity(llvm::StringRef in, llvm::StringRef out,
                               uint32_t size);
  /// An input that decides nothing: every value of it holds the same.
  static LinearLayout broadcast(llvm::StringRef in, uint32_t size);

  llvm::ArrayRef<LayoutDim> getIns() const { return ins; }
  llvm::ArrayRef<LayoutDim> getOuts() const { return outs; }
  bool hasIn(llvm::StringRef name) const;
  bool hasOut(llvm::StringRef name) const;
  /// 0 bits, size 1, if there is no such dimension.
  unsigned getInBits(llvm::StringRef name) const;
  unsigned getOutBits(llvm::StringRef name) const;
  uint32_t getInSize(llvm::StringRef name) const;
  uint32_t getOutSize(llvm::StringRef name) const;
  unsigned getTotalInBits() const;
  unsigned getTotalOutBits() const;

  llvm::ArrayRef<BinaryVector> getColumns() const { return columns; }
  /// The columns of one input; empty if there is no such dimension.
  llvm::ArrayRef<BinaryVector> getColumns(llvm::StringRef in) const;
  /// The coordinates of one column.
  Coordinates getBasis(llvm::StringRef in, unsigned bit) const;

  Coordinates apply(llvm::ArrayRef<uint32_t> index) const;
  uint64_t applyFlat(uint64_t index) const { return multiply(columns, index); }
  uint64_t flattenIn(llvm::ArrayRef<uint32_t> index) const;
  uint64_t flattenOut(llvm::ArrayRef<uint32_t> coordinates) const;
  Coordinates unflattenOut(uint64_t flat) const;

  bool operator==(const LinearLayout &other) const;
  bool operator!=(const LinearLayout &other) const { return !(*this == other); }

  /// Every coordinate is held somewhere.
  bool isSurjective() const;
  /// No element is held twice.
  bool isInjective() const;
  bool isBijective() const { return isSurjective() && isInjective(); }

  /// x -> outer(this(x)). The outputs of this are the inputs of `outer`, in any
  /// order; outer's may be larger.
  LinearLayout compose(const LinearLayout &outer) const;

  /// Direct sum, this layout in the low bits: a dimension of both (by name) has
  /// the bits of this, above them those of `other`. Repeats a tile.
  LinearLayout operator*(const LinearLayout &other) const;
  /// The layout q with `divisor * q == *this`, if there is one. Its dimensions
  /// are all those of this layout, some perhaps of size 1.
  std::optional<LinearLayout> divide(const LinearLayout &divisor) const;

  /// r with r.compose(*this) == identity: for each coordinate one place that
  /// holds it (free bits are 0). None if this is not surjective.
  std::optional<LinearLayout> rightInverse() const;
  /// l with compose(l) == identity: for each element its place. Coordinates
  /// that no place holds get a place too, which means nothing. None if this is
  /// not injective.
  std::optional<LinearLayout> leftInverse() const;

  /// Bits of `in` whose column depends on earlier ones (in the order of
  /// inputs): with all free bits 0, each element that is held at all is held
  /// once.
  uint32_t getFreeMask(llvm::StringRef in) const;
  /// Bits of `in` that change nothing: their column is 0.
  uint32_t getBroadcastMask(llvm::StringRef in) const;

  /// Restriction to some inputs (the others 0) or projection to some outputs,
  /// in the order given. Names that do not occur are added with size 1.
  LinearLayout selectIns(llvm::ArrayRef<llvm::StringRef> names) const;
  LinearLayout selectOuts(llvm::ArrayRef<llvm::StringRef> names) const;
  LinearLayout renameIn(llvm::StringRef from, llvm::StringRef to) const;
  LinearLayout renameOut(llvm::StringRef from, llvm::StringRef to) const;
  /// Adds broadcast bits to `in`, or cuts its highest bits off.
  LinearLayout resizeIn(llvm::StringRef in, unsigned bits) const;
  /// `in` without its broadcast bits.
  LinearLayout dropBroadcast(llvm::StringRef in) const;

  /// The text form, for example of an 8 x 2 tile whose rows are lanes:
  ///   register[(0,1)], lane[(1,0),(2,0),(4,0)] -> dim0[8], dim1[2]
  /// With one output the bases are bare numbers: offset[1,2,4] -> dim0[8].
  std::string str() const;
  static llvm::Expected<LinearLayout> parse(llvm::StringRef text);

private:
  LayoutDims ins, outs;
  BinaryVectors columns;
};

llvm::raw_ostream &operator<<(llvm::raw_ostream &os,
                              const LinearLayout &layout);

} // namespace mamba

#endif // MAMBA_LAYOUT_LINEARLAYOUT_H
