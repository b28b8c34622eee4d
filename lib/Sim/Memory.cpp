//===- Memory.cpp - Buffers of global memory ------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory.h"

#include <cstring>

using namespace llvm;

namespace mamba::sim {

Device::Device() : impl(std::make_unique<Impl>()) {}
Device::~Device() = default;

Buffer &Device::Impl::add(StringRef name, size_t size, BufferRole role) {
  uint64_t stretch = buffers.size() + 1;
  Buffer buffer;
  buffer.name = name.str();
  buffer.address = stretch << kStretchBits | uint64_t(1) << (kStretchBits - 1);
  buffer.size = size;
  buffer.role = role;
  if (role == BufferRole::Output)
    buffer.written = std::make_unique<uint8_t[]>(size);
  buffers.push_back(std::move(buffer));
  return buffers.back();
}

uint64_t Device::add(StringRef name, void *data, size_t size, BufferRole role,
                     unsigned elementBytes) {
  Buffer &buffer = impl->add(name, size, role);
  buffer.elementBytes = elementBytes;
  buffer.data = static_cast<uint8_t *>(data);
  return buffer.address;
}

uint64_t Device::allocate(StringRef name, size_t size, BufferRole role) {
  Buffer &buffer = impl->add(name, size, role);
  buffer.owned = std::make_unique<uint8_t[]>(size);
  buffer.data = buffer.owned.get();
  if (role == BufferRole::Output)
    std::memset(buffer.data, 0xff, size);
  return buffer.address;
}

Device::Unwritten Device::getUnwritten(uint64_t address) const {
  const Buffer *buffer = impl->lookup(address);
  Unwritten result = {0, 0};
  if (!buffer || !buffer->written)
    return result;
  for (size_t i = 0; i != buffer->size; ++i)
    if (!buffer->written[i] && !result.count++)
      result.first = i;
  return result;
}

} // namespace mamba::sim
