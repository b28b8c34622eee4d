//===- Tcgen05Copy.cpp - tcgen05.cp and shift -----------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "tcgen05.cp", "tcgen05.shift" and "Optional Decompression". A copy's
// source is a matrix along K whose rows have one or two chunks of 16 bytes.
// Decompression spreads 16 elements, packed from the start of their chunk, over
// 16 bytes, as the matrix instructions expect them in tensor memory.
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "Decoder.h"

using namespace llvm;

namespace mamba::sim {

namespace {

/// `Inst::mode`.
enum class Spread : uint8_t {
  None,
  EachQuarter,  // warpx4
  Pairs02And13, // the first 32 rows in quarters 0 and 2
  Pairs01And23, // in 0 and 1
};

constexpr unsigned kWordsPerChunk = 4;

/// Lanes that a row of the source goes to.
SmallVector<unsigned, 4> getLanes(Spread spread, unsigned row) {
  unsigned half = row / kLanes, rest = row % kLanes;
  switch (spread) {
  case Spread::None:
    return {row};
  case Spread::EachQuarter:
    return {row, row + 32, row + 64, row + 96};
  case Spread::Pairs02And13:
    return {32 * half + rest, 32 * (half + 2) + rest};
  case Spread::Pairs01And23:
    return {64 * half + rest, 64 * half + 32 + rest};
  }
  return {};
}

/// `bits` is 8 (nothing to do), 6 or 4.
void decompress(const uint8_t *chunk, unsigned bits, uint8_t *to) {
  for (unsigned i = 0; i != kChunkBytes; ++i) {
    unsigned at = i * bits;
    uint16_t pair = chunk[at / 8];
    if (at / 8 + 1 < kChunkBytes)
      pair |= chunk[at / 8 + 1] << 8;
    unsigned value = pair >> at % 8 & ((1u << bits) - 1);
    to[i] = bits == 4 ? value << 2 : value;
  }
}

/// `count` rows of `bytes` chunks; `imm` is the bits of an element.
void runCopy(Warp &warp, const Inst &inst, LaneMask lanes) {
  uint64_t addresses[kLanes];
  warp.getAddresses(inst, lanes, addresses);
  forLanes(lanes, [&](unsigned lane) {
    uint64_t descriptor = warp.get(inst.ops[inst.address + 1], lane);
    std::optional<SharedMatrix> matrix =
        SharedMatrix::parseTcgen05(descriptor, /*isTransposed=*/false);
    if (!matrix) {
      warp.report(FindingKind::Descriptor, inst, lane, std::nullopt,
                  "a matrix descriptor 0x" + Twine::utohexstr(descriptor) +
                      " that does not exist");
      return;
    }
    auto operation = makeOperation(warp, inst, lane);
    uint32_t first = uint32_t(addresses[lane]) >> 16,
             column = addresses[lane] & 0xffff;
    TensorMemory &tensor = warp.block.tensor;
    bool exists = true;
    for (unsigned row = 0; row != inst.count; ++row)
      for (unsigned chunk = 0; chunk != inst.bytes; ++chunk) {
        operation->a.add(warp, inst, matrix->getAddress(row, chunk),
                         "the source matrix", lane);
        for (unsigned to : getLanes(Spread(inst.mode), row))
          for (unsigned word = 0; word != kWordsPerChunk; ++word)
            exists &= tensor.write(*operation, first + to,
                                   column + kWordsPerChunk * chunk + word);
      }
    operation->run = [&tensor, &inst, first, column,
                      exists](TensorOperation &operation) {
      if (!exists)
        return;
      unsigned index = 0;
      for (unsigned row = 0; row != inst.count; ++row)
        for (unsigned chunk = 0; chunk != inst.bytes; ++chunk) {
          uint32_t words[kWordsPerChunk];
          const uint8_t *source = operation.a.get(*operation.warp, index++);
          if (inst.imm == 8)
            std::memcpy(words, source, sizeof(words));
          else
            decompress(source, inst.imm, reinterpret_cast<uint8_t *>(words));
          for (unsigned to : getLanes(Spread(inst.mode), row))
            std::copy_n(
                words, kWordsPerChunk,
                &tensor[makeCell(first + to, column + kWordsPerChunk * chunk)]);
        }
    };
    tensor.enqueue(std::move(operation));
  });
}

/// 8 columns of the 32 lanes from the address on: each lane's go to the next.
void runShift(Warp &warp, const Inst &inst, LaneMask lanes) {
  constexpr unsigned kColumns = 8;
  uint64_t addresses[kLanes];
  warp.getAddresses(inst, lanes, addresses);
  forLanes(lanes, [&](unsigned lane) {
    uint32_t first = uint32_t(addresses[lane]) >> 16,
             column = addresses[lane] & 0xffff;
    if (first % kLanes || first >= kTensorLanes) {
      warp.report(FindingKind::TensorMemory, inst, lane, addresses[lane],
                  "a shift from lane " + Twine(first) +
                      ", expected a multiple of 32 below 128");
      return;
    }
    auto operation = makeOperation(warp, inst, lane);
    TensorMemory &tensor = warp.block.tensor;
    bool exists = true;
    for (unsigned i = 0; i != kLanes; ++i)
      for (unsigned j = 0; j != kColumns; ++j)
        exists &= i == 0 ? tensor.read(*operation, first, column + j)
                         : tensor.write(*operation, first + i, column + j,
                                        /*alsoReads=*/i != kLanes - 1);
    operation->run = [&tensor, first, column, exists](TensorOperation &) {
      for (unsigned i = exists ? kLanes - 1 : 0; i != 0; --i)
        std::copy_n(&tensor[makeCell(first + i - 1, column)], kColumns,
                    &tensor[makeCell(first + i, column)]);
    };
    tensor.enqueue(std::move(operation));
  });
}

} // namespace

void decodeTensorCopy(Decoder &d) {
  d.inst.cls = InstClass::AsyncCopy;
  struct Row {
    StringRef shape, multicast;
    unsigned rows, chunks;
    Spread spread;
  };
  static constexpr Row kRows[] = {
      {"128x256b", "", 128, 2, Spread::None},
      {"128x128b", "", 128, 1, Spread::None},
      {"64x128b", "warpx2::02_13", 64, 1, Spread::Pairs02And13},
      {"64x128b", "warpx2::01_23", 64, 1, Spread::Pairs01And23},
      {"32x128b", "warpx4", 32, 1, Spread::EachQuarter},
  };
  auto shape = d.takeOneOf({"128x256b", "128x128b", "64x128b", "32x128b"});
  auto multicast = d.takeOneOf({"warpx2::02_13", "warpx2::01_23", "warpx4"});
  unsigned index = shape.value_or(0);
  bool fits = shape.has_value();
  if (index < 2)
    fits &= !multicast;
  else if (index == 2)
    fits &= multicast && *multicast < 2, index += multicast.value_or(0);
  else
    fits &= multicast == 2u, index = 4;
  if (!fits)
    return d.fail("shape of '" + d.opcode + "' is not modelled");
  const Row &row = kRows[index];
  d.inst.count = row.rows;
  d.inst.bytes = row.chunks;
  d.inst.mode = unsigned(row.spread);
  d.inst.imm = 8;
  if (d.take("b8x16")) {
    auto format = d.takeOneOf({"b6x16_p32", "b4x16_p64"});
    if (!format)
      return d.fail("'" + d.opcode + "' does not exist");
    d.inst.imm = *format ? 4 : 6;
  }
  d.address();
  d.src(Type::B64);
  d.inst.run = runCopy;
}

void decodeTensorShift(Decoder &d) {
  d.inst.cls = InstClass::AsyncCopy;
  d.take("down");
  d.address();
  d.inst.run = runShift;
}

} // namespace mamba::sim
