//===- RewriteExp2Weights.cpp - Factors that go into exponents ------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// exp2(g_i - g_j) * d_j is exp2(g_i - (g_j - log2(d_j))) if d_j is not
// negative; 0 becomes an exponent of -inf. Where d is only ever used so, the
// difference takes its place in memory.
//
//===----------------------------------------------------------------------===//

#include "RewriteExp2.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mamba;

namespace {
/// product = rest * weight, where `rest` has the factor exp2(_ - sum).
struct Weighted {
  arith::SubFOp exponent;
  arith::MulFOp product;
  Value weight;
  Value weightRoot, sumRoot;
};
} // namespace

/// Whether all that becomes of a float is rounded to 16 bits before it is added
/// to something or stored.
static bool isRounded(Value value, unsigned depth = 0) {
  constexpr unsigned kMaxDepth = 8;
  return depth < kMaxDepth &&
         llvm::all_of(
             value.getUses(),
             [&](OpOperand &use) {
               Operation *op = use.getOwner();
               if (isa<arith::TruncFOp>(op))
                 return op->getResult(0).getType().getIntOrFloatBitWidth() <=
                        16;
               if (isa<arith::MulFOp, arith::SelectOp>(op))
                 return isRounded(op->getResult(0), depth + 1);
               auto generic = dyn_cast<linalg::GenericOp>(op->getParentOp());
               if (!isa<linalg::YieldOp>(op) || !generic)
                 return false;
               return llvm::all_of(
                   generic.getResult(use.getOperandNumber()).getUses(),
                   [&](OpOperand &next) {
                     auto reader = dyn_cast<linalg::GenericOp>(next.getOwner());
                     return reader && reader.isDpsInput(&next) &&
                            isRounded(reader.getMatchingBlockArgument(&next),
                                      depth + 1);
                   });
             });
}

static std::optional<Weighted> matchWeighted(math::Exp2Op exp) {
  auto exponent = exp.getOperand().getDefiningOp<arith::SubFOp>();
  if (!exp.getType().isF32() || !isApproximate(exp) || !exponent ||
      !exponent->hasOneUse())
    return std::nullopt;
  std::optional<Element> sum = getElement(exponent.getRhs());
  if (!sum)
    return std::nullopt;
  Value factor = exp;
  while (factor.hasOneUse()) {
    auto product = dyn_cast<arith::MulFOp>(*factor.user_begin());
    if (!product || product->getBlock() != exp->getBlock())
      break;
    Value weight =
        product.getLhs() == factor ? product.getRhs() : product.getLhs();
    std::optional<Element> element = getElement(weight);
    if (element && weight != factor && element->isSamePosition(*sum) &&
        element->root != sum->root && isRounded(product))
      return Weighted{exponent, product, weight, element->root, sum->root};
    factor = product;
  }
  return std::nullopt;
}

/// The insertion into a result of a loop over blocks, if there is one only.
static tensor::ParallelInsertSliceOp getInsertion(Value result) {
  auto loop = result.getDefiningOp<scf::ForallOp>();
  if (!loop)
    return {};
  BlockArgument argument =
      loop.getTiedBlockArgument(loop.getTiedOpOperand(cast<OpResult>(result)));
  tensor::ParallelInsertSliceOp only;
  for (Operation &op : loop.getTerminator().getYieldingOps()) {
    auto insert = dyn_cast<tensor::ParallelInsertSliceOp>(op);
    if (!insert || (insert.getDest() == argument && only))
      return {};
    if (insert.getDest() == argument)
      only = insert;
  }
  // Nobody reads what was there before.
  return argument.hasOneUse() ? only : tensor::ParallelInsertSliceOp();
}

static bool isSamePlace(tensor::ParallelInsertSliceOp a,
                        tensor::ParallelInsertSliceOp b) {
  return a && b && a->getParentOp() == b->getParentOp() &&
         a.getSourceType() == b.getSourceType() &&
         a.getMixedOffsets() == b.getMixedOffsets() &&
         a.getMixedSizes() == b.getMixedSizes() &&
         a.getMixedStrides() == b.getMixedStrides();
}

unsigned mamba::foldWeights(RewriterBase &rewriter, Operation *function) {
  llvm::MapVector<std::pair<Value, Value>, SmallVector<Weighted>> byRoots;
  function->walk([&](math::Exp2Op exp) {
    if (std::optional<Weighted> w = matchWeighted(exp))
      byRoots[{w->weightRoot, w->sumRoot}].push_back(*w);
  });
  unsigned count = 0;
  for (auto &entry : byRoots) {
    auto [weightRoot, sumRoot] = entry.first;
    SmallVector<Weighted> &all = entry.second;
    tensor::ParallelInsertSliceOp weights = getInsertion(weightRoot),
                                  sums = getInsertion(sumRoot);
    // What no block writes is not read.
    if (!isSamePlace(weights, sums) ||
        !weights.getSourceType().getElementType().isF32() ||
        !isNeverNegative(weights.getSource()))
      continue;
    DenseSet<Operation *> products;
    for (Weighted &weighted : all)
      products.insert(weighted.product);
    SmallVector<Value> elements;
    if (!collectReads(weightRoot, elements) ||
        !llvm::all_of(elements, [&](Value element) {
          return llvm::all_of(element.getUsers(), [&](Operation *op) {
            return products.contains(op);
          });
        }))
      continue;

    rewriter.setInsertionPoint(weights->getParentOp());
    Type f32 = rewriter.getF32Type();
    Value exponents = createElementwise(
        rewriter, weights.getLoc(), {sums.getSource(), weights.getSource()},
        f32, [](OpBuilder &b, Location loc, ValueRange operands) -> Value {
          Value log = math::Log2Op::create(b, loc, operands[1],
                                           arith::FastMathFlags::afn);
          return arith::SubFOp::create(b, loc, operands[0], log);
        });
    rewriter.modifyOpInPlace(
        weights, [&] { weights.getSourceMutable().assign(exponents); });
    for (Weighted &weighted : all) {
      rewriter.modifyOpInPlace(weighted.exponent, [&] {
        weighted.exponent.getRhsMutable().assign(weighted.weight);
      });
      Value rest = weighted.product.getLhs() == weighted.weight
                       ? weighted.product.getRhs()
                       : weighted.product.getLhs();
      rewriter.replaceOp(weighted.product, rest);
      ++count;
    }
  }
  return count;
}
