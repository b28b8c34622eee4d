//===- LayoutRules.cpp - How layouts follow from operations ---------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutRules.h"

#include "mamba/Layout/Distributed.h"
#include "mamba/Layout/Fragments.h"
#include "mamba/Layout/Padding.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mamba;

/// What memory moves at once.
static constexpr unsigned kLineBytes = 128;

unsigned mamba::getElementBytes(Type element) {
  return element.isIndex() ? 8
                           : std::max(1u, element.getIntOrFloatBitWidth() / 8);
}

SmallVector<uint32_t, 4> mamba::getExtents(VectorType type) {
  return SmallVector<uint32_t, 4>(type.getShape());
}

SmallVector<uint32_t, 4> mamba::getPaddedShape(VectorType type) {
  return mamba::getPaddedShape(getExtents(type));
}

LayoutAttr mamba::toAttribute(MLIRContext *context,
                              const LinearLayout &layout) {
  return LayoutAttr::get(context, layout.str());
}

LinearLayout mamba::toLayout(LayoutAttr attribute) {
  // The attribute's verifier has parsed it.
  return llvm::cantFail(LinearLayout::parse(attribute.getText()));
}

/// Renames outputs: output i of the result is outs[i] of `layout`.
static LinearLayout pickOuts(const LinearLayout &layout,
                             ArrayRef<int64_t> picked) {
  SmallVector<std::string, 4> names;
  for (int64_t dim : picked)
    names.push_back(tensorDim(dim));
  SmallVector<StringRef, 4> refs(names.begin(), names.end());
  LinearLayout chosen = layout.selectOuts(refs);
  LayoutDims outs;
  for (auto [index, dim] : llvm::enumerate(chosen.getOuts()))
    outs.push_back({tensorDim(index), dim.bits});
  return LinearLayout::fromColumns(LayoutDims(chosen.getIns()), std::move(outs),
                                   BinaryVectors(chosen.getColumns()));
}

LinearLayout mamba::permuteLayout(const LinearLayout &layout,
                                  ArrayRef<int64_t> permutation) {
  return pickOuts(layout, permutation);
}

LinearLayout mamba::getLayoutInEachWarp(const LinearLayout &layout,
                                        VectorType type, uint32_t warps) {
  if (llvm::all_of(layout.getColumns(kWarp),
                   [](BinaryVector column) { return column == 0; }))
    return layout;
  return coalescedLayout(getPaddedShape(type),
                         getElementBytes(type.getElementType()), /*warps=*/1,
                         kVectorBytes) *
         LinearLayout::broadcast(kWarp, warps);
}

std::optional<LinearLayout> mamba::restrictLayout(const LinearLayout &layout,
                                                  ArrayRef<uint32_t> shape) {
  LayoutDims ins, outs;
  for (auto [index, size] : llvm::enumerate(shape))
    outs.push_back({tensorDim(index), llvm::Log2_32_Ceil(size)});
  BinaryVectors columns;
  for (const LayoutDim &in : layout.getIns()) {
    unsigned kept = 0;
    for (unsigned bit = 0; bit < in.bits; ++bit) {
      Coordinates at = layout.getBasis(in.name, bit);
      bool outside = false, isZero = true;
      for (auto [coordinate, out] : llvm::zip_equal(at, outs)) {
        outside |= coordinate >= out.size();
        isZero &= coordinate == 0;
      }
      if (outside) {
        // It must not reach back inside together with another one.
        unsigned parts = llvm::count_if(at, [](uint32_t c) { return c != 0; });
        if (in.name != kRegister || parts != 1)
          return std::nullopt;
        continue;
      }
      if (isZero && in.name == kRegister)
        continue;
      uint64_t flat = 0;
      unsigned shift = 0;
      for (auto [coordinate, out] : llvm::zip_equal(at, outs)) {
        flat |= uint64_t(coordinate) << shift;
        shift += out.bits;
      }
      columns.push_back(flat);
      ++kept;
    }
    ins.push_back({in.name, kept});
  }
  return LinearLayout::fromColumns(std::move(ins), std::move(outs),
                                   std::move(columns));
}

bool mamba::isElementwise(Operation *op) {
  return OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1;
}

std::optional<ContractionShape>
ContractionShape::get(vector::ContractionOp contraction) {
  SmallVector<AffineMap, 4> maps = contraction.getIndexingMapsArray();
  auto accType = dyn_cast<VectorType>(contraction.getAccType());
  if (!accType || accType.getRank() != 2 ||
      contraction.getKind() != vector::CombiningKind::ADD ||
      contraction.getIteratorTypes().size() != 3)
    return std::nullopt;
  for (AffineMap map : maps)
    if (map.getNumResults() != 2 || !map.isProjectedPermutation())
      return std::nullopt;
  unsigned m = maps[2].getDimPosition(0), n = maps[2].getDimPosition(1);
  unsigned k = 3 - m - n;
  ContractionShape shape;
  bool lhsHasM = llvm::is_contained(maps[0].getResults(),
                                    getAffineDimExpr(m, maps[0].getContext()));
  shape.a = lhsHasM ? 0 : 1;
  shape.b = 1 - shape.a;
  auto reads = [&](unsigned operand, unsigned first, unsigned second) {
    return maps[operand].getDimPosition(0) == first &&
           maps[operand].getDimPosition(1) == second;
  };
  if (reads(shape.a, k, m))
    shape.aTransposed = true;
  else if (!reads(shape.a, m, k))
    return std::nullopt;
  if (reads(shape.b, n, k))
    shape.bTransposed = true;
  else if (!reads(shape.b, k, n))
    return std::nullopt;
  auto aType = cast<VectorType>(contraction->getOperand(shape.a).getType());
  shape.extentM = accType.getDimSize(0);
  shape.extentN = accType.getDimSize(1);
  shape.m = llvm::PowerOf2Ceil(accType.getDimSize(0));
  shape.n = llvm::PowerOf2Ceil(accType.getDimSize(1));
  shape.k = llvm::PowerOf2Ceil(aType.getDimSize(shape.aTransposed ? 0 : 1));
  return shape;
}

ContractionStrategy mamba::chooseStrategy(vector::ContractionOp contraction,
                                          const ContractionShape &shape) {
  Type lhs = contraction.getLhsType().getElementType();
  bool isHalf = (lhs.isBF16() || lhs.isF16()) &&
                lhs == contraction.getRhsType().getElementType() &&
                getElementTypeOrSelf(contraction.getAccType()).isF32();
  // Whole fragments, of which padding takes none apart.
  auto aType = cast<VectorType>(contraction->getOperand(shape.a).getType());
  int64_t steps = aType.getDimSize(shape.aTransposed ? 0 : 1);
  bool fits = shape.extentM % 16 == 0 && shape.extentN % 8 == 0;
  if (isHalf && fits && steps % 16 == 0)
    return ContractionStrategy::MmaSync;
  auto kernel = contraction->getParentOfType<gpu::GPUFuncOp>();
  auto plan =
      kernel ? kernel->getAttrOfType<PlanAttr>(kPlanAttrName) : PlanAttr();
  bool isSingle =
      lhs.isF32() && contraction.getRhsType().getElementType().isF32();
  if (plan && plan.getTf32() && isSingle && fits && steps % 8 == 0)
    return ContractionStrategy::MmaTf32;
  return ContractionStrategy::Fma;
}

/// Lanes along the columns, and neighbouring columns of a thread: powers of two
/// that divide their number.
static std::pair<uint32_t, uint32_t>
getFmaColumns(const ContractionShape &shape) {
  auto divide = [](uint32_t extent, uint32_t most) {
    return std::min(most, extent & -extent);
  };
  uint32_t lanes = divide(shape.extentN, 8);
  return {lanes, divide(shape.extentN / lanes, 4)};
}

std::pair<uint32_t, uint32_t>
mamba::getFragmentSizes(const ContractionShape &shape,
                        ContractionStrategy strategy) {
  if (strategy != ContractionStrategy::Fma)
    return {16, 8};
  auto [lanes, elements] = getFmaColumns(shape);
  return {32 / lanes, lanes * elements};
}

/// Each thread holds the sums of a small rectangle, and needs a row of the one
/// side and a column of the other for each step.
static ContractionLayouts getFmaLayouts(const ContractionShape &shape,
                                        const WarpSplit &warps) {
  BlockedShape block;
  auto [lanesN, elementsN] = getFmaColumns(shape);
  block.elements = {1, elementsN};
  block.lanes = {32 / lanesN, lanesN};
  block.warps = {warps.m, warps.n};
  block.order = {1, 0};
  ContractionLayouts layouts{ContractionStrategy::Fma, {}, {}, {}};
  layouts.result = blockedLayout({shape.m, shape.n}, block) *
                   LinearLayout::broadcast(kWarp, warps.copies);
  LinearLayout rows = sliceLayout(layouts.result, 1);
  layouts.a = rows * LinearLayout::identity(kRegister, tensorDim(1), shape.k);
  LinearLayout columns =
      sliceLayout(layouts.result, 0).renameOut(tensorDim(0), tensorDim(1));
  layouts.b = pickOuts(
      columns * LinearLayout::identity(kRegister, tensorDim(0), shape.k),
      {0, 1});
  return layouts;
}

ContractionLayouts mamba::getContractionLayouts(const ContractionShape &shape,
                                                ContractionStrategy strategy,
                                                const WarpSplit &warps) {
  ContractionLayouts layouts{strategy, {}, {}, {}};
  if (strategy == ContractionStrategy::Fma) {
    layouts = getFmaLayouts(shape, warps);
  } else {
    auto get = [&](MmaOperand operand, uint32_t rows, uint32_t columns) {
      unsigned bits = strategy == ContractionStrategy::MmaSync ? 16 : 32;
      return mmaLayout(operand, bits, {rows, columns}, warps.m, warps.n) *
             LinearLayout::broadcast(kWarp, warps.copies);
    };
    layouts.a = get(MmaOperand::A, shape.m, shape.k);
    layouts.b = get(MmaOperand::B, shape.k, shape.n);
    layouts.result = get(MmaOperand::C, shape.m, shape.n);
  }
  if (shape.aTransposed)
    layouts.a = permuteLayout(layouts.a, {1, 0});
  if (shape.bTransposed)
    layouts.b = permuteLayout(layouts.b, {1, 0});
  return layouts;
}

LinearLayout mamba::getScanLayout(ArrayRef<uint32_t> shape, unsigned dim,
                                  unsigned elementBytes, uint32_t warps) {
  unsigned other = 1 - dim;
  BlockedShape block;
  block.elements = {1, 1};
  block.lanes = {1, 1};
  block.warps = {1, 1};
  if (dim == 1) {
    // As many lanes as can hold a wide access each.
    uint32_t wide = std::max(16 / elementBytes, shape[dim] / 32);
    block.elements[dim] = std::min(wide, shape[dim]);
    block.lanes[dim] = std::min(32u, shape[dim] / block.elements[dim]);
    block.lanes[other] = 32 / block.lanes[dim];
    block.warps[other] = warps;
  } else {
    // Rows are contiguous: what is left of the lanes shares a column.
    block.lanes[other] = std::min(32u, shape[other]);
    block.warps[other] = warps;
    block.lanes[dim] = 32 / block.lanes[other];
    block.elements[dim] = std::max(1u, shape[dim] / block.lanes[dim]);
  }
  block.order = {dim, other};
  return blockedLayout(shape, block);
}

bool mamba::isStrided(const LinearLayout &layout) {
  unsigned last = layout.getOuts().size() - 1, rows = 0;
  for (unsigned bit = 0; bit < layout.getInBits(kLane); ++bit) {
    Coordinates at = layout.getBasis(kLane, bit);
    if (at[last] != 0)
      return false;
    rows += llvm::any_of(at, [](uint32_t c) { return c != 0; });
  }
  return layout.getOuts()[last].bits != 0 && rows >= 3;
}

/// `layout` with a dimension of size 1 before output `dim`.
static LinearLayout insertUnitDim(const LinearLayout &layout, unsigned dim) {
  LayoutDims outs;
  for (unsigned i = 0; i <= layout.getOuts().size(); ++i) {
    unsigned bits = i == dim ? 0 : layout.getOuts()[i < dim ? i : i - 1].bits;
    outs.push_back({tensorDim(i), bits});
  }
  return LinearLayout::fromColumns(LayoutDims(layout.getIns()), std::move(outs),
                                   BinaryVectors(layout.getColumns()));
}

LinearLayout mamba::getReductionLayout(ArrayRef<uint32_t> shape,
                                       ArrayRef<bool> isReduced,
                                       unsigned elementBytes, uint32_t warps,
                                       unsigned bytes) {
  unsigned last = shape.size() - 1;
  BlockedShape block;
  block.elements.assign(shape.size(), 1);
  block.lanes.assign(shape.size(), 1);
  block.warps.assign(shape.size(), 1);
  for (unsigned dim = shape.size(); dim-- > 0;)
    block.order.push_back(dim);
  uint32_t vector =
      std::min<uint32_t>(std::max(bytes / elementBytes, 1u), shape[last]);
  block.elements[last] = vector;
  uint32_t room = shape[last] / vector;
  uint32_t line = std::min(std::max(kLineBytes / bytes, 1u), room);
  if (last == 0 || !isReduced[last]) {
    block.lanes[last] = std::clamp(room / warps, line, 32u);
    block.lanes[0] *= 32 / block.lanes[last];
    block.warps[last] = warps;
    return blockedLayout(shape, block);
  }
  // A line of memory is read by as few lanes as it takes: each sums what it
  // has, and the others have rows of their own.
  uint32_t lanes = line;
  while (lanes < 32 && lanes < room && 32 / lanes * warps > shape[last - 1])
    lanes *= 2;
  block.lanes[last] = lanes;
  block.lanes[last - 1] = 32 / lanes;
  block.warps[last - 1] = warps;
  // Neighbouring rows, so that results are stored together.
  block.elements[last - 1] =
      std::max(1u, shape[last - 1] / (32 / lanes * warps));
  return blockedLayout(shape, block);
}

/// The outputs of `layout` that are not of size 1, as those of a vector that
/// has the sizes of `shape`, in which only dimensions of size 1 differ.
static std::optional<LinearLayout> moveUnitDims(const LinearLayout &layout,
                                                ArrayRef<uint32_t> from,
                                                ArrayRef<uint32_t> to) {
  SmallVector<int64_t> kept;
  for (auto [dim, size] : llvm::enumerate(from))
    if (size != 1)
      kept.push_back(dim);
  LinearLayout picked = pickOuts(layout, kept);
  LayoutDims outs;
  unsigned next = 0;
  for (auto [dim, size] : llvm::enumerate(to)) {
    bool isUnit = size == 1;
    if (!isUnit && (next == kept.size() || from[kept[next]] != size))
      return std::nullopt;
    outs.push_back(
        {tensorDim(dim), isUnit ? 0 : picked.getOuts()[next++].bits});
  }
  if (next != kept.size())
    return std::nullopt;
  return LinearLayout::fromColumns(LayoutDims(picked.getIns()), std::move(outs),
                                   BinaryVectors(picked.getColumns()));
}

/// The layout of a value that is repeated along new first dimensions and along
/// those of which it has one element.
static std::optional<LinearLayout>
getRepeatedLayout(const LinearLayout &layout, vector::BroadcastOp broadcast) {
  auto source = cast<VectorType>(broadcast.getSourceType());
  SmallVector<uint32_t> kept;
  LinearLayout slice = layout;
  ArrayRef<int64_t> shape = broadcast.getResultVectorType().getShape();
  int64_t added = shape.size() - source.getRank();
  for (int64_t dim = shape.size(); dim-- > 0;) {
    bool isKept = dim >= added && source.getDimSize(dim - added) == shape[dim];
    if (isKept)
      kept.insert(kept.begin(), shape[dim]);
    else
      slice = sliceLayout(slice, dim);
  }
  return moveUnitDims(slice, kept, getExtents(source));
}

std::optional<LinearLayout>
mamba::getOperandLayout(OpOperand &operand, const LinearLayout &result) {
  Operation *op = operand.getOwner();
  auto type = cast<VectorType>(operand.get().getType());
  if (isElementwise(op))
    return result;
  if (auto broadcast = dyn_cast<vector::BroadcastOp>(op))
    return getRepeatedLayout(result, broadcast);
  if (auto transpose = dyn_cast<vector::TransposeOp>(op)) {
    SmallVector<int64_t> inverse = invertPermutationVector(
        SmallVector<int64_t>(transpose.getPermutation()));
    return permuteLayout(result, inverse);
  }
  if (isa<vector::ExtractStridedSliceOp>(op))
    return coverShape(result, getPaddedShape(type));
  if (auto cast = dyn_cast<vector::ShapeCastOp>(op))
    return moveUnitDims(result, getExtents(cast.getResultVectorType()),
                        getExtents(type));
  if (auto scan = dyn_cast<vector::ScanOp>(op))
    return operand.getOperandNumber() == 0
               ? result
               : sliceLayout(result, scan.getReductionDim());
  if (isa<vector::ExtractOp>(op) && type.getRank() == 2 &&
      type.getDimSize(0) == 1 && result.getOuts().size() == 1)
    return insertUnitDim(result, 0);
  return std::nullopt;
}

std::optional<LinearLayout> mamba::getResultLayout(OpOperand &operand,
                                                   const LinearLayout &layout) {
  Operation *op = operand.getOwner();
  if (op->getNumResults() != 1)
    return std::nullopt;
  auto type = dyn_cast<VectorType>(op->getResult(0).getType());
  if (!type)
    return std::nullopt;
  if (isElementwise(op))
    return layout;
  if (auto transpose = dyn_cast<vector::TransposeOp>(op))
    return permuteLayout(layout, transpose.getPermutation());
  if (isa<vector::ExtractStridedSliceOp>(op))
    return restrictLayout(layout, getPaddedShape(type));
  if (auto cast = dyn_cast<vector::ShapeCastOp>(op))
    return moveUnitDims(layout, getExtents(cast.getSourceVectorType()),
                        getExtents(type));
  if (isa<vector::ExtractOp>(op) && type.getRank() == 1 &&
      layout.getOuts().size() == 2 && layout.getOuts()[0].bits == 0)
    return sliceLayout(layout, 0);
  if (auto reduction = dyn_cast<vector::MultiDimReductionOp>(op)) {
    if (operand.getOperandNumber() != 0)
      return layout;
    LinearLayout slice = layout;
    SmallVector<bool> mask = reduction.getReductionMask();
    for (unsigned dim = mask.size(); dim-- > 0;)
      if (mask[dim])
        slice = sliceLayout(slice, dim);
    return slice;
  }
  return std::nullopt;
}

LinearLayout mamba::widenForMemory(const LinearLayout &layout,
                                   unsigned elementBytes, unsigned bytes) {
  unsigned last = layout.getOuts().size() - 1;
  unsigned wanted = std::min(llvm::Log2_32(std::max(bytes / elementBytes, 1u)),
                             layout.getOuts()[last].bits);
  unsigned shift = layout.getTotalOutBits() - layout.getOuts()[last].bits;
  unsigned registers = layout.getInBits(kRegister);
  BinaryVectors columns(layout.getColumns());
  // Bits of registers come first; their order among themselves is free.
  auto position = [&](StringRef in) {
    unsigned start = 0;
    for (const LayoutDim &dim : layout.getIns()) {
      if (dim.name == in)
        return start;
      start += dim.bits;
    }
    return start;
  };
  unsigned firstRegister = position(kRegister), firstLane = position(kLane);
  for (unsigned bit = 0; bit < wanted; ++bit) {
    uint64_t target = uint64_t(1) << (shift + bit);
    auto find = [&](unsigned from, unsigned count) -> std::optional<unsigned> {
      for (unsigned i = from; i < from + count; ++i)
        if (columns[i] == target)
          return i;
      return std::nullopt;
    };
    if (std::optional<unsigned> own =
            find(firstRegister + bit, registers - std::min(bit, registers))) {
      std::swap(columns[*own], columns[firstRegister + bit]);
      continue;
    }
    std::optional<unsigned> lane = find(firstLane, layout.getInBits(kLane));
    if (!lane)
      break;
    // A register bit that stands for a later column takes the lane's place.
    std::optional<unsigned> later;
    for (unsigned i = firstRegister + bit; i < firstRegister + registers; ++i)
      if (llvm::isPowerOf2_64(columns[i]) && columns[i] > target &&
          columns[i] >= (uint64_t(1) << (shift + wanted)))
        if (!later || columns[i] < columns[*later])
          later = i;
    if (!later)
      break;
    std::swap(columns[*lane], columns[*later]);
    std::swap(columns[*later], columns[firstRegister + bit]);
  }
  return LinearLayout::fromColumns(LayoutDims(layout.getIns()),
                                   LayoutDims(layout.getOuts()),
                                   std::move(columns));
}
