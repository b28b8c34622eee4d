//===- TensorParameter.cpp - Tensor maps of manifests ---------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A parameter of kind "tensor_map": a tensor in an argument or in workspace,
// with its offset and strides in elements, innermost dimension first.
//
//===----------------------------------------------------------------------===//

#include "FunctionCall.h"

#include "mamba/Sim/TensorMap.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mamba::sim {

Expected<std::vector<uint8_t>>
FunctionCall::makeTensorMap(const json::Object &parameter, uint64_t base) {
  auto fail = [&](const Twine &message) {
    return createStringError(
        "manifest: tensor map of '" +
        parameter.getString("argument")
            .value_or(parameter.getString("workspace").value_or("")) +
        "': " + message);
  };
  TensorMap map;
  StringRef dtype = parameter.getString("dtype").value_or("");
  std::optional<ptx::Type> element = parseTensorElement(dtype);
  if (!element)
    return fail("unknown dtype '" + dtype + "'");
  map.element = *element;
  unsigned bytes = getSize(map.element);

  ArrayRef<json::Value> sizes = getElements(parameter, "sizes");
  ArrayRef<json::Value> strides = getElements(parameter, "strides");
  ArrayRef<json::Value> box = getElements(parameter, "box");
  ArrayRef<json::Value> steps = getElements(parameter, "element_strides");
  map.rank = sizes.size();
  if (sizes.empty() || sizes.size() > TensorMap::kMaxRank)
    return fail(Twine(sizes.size()) + " sizes, expected 1 to 5");
  if (strides.size() + 1 != sizes.size())
    return fail(Twine(strides.size()) + " strides, expected " +
                Twine(sizes.size() - 1));
  if (box.size() != sizes.size())
    return fail(Twine(box.size()) + " sizes of the box, expected " +
                Twine(sizes.size()));
  if (!steps.empty() && steps.size() != sizes.size())
    return fail(Twine(steps.size()) + " element strides, expected " +
                Twine(sizes.size()));

  // Negative numbers become large ones, which the checks name.
  auto read = [&](const json::Value *value, int64_t missing,
                  uint64_t factor) -> Expected<uint64_t> {
    Expected<int64_t> number = getInteger(value, missing);
    if (!number)
      return number.takeError();
    return uint64_t(*number) * factor;
  };
  Expected<uint64_t> offset = read(parameter.get("offset"), 0, bytes);
  if (!offset)
    return offset.takeError();
  map.address = base + *offset;
  for (unsigned d = 0; d != map.rank; ++d) {
    Expected<uint64_t> size = read(&sizes[d], 0, 1);
    if (!size)
      return size.takeError();
    map.isEmpty |= *size == 0;
    map.sizes[d] = std::max<uint64_t>(*size, 1);
    if (d) {
      Expected<uint64_t> stride = read(&strides[d - 1], 0, bytes);
      if (!stride)
        return stride.takeError();
      map.strides[d] = *stride;
    }
    Expected<uint64_t> extent = read(&box[d], 0, 1);
    if (!extent)
      return extent.takeError();
    map.box[d] = std::min<uint64_t>(*extent, UINT16_MAX);
    Expected<uint64_t> step = read(steps.empty() ? nullptr : &steps[d], 1, 1);
    if (!step)
      return step.takeError();
    map.elementStrides[d] = std::min<uint64_t>(*step, UINT8_MAX);
  }
  map.swizzle = parameter.getInteger("swizzle").value_or(0);
  map.l2Promotion = parameter.getInteger("l2_promotion").value_or(0);
  StringRef fill = parameter.getString("fill").value_or("zero");
  if (fill != "zero" && fill != "nan")
    return fail("unknown fill '" + fill + "', expected 'zero' or 'nan'");
  map.fillsNaN = fill == "nan";
  if (Error error = map.verify())
    return fail(StringRef(toString(std::move(error)))
                    .drop_front(StringRef("tensor map: ").size()));
  std::array<uint8_t, TensorMap::kBytes> image = map.encode();
  return std::vector<uint8_t>(image.begin(), image.end());
}

} // namespace mamba::sim
