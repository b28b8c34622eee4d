//===- ThreadProgram.cpp - Structure and element-wise operations ----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadProgram.h"
#include "VectorKernel.h"

#include "mamba/Layout/Padding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/Support/MathExtras.h"

#include <map>

using namespace mlir;
using namespace mamba;

Held::Held(LinearLayout layout, VectorType type)
    : layout(std::move(layout)), extents(getExtents(type)),
      registers(getPresentRegisters(this->layout, extents)) {}

bool Held::isPartial(unsigned position) const {
  return getPresence(layout, extents, registers[position]) == Presence::Some;
}

Coordinates Held::at(unsigned position) const {
  return layout.unflattenOut(
      multiply(layout.getColumns(kRegister), registers[position]));
}

ThreadProgram::ThreadProgram(gpu::GPUFuncOp kernel, uint32_t warps)
    : kernel(kernel), warps(warps), b(kernel.getContext()) {}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Value ThreadProgram::constantIndex(int64_t value) {
  return arith::ConstantIndexOp::create(b, loc(), value);
}

Value ThreadProgram::constantI32(int64_t value) {
  return arith::ConstantIntOp::create(b, loc(), value, 32);
}

Value ThreadProgram::toIndex(Value i32) {
  return arith::IndexCastUIOp::create(b, loc(), b.getIndexType(), i32);
}

Value ThreadProgram::both(Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return arith::AndIOp::create(b, loc(), lhs, rhs);
}

Value ThreadProgram::haveClear(uint32_t lanes, uint32_t warpBits) {
  Value bits;
  for (auto [thread, mask] :
       {std::pair(lane, lanes), std::pair(warp, warpBits)}) {
    if (!mask)
      continue;
    Value set = arith::AndIOp::create(b, loc(), thread, constantI32(mask));
    bits = bits ? arith::OrIOp::create(b, loc(), bits, set).getResult() : set;
  }
  if (!bits)
    return {};
  return arith::CmpIOp::create(b, loc(), arith::CmpIPredicate::eq, bits,
                               constantI32(0));
}

/// The bits of output `dim` in each column.
static SmallVector<uint64_t> getColumnsOf(const LinearLayout &layout,
                                          StringRef in, unsigned dim) {
  unsigned shift = 0;
  for (unsigned i = 0; i < dim; ++i)
    shift += layout.getOuts()[i].bits;
  SmallVector<uint64_t> columns;
  for (BinaryVector column : layout.getColumns(in))
    columns.push_back((column >> shift) & (layout.getOuts()[dim].size() - 1));
  return columns;
}

uint64_t ThreadProgram::getThreadBits(const LinearLayout &layout,
                                      unsigned dim) {
  uint64_t bits = 0;
  for (StringRef in : {StringRef(kLane), StringRef(kWarp)})
    for (uint64_t column : getColumnsOf(layout, in, dim))
      bits |= column;
  return bits;
}

Value ThreadProgram::addBits(Value sum, Value source, uint64_t all,
                             ArrayRef<uint64_t> columns) {
  // Bits that move by the same distance move together.
  std::map<int, uint64_t> byDistance;
  for (auto [bit, column] : llvm::enumerate(columns))
    for (uint64_t rest = column; rest; rest &= rest - 1)
      byDistance[int(llvm::countr_zero(rest)) - int(bit)] |= uint64_t(1) << bit;
  for (auto [distance, mask] : byDistance) {
    Value part = source;
    if (mask != all)
      part = arith::AndIOp::create(b, loc(), part, constantI32(mask));
    if (distance > 0)
      part = arith::ShLIOp::create(b, loc(), part, constantI32(distance));
    else if (distance < 0)
      part = arith::ShRUIOp::create(b, loc(), part, constantI32(-distance));
    sum = sum ? arith::XOrIOp::create(b, loc(), sum, part).getResult() : part;
  }
  return sum;
}

Value ThreadProgram::getThreadPart(const LinearLayout &layout, unsigned dim) {
  Value sum = addBits({}, lane, 31, getColumnsOf(layout, kLane, dim));
  sum = addBits(sum, warp, warps - 1, getColumnsOf(layout, kWarp, dim));
  return sum ? sum : constantI32(0);
}

Value ThreadProgram::applyOffsets(const LinearLayout &offsets, Value row,
                                  Value column) {
  bool hasRows = offsets.hasIn(tensorDim(1));
  auto add = [&](Value sum, Value source, unsigned dim) {
    SmallVector<uint64_t> columns(offsets.getColumns(tensorDim(dim)));
    return addBits(sum, source, (uint64_t(1) << columns.size()) - 1, columns);
  };
  Value sum = hasRows ? add({}, row, 0) : Value();
  sum = add(sum, column, hasRows ? 1 : 0);
  return sum ? sum : constantI32(0);
}

Value ThreadProgram::addConstant(Value part, uint64_t possible,
                                 uint64_t constant) {
  // A constant that is added can become part of an address.
  uint64_t shared = constant & possible;
  if (shared)
    part = arith::XOrIOp::create(b, loc(), part, constantI32(shared));
  if (uint64_t rest = constant & ~possible)
    part = arith::AddIOp::create(b, loc(), part, constantI32(rest));
  return part;
}

Value ThreadProgram::addConstantToIndex(Value part, uint64_t possible,
                                        uint64_t constant) {
  Value index = toIndex(addConstant(part, possible, constant & possible));
  if (uint64_t rest = constant & ~possible)
    index = arith::AddIOp::create(b, loc(), index, constantIndex(rest));
  return index;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Held ThreadProgram::getHeld(Value value) {
  unsigned number;
  Operation *op = value.getDefiningOp();
  if (op) {
    number = cast<OpResult>(value).getResultNumber();
  } else {
    auto argument = cast<BlockArgument>(value);
    auto loop = cast<scf::ForOp>(argument.getOwner()->getParentOp());
    number = argument.getArgNumber() - loop.getNumInductionVars();
    op = loop;
  }
  auto layouts = op->getAttrOfType<ArrayAttr>(kLayoutsAttrName);
  return Held(toLayout(cast<LayoutAttr>(layouts[number])),
              cast<VectorType>(value.getType()));
}

VectorType ThreadProgram::getThreadType(Value value) {
  return VectorType::get({int64_t(getHeld(value).size())},
                         getElementTypeOrSelf(value));
}

Value ThreadProgram::pick(Value vector, ArrayRef<int64_t> positions) {
  auto type = cast<VectorType>(vector.getType());
  bool isIdentity = int64_t(positions.size()) == type.getDimSize(0);
  for (auto [index, position] : llvm::enumerate(positions))
    isIdentity &= int64_t(index) == position;
  if (isIdentity)
    return vector;
  return vector::ShuffleOp::create(b, loc(), vector, vector, positions);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult ThreadProgram::rewriteElementwise(Operation &op) {
  VectorType type = getThreadType(op.getResult(0));
  Operation *copy = b.clone(op, map);
  copy->getResult(0).setType(type);
  copy->removeAttr(kLayoutsAttrName);
  // A product may go into a sum unrounded.
  if (isa<arith::MulFOp, arith::AddFOp, arith::SubFOp>(copy)) {
    auto flags =
        cast<arith::ArithFastMathInterface>(copy).getFastMathFlagsAttr();
    copy->setAttr(
        "fastmath",
        arith::FastMathFlagsAttr::get(
            b.getContext(), flags.getValue() | arith::FastMathFlags::contract));
  }
  return success();
}

LogicalResult ThreadProgram::rewriteConstant(Operation &op) {
  DenseElementsAttr elements;
  if (!matchPattern(&op, m_Constant(&elements)) || !elements.isSplat())
    return op.emitOpError("expected a vector of equal elements, got ") << op;
  Value constant = arith::ConstantOp::create(
      b, loc(), elements.resizeSplat(getThreadType(op.getResult(0))));
  map.map(op.getResult(0), constant);
  return success();
}

LogicalResult ThreadProgram::rewriteStep(vector::StepOp op) {
  Held held = getHeld(op);
  VectorType type = getThreadType(op);
  Value part = getThreadPart(held.layout, 0);
  uint64_t possible = getThreadBits(held.layout, 0);
  uint64_t used = 0;
  SmallVector<int64_t> constants;
  for (unsigned i = 0; i < held.size(); ++i) {
    constants.push_back(held.at(i)[0]);
    used |= constants.back();
  }
  Value base = vector::BroadcastOp::create(b, loc(), type, toIndex(part));
  Value own =
      arith::ConstantOp::create(b, loc(), DenseElementsAttr::get(type, [&] {
                                  SmallVector<APInt> values;
                                  for (int64_t constant : constants)
                                    values.push_back(APInt(64, constant));
                                  return values;
                                }()));
  Value sum = (used & possible)
                  ? arith::XOrIOp::create(b, loc(), base, own).getResult()
                  : arith::AddIOp::create(b, loc(), base, own).getResult();
  map.map(op.getResult(), sum);
  return success();
}

LogicalResult ThreadProgram::rewriteMove(
    Operation &op,
    llvm::function_ref<Coordinates(ArrayRef<uint32_t>)> toSource) {
  Value source = op.getOperand(0), result = op.getResult(0);
  Held to = getHeld(result);
  if (!isa<VectorType>(source.getType())) {
    map.map(result, vector::BroadcastOp::create(b, loc(), getThreadType(result),
                                                map.lookup(source)));
    return success();
  }
  Held from = getHeld(source);
  std::map<SmallVector<uint32_t, 4>, int64_t> places;
  for (unsigned i = 0; i < from.size(); ++i)
    places.try_emplace(from.at(i), i);
  SmallVector<int64_t> positions;
  for (unsigned i = 0; i < to.size(); ++i) {
    auto it = places.find(toSource(to.at(i)));
    if (it == places.end())
      return op.emitOpError("expected layouts that agree, got ")
             << from.layout.str() << " for the operand and " << to.layout.str()
             << " for the result";
    positions.push_back(it->second);
  }
  map.map(result, pick(map.lookup(source), positions));
  return success();
}

LogicalResult ThreadProgram::rewriteLoop(scf::ForOp loop) {
  SmallVector<Value> inits;
  for (Value init : loop.getInits())
    inits.push_back(map.lookupOrDefault(init));
  auto created = scf::ForOp::create(b, loop.getLoc(),
                                    map.lookupOrDefault(loop.getLowerBound()),
                                    map.lookupOrDefault(loop.getUpperBound()),
                                    map.lookupOrDefault(loop.getStep()), inits);
  for (NamedAttribute attribute : loop->getDiscardableAttrs())
    if (attribute.getName() != kLayoutsAttrName)
      created->setAttr(attribute.getName(), attribute.getValue());
  map.map(loop.getInductionVar(), created.getInductionVar());
  for (auto [from, to] :
       llvm::zip_equal(loop.getRegionIterArgs(), created.getRegionIterArgs()))
    map.map(from, to);
  for (auto [from, to] :
       llvm::zip_equal(loop.getResults(), created.getResults()))
    map.map(from, to);
  OpBuilder::InsertionGuard guard(b);
  // A loop without results gets its terminator from the builder.
  if (!created.getBody()->empty())
    created.getBody()->back().erase();
  b.setInsertionPointToEnd(created.getBody());
  return rewriteBlock(*loop.getBody());
}

LogicalResult ThreadProgram::rewriteIf(scf::IfOp op) {
  SmallVector<Type> types;
  for (Value result : op.getResults())
    types.push_back(isa<VectorType>(result.getType())
                        ? Type(getThreadType(result))
                        : result.getType());
  auto created = scf::IfOp::create(b, op.getLoc(), types,
                                   map.lookupOrDefault(op.getCondition()),
                                   /*addThenBlock=*/true,
                                   /*addElseBlock=*/bool(op.elseBlock()));
  for (auto [from, to] : llvm::zip_equal(op.getResults(), created.getResults()))
    map.map(from, to);
  OpBuilder::InsertionGuard guard(b);
  for (auto [from, to] : {std::pair(op.thenBlock(), created.thenBlock()),
                          std::pair(op.elseBlock(), created.elseBlock())}) {
    if (!from)
      continue;
    to->clear();
    b.setInsertionPointToEnd(to);
    if (failed(rewriteBlock(*from)))
      return failure();
  }
  return success();
}

LogicalResult ThreadProgram::rewriteBlock(Block &block) {
  for (Operation &op : block)
    if (failed(rewrite(op)))
      return failure();
  return success();
}

/// Whether any value in or around the operation is a vector.
static bool touchesVectors(Operation &op) {
  auto isVector = [](Type type) { return isa<VectorType>(type); };
  return op
      .walk([&](Operation *nested) {
        bool touches = llvm::any_of(nested->getOperandTypes(), isVector) ||
                       llvm::any_of(nested->getResultTypes(), isVector) ||
                       isa<AsyncCopyOp, TensorCopyOp>(nested);
        return touches ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

static bool isShared(Value value) {
  auto type = dyn_cast<MemRefType>(value.getType());
  return type && gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(type);
}

LogicalResult ThreadProgram::rewrite(Operation &op) {
  current = &op;
  if (!touchesVectors(op)) {
    // Tiles in shared memory are addressed from their flat buffers.
    if (op.getNumResults() == 1 && isShared(op.getResult(0)))
      return success();
    b.clone(op, map);
    return success();
  }
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return rewriteLoop(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return rewriteIf(branch);
  if (isa<scf::YieldOp>(op)) {
    b.clone(op, map);
    return success();
  }
  if (op.hasTrait<OpTrait::ConstantLike>())
    return rewriteConstant(op);
  if (isElementwise(&op))
    return rewriteElementwise(op);
  if (auto step = dyn_cast<vector::StepOp>(op))
    return rewriteStep(step);
  if (auto broadcast = dyn_cast<vector::BroadcastOp>(op)) {
    auto source = dyn_cast<VectorType>(broadcast.getSourceType());
    unsigned rank = source ? source.getRank() : 0;
    return rewriteMove(op, [&](ArrayRef<uint32_t> at) {
      Coordinates coordinates(at.take_back(rank));
      for (unsigned dim = 0; dim < rank; ++dim)
        if (source.getDimSize(dim) == 1)
          coordinates[dim] = 0;
      return coordinates;
    });
  }
  if (auto transpose = dyn_cast<vector::TransposeOp>(op))
    return rewriteMove(op, [&](ArrayRef<uint32_t> at) {
      Coordinates source(at.size());
      for (auto [to, from] : llvm::enumerate(transpose.getPermutation()))
        source[from] = at[to];
      return source;
    });
  if (auto cast = dyn_cast<vector::ShapeCastOp>(op)) {
    VectorType from = cast.getSourceVectorType(),
               to = cast.getResultVectorType();
    auto isUnit = [](int64_t size) { return size == 1; };
    if (!llvm::equal(
            llvm::make_filter_range(from.getShape(), std::not_fn(isUnit)),
            llvm::make_filter_range(to.getShape(), std::not_fn(isUnit))))
      return op.emitOpError("expected shapes that differ in unit dimensions");
    return rewriteMove(op, [=](ArrayRef<uint32_t> at) {
      SmallVector<uint32_t> kept;
      for (auto [coordinate, size] : llvm::zip_equal(at, to.getShape()))
        if (size != 1)
          kept.push_back(coordinate);
      Coordinates source;
      unsigned next = 0;
      for (int64_t size : from.getShape())
        source.push_back(size == 1 ? 0 : kept[next++]);
      return source;
    });
  }
  if (auto slice = dyn_cast<vector::ExtractStridedSliceOp>(op)) {
    SmallVector<int64_t> offsets;
    slice.getOffsets(offsets);
    offsets.resize(slice.getSourceVectorType().getRank(), 0);
    return rewriteMove(op, [&](ArrayRef<uint32_t> at) {
      Coordinates source(at.begin(), at.end());
      for (auto [coordinate, offset] : llvm::zip_equal(source, offsets))
        coordinate += offset;
      return source;
    });
  }
  if (auto row = dyn_cast<vector::ExtractOp>(op);
      row && row.getSourceVectorType().getRank() == 2 &&
      !row.hasDynamicPosition() && row.getStaticPosition().size() == 1)
    return rewriteMove(op, [&](ArrayRef<uint32_t> at) {
      return Coordinates{uint32_t(row.getStaticPosition()[0]), at[0]};
    });
  if (auto element = dyn_cast<vector::ExtractOp>(op);
      element && !isa<VectorType>(element.getType()))
    return rewriteElement(element);
  if (auto scan = dyn_cast<vector::ScanOp>(op))
    return rewriteScan(scan);
  if (auto reduction = dyn_cast<vector::MultiDimReductionOp>(op))
    return rewriteReduction(reduction);
  if (auto read = dyn_cast<vector::TransferReadOp>(op))
    return rewriteRead(read);
  if (auto write = dyn_cast<vector::TransferWriteOp>(op))
    return rewriteWrite(write);
  if (auto convert = dyn_cast<ConvertLayoutOp>(op))
    return rewriteConversion(convert);
  if (auto contraction = dyn_cast<vector::ContractionOp>(op))
    return rewriteContraction(contraction);
  if (auto copy = dyn_cast<AsyncCopyOp>(op))
    return rewriteAsyncCopy(copy);
  if (auto copy = dyn_cast<TensorCopyOp>(op))
    return rewriteTensorCopy(copy);
  return op.emitOpError("cannot be distributed over threads");
}

LogicalResult ThreadProgram::run() {
  current = kernel;
  Block &block = kernel.getBody().front();
  // The new program grows behind the old one, which then goes away.
  Operation *last = &block.back();
  SmallVector<Operation *> old;
  for (Operation &op : block)
    old.push_back(&op);
  b.setInsertionPointToEnd(&block);
  for (BlockArgument argument : block.getArguments())
    map.map(argument, argument);
  threadId = arith::IndexCastUIOp::create(
      b, loc(), b.getI32Type(),
      gpu::ThreadIdOp::create(b, loc(), gpu::Dimension::x));
  lane = arith::AndIOp::create(b, loc(), threadId, constantI32(31));
  warp = arith::ShRUIOp::create(b, loc(), threadId, constantI32(5));
  for (Operation *op : old)
    if (op != last && failed(rewrite(*op)))
      return failure();
  last->moveBefore(&block, block.end());
  for (Operation *op : llvm::reverse(old))
    if (op != last)
      op->erase();
  kernel->removeAttr(kVectorizedAttrName);
  return success();
}

LogicalResult mamba::distributeVectors(gpu::GPUFuncOp kernel) {
  FailureOr<uint32_t> warps = getWarps(kernel);
  if (failed(warps))
    return failure();
  if (failed(checkVectors(kernel)) || failed(checkLayouts(kernel)))
    return failure();
  return ThreadProgram(kernel, *warps).run();
}
