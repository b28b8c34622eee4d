//===- Binding.cpp - Arrays for the arguments of a function ---------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Driver/Binding.h"

#include "mamba/Driver/Npy.h"

using namespace llvm;

namespace mamba {

Expected<NamedFile> NamedFile::parse(StringRef text, StringRef option) {
  auto [name, path] = text.split('=');
  if (name.empty() || path.empty())
    return createStringError("expected " + option + "=NAME=FILE, got '" + text +
                             "'");
  return NamedFile{name.str(), path.str()};
}

Expected<std::vector<unsigned>>
matchNames(ArrayRef<std::string> names,
           const std::vector<Parameter> &parameters, StringRef kind,
           StringRef function) {
  std::vector<unsigned> places;
  for (StringRef name : names) {
    auto it = llvm::find_if(parameters, [&](const Parameter &parameter) {
      return parameter.name == name;
    });
    if (it == parameters.end()) {
      std::string known;
      raw_string_ostream os(known);
      llvm::interleaveComma(parameters, os, [&](const Parameter &parameter) {
        os << parameter.name;
      });
      return createStringError("function '" + function + "' has no " + kind +
                               " '" + name + "'; it has " +
                               (known.empty() ? "none" : known));
    }
    unsigned place = it - parameters.begin();
    if (llvm::is_contained(places, place))
      return createStringError(kind + " '" + name + "' is given twice");
    places.push_back(place);
  }
  return places;
}

/// Whether files of type `file` serve an argument of type `argument`.
static bool isAccepted(Dtype argument, Dtype file) {
  switch (argument) {
  case Dtype::BF16:
  case Dtype::F32:
    return file == Dtype::F32;
  case Dtype::F16:
    return file == Dtype::F32 || file == Dtype::F16;
  case Dtype::F64:
    return file == Dtype::F64;
  case Dtype::I32:
  case Dtype::I64:
    return file == Dtype::I32 || file == Dtype::I64;
  }
  llvm_unreachable("unknown dtype");
}

static StringRef describeAccepted(Dtype argument) {
  switch (argument) {
  case Dtype::BF16:
  case Dtype::F32:
    return "float32";
  case Dtype::F16:
    return "float32 or float16";
  case Dtype::F64:
    return "float64";
  case Dtype::I32:
  case Dtype::I64:
    return "int32 or int64";
  }
  llvm_unreachable("unknown dtype");
}

Expected<std::vector<HostArray>> bindArguments(const Signature &signature,
                                               std::vector<NamedArray> arrays) {
  std::vector<std::string> names;
  for (const NamedArray &array : arrays)
    names.push_back(array.name);
  Expected<std::vector<unsigned>> places =
      matchNames(names, signature.arguments, "argument", signature.name);
  if (!places)
    return places.takeError();

  SmallVector<HostArray *> ordered(signature.arguments.size());
  for (auto [place, array] : llvm::zip_equal(*places, arrays))
    ordered[place] = &array.array;
  std::vector<SmallVector<int64_t>> shapes;
  for (auto [parameter, array] :
       llvm::zip_equal(signature.arguments, ordered)) {
    if (!array)
      return createStringError(
          "expected an array for argument '" + parameter.name +
          "' of function '" + signature.name + "', " +
          getDtypeName(parameter.dtype) + " " + parameter.describeShape());
    if (!isAccepted(parameter.dtype, array->getDtype()))
      return createStringError("expected '" + parameter.name + "' (" +
                               getDtypeName(parameter.dtype) + ") to be " +
                               describeAccepted(parameter.dtype) + ", got " +
                               getNumpyName(array->getDtype()));
    shapes.emplace_back(array->getShape());
  }
  if (Error error = signature.checkShapes(shapes))
    return std::move(error);

  std::vector<HostArray> bound;
  for (auto [parameter, array] :
       llvm::zip_equal(signature.arguments, ordered)) {
    Expected<HostArray> converted =
        convertArray(std::move(*array), parameter.dtype);
    if (!converted)
      return createStringError("'" + parameter.name +
                               "': " + toString(converted.takeError()));
    bound.push_back(std::move(*converted));
  }
  return bound;
}

} // namespace mamba
