//===- AssignLayouts.cpp - Which thread holds which elements --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Contractions and scans say where their results are. That spreads forward
// through what is computed from them, then backward from each use to what is
// not decided yet; memory decides the rest. Where a use needs another layout
// than its value has, the value is computed again if that is cheap, else
// converted.
//
//===----------------------------------------------------------------------===//

#include "Divisors.h"
#include "LayoutRules.h"
#include "VectorKernel.h"

#include "mamba/Conversion/Passes.h"
#include "mamba/Layout/Distributed.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/Support/MathExtras.h"

namespace mamba {
#define GEN_PASS_DEF_ASSIGNLAYOUTSPASS
#include "mamba/Conversion/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {

bool isVector(Value value) { return isa<VectorType>(value.getType()); }

class Assigner {
public:
  Assigner(gpu::GPUFuncOp kernel, uint32_t warps)
      : kernel(kernel), warps(warps) {}

  LogicalResult run();

private:
  LogicalResult decideContraction(vector::ContractionOp contraction);
  void decideReduction(vector::MultiDimReductionOp reduction);
  LogicalResult decideScan(vector::ScanOp scan);
  /// Which way the warps split the result of a contraction.
  WarpSplit splitWarps(vector::ContractionOp contraction,
                       const ContractionShape &shape,
                       ContractionStrategy strategy);
  bool isComputed(Value value);

  bool set(Value value, std::optional<LinearLayout> layout);
  bool spreadForward(Operation *op);
  void spreadBackward(Value value);
  std::optional<LinearLayout> getWanted(OpOperand &use);
  LinearLayout getDefault(VectorType type);
  LinearLayout getCoalesced(vector::TransferReadOp read);

  void rewriteOperands(Operation *op);
  Value getAs(Value value, const LinearLayout &wanted, Operation *user);
  bool isCheap(Operation *op);
  void annotate();

  gpu::GPUFuncOp kernel;
  uint32_t warps;
  llvm::DenseMap<Value, LinearLayout> layouts;
  llvm::DenseMap<Operation *, ContractionLayouts> contractions;
  /// The last conversion of a value to a layout.
  llvm::DenseMap<std::pair<Value, Attribute>, Value> conversions;
};

} // namespace

bool Assigner::isComputed(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<vector::TransferReadOp>(op) ||
      op->hasTrait<OpTrait::ConstantLike>())
    return false;
  return true;
}

WarpSplit Assigner::splitWarps(vector::ContractionOp contraction,
                               const ContractionShape &shape,
                               ContractionStrategy strategy) {
  // Whole fragments for each warp: no thread holds what lies past the end.
  auto [fragmentM, fragmentN] = getFragmentSizes(shape, strategy);
  auto split = [](uint32_t extent, uint32_t fragment, uint32_t most) {
    uint32_t count = 1;
    while (count < most && extent % (fragment * count * 2) == 0)
      count *= 2;
    return count;
  };
  // A side that is computed is computed by each warp that needs it: split it,
  // and let the side that is read be read several times.
  bool aComputed = isComputed(contraction->getOperand(shape.a));
  bool bComputed = isComputed(contraction->getOperand(shape.b));
  WarpSplit warpSplit;
  if (bComputed && !aComputed) {
    warpSplit.n = split(shape.extentN, fragmentN, warps);
    warpSplit.m = split(shape.extentM, fragmentM, warps / warpSplit.n);
  } else {
    warpSplit.m = split(shape.extentM, fragmentM, warps);
    warpSplit.n = split(shape.extentN, fragmentN, warps / warpSplit.m);
  }
  warpSplit.copies = warps / (warpSplit.m * warpSplit.n);
  return warpSplit;
}

LogicalResult Assigner::decideContraction(vector::ContractionOp contraction) {
  std::optional<ContractionShape> shape = ContractionShape::get(contraction);
  if (!shape)
    return contraction.emitOpError(
        "expected a product of two matrices into a matrix, summed by addition");
  ContractionStrategy strategy = chooseStrategy(contraction, *shape);
  ContractionLayouts chosen = getContractionLayouts(
      *shape, strategy, splitWarps(contraction, *shape, strategy));
  set(contraction.getResult(), chosen.result);
  contractions.try_emplace(contraction, std::move(chosen));
  return success();
}

LogicalResult Assigner::decideScan(vector::ScanOp scan) {
  VectorType type = scan.getSourceType();
  if (type.getRank() != 2)
    return scan.emitOpError("expected a matrix, got ") << type;
  unsigned dim = scan.getReductionDim();
  LinearLayout layout =
      getScanLayout(mamba::getPaddedShape(type), dim,
                    getElementBytes(type.getElementType()), warps);
  set(scan.getAccumulatedValue(), sliceLayout(layout, dim));
  set(scan.getDest(), std::move(layout));
  return success();
}

bool Assigner::set(Value value, std::optional<LinearLayout> layout) {
  if (!layout || !isVector(value))
    return false;
  return layouts.try_emplace(value, *layout).second;
}

/// Bytes of the elements that `value`, of shape `shape`, is computed from.
static unsigned findReadBytes(Value value, ArrayRef<int64_t> shape,
                              llvm::DenseSet<Value> &seen) {
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type || type.getShape() != shape || !seen.insert(value).second)
    return 0;
  SmallVector<Value> sources;
  Operation *op = value.getDefiningOp();
  if (!op) {
    auto loop = dyn_cast<scf::ForOp>(value.getParentBlock()->getParentOp());
    if (!loop)
      return 0;
    auto argument = cast<BlockArgument>(value);
    sources.push_back(loop.getTiedLoopInit(argument)->get());
    sources.push_back(loop.getTiedLoopYieldedValue(argument)->get());
  } else if (isa<vector::TransferReadOp>(op)) {
    return getElementBytes(type.getElementType());
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    unsigned number = cast<OpResult>(value).getResultNumber();
    sources.push_back(branch.thenYield().getOperand(number));
    sources.push_back(branch.elseYield().getOperand(number));
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    sources.push_back(loop.getTiedLoopRegionIterArg(cast<OpResult>(value)));
  } else if (isElementwise(op)) {
    llvm::append_range(sources, op->getOperands());
  }
  unsigned bytes = 0;
  for (Value source : sources)
    bytes = std::max(bytes, findReadBytes(source, shape, seen));
  return bytes;
}

void Assigner::decideReduction(vector::MultiDimReductionOp reduction) {
  VectorType type = reduction.getSourceVectorType();
  llvm::DenseSet<Value> seen;
  unsigned bytes = findReadBytes(reduction.getSource(), type.getShape(), seen);
  set(reduction.getSource(),
      getReductionLayout(mamba::getPaddedShape(type),
                         reduction.getReductionMask(),
                         bytes ? bytes : getElementBytes(type.getElementType()),
                         warps, kVectorBytes));
}

/// From operands to results. True if it decided something.
bool Assigner::spreadForward(Operation *op) {
  bool changed = false;
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (OpResult result : branch.getResults())
      for (scf::YieldOp yield : {branch.thenYield(), branch.elseYield()})
        if (auto it = layouts.find(yield.getOperand(result.getResultNumber()));
            it != layouts.end())
          changed |= set(result, LinearLayout(it->second));
    return changed;
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    for (unsigned i = 0; i < loop.getNumResults(); ++i) {
      SmallVector<Value, 4> tied = {loop.getResult(i), loop.getRegionIterArg(i),
                                    yield.getOperand(i), loop.getInits()[i]};
      auto known = llvm::find_if(
          tied, [&](Value value) { return layouts.contains(value); });
      if (known == tied.end())
        continue;
      // What is yielded or enters may be converted; argument and result not.
      LinearLayout layout = layouts.at(*known);
      changed |= set(tied[0], layout);
      changed |= set(tied[1], layouts.at(tied[0]));
    }
    return changed;
  }
  for (OpOperand &operand : op->getOpOperands())
    if (auto it = layouts.find(operand.get()); it != layouts.end())
      if (std::optional<LinearLayout> result =
              getResultLayout(operand, LinearLayout(it->second)))
        changed |= set(op->getResult(0), result);
  return changed;
}

/// What a use asks for, as far as the user's results are decided.
std::optional<LinearLayout> Assigner::getWanted(OpOperand &use) {
  Operation *user = use.getOwner();
  if (auto contraction = dyn_cast<vector::ContractionOp>(user)) {
    const ContractionLayouts &chosen = contractions.at(contraction);
    if (use.getOperandNumber() == 2)
      return chosen.result;
    auto shape = ContractionShape::get(contraction);
    return use.getOperandNumber() == shape->a ? chosen.a : chosen.b;
  }
  if (auto yield = dyn_cast<scf::YieldOp>(user)) {
    Value result = yield->getParentOp()->getResult(use.getOperandNumber());
    auto it = layouts.find(result);
    return it == layouts.end() ? std::nullopt : std::optional(it->second);
  }
  if (auto loop = dyn_cast<scf::ForOp>(user)) {
    OpResult result = loop.getTiedLoopResult(&use);
    auto it = layouts.find(result);
    return it == layouts.end() ? std::nullopt : std::optional(it->second);
  }
  if (auto reduction = dyn_cast<vector::MultiDimReductionOp>(user)) {
    auto it = layouts.find(user->getResult(0));
    if (use.getOperandNumber() == 1 && it != layouts.end())
      return it->second;
    return std::nullopt;
  }
  if (user->getNumResults() != 1 && !isa<vector::ScanOp>(user))
    return std::nullopt;
  auto it = layouts.find(user->getResult(0));
  if (it == layouts.end())
    return std::nullopt;
  return getOperandLayout(use, it->second);
}

void Assigner::spreadBackward(Value value) {
  if (!isVector(value) || layouts.contains(value))
    return;
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses())
    uses.push_back(&use);
  // The list of uses starts at the last one.
  for (OpOperand *use : llvm::reverse(uses))
    if (std::optional<LinearLayout> wanted = getWanted(*use)) {
      // Memory is read along its rows, and the rows then turned.
      auto read = value.getDefiningOp<vector::TransferReadOp>();
      if (read && isStrided(*wanted) &&
          !gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(
              cast<MemRefType>(read.getBase().getType())))
        wanted = getCoalesced(read);
      set(value, wanted);
      return;
    }
}

LinearLayout Assigner::getDefault(VectorType type) {
  return coalescedLayout(mamba::getPaddedShape(type),
                         getElementBytes(type.getElementType()), warps,
                         kVectorBytes);
}

/// The default for accesses no wider than the addresses are known to allow.
LinearLayout Assigner::getCoalesced(vector::TransferReadOp read) {
  VectorType type = read.getVectorType();
  KnownDivisors known = getKnownDivisors(read.getBase());
  int64_t aligned = known.offset;
  for (int64_t stride : ArrayRef(known.strides).drop_back())
    aligned = std::min(aligned, stride);
  for (Value index : read.getIndices())
    aligned = std::min(aligned, getKnownDivisor(index));
  unsigned bytes = getElementBytes(type.getElementType());
  return coalescedLayout(mamba::getPaddedShape(type), bytes, warps,
                         std::min<int64_t>(kVectorBytes, aligned * bytes));
}

/// Cheaper to compute again than to move.
bool Assigner::isCheap(Operation *op) {
  if (!op || op->getNumResults() != 1)
    return false;
  if (op->hasTrait<OpTrait::ConstantLike>() || isa<vector::StepOp>(op))
    return true;
  if (auto read = dyn_cast<vector::TransferReadOp>(op))
    return read.getVectorType().getRank() == 1 ||
           gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(
               cast<MemRefType>(read.getBase().getType()));
  if (!isElementwise(op) && !isa<vector::BroadcastOp, vector::TransposeOp,
                                 vector::ExtractStridedSliceOp>(op))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return !isVector(operand) || isCheap(operand.getDefiningOp());
  });
}

Value Assigner::getAs(Value value, const LinearLayout &wanted,
                      Operation *user) {
  if (layouts.at(value) == wanted)
    return value;
  Operation *op = value.getDefiningOp();
  OpBuilder builder(user);
  if (isCheap(op)) {
    builder.setInsertionPointAfter(op);
    Operation *copy = builder.clone(*op);
    layouts.insert_or_assign(copy->getResult(0), wanted);
    for (OpOperand &operand : copy->getOpOperands()) {
      if (!isVector(operand.get()))
        continue;
      operand.set(
          getAs(operand.get(), *getOperandLayout(operand, wanted), copy));
    }
    return copy->getResult(0);
  }
  LayoutAttr attribute = toAttribute(kernel.getContext(), wanted);
  // Once for all users that come after.
  Value &converted = conversions[{value, attribute}];
  if (converted) {
    Operation *known = converted.getDefiningOp();
    Operation *place = known->getBlock()->findAncestorOpInBlock(*user);
    if (place && known->isBeforeInBlock(place))
      return converted;
  }
  converted = ConvertLayoutOp::create(builder, value.getLoc(), value.getType(),
                                      value, attribute);
  layouts.insert_or_assign(converted, wanted);
  return converted;
}

void Assigner::rewriteOperands(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isVector(operand.get()))
      continue;
    LinearLayout own = layouts.at(operand.get());
    std::optional<LinearLayout> wanted = getWanted(operand);
    auto type = cast<VectorType>(operand.get().getType());
    if (auto slice = dyn_cast<vector::ExtractStridedSliceOp>(op)) {
      auto inner = restrictLayout(
          own, mamba::getPaddedShape(cast<VectorType>(slice.getType())));
      if (inner && *inner == layouts.at(slice.getResult()))
        continue;
    }
    if (isa<vector::TransferWriteOp>(op))
      wanted = widenForMemory(own, getElementBytes(type.getElementType()),
                              kVectorBytes);
    if (isa<vector::ExtractOp>(op) && !isVector(op->getResult(0)))
      wanted = getLayoutInEachWarp(own, type, warps);
    if (!wanted)
      continue;
    operand.set(getAs(operand.get(), *wanted, op));
  }
}

void Assigner::annotate() {
  MLIRContext *context = kernel.getContext();
  kernel.walk([&](Operation *op) {
    if (llvm::none_of(op->getResults(), isVector))
      return;
    SmallVector<Attribute> attributes;
    for (Value result : op->getResults())
      attributes.push_back(
          isVector(result) ? Attribute(toAttribute(context, layouts.at(result)))
                           : Attribute(UnitAttr::get(context)));
    op->setAttr(kLayoutsAttrName, ArrayAttr::get(context, attributes));
  });
}

LogicalResult Assigner::run() {
  WalkResult result = kernel.walk([&](vector::ContractionOp contraction) {
    return failed(decideContraction(contraction)) ? WalkResult::interrupt()
                                                  : WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  result = kernel.walk([&](vector::ScanOp scan) {
    return failed(decideScan(scan)) ? WalkResult::interrupt()
                                    : WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();

  auto forward = [&] {
    // A loop's argument may follow from what its body yields.
    bool changed = true;
    while (changed) {
      changed = false;
      kernel.walk<WalkOrder::PreOrder>(
          [&](Operation *op) { changed |= spreadForward(op); });
    }
  };
  auto backward = [&] {
    SmallVector<Operation *> order;
    kernel.walk<WalkOrder::PreOrder>(
        [&](Operation *op) { order.push_back(op); });
    // What a branch yields follows from the branch's results.
    size_t known;
    do {
      known = layouts.size();
      for (Operation *op : llvm::reverse(order))
        for (Value value : op->getResults())
          spreadBackward(value);
    } while (layouts.size() != known);
  };
  forward();
  backward();
  kernel.walk([&](vector::MultiDimReductionOp reduction) {
    if (layouts.contains(reduction.getSource()))
      return;
    decideReduction(reduction);
    // What enters a loop follows from what the loop carries.
    size_t known;
    do {
      known = layouts.size();
      forward();
      backward();
    } while (layouts.size() != known);
  });
  // What neither a contraction nor a use of one decides: from the largest
  // vectors that memory sees.
  kernel.walk([&](vector::TransferReadOp read) {
    if (!layouts.contains(read.getResult()))
      set(read.getResult(), getDefault(read.getVectorType()));
    forward();
  });
  backward();
  kernel.walk([&](Operation *op) {
    for (Value value : op->getResults())
      if (auto type = dyn_cast<VectorType>(value.getType()))
        if (!layouts.contains(value))
          set(value, getDefault(type));
    forward();
  });

  SmallVector<Operation *> order;
  kernel.walk([&](Operation *op) { order.push_back(op); });
  for (Operation *op : order)
    rewriteOperands(op);
  annotate();
  return success();
}

namespace {
struct AssignLayouts final : mamba::impl::AssignLayoutsPassBase<AssignLayouts> {
  using AssignLayoutsPassBase::AssignLayoutsPassBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      if (!isVectorKernel(kernel))
        continue;
      FailureOr<uint32_t> warps = getWarps(kernel);
      if (failed(warps) || failed(checkVectors(kernel)) ||
          failed(Assigner(kernel, *warps).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
