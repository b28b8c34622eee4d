//===- Operations.cpp - What a function was written with ------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BundleContents.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"

#include <cmath>

using namespace mlir;
namespace json = llvm::json;

namespace mamba {
namespace {

/// An attribute as JSON; numbers that JSON lacks and other attributes as text.
json::Value describeOption(Attribute attr) {
  if (auto value = dyn_cast<IntegerAttr>(attr))
    return value.getInt();
  if (auto value = dyn_cast<StringAttr>(attr))
    return value.str();
  if (isa<UnitAttr>(attr))
    return true;
  if (auto values = dyn_cast<DenseF64ArrayAttr>(attr)) {
    json::Array array;
    for (double value : values.asArrayRef()) {
      if (std::isfinite(value))
        array.push_back(value);
      else
        array.push_back(value < 0 ? "-inf" : "inf");
    }
    return array;
  }
  if (auto mask = dyn_cast<MaskAttr>(attr))
    return stringifyMask(mask.getValue()).str();
  std::string text;
  llvm::raw_string_ostream(text) << attr;
  return text;
}

json::Value describeOptions(DictionaryAttr options) {
  json::Object object;
  for (NamedAttribute option : options)
    object[option.getName().str()] = describeOption(option.getValue());
  return object;
}

} // namespace

json::Array describeOperations(ArrayAttr operations) {
  json::Array described;
  for (auto operation : operations.getAsRange<DictionaryAttr>())
    described.push_back(describeOptions(operation));
  return described;
}

} // namespace mamba
