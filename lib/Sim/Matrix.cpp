//===- Matrix.cpp - mma.sync, ldmatrix and their like ---------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions": the sections
// on matrix fragments of mma.m16n8k*, ldmatrix, stmatrix and movmatrix.
//
// Let g = lane / 4, t = lane % 4 and E the elements of a 32-bit register. In
// all shapes m16n8kK,
//   A, register r, element e: row g + 8 (r % 2), column t E + e + 4 E (r / 2)
//   B, register r, element e: row t E + e + 4 E r, column g
//   C and D, element i of 4: row g + 8 (i / 2), column 2 t + i % 2.
//
// Products are exact, and a sum of products and addend is rounded once; the
// hardware drops bits below the largest summand instead.
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "LoadStore.h"
#include "Select.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mamba::sim {

namespace {

constexpr unsigned kRows = 16, kColumns = 8, kMaxDepth = 32;

double decodeElement(Type type, uint32_t bits) {
  switch (type) {
  case Type::F16:
    return decodeF16(bits);
  case Type::BF16:
    return decodeBF16(bits);
  case Type::TF32: // the lower bits are not looked at
    return fromBits<float>(bits & 0xffffe000);
  case Type::S8:
    return int8_t(bits);
  case Type::U8:
    return uint8_t(bits);
  case Type::E4M3:
    return decodeE4M3(bits);
  case Type::E5M2:
    return decodeE5M2(bits);
  default:
    return 0;
  }
}

struct Shape {
  Type a, b, accumulator;
  unsigned depth;
  bool saturates;
  unsigned aRegisters, bRegisters, cRegisters;

  unsigned getElementBits() const { return 8 * getSize(a); }
  int64_t pack() const {
    return int64_t(a) | int64_t(b) << 8 | int64_t(accumulator) << 16 |
           int64_t(depth) << 24 | int64_t(saturates) << 32 |
           int64_t(aRegisters) << 40 | int64_t(bRegisters) << 44 |
           int64_t(cRegisters) << 48;
  }
  static Shape unpack(int64_t bits) {
    return {Type(bits & 0xff),         Type(bits >> 8 & 0xff),
            Type(bits >> 16 & 0xff),   unsigned(bits >> 24 & 0xff),
            bool(bits >> 32 & 1),      unsigned(bits >> 40 & 15),
            unsigned(bits >> 44 & 15), unsigned(bits >> 48 & 15)};
  }
};

void runMma(Warp &warp, const Inst &inst, LaneMask lanes) {
  if (lanes != kAllLanes) {
    warp.report(FindingKind::BarrierMisuse, inst, countr_zero(lanes),
                std::nullopt, "not all threads of the warp take part");
    return;
  }
  Shape shape = Shape::unpack(inst.imm);
  unsigned bits = shape.getElementBits(), elements = 32 / bits;
  const Opnd *aOps = inst.ops + inst.numDsts, *bOps = aOps + shape.aRegisters,
             *cOps = bOps + shape.bRegisters;
  double a[kRows][kMaxDepth], b[kMaxDepth][kColumns];
  for (unsigned lane = 0; lane != kLanes; ++lane) {
    unsigned g = lane / 4, t = lane % 4;
    for (unsigned e = 0; e != elements; ++e) {
      uint32_t mask = maskTrailingOnes<uint32_t>(bits);
      for (unsigned r = 0; r != shape.aRegisters; ++r) {
        uint32_t value = warp.row<uint32_t>(aOps[r])[lane];
        a[g + 8 * (r % 2)][t * elements + e + 4 * elements * (r / 2)] =
            decodeElement(shape.a, value >> (e * bits) & mask);
      }
      for (unsigned r = 0; r != shape.bRegisters; ++r) {
        uint32_t value = warp.row<uint32_t>(bOps[r])[lane];
        b[t * elements + e + 4 * elements * r][g] =
            decodeElement(shape.b, value >> (e * bits) & mask);
      }
    }
  }
  bool isHalf = shape.accumulator == Type::F16;
  bool isInteger = shape.accumulator == Type::S32;
  for (unsigned lane = 0; lane != kLanes; ++lane)
    for (unsigned i = 0; i != 4; ++i) {
      unsigned row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
      double sum = 0;
      for (unsigned k = 0; k != shape.depth; ++k)
        sum += a[row][k] * b[k][column];
      const Opnd &to = inst.ops[isHalf ? i / 2 : i];
      const Opnd &from = cOps[isHalf ? i / 2 : i];
      if (isHalf) {
        uint16_t c = warp.row<uint16_t>(from)[2 * lane + i % 2];
        warp.row<uint16_t>(to)[2 * lane + i % 2] =
            encode(addToOdd(sum, decodeF16(c)), kF16);
      } else if (isInteger) {
        int64_t exact = int64_t(sum) + warp.row<int32_t>(from)[lane];
        if (shape.saturates)
          exact = std::clamp<int64_t>(exact, INT32_MIN, INT32_MAX);
        warp.row<int32_t>(to)[lane] = int32_t(exact);
      } else {
        double c = warp.row<float>(from)[lane];
        warp.row<float>(to)[lane] = canonical(float(addToOdd(sum, c)));
      }
    }
}

/// Element `column` of row `row` of a matrix of 16-bit elements is in half
/// `column % 2` of lane `4 row + column / 2`. `flag` transposes, `mode` is the
/// number of matrices, of which matrix m has its row addresses in lanes 8 m on.
template <bool isLoad>
void runMatrixAccess(Warp &warp, const Inst &inst, LaneMask lanes) {
  if (lanes != kAllLanes) {
    warp.report(FindingKind::BarrierMisuse, inst, countr_zero(lanes),
                std::nullopt, "not all threads of the warp take part");
    return;
  }
  uint64_t addresses[kLanes];
  warp.getAddresses(inst, lanes, addresses);
  unsigned numRows = 8 * inst.mode;
  LaneMask used = maskTrailingOnes<LaneMask>(numRows);
  for (unsigned m = 0; m != inst.mode; ++m)
    countRequest(warp, inst, LaneMask(0xff) << (8 * m), addresses, 16, !isLoad);
  uint16_t data[32][8] = {};
  auto forElements = [&](auto fn) {
    for (unsigned m = 0; m != inst.mode; ++m) {
      const Opnd &reg = inst.ops[isLoad ? m : inst.address + 1 + m];
      uint16_t *halves = warp.row<uint16_t>(reg);
      for (unsigned row = 0; row != 8; ++row)
        for (unsigned column = 0; column != 8; ++column) {
          unsigned r = inst.flag ? column : row, c = inst.flag ? row : column;
          fn(halves[2 * (4 * row + column / 2) + column % 2],
             data[8 * m + r][c]);
        }
    }
  };
  if (!isLoad)
    forElements([](uint16_t &half, uint16_t &element) { element = half; });
  forLanes(used, [&](unsigned lane) {
    uint8_t *place = warp.access(inst, lane, inst.space, addresses[lane], 16,
                                 isLoad ? AccessKind::Load : AccessKind::Store,
                                 reinterpret_cast<const uint8_t *>(data[lane]));
    if (!place)
      return;
    if (isLoad)
      std::memcpy(data[lane], place, 16);
    else
      std::memcpy(place, data[lane], 16);
  });
  if (isLoad)
    forElements([](uint16_t &half, uint16_t &element) { half = element; });
}

void runMovmatrix(Warp &warp, const Inst &inst, LaneMask) {
  const uint16_t *from = warp.row<uint16_t>(inst.ops[1]);
  uint16_t result[64];
  for (unsigned row = 0; row != 8; ++row)
    for (unsigned column = 0; column != 8; ++column)
      result[8 * row + column] = from[8 * column + row];
  std::memcpy(warp.row<uint16_t>(inst.ops[0]), result, sizeof(result));
}

} // namespace

static void decodeMatrixAccess(Decoder &d, bool isLoad) {
  d.inst.cls = isLoad ? InstClass::SharedLoad : InstClass::SharedStore;
  d.inst.flow = Flow::WarpSync;
  d.take("sync");
  d.take("aligned");
  if (!d.take("m8n8"))
    return d.fail("shape of '" + d.opcode + "' is not modelled");
  auto count = d.takeOneOf({"x1", "x2", "x4"});
  d.inst.flag = d.take("trans");
  d.inst.space = takeSpace(d).value_or(Space::Generic);
  if (d.takeType() != Type::B16)
    d.fail("type of '" + d.opcode + "' is not modelled");
  d.inst.mode = count ? 1u << *count : 1;
  unsigned given;
  if (isLoad) {
    given = d.dstVector(Type::B32);
    d.address();
    d.inst.run = runMatrixAccess<true>;
  } else {
    d.address();
    given = d.srcVector(Type::B32);
    d.inst.run = runMatrixAccess<false>;
  }
  if (given != d.inst.mode)
    d.fail("expected " + Twine(unsigned(d.inst.mode)) + " registers of '" +
           d.opcode + "'");
}

static void decodeMovmatrix(Decoder &d) {
  d.inst.cls = InstClass::WarpWide;
  d.inst.flow = Flow::WarpSync;
  d.take("sync");
  d.take("aligned");
  d.take("m8n8");
  d.take("trans");
  d.takeType();
  d.dst(Type::B32);
  d.src(Type::B32);
  d.inst.run = runMovmatrix;
}

static void decodeMma(Decoder &d) {
  d.inst.cls = InstClass::Matrix;
  d.inst.flow = Flow::WarpSync;
  d.take("sync");
  d.take("aligned");
  if (isOtherMma(d.opcode))
    return decodeOtherMma(d);
  auto depth = d.takeOneOf({"m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"});
  if (!depth)
    return d.fail("shape of '" + d.opcode + "' is not modelled");
  d.take("row");
  d.take("col");
  Shape shape{};
  shape.depth = 4u << *depth;
  shape.saturates = d.take("satfinite");
  Type result = d.takeType();
  shape.a = d.takeType();
  shape.b = d.takeType();
  shape.accumulator = d.takeType();
  unsigned bits = shape.getElementBits();
  shape.aRegisters = kRows * shape.depth * bits / 1024;
  shape.bRegisters = kColumns * shape.depth * bits / 1024;
  shape.cRegisters = getSize(shape.accumulator) == 2 ? 2 : 4;
  bool isInteger = shape.accumulator == Type::S32;
  auto isElement = [](Type type) {
    return is_contained({Type::F16, Type::BF16, Type::TF32, Type::S8, Type::U8,
                         Type::E4M3, Type::E5M2},
                        type);
  };
  bool known = isElement(shape.a) && isElement(shape.b) && shape.aRegisters &&
               shape.aRegisters <= 4 && shape.bRegisters &&
               getSize(shape.a) == getSize(shape.b) &&
               result == shape.accumulator &&
               isInteger == ptx::isInteger(shape.a) &&
               (isInteger || shape.accumulator == Type::F32 ||
                shape.accumulator == Type::F16);
  if (shape.a == Type::TF32 || shape.b == Type::TF32)
    known = shape.a == shape.b && shape.accumulator == Type::F32;
  if (!known || d.failed())
    return d.fail("types of '" + d.opcode + "' are not modelled");
  // f32 accumulators are f32 or b32 registers; sizes are what matters.
  unsigned given[4] = {d.dstVector(Type::B32), d.srcVector(Type::B32),
                       d.srcVector(Type::B32), d.srcVector(Type::B32)};
  if (given[0] != shape.cRegisters || given[1] != shape.aRegisters ||
      given[2] != shape.bRegisters || given[3] != shape.cRegisters)
    d.fail("wrong number of registers of '" + d.opcode + "'");
  d.inst.imm = shape.pack();
  d.inst.matrixOperations = 2 * kRows * kColumns * shape.depth;
  d.inst.run = runMma;
}

void addMatrixInstructions(DecodeTable &table) {
  table["ldmatrix"] = [](Decoder &d) { decodeMatrixAccess(d, true); };
  table["stmatrix"] = [](Decoder &d) { decodeMatrixAccess(d, false); };
  table["movmatrix"] = decodeMovmatrix;
  table["mma"] = decodeMma;
}

} // namespace mamba::sim
