//===- VectorizeBody.cpp - One linalg operation on vectors ----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every value of a body stays as small as it can: a scalar, or a vector over
// those loops that it depends on. So the exponential of a row's value is taken
// once a row. Values meet by broadcasts where an operation combines them.
//
//===----------------------------------------------------------------------===//

#include "Vectorize.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mamba;

namespace {

/// A value of a body. Axis 0 and 1 are the loops in the order of the result,
/// sums last; bit `i` of `axes` says that the value is a vector over axis `i`.
struct BodyValue {
  Value value;
  unsigned axes = 0;
};

class BodyVectorizer {
public:
  BodyVectorizer(OpBuilder &builder, linalg::LinalgOp op,
                 ArrayRef<VectorOperand> operands, ArrayRef<int64_t> loopShape,
                 ArrayRef<Value> bounds, const IRMapping &mapping)
      : b(builder), op(op), loc(op.getLoc()), operands(operands),
        loopShape(loopShape), bounds(bounds), mapping(mapping) {}

  SmallVector<Value> run();

private:
  Value contract(const Contraction &contraction);
  Value reduce(const Reduction &reduction);
  Value scan(const Scan &scan);
  void orderAxes(const Scan *scan = nullptr);
  void computeBody(ArrayRef<Operation *> except = {});
  void compute(Operation &nested);
  void computeRead(tensor::ExtractOp extract);
  void computeBranches(scf::IfOp branch);
  /// The axes that `value`, in a nested block, will have.
  unsigned findAxes(Value value);
  BodyValue lookup(Value value);
  VectorType getType(unsigned axes, Type elementType);
  Value broadcast(BodyValue value, unsigned axes);
  Value mask(Value vector, unsigned axis, Value bound, TypedAttr neutral);

  OpBuilder &b;
  linalg::LinalgOp op;
  Location loc;
  ArrayRef<VectorOperand> operands;
  ArrayRef<int64_t> loopShape;
  ArrayRef<Value> bounds;
  const IRMapping &mapping;
  /// The axis of each loop, and the extent of each axis.
  SmallVector<unsigned> axisOf;
  SmallVector<int64_t> extents;
  DenseMap<Value, BodyValue> values;
};

/// Spreads a vector over axis `axis` of `shape`, or a scalar over all of it.
Value spread(OpBuilder &b, Location loc, Value value, unsigned axis,
             ArrayRef<int64_t> shape) {
  Type elementType = getElementTypeOrSelf(value);
  bool isVector = isa<VectorType>(value.getType());
  if (isVector && shape.size() == 1)
    return value;
  if (!isVector || axis == 1)
    return vector::BroadcastOp::create(
        b, loc, VectorType::get(shape, elementType), value);
  auto transposed = VectorType::get({shape[1], shape[0]}, elementType);
  value = vector::BroadcastOp::create(b, loc, transposed, value);
  return vector::TransposeOp::create(b, loc, value, ArrayRef<int64_t>{1, 0});
}

bool isZero(Attribute value) {
  auto number = dyn_cast<FloatAttr>(value);
  return number && number.getValue().isPosZero();
}

bool isZeroVector(Value vector) {
  if (auto spreading = vector.getDefiningOp<vector::BroadcastOp>())
    vector = spreading.getSource();
  Attribute value;
  if (!matchPattern(vector, m_Constant(&value)))
    return false;
  if (auto splat = dyn_cast<SplatElementsAttr>(value))
    value = splat.getSplatValue<Attribute>();
  return isZero(value);
}

VectorType BodyVectorizer::getType(unsigned axes, Type elementType) {
  SmallVector<int64_t> shape;
  for (auto [axis, extent] : llvm::enumerate(extents))
    if (axes & (1U << axis))
      shape.push_back(extent);
  return VectorType::get(shape, elementType);
}

Value BodyVectorizer::broadcast(BodyValue value, unsigned axes) {
  if (value.axes == axes)
    return value.value;
  VectorType type = getType(axes, getElementTypeOrSelf(value.value));
  return spread(b, loc, value.value, value.axes >> 1, type.getShape());
}

/// Replaces elements at or past `bound` along dimension `axis` by `neutral`.
Value BodyVectorizer::mask(Value vector, unsigned axis, Value bound,
                           TypedAttr neutral) {
  auto type = cast<VectorType>(vector.getType());
  Value isValid = createMask(b, loc, axis, bound, type.getShape());
  // Elements of 32 bits are selected before they become narrower ones, and by
  // one condition if there is one already.
  auto narrow = vector.getDefiningOp<arith::TruncFOp>();
  if (narrow && isZero(neutral)) {
    vector = narrow.getIn();
    type = cast<VectorType>(vector.getType());
    neutral = b.getZeroAttr(type.getElementType());
  }
  if (auto select = vector.getDefiningOp<arith::SelectOp>();
      select && isa<VectorType>(select.getCondition().getType()) &&
      isZero(neutral) && isZeroVector(select.getFalseValue())) {
    vector = select.getTrueValue();
    isValid = arith::AndIOp::create(b, loc, select.getCondition(), isValid);
  }
  Value other = arith::ConstantOp::create(
      b, loc, cast<TypedAttr>(DenseElementsAttr::get(type, neutral)));
  Value masked = arith::SelectOp::create(b, loc, isValid, vector, other);
  if (!narrow || !isZero(neutral))
    return masked;
  return arith::TruncFOp::create(b, loc, narrow.getType(), masked,
                                 narrow.getRoundingmodeAttr(),
                                 narrow.getFastmathAttr());
}

Value BodyVectorizer::contract(const Contraction &contraction) {
  AffineExpr m = b.getAffineDimExpr(0), n = b.getAffineDimExpr(1),
             k = b.getAffineDimExpr(2);
  SmallVector<Value> factors;
  SmallVector<AffineMap> maps;
  Type narrow, wide = b.getF32Type();
  for (OpOperand *operand : {contraction.lhs, contraction.rhs}) {
    Value factor = operands[operand->getOperandNumber()].value;
    if (!narrow)
      narrow = getElementTypeOrSelf(factor);
    if (getElementTypeOrSelf(factor) != narrow)
      narrow = wide;
    factors.push_back(factor);
  }
  for (auto [operand, factor, other] :
       llvm::zip_equal(ArrayRef{contraction.lhs, contraction.rhs}, factors,
                       ArrayRef{m, n})) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    bool isKFirst = map.getDimPosition(0) == contraction.k;
    maps.push_back(AffineMap::get(
        3, 0, isKFirst ? ArrayRef<AffineExpr>{k, other} : ArrayRef{other, k},
        b.getContext()));
    // Past the end, 0 * NaN must not arise.
    Type elementType = getElementTypeOrSelf(factor);
    if (Value bound = bounds[contraction.k];
        bound && !operands[operand->getOperandNumber()].isRead)
      factor =
          mask(factor, isKFirst ? 0 : 1, bound, b.getZeroAttr(elementType));
    if (elementType != narrow)
      factor = arith::ExtFOp::create(
          b, loc, cast<VectorType>(factor.getType()).clone(narrow), factor);
  }
  maps.push_back(AffineMap::get(3, 0, {m, n}, b.getContext()));
  using vector::IteratorType;
  auto iterator = [&](IteratorType type) -> Attribute {
    return vector::IteratorTypeAttr::get(b.getContext(), type);
  };
  Value sum = operands.back().value;
  return vector::ContractionOp::create(
      b, loc, factors[0], factors[1], sum, b.getAffineMapArrayAttr(maps),
      b.getArrayAttr({iterator(IteratorType::parallel),
                      iterator(IteratorType::parallel),
                      iterator(IteratorType::reduction)}));
}

void BodyVectorizer::orderAxes(const Scan *scan) {
  axisOf.assign(op.getNumLoops(), ~0U);
  AffineMap map = op.getIndexingMapsArray().back();
  unsigned count = 0;
  for (unsigned i : llvm::seq(map.getNumResults()))
    axisOf[map.getDimPosition(i)] = count++;
  // Terms lie along the axis of their sums.
  if (scan)
    axisOf[scan->summed] = axisOf[scan->position];
  for (unsigned &axis : axisOf)
    if (axis == ~0U)
      axis = count++;
  extents.resize(count);
  for (auto [loop, axis] : llvm::enumerate(axisOf))
    extents[axis] = loopShape[loop];
}

BodyValue BodyVectorizer::lookup(Value value) {
  auto it = values.find(value);
  if (it != values.end())
    return it->second;
  return {mapping.lookupOrDefault(value)};
}

void BodyVectorizer::computeRead(tensor::ExtractOp extract) {
  Value tensor = lookup(extract.getTensor()).value;
  Type elementType = extract.getType();
  SmallVector<std::optional<unsigned>> loops = *matchIndexedRead(op, extract);
  SmallVector<OpFoldResult> offsets, sizes,
      strides(loops.size(), b.getIndexAttr(1));
  SmallVector<int64_t> shape;
  SmallVector<unsigned> order;
  unsigned axes = 0;
  for (auto [index, loop] : llvm::zip_equal(extract.getIndices(), loops)) {
    sizes.push_back(b.getIndexAttr(loop ? loopShape[*loop] : 1));
    if (loop) {
      offsets.push_back(b.getIndexAttr(0));
      shape.push_back(loopShape[*loop]);
      order.push_back(axisOf[*loop]);
      axes |= 1U << axisOf[*loop];
    } else {
      offsets.push_back(getAsOpFoldResult(lookup(index).value));
    }
  }
  Value slice = tensor::ExtractSliceOp::create(
      b, loc, RankedTensorType::get(shape, elementType), tensor, offsets, sizes,
      strides);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value pad = arith::ConstantOp::create(
      b, loc, cast<TypedAttr>(b.getZeroAttr(elementType)));
  Value value = vector::TransferReadOp::create(
      b, loc, VectorType::get(shape, elementType), slice,
      SmallVector<Value>(shape.size(), zero), pad,
      SmallVector<bool>(shape.size(), true));
  if (order.size() == 2 && order[0] > order[1])
    value = vector::TransposeOp::create(b, loc, value, ArrayRef<int64_t>{1, 0});
  values[extract] = {value, axes};
}

unsigned BodyVectorizer::findAxes(Value value) {
  if (auto it = values.find(value); it != values.end())
    return it->second.axes;
  Operation *nested = value.getDefiningOp();
  if (!nested || !op->isProperAncestor(nested))
    return 0;
  if (auto index = dyn_cast<linalg::IndexOp>(nested))
    return 1U << axisOf[index.getDim()];
  unsigned axes = 0;
  for (Value operand : nested->getOperands())
    axes |= findAxes(operand);
  if (auto branch = dyn_cast<scf::IfOp>(nested))
    for (scf::YieldOp yield : {branch.thenYield(), branch.elseYield()})
      axes |=
          findAxes(yield.getOperand(cast<OpResult>(value).getResultNumber()));
  return axes;
}

/// All elements take the same way, so the branches remain.
void BodyVectorizer::computeBranches(scf::IfOp branch) {
  SmallVector<Type> types;
  for (Value result : branch.getResults()) {
    unsigned axes = findAxes(result);
    values[result] = {{}, axes};
    types.push_back(axes ? getType(axes, result.getType()) : result.getType());
  }
  auto created = scf::IfOp::create(
      b, branch.getLoc(), types, lookup(branch.getCondition()).value,
      /*addThenBlock=*/true, /*addElseBlock=*/true);
  for (auto [from, to] : {std::pair(branch.thenBlock(), created.thenBlock()),
                          std::pair(branch.elseBlock(), created.elseBlock())}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(to);
    for (Operation &nested : from->without_terminator())
      compute(nested);
    SmallVector<Value> yielded;
    for (auto [value, result] : llvm::zip_equal(
             from->getTerminator()->getOperands(), branch.getResults()))
      yielded.push_back(broadcast(lookup(value), values[result].axes));
    scf::YieldOp::create(b, branch.getLoc(), yielded);
  }
  for (auto [from, to] :
       llvm::zip_equal(branch.getResults(), created.getResults()))
    values[from].value = to;
}

void BodyVectorizer::compute(Operation &nested) {
  if (auto branch = dyn_cast<scf::IfOp>(nested))
    return computeBranches(branch);
  if (auto extract = dyn_cast<tensor::ExtractOp>(nested))
    if (findAxes(extract))
      return computeRead(extract);
  if (auto index = dyn_cast<linalg::IndexOp>(nested)) {
    unsigned axes = 1U << axisOf[index.getDim()];
    values[index] = {
        vector::StepOp::create(b, loc, getType(axes, b.getIndexType())), axes};
    return;
  }
  unsigned axes = 0;
  for (Value operand : nested.getOperands())
    axes |= lookup(operand).axes;
  SmallVector<Value> inputs;
  for (Value operand : nested.getOperands())
    inputs.push_back(broadcast(lookup(operand), axes));
  SmallVector<Type> types;
  for (Type type : nested.getResultTypes())
    types.push_back(axes ? getType(axes, type) : type);
  Operation *created =
      b.create(nested.getLoc(), nested.getName().getIdentifier(), inputs, types,
               nested.getAttrs());
  for (auto [result, computed] :
       llvm::zip_equal(nested.getResults(), created->getResults()))
    values[result] = {computed, axes};
}

void BodyVectorizer::computeBody(ArrayRef<Operation *> except) {
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operands[operand.getOperandNumber()].value;
    if (!value)
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    unsigned axes = 0;
    for (unsigned i : llvm::seq(map.getNumResults()))
      axes |= 1U << axisOf[map.getDimPosition(i)];
    if (axes == 3 && axisOf[map.getDimPosition(0)] == 1)
      value =
          vector::TransposeOp::create(b, loc, value, ArrayRef<int64_t>{1, 0});
    values[op.getMatchingBlockArgument(&operand)] = {value, axes};
  }
  // Index arithmetic becomes element-wise like all other.
  Block &body = *op.getBlock();
  for (auto apply :
       llvm::make_early_inc_range(body.getOps<affine::AffineApplyOp>())) {
    OpBuilder inBody(apply);
    AffineMap map = apply.getAffineMap();
    SmallVector<Value> dims(apply.getDimOperands()),
        symbols(apply.getSymbolOperands());
    apply.replaceAllUsesWith(affine::expandAffineExpr(
        inBody, apply.getLoc(), map.getResult(0), dims, symbols));
    apply.erase();
  }
  for (Operation &nested : body.without_terminator())
    if (!llvm::is_contained(except, &nested))
      compute(nested);
}

Value BodyVectorizer::reduce(const Reduction &reduction) {
  BodyValue computed = lookup(reduction.value);
  Value value = broadcast(computed, (1U << extents.size()) - 1);
  auto type = cast<FloatType>(getElementTypeOrSelf(value));
  using vector::CombiningKind;
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  APFloat neutral = APFloat::getZero(semantics);
  switch (reduction.kind) {
  case CombiningKind::MUL:
    neutral = APFloat::getOne(semantics);
    break;
  case CombiningKind::MAXIMUMF:
  case CombiningKind::MAXNUMF:
    neutral = APFloat::getInf(semantics, /*Negative=*/true);
    break;
  case CombiningKind::MINIMUMF:
  case CombiningKind::MINNUMF:
    neutral = APFloat::getInf(semantics);
    break;
  default:
    break;
  }
  // Zeros past the end of what is read are right for sums only.
  bool isRead = false;
  for (OpOperand *operand : op.getDpsInputOperands())
    if (op.getMatchingBlockArgument(operand) == reduction.value)
      isRead = operands[operand->getOperandNumber()].isRead &&
               computed.axes == (1U << extents.size()) - 1;
  SmallVector<bool> isReduced(extents.size(), false);
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    if (kind != utils::IteratorType::reduction)
      continue;
    isReduced[axisOf[loop]] = true;
    if (bounds[loop] && !(isRead && reduction.kind == CombiningKind::ADD))
      value = mask(value, axisOf[loop], bounds[loop],
                   b.getFloatAttr(type, neutral));
  }
  return vector::MultiDimReductionOp::create(
      b, loc, value, operands.back().value, isReduced, reduction.kind);
}

Value BodyVectorizer::scan(const Scan &scan) {
  unsigned rank = extents.size(), axis = axisOf[scan.summed];
  Value terms = broadcast(lookup(scan.term), (1U << rank) - 1);
  auto type = cast<VectorType>(terms.getType());
  TypedAttr zero = b.getZeroAttr(type.getElementType());
  if (Value bound = bounds[scan.summed])
    terms = mask(terms, axis, bound, zero);
  // A vector is scanned as a matrix of one row: what enters is a vector then.
  if (rank == 1) {
    type = VectorType::get({1, extents[0]}, type.getElementType());
    terms = vector::BroadcastOp::create(b, loc, type, terms);
    ++axis;
  }
  auto startType =
      VectorType::get(type.getDimSize(1 - axis), type.getElementType());
  Value start = arith::ConstantOp::create(b, loc, b.getZeroAttr(startType));
  Value sums = vector::ScanOp::create(b, loc, vector::CombiningKind::ADD, terms,
                                      start, axis, /*inclusive=*/true)
                   .getDest();
  if (rank == 1)
    sums = vector::ExtractOp::create(b, loc, sums, 0);
  // The result's own order of dimensions is that of the axes.
  Value out = operands.back().value;
  if (isZeroVector(out))
    return sums;
  return arith::AddFOp::create(b, loc, out, sums);
}

SmallVector<Value> BodyVectorizer::run() {
  if (std::optional<Contraction> contraction = matchContraction(op))
    return {contract(*contraction)};
  if (std::optional<Scan> matched = matchScan(op)) {
    orderAxes(&*matched);
    computeBody(/*except=*/matched->structure);
    return {scan(*matched)};
  }
  orderAxes();
  Operation *yield = op.getBlock()->getTerminator();
  if (op.getNumReductionLoops() != 0) {
    computeBody(/*except=*/{yield->getOperand(0).getDefiningOp()});
    return {reduce(*matchReduction(op))};
  }
  computeBody();
  SmallVector<Value> results;
  for (auto [yielded, out] :
       llvm::zip_equal(yield->getOperands(), op.getDpsInitsMutable())) {
    AffineMap map = op.getMatchingIndexingMap(&out);
    Value value = broadcast(lookup(yielded), (1U << extents.size()) - 1);
    if (map.getNumResults() == 2 && axisOf[map.getDimPosition(0)] == 1)
      value =
          vector::TransposeOp::create(b, loc, value, ArrayRef<int64_t>{1, 0});
    results.push_back(value);
  }
  return results;
}

} // namespace

Value mamba::createMask(OpBuilder &b, Location loc, unsigned axis, Value bound,
                        ArrayRef<int64_t> shape) {
  auto indexType = VectorType::get(shape[axis], b.getIndexType());
  Value step = vector::StepOp::create(b, loc, indexType);
  Value limit = vector::BroadcastOp::create(b, loc, indexType, bound);
  Value isValid =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, step, limit);
  return spread(b, loc, isValid, axis, shape);
}

SmallVector<Value> mamba::createVectors(OpBuilder &builder, linalg::LinalgOp op,
                                        ArrayRef<VectorOperand> operands,
                                        ArrayRef<int64_t> loopShape,
                                        ArrayRef<Value> bounds,
                                        const IRMapping &mapping) {
  return BodyVectorizer(builder, op, operands, loopShape, bounds, mapping)
      .run();
}
