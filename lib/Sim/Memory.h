//===- Memory.h - Buffers of global memory ----------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_MEMORY_H
#define MAMBA_LIB_SIM_MEMORY_H

#include "mamba/Sim/Simulator.h"

#include <atomic>
#include <deque>

namespace mamba::sim {

struct Buffer {
  std::string name;
  uint64_t address;
  size_t size;
  uint8_t *data;
  BufferRole role;
  unsigned elementBytes = 1;
  std::unique_ptr<uint8_t[]> owned;
  /// One byte a byte: whether anything wrote it. Absent if all are.
  std::unique_ptr<uint8_t[]> written;
};

/// Every buffer lies in the middle of its own stretch of addresses, so that
/// finding it takes a shift, and an access that misses it is known by its name.
struct Device::Impl {
  static constexpr unsigned kStretchBits = 36;

  /// The buffer whose stretch holds `address`, or null.
  Buffer *lookup(uint64_t address) {
    uint64_t index = address >> kStretchBits;
    return index && index <= buffers.size() ? &buffers[index - 1] : nullptr;
  }
  const Buffer *lookup(uint64_t address) const {
    return const_cast<Impl *>(this)->lookup(address);
  }
  Buffer &add(llvm::StringRef name, size_t size, BufferRole role);

  std::deque<Buffer> buffers;
  /// Locks of atomic operations, chosen by address.
  std::array<std::atomic_flag, 64> locks{};
};

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_MEMORY_H
