//===- SharedMatrix.cpp - Matrix descriptors of shared memory -------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout" and
// "Matrix Descriptor Format". The swizzle is an exclusive or of bits of the
// final address. Without swizzle the two strides change their meaning between
// the two kinds of matrices. All of this was compared with an H200, byte by
// byte, for elements of two bytes.
//
//===----------------------------------------------------------------------===//

#include "SharedMatrix.h"

#include "Block.h"

using namespace llvm;

namespace mamba::sim {

constexpr uint32_t kAddressMask = 0x3ffff;

SharedMatrix SharedMatrix::parseWgmma(uint64_t descriptor, bool isTransposed) {
  auto field = [&](unsigned from) {
    return uint32_t(descriptor >> from & 0x3fff) << 4;
  };
  static constexpr unsigned kSpans[] = {16, 128, 64, 32};
  return {field(0),
          field(16),
          field(32),
          uint32_t(descriptor >> 49 & 7),
          kSpans[descriptor >> 62],
          isTransposed};
}

uint32_t SharedMatrix::getAddress(unsigned row, unsigned chunk) const {
  uint32_t line = row % 8, group = row / 8, linear = start;
  if (span == kChunkBytes) {
    linear += line * kChunkBytes;
    linear += isTransposed ? chunk * stride + group * leading
                           : chunk * leading + group * stride;
    return linear & kAddressMask;
  }
  unsigned chunks = span / kChunkBytes;
  linear += line * span + group * stride;
  linear += isTransposed
                ? chunk % chunks * kChunkBytes + chunk / chunks * leading
                : chunk * kChunkBytes;
  linear ^= ((linear >> 7) - baseOffset & (chunks - 1)) << 4;
  return linear & kAddressMask;
}

void ChunkReads::add(Warp &warp, const Inst &inst, uint32_t address,
                     StringRef what) {
  Block &block = warp.block;
  uint64_t offset = uint64_t(address) - kSharedStart;
  if (address < kSharedStart || offset + kChunkBytes > block.shared.size()) {
    warp.report(FindingKind::OutOfBounds, inst, 0, address,
                "read of " + what +
                    " outside of shared memory, which ends at "
                    "0x" +
                    Twine::utohexstr(kSharedStart + block.shared.size()));
    offsets.push_back(kOutside);
    return;
  }
  offsets.push_back(offset);
  if (!block.launch.options.sanitize)
    return;
  Access access{warp.getClusterThread(0), warp.pc, warp.knowledge, false};
  std::optional<Conflict> conflict =
      block.shadow.startRead(access, offset, kChunkBytes);
  if (!conflict)
    return;
  uint64_t place = address + conflict->byte;
  unsigned line = warp.kernel.code[conflict->pc].line;
  if (conflict->kind == Conflict::Unwritten)
    warp.report(FindingKind::UninitializedRead, inst, 0, place,
                "byte of " + what + " was not written");
  else if (conflict->kind == Conflict::InFlight)
    warp.report(FindingKind::InFlight, inst, 0, place,
                "read of " + what +
                    " that an asynchronous copy still writes: "
                    "line " +
                    Twine(line));
  else
    warp.report(FindingKind::Race, inst, 0, place,
                "read of " + what + " without order after a write by " +
                    block.describeThread(conflict->thread) + " in line " +
                    Twine(line));
}

const uint8_t *ChunkReads::get(const Warp &warp, unsigned index) const {
  static constexpr uint8_t kZeros[kChunkBytes] = {};
  if (offsets[index] == kOutside)
    return kZeros;
  return warp.block.shared.data() + offsets[index];
}

void ChunkReads::release(Warp &warp, uint32_t pc) {
  if (warp.block.launch.options.sanitize)
    for (uint32_t offset : offsets)
      if (offset != kOutside)
        warp.block.shadow.endRead(
            {warp.getClusterThread(0), pc, warp.knowledge, false}, offset,
            kChunkBytes);
  offsets.clear();
}

} // namespace mamba::sim
