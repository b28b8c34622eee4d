//===- RewriteExp2Hoist.cpp - Where the factor log2(e) goes ---------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value takes the factor if all its uses do: each goes to an exponential that
// is rewritten, or through a homogeneous operation to a value that takes it.
// Among these, a value *passes* the factor on to what it is computed from, or
// is multiplied where it is computed.
//
//===----------------------------------------------------------------------===//

#include "RewriteExp2.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;
using namespace mamba;

namespace {

constexpr double log2e = 1.442695040888963407;

/// How many elements a dimension of unknown size is taken to have.
constexpr double unknownExtent = 64;

bool isConstant(Value value) {
  FloatAttr number;
  return !isa<ShapedType>(value.getType()) &&
         matchPattern(value, m_Constant(&number));
}

linalg::GenericOp getGeneric(Block *block) {
  return dyn_cast<linalg::GenericOp>(block->getParentOp());
}

class FactorFlow {
public:
  explicit FactorFlow(Operation *function) : function(function) {
    hasBlocks =
        function->walk([](scf::ForallOp) { return WalkResult::interrupt(); })
            .wasInterrupted();
  }

  /// Finds what takes the factors of `exps`; of these only those stay that are
  /// better off.
  void run(SetVector<Operation *> &exps);

  /// A value that is multiplied, and the uses of it that take the product.
  struct Factor {
    Value value;
    SmallVector<OpOperand *> uses;
  };
  SmallVector<Factor> getFactors();

private:
  enum class Target { None, Any, Exponential, Flow };
  /// Where a factor at `use` goes: to the second, if Flow.
  std::pair<Target, Value> getTarget(OpOperand &use);
  bool takesFactor(OpOperand &use);
  bool isTaken(Value value) { return taken.contains(getCarrier(value)); }
  bool canMultiply(Value value);
  bool isSupported(Value value) {
    return isNeutral(value) || isConstant(value) || isTaken(value) ||
           canMultiply(value);
  }
  /// An operand of a product that takes its factor.
  unsigned getFactorOperand(arith::MulFOp op) {
    return getWeight(op.getRhs()) < getWeight(op.getLhs()) ? 1 : 0;
  }
  /// Elements that a multiplication of `value` is done for.
  double getWeight(Value value);
  double computeWeight(Value value);
  bool passes(Value value);
  bool computePasses(Value value);
  bool isProduct(Value value);
  bool isCheapest(Value value, ValueRange operands);
  void getFactorOrigins(Value value, SmallVectorImpl<Value> &origins);
  void collect(Value value);
  void collectProducts(Operation *exp, SetVector<Value> &products);
  bool removeWorse();
  void forEachMember(Value carrier, function_ref<void(Value)> action);

  Operation *function;
  bool hasBlocks;
  SetVector<Operation *> *exps = nullptr;
  SetVector<Value> taken;
  /// Results of getWeight, and of passes for the values taken now.
  DenseMap<Value, double> weights;
  DenseMap<Value, bool> passing;
};

bool hasFloats(Value value) {
  Type type = getElementTypeOrSelf(value.getType());
  return (type.isF32() || type.isF64()) && !isa<VectorType>(value.getType());
}

void FactorFlow::forEachMember(Value carrier,
                               function_ref<void(Value)> action) {
  action(carrier);
  auto argument = dyn_cast<BlockArgument>(carrier);
  if (!argument)
    return;
  Operation *parent = argument.getOwner()->getParentOp();
  for (OpResult result : parent->getResults())
    if (getCarrier(result) == carrier)
      action(result);
}

std::pair<FactorFlow::Target, Value> FactorFlow::getTarget(OpOperand &use) {
  Operation *op = use.getOwner();
  unsigned number = use.getOperandNumber();
  auto flow = [](Value value) {
    return std::pair(Target::Flow, getCarrier(value));
  };
  std::pair<Target, Value> none(Target::None, {}), any(Target::Any, {});
  if (exps->contains(op))
    return {Target::Exponential, {}};
  if (isHomogeneous(op) ||
      isa<tensor::InsertSliceOp, tensor::InsertOp, tensor::ExtractOp,
          tensor::ExtractSliceOp, tensor::CastOp, tensor::CollapseShapeOp,
          tensor::ExpandShapeOp>(op))
    return flow(op->getResult(0));
  if (isa<arith::SelectOp>(op))
    return number == 0 ? none : flow(op->getResult(0));
  if (auto product = dyn_cast<arith::MulFOp>(op))
    return product.getLhs() != product.getRhs() &&
                   number == getFactorOperand(product)
               ? flow(product)
               : none;
  if (auto quotient = dyn_cast<arith::DivFOp>(op))
    return quotient.getLhs() != quotient.getRhs() && number == 0
               ? flow(quotient)
               : none;
  // A positive factor does not change what is above 0.
  if (isa<arith::CmpFOp>(op))
    return matchPattern(op->getOperand(1 - number), m_AnyZeroFloat()) ? any
                                                                      : none;
  if (isa<tensor::DimOp>(op))
    return any;
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return number == 0 ? flow(fill.getResult(0)) : any;
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    BlockArgument argument = generic.getMatchingBlockArgument(&use);
    return argument.use_empty() ? any : flow(argument);
  }
  if (isa<linalg::YieldOp>(op)) {
    linalg::GenericOp generic = getGeneric(op->getBlock());
    return generic && number < generic.getNumResults()
               ? flow(generic.getResult(number))
               : none;
  }
  if (isa<scf::YieldOp>(op) && isa<scf::ForOp, scf::IfOp>(op->getParentOp()))
    return flow(op->getParentOp()->getResult(number));
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    BlockArgument argument = loop.getTiedLoopRegionIterArg(&use);
    return argument ? flow(argument) : none;
  }
  if (auto loop = dyn_cast<scf::ForallOp>(op)) {
    BlockArgument argument = loop.getTiedBlockArgument(&use);
    return argument ? flow(argument) : none;
  }
  if (auto insert = dyn_cast<tensor::ParallelInsertSliceOp>(op))
    return number < 2 ? flow(insert.getDest()) : none;
  return none;
}

bool FactorFlow::takesFactor(OpOperand &use) {
  auto [target, value] = getTarget(use);
  if (target == Target::Flow)
    return taken.contains(value) && passes(value);
  return target != Target::None;
}

bool FactorFlow::canMultiply(Value value) {
  if (!hasFloats(value))
    return false;
  Operation *parent = value.getParentRegion()->getParentOp();
  // Elements of loops and reductions are not all there before the end.
  if (isa<BlockArgument>(value) && isa<scf::ForallOp>(parent))
    return false;
  if (isa<linalg::LinalgOp>(parent)) {
    auto generic = dyn_cast<linalg::GenericOp>(parent);
    auto argument = dyn_cast<BlockArgument>(value);
    return generic &&
           (!argument ||
            generic.isDpsInput(generic.getMatchingOpOperand(argument)));
  }
  // A function around loops over blocks computes nothing itself.
  return !hasBlocks || isa<scf::ForallOp>(parent) ||
         parent->getParentOfType<scf::ForallOp>();
}

double FactorFlow::getWeight(Value value) {
  auto it = weights.find(value);
  if (it != weights.end())
    return it->second;
  double weight = computeWeight(value);
  return weights[value] = weight;
}

double FactorFlow::computeWeight(Value value) {
  if (isConstant(value))
    return 0;
  if (auto type = dyn_cast<RankedTensorType>(value.getType()))
    return getElements(type, unknownExtent);
  Operation *parent = value.getParentRegion()->getParentOp();
  auto generic = dyn_cast<linalg::GenericOp>(parent);
  if (!generic)
    return 1;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    OpOperand *operand = generic.getMatchingOpOperand(argument);
    if (generic.isDpsInit(operand))
      return std::pow(unknownExtent, generic.getNumLoops());
    auto type = dyn_cast<RankedTensorType>(operand->get().getType());
    return type ? getElements(type, unknownExtent) : 1;
  }
  Operation *op = value.getDefiningOp();
  if (isa<linalg::IndexOp>(op))
    return unknownExtent;
  double weight = 1;
  for (Value operand : op->getOperands())
    weight = std::max(weight, getWeight(operand));
  return weight;
}

/// Whether multiplications of those operands that do not take the factor are
/// no more than one of `value`.
bool FactorFlow::isCheapest(Value value, ValueRange operands) {
  double weight = 0;
  for (Value operand : operands) {
    if (!isSupported(operand))
      return false;
    if (!isTaken(operand) && !isNeutral(operand))
      weight += getWeight(operand);
  }
  return weight <= getWeight(value);
}

/// Whether `value` would be the result of a multiplication by the factor. A
/// backend may make one multiply-add of it and a difference; then equal numbers
/// would not cancel.
bool FactorFlow::isProduct(Value value) {
  value = getCarrier(value);
  if (isNeutral(value) || isConstant(value))
    return false;
  if (!taken.contains(value) || !passes(value))
    return true;
  auto argument = dyn_cast<BlockArgument>(value);
  linalg::GenericOp generic =
      argument ? getGeneric(argument.getOwner()) : linalg::GenericOp();
  if (generic) {
    OpOperand *operand = generic.getMatchingOpOperand(argument);
    return generic.isDpsInput(operand) && isProduct(operand->get());
  }
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<arith::NegFOp, math::AbsFOp, arith::MinimumFOp,
                         arith::MaximumFOp, arith::MinNumFOp, arith::MaxNumFOp,
                         arith::SelectOp>(op) &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return hasFloats(operand) && isProduct(operand);
         });
}

bool FactorFlow::passes(Value value) {
  auto it = passing.find(value);
  if (it != passing.end())
    return it->second;
  bool result = computePasses(value);
  return passing[value] = result;
}

bool FactorFlow::computePasses(Value value) {
  SmallVector<Value> origins;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (!getOrigins(value, origins))
      return false;
    linalg::GenericOp generic = getGeneric(argument.getOwner());
    OpOperand *operand =
        generic ? generic.getMatchingOpOperand(argument) : nullptr;
    if (!operand || generic.isDpsInit(operand))
      return llvm::all_of(origins, [&](Value v) { return isSupported(v); });
    // As a tensor of fewer elements than the operation has positions.
    Value tensor = operand->get();
    return isTaken(tensor) || isNeutral(tensor) ||
           (canMultiply(tensor) &&
            generic.getMatchingIndexingMap(operand).getNumResults() <
                generic.getNumLoops());
  }
  Operation *op = value.getDefiningOp();
  // A product would be a tile to take slices of, where there was memory to
  // read.
  if (isa<tensor::ExtractOp, tensor::ExtractSliceOp, tensor::CastOp,
          tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
    return isTaken(op->getOperand(0)) && passes(getCarrier(op->getOperand(0)));
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return isCheapest(value, select->getOperands().drop_front());
  if (isa<arith::AddFOp, arith::SubFOp>(op) &&
      llvm::any_of(op->getOperands(), [&](Value v) { return isProduct(v); }))
    return false;
  if (isHomogeneous(op))
    return isCheapest(value, op->getOperands());
  if (auto product = dyn_cast<arith::MulFOp>(op))
    return product.getLhs() != product.getRhs() &&
           isSupported(product->getOperand(getFactorOperand(product)));
  if (auto quotient = dyn_cast<arith::DivFOp>(op))
    return quotient.getLhs() != quotient.getRhs() &&
           isSupported(quotient.getLhs());
  return isa<tensor::InsertSliceOp, tensor::InsertOp, linalg::FillOp,
             linalg::GenericOp, scf::IfOp>(op) &&
         getOrigins(value, origins) &&
         llvm::all_of(origins, [&](Value v) { return isSupported(v); });
}

/// Adds what a factor of `value` may move to; nothing if it must stay.
void FactorFlow::getFactorOrigins(Value value,
                                  SmallVectorImpl<Value> &origins) {
  if (getOrigins(value, origins))
    return;
  Operation *op = value.getDefiningOp();
  if (auto product = dyn_cast_or_null<arith::MulFOp>(op))
    origins.push_back(product->getOperand(getFactorOperand(product)));
  else if (auto quotient = dyn_cast_or_null<arith::DivFOp>(op))
    origins.push_back(quotient.getLhs());
  else if (op && isHomogeneous(op))
    llvm::append_range(origins, op->getOperands());
}

/// Adds `value` and what a factor of it may move to.
void FactorFlow::collect(Value value) {
  value = getCarrier(value);
  if (!hasFloats(value) || isNeutral(value) || isConstant(value) ||
      !taken.insert(value))
    return;
  SmallVector<Value> origins;
  getFactorOrigins(value, origins);
  for (Value origin : origins)
    collect(origin);
}

/// Adds the values that are multiplied for `exp`, if its operand takes the
/// factor.
void FactorFlow::collectProducts(Operation *exp, SetVector<Value> &products) {
  SetVector<Value> visited;
  visited.insert(getCarrier(exp->getOperand(0)));
  for (unsigned i = 0; i < visited.size(); ++i) {
    Value value = visited[i];
    if (isNeutral(value) || isConstant(value))
      continue;
    if (!taken.contains(value) || !passes(value)) {
      products.insert(value);
      continue;
    }
    SmallVector<Value> origins;
    getFactorOrigins(value, origins);
    for (Value origin : origins)
      visited.insert(getCarrier(origin));
  }
}

/// Removes exponentials that share no multiplication with enough others, or
/// with one that is computed more often; returns whether there were any.
bool FactorFlow::removeWorse() {
  SmallVector<SetVector<Value>> products(exps->size());
  DenseMap<Value, double> saved;
  for (auto [number, exp] : llvm::enumerate(*exps)) {
    collectProducts(exp, products[number]);
    for (Value product : products[number])
      saved[product] += product.getParentBlock() == exp->getBlock()
                            ? getWeight(exp->getOperand(0))
                            : std::numeric_limits<double>::infinity();
  }
  SmallVector<Operation *> worse;
  for (auto [number, exp] : llvm::enumerate(*exps))
    if (!isTaken(exp->getOperand(0)) ||
        llvm::any_of(products[number], [&](Value product) {
          return saved[product] <= getWeight(product);
        }))
      worse.push_back(exp);
  for (Operation *exp : worse)
    exps->remove(exp);
  return !worse.empty();
}

void FactorFlow::run(SetVector<Operation *> &candidates) {
  exps = &candidates;
  bool isStable = false;
  while (!isStable) {
    taken.clear();
    for (Operation *exp : candidates)
      collect(exp->getOperand(0));
    passing.clear();
    // The greatest set in which every value does what it must.
    for (bool hasChanged = true; hasChanged;) {
      hasChanged = false;
      for (Value value : SmallVector<Value>(taken.getArrayRef())) {
        bool isUsedSo = true;
        forEachMember(value, [&](Value member) {
          for (OpOperand &use : member.getUses())
            isUsedSo &= takesFactor(use);
        });
        if (isUsedSo && (passes(value) || canMultiply(value)))
          continue;
        taken.remove(value);
        passing.clear();
        hasChanged = true;
      }
    }
    isStable = !removeWorse();
  }
}

SmallVector<FactorFlow::Factor> FactorFlow::getFactors() {
  SmallVector<Factor> factors;
  auto visit = [&](Value value) {
    if (!hasFloats(value) || isNeutral(value))
      return;
    Value carrier = getCarrier(value);
    bool isMultiplied = taken.contains(carrier) && !passes(carrier);
    if (taken.contains(carrier) && !isMultiplied)
      return;
    Factor factor{value, {}};
    for (OpOperand &use : value.getUses())
      if (getTarget(use).first != Target::Any && takesFactor(use))
        factor.uses.push_back(&use);
    if (!factor.uses.empty())
      factors.push_back(std::move(factor));
  };
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults())
      visit(result);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          visit(argument);
  });
  return factors;
}

/// `value` times log2(e), after the value.
Value createFactor(RewriterBase &rewriter, Value value) {
  rewriter.setInsertionPointAfterValue(value);
  Location loc = value.getLoc();
  Type type = getElementTypeOrSelf(value.getType());
  FloatAttr number;
  if (isConstant(value) && matchPattern(value, m_Constant(&number)))
    return arith::ConstantOp::create(
        rewriter, loc,
        rewriter.getFloatAttr(type, number.getValueAsDouble() * log2e));
  auto multiply = [&](OpBuilder &b, Location at, ValueRange operands) -> Value {
    Value factor =
        arith::ConstantOp::create(b, at, b.getFloatAttr(type, log2e));
    return arith::MulFOp::create(b, at, operands.front(), factor);
  };
  if (isa<RankedTensorType>(value.getType()))
    return createElementwise(rewriter, loc, value, type, multiply);
  return multiply(rewriter, loc, value);
}
} // namespace

HoistResult mamba::hoistFactors(RewriterBase &rewriter, Operation *function) {
  SetVector<Operation *> exps;
  function->walk([&](math::ExpOp op) {
    if (isApproximate(op) && (op.getType().isF32() || op.getType().isF64()))
      exps.insert(op);
  });
  HoistResult result;
  if (exps.empty())
    return result;
  FactorFlow flow(function);
  flow.run(exps);
  for (const FactorFlow::Factor &factor : flow.getFactors()) {
    Value product = createFactor(rewriter, factor.value);
    for (OpOperand *use : factor.uses)
      rewriter.modifyOpInPlace(use->getOwner(), [&] { use->set(product); });
    ++result.numFactors;
  }
  for (Operation *op : exps) {
    auto exp = cast<math::ExpOp>(op);
    rewriter.setInsertionPoint(exp);
    rewriter.replaceOpWithNewOp<math::Exp2Op>(exp, exp.getOperand(),
                                              exp.getFastmathAttr());
    ++result.numRewritten;
  }
  return result;
}
