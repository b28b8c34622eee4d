//===- Npy.h - Reading and writing .npy files -------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NumPy's .npy format, versions 1.0 and 2.0, little endian: float16, float32,
// float64, int32 and int64. The format has no bf16.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_DRIVER_NPY_H
#define MAMBA_DRIVER_NPY_H

#include "mamba/Driver/HostArray.h"

#include "llvm/Support/raw_ostream.h"

namespace mamba {

/// NumPy's name of an element type ("float32"); "bfloat16" for bf16.
llvm::StringRef getNumpyName(Dtype dtype);

/// Parses the contents of a file. Arrays in Fortran order are transposed to
/// row-major order. Fails with one message (without the file's name) if the
/// text is no .npy file, has another version or element type, is big endian,
/// or is shorter or longer than its header says.
llvm::Expected<HostArray> parseNpy(llvm::StringRef contents);

/// `parseNpy` of a file. Messages start with the file's name.
llvm::Expected<HostArray> readNpy(llvm::StringRef path);

/// Writes version 1.0 in row-major order. bf16 elements become float32.
void writeNpy(const HostArray &array, llvm::raw_ostream &os);

} // namespace mamba

#endif // MAMBA_DRIVER_NPY_H
