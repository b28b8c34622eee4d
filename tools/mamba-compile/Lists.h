//===- Lists.h - Tables of models and targets -------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_TOOLS_MAMBA_COMPILE_LISTS_H
#define MAMBA_TOOLS_MAMBA_COMPILE_LISTS_H

#include "llvm/Support/raw_ostream.h"

namespace mamba {

/// A line of column names, then a line for each model.
void printModels(llvm::raw_ostream &os);

/// A line of column names, then a line for each target.
void printTargets(llvm::raw_ostream &os);

} // namespace mamba

#endif // MAMBA_TOOLS_MAMBA_COMPILE_LISTS_H
