//===- SizeSums.cpp - Sizes and positions as sums of products -------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SizeSums.h"

#include "Slices.h"

#include "../KernelsToThreads/Buffers.h"
#include "../VectorsToThreads/Divisors.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mamba;

/// Minima of more sums than this are not taken apart.
static constexpr size_t kMostSums = 32;

static int64_t multiplyWrapped(int64_t lhs, int64_t rhs) {
  return int64_t(uint64_t(lhs) * uint64_t(rhs));
}

SizeSum SizeSum::leaf(unsigned number) {
  SizeSum sum;
  sum.add({number}, 1);
  return sum;
}

void SizeSum::add(const Product &product, int64_t factor) {
  int64_t &total = terms[product];
  total = int64_t(uint64_t(total) + uint64_t(factor));
  if (total == 0)
    terms.erase(product);
}

SizeSum SizeSum::operator+(const SizeSum &other) const {
  SizeSum sum = *this;
  for (const auto &[product, factor] : other.terms)
    sum.add(product, factor);
  return sum;
}

SizeSum SizeSum::operator-(const SizeSum &other) const {
  return *this + SizeSum(-1) * other;
}

SizeSum SizeSum::operator*(const SizeSum &other) const {
  SizeSum result;
  for (const auto &[lhs, lhsFactor] : terms)
    for (const auto &[rhs, rhsFactor] : other.terms) {
      Product product(lhs.size() + rhs.size());
      std::merge(lhs.begin(), lhs.end(), rhs.begin(), rhs.end(),
                 product.begin());
      result.add(product, multiplyWrapped(lhsFactor, rhsFactor));
    }
  return result;
}

std::optional<int64_t> SizeSum::getConstant() const {
  if (terms.empty())
    return 0;
  if (terms.size() == 1 && terms.begin()->first.empty())
    return terms.begin()->second;
  return std::nullopt;
}

std::optional<int64_t> SizeSum::getMultipleOf(const SizeSum &other) const {
  if (terms.empty() || other.terms.empty())
    return std::nullopt;
  int64_t lhs = terms.begin()->second, rhs = other.terms.begin()->second;
  if (rhs == -1 || lhs % rhs != 0)
    return std::nullopt;
  int64_t multiple = lhs / rhs;
  if (*this != other * SizeSum(multiple))
    return std::nullopt;
  return multiple;
}

/// True if both are results of the same computation.
static bool isSameValue(Value lhs, Value rhs) {
  if (lhs == rhs)
    return true;
  auto ofLhs = dyn_cast<OpResult>(lhs), ofRhs = dyn_cast<OpResult>(rhs);
  if (!ofLhs || !ofRhs || ofLhs.getResultNumber() != ofRhs.getResultNumber())
    return false;
  Operation *op = ofLhs.getOwner();
  if (op->getNumRegions() != 0 || !isMemoryEffectFree(op))
    return false;
  return OperationEquivalence::isEquivalentTo(
      op, ofRhs.getOwner(),
      [](Value lhs, Value rhs) { return success(isSameValue(lhs, rhs)); },
      /*markEquivalent=*/nullptr, OperationEquivalence::IgnoreLocations);
}

SizeSum SizeSums::getLeaf(Value value) {
  for (auto [number, leaf] : llvm::enumerate(leaves))
    if (isSameValue(leaf, value))
      return SizeSum::leaf(number);
  leaves.push_back(value);
  return SizeSum::leaf(leaves.size() - 1);
}

SizeSum SizeSums::getOfExpr(AffineExpr expr, AffineMap map,
                            ValueRange operands) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return SizeSum(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return get(operands[dim.getPosition()]);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return get(operands[map.getNumDims() + symbol.getPosition()]);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  SizeSum lhs = getOfExpr(binary.getLHS(), map, operands),
          rhs = getOfExpr(binary.getRHS(), map, operands);
  return expr.getKind() == AffineExprKind::Add ? lhs + rhs : lhs * rhs;
}

/// True if `expr` has only sums and products.
static bool isPolynomial(AffineExpr expr) {
  return !expr.walk([](AffineExpr nested) {
                bool isOther = nested.getKind() == AffineExprKind::Mod ||
                               nested.getKind() == AffineExprKind::FloorDiv ||
                               nested.getKind() == AffineExprKind::CeilDiv;
                return isOther ? WalkResult::interrupt()
                               : WalkResult::advance();
              })
              .wasInterrupted();
}

SizeSum SizeSums::get(OpFoldResult folded) {
  if (std::optional<int64_t> constant = getConstantIntValue(folded))
    return SizeSum(*constant);
  Value value = cast<Value>(folded);
  if (auto it = known.find(value); it != known.end())
    return it->second;
  Operation *op = value.getDefiningOp();
  SizeSum sum;
  if (isa_and_present<arith::AddIOp>(op)) {
    sum = get(op->getOperand(0)) + get(op->getOperand(1));
  } else if (isa_and_present<arith::SubIOp>(op)) {
    sum = get(op->getOperand(0)) - get(op->getOperand(1));
  } else if (isa_and_present<arith::MulIOp>(op)) {
    sum = get(op->getOperand(0)) * get(op->getOperand(1));
  } else if (auto apply = dyn_cast_or_null<affine::AffineApplyOp>(op);
             apply && isPolynomial(apply.getAffineMap().getResult(0))) {
    sum = getOfExpr(apply.getAffineMap().getResult(0), apply.getAffineMap(),
                    apply.getMapOperands());
  } else if (auto dim = dyn_cast_or_null<memref::DimOp>(op);
             dim && dim.getConstantIndex() &&
             isa<MemRefType>(dim.getSource().getType())) {
    Extent extent = getExtent(dim.getSource(), *dim.getConstantIndex());
    if (extent.isStatic())
      sum = SizeSum(extent.constant);
    else
      sum = extent.dim >= 0 ? getLeaf(value) : get(extent.value);
  } else {
    sum = getLeaf(value);
  }
  known[value] = sum;
  return sum;
}

SmallVector<SizeSum> SizeSums::getMinimumOfLeaf(unsigned number) {
  SmallVector<SizeSum> sums;
  Operation *op = leaves[number].getDefiningOp();
  if (isa_and_present<arith::MinSIOp, arith::MinUIOp>(op)) {
    for (Value operand : op->getOperands())
      sums.push_back(get(operand));
  } else if (auto min = dyn_cast_or_null<affine::AffineMinOp>(op)) {
    if (llvm::all_of(min.getMap().getResults(), isPolynomial))
      for (AffineExpr expr : min.getMap().getResults())
        sums.push_back(getOfExpr(expr, min.getMap(), min.getOperands()));
  }
  return sums;
}

SmallVector<SizeSum> SizeSums::getMinimumOf(const SizeSum &sum) {
  SmallVector<SizeSum> result, worklist = {sum};
  while (!worklist.empty()) {
    SizeSum next = worklist.pop_back_val();
    bool isTaken = false;
    for (const auto &[product, factor] : next.getTerms()) {
      if (product.size() != 1 || factor <= 0)
        continue;
      SmallVector<SizeSum> parts = getMinimumOfLeaf(product.front());
      if (parts.empty() ||
          worklist.size() + result.size() + parts.size() > kMostSums)
        continue;
      SizeSum rest = next;
      rest.add(product, -factor);
      for (const SizeSum &part : parts)
        worklist.push_back(rest + part * SizeSum(factor));
      isTaken = true;
      break;
    }
    if (!isTaken && !llvm::is_contained(result, next))
      result.push_back(next);
  }
  return result;
}

std::optional<int64_t> SizeSums::getBoundOfLeaf(unsigned number, bool isUpper) {
  Value leaf = leaves[number];
  if (auto argument = dyn_cast<BlockArgument>(leaf)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument != loop.getInductionVar())
      return std::nullopt;
    SizeSum lower = get(loop.getLowerBound());
    if (!isUpper)
      return getLowerBound(lower);
    // The last value below the upper bound.
    std::optional<int64_t> first = lower.getConstant(),
                           step = get(loop.getStep()).getConstant(),
                           end = getUpperBound(get(loop.getUpperBound()));
    if (!first || !step || *step < 1 || !end || *end <= *first)
      return std::nullopt;
    return *first + (*end - 1 - *first) / *step * *step;
  }
  Operation *op = leaf.getDefiningOp();
  if (isUpper) {
    std::optional<int64_t> bound;
    for (const SizeSum &sum : getMinimumOfLeaf(number))
      if (std::optional<int64_t> upper = getUpperBound(sum))
        bound = bound ? std::min(*bound, *upper) : *upper;
    return bound;
  }
  if (isa_and_present<gpu::BlockIdOp, gpu::ThreadIdOp>(op))
    return 0;
  return std::nullopt;
}

std::optional<int64_t> SizeSums::getBound(const SizeSum &sum, bool isUpper) {
  int64_t bound = 0;
  for (const auto &[product, factor] : sum.getTerms()) {
    int64_t term = factor;
    if (product.size() > 1)
      return std::nullopt;
    if (!product.empty()) {
      std::optional<int64_t> leaf =
          getBoundOfLeaf(product.front(), isUpper == (factor > 0));
      if (!leaf || llvm::MulOverflow(*leaf, factor, term))
        return std::nullopt;
    }
    if (llvm::AddOverflow(bound, term, bound))
      return std::nullopt;
  }
  return bound;
}

std::optional<int64_t> SizeSums::getLowerBound(const SizeSum &sum) {
  return getBound(sum, /*isUpper=*/false);
}

std::optional<int64_t> SizeSums::getUpperBound(const SizeSum &sum) {
  return getBound(sum, /*isUpper=*/true);
}

int64_t SizeSums::getDivisor(const SizeSum &sum) {
  constexpr int64_t most = int64_t(1) << 30;
  int64_t least = most;
  for (const auto &[product, factor] : sum.getTerms()) {
    int64_t divisor = int64_t(1)
                      << std::min(30, llvm::countr_zero(uint64_t(factor)));
    for (unsigned leaf : product)
      divisor = std::min(most, divisor * getKnownDivisor(leaves[leaf]));
    least = std::min(least, divisor);
  }
  return least;
}

/// True if `value` is computed from the kernel's arguments only.
static bool isUniformValue(Value value) {
  if (!value.getType().isIntOrIndex())
    return false;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isa<gpu::GPUFuncOp>(argument.getOwner()->getParentOp());
  Operation *op = value.getDefiningOp();
  return op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
         !isa<gpu::GPUDialect>(op->getDialect()) &&
         llvm::all_of(op->getOperands(), isUniformValue);
}

bool SizeSums::isUniform(const SizeSum &sum) {
  return llvm::all_of(sum.getTerms(), [&](const auto &term) {
    return llvm::all_of(term.first, [&](unsigned number) {
      return isUniformValue(leaves[number]);
    });
  });
}

Value SizeSums::create(OpBuilder &builder, Location loc, const SizeSum &sum,
                       IRMapping &mapping) {
  auto isKnown = [](Value) { return false; };
  Value total;
  for (const auto &[product, factor] : sum.getTerms()) {
    Value term;
    for (unsigned leaf : product) {
      Value value = cloneSlice(builder, leaves[leaf], isKnown, mapping);
      term =
          term ? builder.createOrFold<arith::MulIOp>(loc, term, value) : value;
    }
    if (factor != 1 || !term) {
      Value constant = arith::ConstantIndexOp::create(builder, loc, factor);
      term = term ? builder.createOrFold<arith::MulIOp>(loc, term, constant)
                  : constant;
    }
    total =
        total ? builder.createOrFold<arith::AddIOp>(loc, total, term) : term;
  }
  if (!total)
    total = arith::ConstantIndexOp::create(builder, loc, 0);
  return total;
}
