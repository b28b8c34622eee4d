//===- RewriteExp2Clamps.cpp - Terms of sums that are never positive ------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of a monotone g, min(g_i - g_j, 0) with j not after i is what g_i - g_j is if
// the terms of g are min(t, 0): a falling g stays as it is, and a growing one
// becomes 0, as the minimum would.
//
//===----------------------------------------------------------------------===//

#include "RewriteExp2.h"
#include "Vectorize.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mamba;

/// The largest integer whose power of two is 0 in f32. One such term makes
/// every weight across it 0; smaller ones would only make the sums less
/// precise.
static constexpr double kLeastTerm = -150.0;

namespace {
/// exp2(min(after - before, 0)), or exp2(min(after, 0)).
struct Clamped {
  math::Exp2Op exp;
  arith::MinimumFOp clamp;
  /// Reads the elements.
  Operation *reader;
  Value root;
};
} // namespace

static std::optional<Clamped> matchClamped(math::Exp2Op exp) {
  auto clamp = exp.getOperand().getDefiningOp<arith::MinimumFOp>();
  if (!exp.getType().isF32() || !isApproximate(exp) || !clamp ||
      !matchPattern(clamp.getRhs(), m_AnyZeroFloat()))
    return std::nullopt;
  auto difference = clamp.getLhs().getDefiningOp<arith::SubFOp>();
  std::optional<Element> after =
      getElement(difference ? difference.getLhs() : clamp.getLhs());
  if (!after)
    return std::nullopt;
  if (!difference)
    return Clamped{exp, clamp, clamp, after->root};
  std::optional<Element> before = getElement(difference.getRhs());
  if (!before || before->root != after->root ||
      !isNeverAfter(exp, *before, *after))
    return std::nullopt;
  return Clamped{exp, clamp, difference, after->root};
}

bool mamba::hasClampedTerms(linalg::GenericOp sum) {
  auto clamp = matchScan(sum)->term.getDefiningOp<arith::MinimumFOp>();
  return clamp && matchPattern(clamp.getRhs(), m_AnyZeroFloat());
}

/// Makes min(max(term, least), 0) of the terms of a sum.
static void clampSum(RewriterBase &rewriter, linalg::GenericOp sum) {
  Scan scan = *matchScan(sum);
  auto select = cast<arith::SelectOp>(scan.structure[1]);
  Location loc = sum.getLoc();
  rewriter.setInsertionPoint(select);
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(
        rewriter, loc, rewriter.getFloatAttr(scan.term.getType(), value));
  };
  Value least =
      arith::MaximumFOp::create(rewriter, loc, scan.term, constant(kLeastTerm));
  Value term = arith::MinimumFOp::create(rewriter, loc, least, constant(0.0));
  rewriter.modifyOpInPlace(select,
                           [&] { select.getTrueValueMutable().assign(term); });
}

unsigned mamba::clampTerms(RewriterBase &rewriter, Operation *function) {
  llvm::MapVector<Value, SmallVector<Clamped>> byRoot;
  function->walk([&](math::Exp2Op exp) {
    if (std::optional<Clamped> clamped = matchClamped(exp))
      byRoot[clamped->root].push_back(*clamped);
  });
  unsigned count = 0;
  for (auto &entry : byRoot) {
    Value root = entry.first;
    SmallVector<Clamped> &all = entry.second;
    linalg::GenericOp sum = getPrefixSum(root);
    if (!sum)
      continue;
    DenseSet<Operation *> readers, clamps, exps;
    for (Clamped &clamped : all) {
      readers.insert(clamped.reader);
      clamps.insert(clamped.clamp);
      exps.insert(clamped.exp);
    }
    // Nobody else may see that terms are clamped.
    auto areUsersIn = [](Value value, const DenseSet<Operation *> &known) {
      return llvm::all_of(value.getUsers(),
                          [&](Operation *op) { return known.contains(op); });
    };
    SmallVector<Value> elements;
    if (!collectReads(root, elements) ||
        !llvm::all_of(elements,
                      [&](Value v) { return areUsersIn(v, readers); }) ||
        !llvm::all_of(all, [&](Clamped &clamped) {
          return areUsersIn(clamped.clamp.getResult(), exps) &&
                 (clamped.reader == clamped.clamp ||
                  areUsersIn(clamped.reader->getResult(0), clamps));
        }))
      continue;
    Value sums = sum.getResult(0);
    if (sums != root && !sums.hasOneUse())
      continue;
    clampSum(rewriter, sum);
    for (Clamped &clamped : all) {
      rewriter.modifyOpInPlace(clamped.exp, [&] {
        clamped.exp.getOperandMutable().assign(clamped.clamp.getLhs());
      });
      if (clamped.clamp->use_empty())
        rewriter.eraseOp(clamped.clamp);
      ++count;
    }
  }
  return count;
}
