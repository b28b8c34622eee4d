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
#include "Cluster.h"

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

std::optional<SharedMatrix> SharedMatrix::parseTcgen05(uint64_t descriptor,
                                                       bool isTransposed) {
  // By the bits 61 to 63; 0 where there is no such mode.
  static constexpr unsigned kSpans[] = {16, 128, 128, 0, 64, 0, 32, 0};
  unsigned mode = descriptor >> 61, constant = descriptor >> 46 & 7;
  bool isAbsolute = descriptor >> 52 & 1;
  if (!kSpans[mode] || constant != 1 || isAbsolute)
    return std::nullopt;
  SharedMatrix matrix = parseWgmma(descriptor, isTransposed);
  matrix.span = kSpans[mode];
  matrix.hasWideUnits = mode == 1;
  return matrix;
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
  if (hasWideUnits) { // atoms of 4 lines, transposed only
    linear += row % 4 * span + row / 4 * stride + chunk % chunks * kChunkBytes +
              chunk / chunks * leading;
    linear ^= ((linear >> 7) - baseOffset & 3) << 5;
    return linear & kAddressMask;
  }
  linear += line * span + group * stride;
  linear += isTransposed
                ? chunk % chunks * kChunkBytes + chunk / chunks * leading
                : chunk * kChunkBytes;
  linear ^= ((linear >> 7) - baseOffset & (chunks - 1)) << 4;
  return linear & kAddressMask;
}

void ChunkReads::add(Warp &warp, const Inst &inst, uint32_t address,
                     StringRef what, unsigned lane) {
  Block &block = warp.block;
  uint64_t offset = uint64_t(address) - kSharedStart;
  if (address < kSharedStart || offset + kChunkBytes > block.shared.size()) {
    warp.report(FindingKind::OutOfBounds, inst, lane, address,
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
  Access access{warp.getClusterThread(lane), warp.pc, warp.knowledge, false};
  std::optional<Conflict> conflict =
      block.shadow.startRead(access, offset, kChunkBytes);
  if (!conflict)
    return checkFences(warp, inst, offset, what, lane);
  uint64_t place = address + conflict->byte;
  unsigned line = warp.kernel.code[conflict->pc].line;
  if (conflict->kind == Conflict::Unwritten)
    warp.report(FindingKind::UninitializedRead, inst, lane, place,
                "byte of " + what + " was not written");
  else if (conflict->kind == Conflict::InFlight)
    warp.report(FindingKind::InFlight, inst, lane, place,
                "read of " + what +
                    " that an asynchronous copy still writes: "
                    "line " +
                    Twine(line));
  else
    warp.report(FindingKind::Race, inst, lane, place,
                "read of " + what + " without order after a write by " +
                    block.describeThread(conflict->thread) + " in line " +
                    Twine(line));
}

/// Ordinary stores need a fence of the asynchronous proxy on the way.
void ChunkReads::checkFences(Warp &warp, const Inst &inst, uint32_t offset,
                             StringRef what, unsigned lane) {
  Cluster &cluster = warp.block.cluster;
  // Who writes less than a word each forgets the same fence.
  for (unsigned i = 0; i != kChunkBytes; i += 4) {
    std::optional<Shadow::Write> write =
        warp.block.shadow.getLastWrite(offset + i);
    if (!write || write->thread / kLanes == cluster.getCopyWarp() ||
        !fenced.insert(uint64_t(write->thread) << 32 | write->time).second ||
        cluster.fences.isBetween(write->thread, write->time, warp, lane,
                                 {FenceKind::AsyncProxy}))
      continue;
    warp.report(FindingKind::Proxy, inst, lane, kSharedStart + offset + i,
                "read of " + what + " that " +
                    warp.block.describeThread(write->thread) +
                    " wrote in line " +
                    Twine(warp.kernel.code[write->pc].line) +
                    ", without fence.proxy.async between");
    return;
  }
}

const uint8_t *ChunkReads::get(const Warp &warp, unsigned index) const {
  static constexpr uint8_t kZeros[kChunkBytes] = {};
  if (offsets[index] == kOutside)
    return kZeros;
  return warp.block.shared.data() + offsets[index];
}

void ChunkReads::decode(const Warp &warp, Element element, bool isTransposed,
                        unsigned rows, unsigned depth, double *to,
                        unsigned rowStride, unsigned depthStride,
                        unsigned perChunk) const {
  unsigned count = perChunk ? perChunk : kChunkBytes * 8 / getBits(element);
  unsigned index = 0;
  if (isTransposed) {
    for (unsigned k = 0; k != depth; ++k)
      for (unsigned row = 0; row < rows; row += count)
        decodeElements(element, get(warp, index++), count,
                       to + row * rowStride + k * depthStride, rowStride);
    return;
  }
  for (unsigned row = 0; row != rows; ++row)
    for (unsigned k = 0; k < depth; k += count)
      decodeElements(element, get(warp, index++), count,
                     to + row * rowStride + k * depthStride, depthStride);
}

void ChunkReads::release(Warp &warp, uint32_t pc, unsigned reader) {
  if (warp.block.launch.options.sanitize)
    for (uint32_t offset : offsets)
      if (offset != kOutside)
        warp.block.shadow.endRead({reader * kLanes, pc, warp.knowledge, false},
                                  offset, kChunkBytes);
  offsets.clear();
}

} // namespace mamba::sim
