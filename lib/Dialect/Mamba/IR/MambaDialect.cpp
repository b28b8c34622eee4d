//===- MambaDialect.cpp - Registration and custom syntax ------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Dialect/Mamba/IR/Mamba.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mamba;

#include "mamba/Dialect/Mamba/IR/MambaDialect.cpp.inc"
#include "mamba/Dialect/Mamba/IR/MambaEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "mamba/Dialect/Mamba/IR/MambaAttrs.cpp.inc"
#include "mamba/Dialect/Mamba/IR/MambaInterfaces.cpp.inc"

namespace {
/// The operations are pure and have no regions: any function may hold them.
struct MambaInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void MambaDialect::initialize() {
  addInterfaces<MambaInlinerInterface>();
  addOperations<
#define GET_OP_LIST
#include "mamba/Dialect/Mamba/IR/MambaOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "mamba/Dialect/Mamba/IR/MambaAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Attributes on operations, arguments and results of other dialects
//===----------------------------------------------------------------------===//

LogicalResult MambaDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attribute) {
  if (attribute.getName() == kPlanAttrName &&
      !isa<PlanAttr>(attribute.getValue()))
    return op->emitOpError("expected '")
           << kPlanAttrName << "' to be a #mamba.plan, got "
           << attribute.getValue();
  return success();
}

static LogicalResult verifyValueAttribute(Operation *op,
                                          NamedAttribute attribute) {
  StringRef name = attribute.getName();
  bool isName = name == kNameAttrName || name == kUpdatedAttrName;
  if (isName && !isa<StringAttr>(attribute.getValue()))
    return op->emitOpError("expected '")
           << name << "' to be a string, got " << attribute.getValue();
  if (name == kResultAttrName && !isa<UnitAttr>(attribute.getValue()))
    return op->emitOpError("expected '")
           << name << "' to be a unit attribute, got " << attribute.getValue();
  return success();
}

LogicalResult MambaDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                     unsigned,
                                                     NamedAttribute attribute) {
  return verifyValueAttribute(op, attribute);
}

LogicalResult
MambaDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned,
                                          NamedAttribute attribute) {
  return verifyValueAttribute(op, attribute);
}

//===----------------------------------------------------------------------===//
// dt_limit(lo, hi), where a bound may be written inf or -inf
//===----------------------------------------------------------------------===//

static ParseResult parseLimit(OpAsmParser &parser, double &limit) {
  bool negative = succeeded(parser.parseOptionalMinus());
  if (succeeded(parser.parseOptionalKeyword("inf"))) {
    limit = std::numeric_limits<double>::infinity();
  } else if (parser.parseFloat(limit)) {
    return failure();
  }
  if (negative)
    limit = -limit;
  return success();
}

static ParseResult parseDtLimit(OpAsmParser &parser,
                                DenseF64ArrayAttr &limits) {
  double lo, hi;
  if (parseLimit(parser, lo) || parser.parseComma() || parseLimit(parser, hi))
    return failure();
  limits = parser.getBuilder().getDenseF64ArrayAttr({lo, hi});
  return success();
}

static void printDtLimit(OpAsmPrinter &printer, Operation *op,
                         DenseF64ArrayAttr limits) {
  if (!limits)
    return;
  llvm::interleaveComma(limits.asArrayRef(), printer, [&](double limit) {
    if (std::isinf(limit))
      printer << (limit < 0 ? "-inf" : "inf");
    else
      printer.printFloat(APFloat(limit));
  });
}

//===----------------------------------------------------------------------===//
// #mamba.plan
//===----------------------------------------------------------------------===//

LogicalResult PlanAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               Schedule schedule, ArrayRef<int64_t> tile,
                               ArrayRef<int64_t> inner, int64_t reduction,
                               int64_t warps, int64_t stages, int64_t blocks,
                               int64_t heads, int64_t segment, bool) {
  for (int64_t size : llvm::concat<const int64_t>(tile, inner))
    if (size < 0)
      return emitError() << "expected tile sizes of at least 0, got " << size;
  if (reduction < 0)
    return emitError() << "expected a 'reduction' of at least 0, got "
                       << reduction;
  if (warps < 1 || warps > 32)
    return emitError() << "expected 1 to 32 warps, got " << warps;
  if (stages < 0 || stages > 8)
    return emitError() << "expected 0 to 8 stages, got " << stages;
  if (blocks < 1 || blocks > 32)
    return emitError() << "expected 1 to 32 blocks, got " << blocks;
  if (blocks > 1 && blocks * warps > 64)
    return emitError() << "expected blocks of at most 64 warps together, got "
                       << blocks << " of " << warps;
  if (heads < 1 || heads > 8)
    return emitError() << "expected 1 to 8 heads, got " << heads;
  if (segment < 0 || (segment > 0) != (schedule == Schedule::Segmented))
    return emitError() << "expected a 'segment' of at least 1 with schedule "
                          "segmented and none otherwise, got "
                       << segment << " with " << stringifySchedule(schedule);
  return success();
}

#define GET_OP_CLASSES
#include "mamba/Dialect/Mamba/IR/MambaOps.cpp.inc"
