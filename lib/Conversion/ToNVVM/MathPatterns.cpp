//===- MathPatterns.cpp - Mathematics without a device library ------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The error bounds are stated in the description of `mamba-to-nvvm`. The
// polynomials are minimax fits of the relative error, made for this file.
//
//===----------------------------------------------------------------------===//

#include "MathPatterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;

namespace mamba {
namespace {

constexpr double ln2 = 0.693147180559945309;
constexpr double log2e = 1.442695040888963407;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Builds expressions on values of one type, f32 or a vector of it.
class Emitter {
public:
  Emitter(OpBuilder &builder, Location loc, Type type)
      : b(builder), loc(loc), type(type) {}

  Value constant(double value) {
    return splat(type, b.getF32FloatAttr(static_cast<float>(value)));
  }
  Value intConstant(int32_t value) {
    return splat(intType(), b.getI32IntegerAttr(value));
  }

  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(b, loc, x, y, z);
  }
  Value abs(Value x) { return math::AbsFOp::create(b, loc, x); }
  Value copySign(Value x, Value sign) {
    return math::CopySignOp::create(b, loc, x, sign);
  }

  Value less(Value x, Value y) {
    return compare(arith::CmpFPredicate::OLT, x, y);
  }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, loc, predicate, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }

  Value addInt(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value subInt(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
  Value andInt(Value x, Value y) { return arith::AndIOp::create(b, loc, x, y); }
  Value shiftRight(Value x, Value y) {
    return arith::ShRSIOp::create(b, loc, x, y);
  }
  Value toFloat(Value x) { return arith::SIToFPOp::create(b, loc, type, x); }
  Value toBits(Value x) {
    return arith::BitcastOp::create(b, loc, intType(), x);
  }
  Value fromBits(Value x) { return arith::BitcastOp::create(b, loc, type, x); }

  /// coefficients[0] + coefficients[1] * x + ...
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = constant(coefficients.back());
    for (double c : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, constant(c));
    return sum;
  }

  /// A one-operand NVVM intrinsic on every element.
  Value intrinsic(StringRef name, Value x) {
    auto call = [&](Value element) -> Value {
      return LLVM::CallIntrinsicOp::create(b, loc, b.getF32Type(),
                                           b.getStringAttr(name), element)
          .getResult(0);
    };
    auto vector = dyn_cast<VectorType>(type);
    if (!vector)
      return call(x);
    Value result = x;
    for (int64_t i = 0, e = vector.getNumElements(); i < e; ++i) {
      Value element = vector::ExtractOp::create(b, loc, x, i);
      result = vector::InsertOp::create(b, loc, call(element), result, i);
    }
    return result;
  }

private:
  Type intType() {
    if (auto vector = dyn_cast<VectorType>(type))
      return vector.clone(b.getI32Type());
    return b.getI32Type();
  }
  Value splat(Type type, TypedAttr value) {
    if (auto vector = dyn_cast<VectorType>(type))
      value = DenseElementsAttr::get(vector, Attribute(value));
    return arith::ConstantOp::create(b, loc, value);
  }

  OpBuilder &b;
  Location loc;
  Type type;
};

/// A scalar, or a vector that `Emitter::intrinsic` can take apart.
bool isScalarOrVector(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return !vector || (vector.getRank() == 1 && !vector.isScalable());
}

bool isHalfPrecision(Type type) {
  return isa<BFloat16Type, Float16Type>(getElementTypeOrSelf(type));
}

bool isExpandable(Type type) {
  return getElementTypeOrSelf(type).isF32() && isScalarOrVector(type);
}

StringRef exp2Name(arith::FastMathFlags flags) {
  return arith::bitEnumContainsAll(flags, arith::FastMathFlags::afn)
             ? "llvm.nvvm.ex2.approx.ftz.f32"
             : "llvm.nvvm.ex2.approx.f32";
}

Value exp(Emitter &e, Value x, StringRef exp2) {
  return e.intrinsic(exp2, e.mul(x, e.constant(log2e)));
}

/// log(1 + f) for f in [-1/4, 1/2], 0.1 ulp plus rounding.
Value log1pNearZero(Emitter &e, Value f) {
  Value q = e.polynomial(f, {-0x1.000000p-1, 0x1.5555a6p-2, -0x1.000024p-2,
                             0x1.996858p-3, -0x1.54f236p-3, 0x1.2897c2p-3,
                             -0x1.0d9066p-3, 0x1.abf7e8p-4, -0x1.6fe744p-5});
  return e.fma(e.mul(f, f), q, f);
}

/// The exponent field of x / m, where m in [3/4, 3/2) is x times a power of 2.
Value exponentField(Emitter &e, Value x) {
  return e.andInt(e.subInt(e.toBits(x), e.intConstant(0x3f400000)),
                  e.intConstant(-0x00800000));
}

Value exponentOfField(Emitter &e, Value field) {
  return e.toFloat(e.shiftRight(field, e.intConstant(23)));
}

/// x where x is +inf or NaN, `atPole` at `pole`, NaN below it, else `value`.
Value logSpecialCases(Emitter &e, Value x, double pole, Value value) {
  value = e.select(e.less(x, e.constant(infinity)), value, x);
  Value outside =
      e.select(e.compare(arith::CmpFPredicate::OEQ, x, e.constant(pole)),
               e.constant(-infinity), e.constant(nan));
  return e.select(e.compare(arith::CmpFPredicate::OLE, x, e.constant(pole)),
                  outside, value);
}

/// Whether `x` is an exponential, expanded or not.
bool isExponential(Value x) {
  if (auto extract = x.getDefiningOp<vector::ExtractOp>();
      extract && extract.getSourceVectorType().getRank() == 1) {
    // An element of a vector that may be unrolled already.
    x = extract.getSource();
    ArrayRef<int64_t> position = extract.getStaticPosition();
    if (auto elements = x.getDefiningOp<vector::FromElementsOp>();
        elements && !extract.hasDynamicPosition())
      x = elements.getElements()[position.front()];
  }
  if (auto call = x.getDefiningOp<LLVM::CallIntrinsicOp>())
    return call.getIntrin().starts_with("llvm.nvvm.ex2.approx");
  return isa_and_present<math::ExpOp, math::Exp2Op>(x.getDefiningOp());
}

/// With 1 + x = 2^k * (1 + f), the sum of k * ln2 and log(1 + f). f is made
/// from x and not from the rounded 1 + x: for small x, k is 0 and f is x.
Value log1p(Emitter &e, Value x) {
  Value field = exponentField(e, e.add(x, e.constant(1.0)));
  // 4 * 2^-k: without the 4 it would be denormal for the largest x.
  Value scale = e.fromBits(e.subInt(e.intConstant(0x40800000), field));
  // x * 2^-k exactly; x is no denormal unless k is 0.
  Value scaled = e.fromBits(e.subInt(e.toBits(x), field));
  Value f = e.add(scaled, e.fma(scale, e.constant(0.25), e.constant(-1.0)));
  Value sum =
      e.fma(exponentOfField(e, field), e.constant(ln2), log1pNearZero(e, f));
  // Where x is positive the pole is far.
  if (isExponential(x))
    return e.select(e.less(x, e.constant(infinity)), sum, x);
  return logSpecialCases(e, x, -1.0, sum);
}

/// With x = 2^k * m, the sum of k and log(m) in the base asked for.
Value log(Emitter &e, Value x, bool toBase2) {
  Value denormal = e.less(x, e.constant(0x1p-126));
  Value normal = e.select(denormal, e.mul(x, e.constant(0x1p23)), x);
  Value field = exponentField(e, normal);
  Value m = e.fromBits(e.subInt(e.toBits(normal), field));
  Value k = e.add(exponentOfField(e, field),
                  e.select(denormal, e.constant(-23.0), e.constant(0.0)));
  Value logM = log1pNearZero(e, e.sub(m, e.constant(1.0)));
  Value sum = toBase2 ? e.fma(logM, e.constant(log2e), k)
                      : e.fma(k, e.constant(ln2), logM);
  return logSpecialCases(e, x, 0.0, sum);
}

Value tanh(Emitter &e, Value x) {
  Value z = e.mul(x, x);
  Value p = e.polynomial(z, {-0x1.55553ep-2, 0x1.1109aep-3, -0x1.b898d6p-5,
                             0x1.54b864p-6, -0x1.82571ep-8});
  Value small = e.fma(e.mul(x, z), p, x);
  Value a = e.abs(x);
  Value grown = e.intrinsic("llvm.nvvm.ex2.approx.f32",
                            e.mul(a, e.constant(2.0 * log2e)));
  // An infinite exponential gives 1 and NaN stays NaN.
  Value large = e.sub(e.constant(1.0),
                      e.div(e.constant(2.0), e.add(grown, e.constant(1.0))));
  return e.select(e.less(a, e.constant(0.6)), small, e.copySign(large, x));
}

Value expand(Emitter &e, math::ExpOp op) {
  return exp(e, op.getOperand(), exp2Name(op.getFastmath()));
}
Value expand(Emitter &e, math::Exp2Op op) {
  return e.intrinsic(exp2Name(op.getFastmath()), op.getOperand());
}
Value expand(Emitter &e, math::LogOp op) {
  return log(e, op.getOperand(), /*toBase2=*/false);
}
Value expand(Emitter &e, math::Log2Op op) {
  if (arith::bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn))
    return e.intrinsic("llvm.nvvm.lg2.approx.f", op.getOperand());
  return log(e, op.getOperand(), /*toBase2=*/true);
}
Value expand(Emitter &e, math::Log1pOp op) { return log1p(e, op.getOperand()); }
Value expand(Emitter &e, math::TanhOp op) { return tanh(e, op.getOperand()); }
Value expand(Emitter &e, math::RsqrtOp op) {
  return e.intrinsic("llvm.nvvm.rsqrt.approx.f", op.getOperand());
}

template <typename Op> struct ExpandF32 : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!isExpandable(op.getType()))
      return rewriter.notifyMatchFailure(op, "expected f32");
    Emitter emitter(rewriter, op.getLoc(), op.getType());
    rewriter.replaceOp(op, expand(emitter, op));
    return success();
  }
};

/// f(x) on a 16-bit float becomes truncf(f(extf(x))).
template <typename Op> struct PromoteToF32 : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!isHalfPrecision(type))
      return rewriter.notifyMatchFailure(op, "expected bf16 or f16");
    Type f32 = rewriter.getF32Type();
    if (auto vector = dyn_cast<VectorType>(type))
      f32 = vector.clone(f32);
    Value wide =
        arith::ExtFOp::create(rewriter, op.getLoc(), f32, op.getOperand());
    Value result =
        Op::create(rewriter, op.getLoc(), wide, op.getFastmathAttr());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, type, result);
    return success();
  }
};

struct ExpandClamp : OpRewritePattern<math::ClampFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ClampFOp op,
                                PatternRewriter &rewriter) const override {
    Value low = arith::MaximumFOp::create(rewriter, op.getLoc(), op.getValue(),
                                          op.getMin());
    rewriter.replaceOpWithNewOp<arith::MinimumFOp>(op, low, op.getMax());
    return success();
  }
};

} // namespace

bool hasMathLowering(Operation *op) {
  if (!isa_and_present<math::MathDialect>(op->getDialect()))
    return true;
  // The hardware computes these on every type that kernels have.
  if (isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::ClampFOp,
          math::CopySignOp, math::CountLeadingZerosOp,
          math::CountTrailingZerosOp, math::CtPopOp, math::FloorOp, math::FmaOp,
          math::IsFiniteOp, math::IsInfOp, math::IsNaNOp, math::IsNormalOp,
          math::RoundOp, math::RoundEvenOp, math::SqrtOp, math::TruncOp>(op))
    return true;
  if (!isa<math::ExpOp, math::Exp2Op, math::LogOp, math::Log1pOp, math::Log2Op,
           math::RsqrtOp, math::TanhOp>(op))
    return false;
  Type type = op->getOperand(0).getType();
  return isExpandable(type) ||
         (isHalfPrecision(type) && isScalarOrVector(type));
}

void populateMathPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandF32<math::ExpOp>, ExpandF32<math::Exp2Op>,
               ExpandF32<math::LogOp>, ExpandF32<math::Log1pOp>,
               ExpandF32<math::Log2Op>, ExpandF32<math::RsqrtOp>,
               ExpandF32<math::TanhOp>, ExpandClamp>(patterns.getContext());
  patterns.add<PromoteToF32<math::CeilOp>, PromoteToF32<math::ExpOp>,
               PromoteToF32<math::Exp2Op>, PromoteToF32<math::FloorOp>,
               PromoteToF32<math::LogOp>, PromoteToF32<math::Log1pOp>,
               PromoteToF32<math::Log2Op>, PromoteToF32<math::RoundOp>,
               PromoteToF32<math::RoundEvenOp>, PromoteToF32<math::RsqrtOp>,
               PromoteToF32<math::SqrtOp>, PromoteToF32<math::TanhOp>,
               PromoteToF32<math::TruncOp>>(patterns.getContext());
}

} // namespace mamba
