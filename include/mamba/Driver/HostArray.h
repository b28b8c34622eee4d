//===- HostArray.h - Dense arrays in host memory ----------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `mamba-compile --run` passes to a kernel: an element type, a shape and
// row-major elements. Conversions between the types round to nearest even and
// keep NaNs.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_DRIVER_HOSTARRAY_H
#define MAMBA_DRIVER_HOSTARRAY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace mlir {
class MLIRContext;
class Type;
} // namespace mlir

namespace mamba {

/// Element types of function arguments and of files. Files hold no bf16.
enum class Dtype { BF16, F16, F32, F64, I32, I64 };

/// "bf16", "f16", "f32", "f64", "i32", "i64".
llvm::StringRef getDtypeName(Dtype dtype);

/// The inverse of `getDtypeName`.
std::optional<Dtype> parseDtype(llvm::StringRef name);

/// Bytes of an element.
unsigned getDtypeSize(Dtype dtype);

bool isFloat(Dtype dtype);

/// The MLIR type of an element.
mlir::Type getType(mlir::MLIRContext *context, Dtype dtype);

/// The element type of a tensor or memref as a Dtype, if it is one.
std::optional<Dtype> getDtype(mlir::Type elementType);

/// Product of `shape`, or nothing if it or its size in bytes does not fit in
/// 63 bits. Sizes must not be negative.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape,
                                     unsigned elementSize = 1);

/// "[2, 5, 24, 64]".
std::string formatShape(llvm::ArrayRef<int64_t> shape);

/// A dense row-major array that owns its elements (64-byte aligned).
class HostArray {
public:
  /// Uninitialized elements. Fails if there are too many or memory runs out.
  static llvm::Expected<HostArray> create(Dtype dtype,
                                          llvm::ArrayRef<int64_t> shape);

  HostArray(HostArray &&) = default;
  HostArray &operator=(HostArray &&) = default;

  Dtype getDtype() const { return dtype; }
  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  int64_t getNumElements() const { return numElements; }
  size_t getNumBytes() const { return numElements * getDtypeSize(dtype); }

  char *getData() { return storage->getBufferStart(); }
  const char *getData() const { return storage->getBufferStart(); }

  /// The elements as `T`, whose size must be that of the dtype.
  template <typename T> llvm::MutableArrayRef<T> getElements() {
    assert(sizeof(T) == getDtypeSize(dtype) && "expected an element's size");
    return {reinterpret_cast<T *>(getData()), size_t(numElements)};
  }
  template <typename T> llvm::ArrayRef<T> getElements() const {
    assert(sizeof(T) == getDtypeSize(dtype) && "expected an element's size");
    return {reinterpret_cast<const T *>(getData()), size_t(numElements)};
  }

private:
  HostArray(Dtype dtype, llvm::ArrayRef<int64_t> shape, int64_t numElements,
            std::unique_ptr<llvm::WritableMemoryBuffer> storage)
      : dtype(dtype), shape(shape), numElements(numElements),
        storage(std::move(storage)) {}

  Dtype dtype;
  llvm::SmallVector<int64_t> shape;
  int64_t numElements;
  std::unique_ptr<llvm::WritableMemoryBuffer> storage;
};

/// f32 bits to f16 and bf16 bits, rounded to nearest, ties to even. NaNs stay
/// NaNs, what is too large becomes infinite.
uint16_t convertF32ToF16(uint32_t bits);
uint16_t convertF32ToBF16(uint32_t bits);
uint32_t convertF16ToF32(uint16_t bits);
inline uint32_t convertBF16ToF32(uint16_t bits) { return uint32_t(bits) << 16; }

/// `array` with elements of type `to`. Converts between f32 and the 16-bit
/// floats and between i32 and i64; fails on other pairs and where an i64 does
/// not fit in an i32.
llvm::Expected<HostArray> convertArray(HostArray array, Dtype to);

} // namespace mamba

#endif // MAMBA_DRIVER_HOSTARRAY_H
