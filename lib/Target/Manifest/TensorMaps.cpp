//===- TensorMaps.cpp - Parameters of the copy engine ---------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the driver's cuTensorMapEncodeTiled demands of numbers that are known
// here is checked here, and of others by the loader.
//
//===----------------------------------------------------------------------===//

#include "TensorMaps.h"
#include "BundleContents.h"

#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

using namespace mlir;
namespace json = llvm::json;

namespace mamba {
namespace {

/// Bytes of a row that a swizzle permutes; 0 for none.
int64_t getSpan(nvgpu::TensorMapSwizzleKind swizzle) {
  switch (swizzle) {
  case nvgpu::TensorMapSwizzleKind::SWIZZLE_NONE:
    return 0;
  case nvgpu::TensorMapSwizzleKind::SWIZZLE_32B:
    return 32;
  case nvgpu::TensorMapSwizzleKind::SWIZZLE_64B:
    return 64;
  case nvgpu::TensorMapSwizzleKind::SWIZZLE_128B:
    return 128;
  }
  llvm_unreachable("unknown swizzle");
}

int64_t getBytes(nvgpu::TensorMapL2PromoKind promotion) {
  switch (promotion) {
  case nvgpu::TensorMapL2PromoKind::L2PROMO_NONE:
    return 0;
  case nvgpu::TensorMapL2PromoKind::L2PROMO_64B:
    return 64;
  case nvgpu::TensorMapL2PromoKind::L2PROMO_128B:
    return 128;
  case nvgpu::TensorMapL2PromoKind::L2PROMO_256B:
    return 256;
  }
  llvm_unreachable("unknown promotion");
}

/// Whether the copy engine has elements of the type.
bool isElement(Type type) {
  return isa<BFloat16Type>(type) || type.isF16() || type.isF32() ||
         type.isF64() ||
         (isa<IntegerType>(type) &&
          llvm::is_contained({8, 16, 32, 64}, type.getIntOrFloatBitWidth()));
}

LogicalResult checkBox(TensorMapOp map, nvgpu::TensorMapDescriptorType type) {
  MemRefType box = type.getTensor();
  Type element = box.getElementType();
  if (!isElement(element))
    return map.emitOpError("expected elements of 8 to 64 bits that the copy "
                           "engine knows, got ")
           << element;
  if (type.getInterleave() != nvgpu::TensorMapInterleaveKind::INTERLEAVE_NONE)
    return map.emitOpError("expected a tensor map without interleave");
  if (type.getOob() == nvgpu::TensorMapOOBKind::OOB_NAN &&
      !isa<FloatType>(element))
    return map.emitOpError("expected floats to be filled with NaN, got ")
           << element;
  for (int64_t size : box.getShape())
    if (size < 1 || size > 256)
      return map.emitOpError("expected a box of 1 to 256 elements in every "
                             "dimension, got ")
             << box;
  int64_t rowBytes =
      box.getShape().back() * (element.getIntOrFloatBitWidth() / 8);
  if (rowBytes % 16)
    return map.emitOpError(
               "expected rows of the box to be whole 16 bytes, got ")
           << rowBytes << " bytes";
  int64_t span = getSpan(type.getSwizzle());
  if (span && rowBytes > span)
    return map.emitOpError("expected rows of the box of at most ")
           << span << " bytes, the span of the swizzle, got " << rowBytes;
  return success();
}

} // namespace

FailureOr<json::Value> describeTensorMap(TensorMapOp map,
                                         json::Object parameter,
                                         HostSizes &hostSizes) {
  auto type = cast<nvgpu::TensorMapDescriptorType>(map.getMap().getType());
  if (failed(checkBox(map, type)))
    return failure();
  MemRefType tensor = type.getTensor();
  int64_t elementBytes = tensor.getElementTypeBitWidth() / 8;
  auto checkBytes = [&](const SizeExpression &elements,
                        StringRef what) -> LogicalResult {
    std::optional<int64_t> constant = elements.getConstant();
    if (!constant || (*constant * elementBytes) % 16 == 0)
      return success();
    return map.emitOpError("expected ")
           << what << " to be whole 16 bytes, got " << *constant
           << " elements of " << elementBytes << " bytes";
  };

  FailureOr<SizeExpression> offset = hostSizes.evaluate(map.getOffset());
  if (failed(offset) || failed(checkBytes(*offset, "the offset")))
    return failure();
  json::Array sizes, strides, box, elementStrides;
  unsigned rank = tensor.getRank();
  for (unsigned i = 0; i < rank; ++i) {
    unsigned dim = rank - 1 - i;
    FailureOr<SizeExpression> size = hostSizes.evaluate(map.getSizes()[dim]);
    if (failed(size))
      return failure();
    FailureOr<SizeExpression> stride =
        hostSizes.evaluate(map.getStrides()[dim]);
    if (failed(stride))
      return failure();
    sizes.push_back(size->str());
    box.push_back(tensor.getDimSize(dim));
    elementStrides.push_back(1);
    if (i == 0) {
      if (stride->getConstant() != 1)
        return map.emitOpError("expected the last stride to be 1, got ")
               << stride->str();
      continue;
    }
    if (failed(checkBytes(*stride, "strides but the last")))
      return failure();
    strides.push_back(stride->str());
  }

  parameter["kind"] = "tensor_map";
  parameter["dtype"] = getDtype(tensor.getElementType());
  parameter["offset"] = offset->str();
  parameter["sizes"] = std::move(sizes);
  parameter["strides"] = std::move(strides);
  parameter["box"] = std::move(box);
  parameter["element_strides"] = std::move(elementStrides);
  parameter["swizzle"] = getSpan(type.getSwizzle());
  parameter["l2_promotion"] = getBytes(type.getL2promo());
  parameter["fill"] =
      type.getOob() == nvgpu::TensorMapOOBKind::OOB_NAN ? "nan" : "zero";
  return json::Value(std::move(parameter));
}

} // namespace mamba
