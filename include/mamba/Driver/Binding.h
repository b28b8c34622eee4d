//===- Binding.h - Arrays for the arguments of a function -------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_DRIVER_BINDING_H
#define MAMBA_DRIVER_BINDING_H

#include "mamba/Driver/HostArray.h"
#include "mamba/Driver/Signature.h"

namespace mamba {

/// `NAME=FILE` of `--arg` and `--result`.
struct NamedFile {
  std::string name, path;

  /// Splits at the first "=". Fails if a part is empty; `option` ("--arg") is
  /// for the message.
  static llvm::Expected<NamedFile> parse(llvm::StringRef text,
                                         llvm::StringRef option);
};

struct NamedArray {
  std::string name;
  HostArray array;
};

/// The place of each name in `parameters`. Fails if a name occurs twice or is
/// unknown; `kind` is "argument" or "result".
llvm::Expected<std::vector<unsigned>>
matchNames(llvm::ArrayRef<std::string> names,
           const std::vector<Parameter> &parameters, llvm::StringRef kind,
           llvm::StringRef function);

/// The arrays in the order of the function's arguments, converted to their
/// element types. float32 serves every float narrower than f64, float16 serves
/// f16, float64 serves f64, int32 and int64 serve i32 and i64. Fails with the
/// first problem: a name that is unknown, given twice or missing, an element
/// type, or shapes that contradict each other (`Signature::checkShapes`).
llvm::Expected<std::vector<HostArray>>
bindArguments(const Signature &signature, std::vector<NamedArray> arrays);

} // namespace mamba

#endif // MAMBA_DRIVER_BINDING_H
