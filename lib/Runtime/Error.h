//===- Error.h - Failures inside of the runtime -----------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_RUNTIME_ERROR_H
#define MAMBA_LIB_RUNTIME_ERROR_H

#include "mamba-c/Runtime.h"

#include <stdexcept>
#include <string>

namespace mamba::runtime {

/// A failure on its way to the C interface, which makes a status and a message
/// of it.
class Error : public std::runtime_error {
public:
  Error(mamba_status status, const std::string &message)
      : std::runtime_error(message), status(status) {}

  mamba_status getStatus() const { return status; }

private:
  mamba_status status;
};

} // namespace mamba::runtime

#endif // MAMBA_LIB_RUNTIME_ERROR_H
