//===- Wgmma.cpp - Matrix instructions of a warpgroup ---------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate
// Instructions".
//
//===----------------------------------------------------------------------===//

#include "Wgmma.h"

#include "Decoder.h"
#include "Warp.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mamba::sim {

static_assert(sizeof(WgmmaShape) == sizeof(int64_t));

int64_t WgmmaShape::pack() const {
  int64_t bits;
  std::memcpy(&bits, this, sizeof(bits));
  return bits;
}

WgmmaShape WgmmaShape::unpack(int64_t bits) {
  WgmmaShape shape;
  std::memcpy(&shape, &bits, sizeof(bits));
  return shape;
}

static bool takesPart(Warp &warp, const Inst &inst, LaneMask lanes) {
  if (lanes == kAllLanes)
    return true;
  warp.report(FindingKind::BarrierMisuse, inst, countr_zero(lanes),
              std::nullopt, "not all threads of the warp take part");
  return false;
}

static void runWgmma(Warp &warp, const Inst &inst, LaneMask lanes) {
  if (takesPart(warp, inst, lanes))
    warp.wgmma.issue(warp, inst);
}

static void runFence(Warp &warp, const Inst &inst, LaneMask lanes) {
  takesPart(warp, inst, lanes);
  warp.registerUses.advanceEpoch();
}

static void runCommit(Warp &warp, const Inst &inst, LaneMask lanes) {
  takesPart(warp, inst, lanes);
  warp.wgmma.commit();
}

static void runWait(Warp &warp, const Inst &inst, LaneMask lanes) {
  takesPart(warp, inst, lanes);
  warp.wgmma.wait(warp, inst.imm);
}

/// "m64n256k16".
static bool parseShape(StringRef text, unsigned &columns, unsigned &depth) {
  return text.consume_front("m64n") && !text.consumeInteger(10, columns) &&
         text.consume_front("k") && !text.getAsInteger(10, depth);
}

/// Whether the ISA has the combination of types.
static bool areTypesKnown(Element a, Element b, StringRef result) {
  switch (a) {
  case Element::F16:
    return b == a && (result == "f32" || result == "f16");
  case Element::BF16:
  case Element::TF32:
    return b == a && result == "f32";
  case Element::E4M3:
  case Element::E5M2:
    return (b == Element::E4M3 || b == Element::E5M2) &&
           (result == "f32" || result == "f16");
  case Element::S8:
  case Element::U8:
    return (b == Element::S8 || b == Element::U8) && result == "s32";
  default:
    return false;
  }
}

/// 1 or -1; returns whether it is the latter.
static bool takeSign(Decoder &d) {
  int64_t sign = d.constant();
  if (sign != 1 && sign != -1)
    d.fail("expected 1 or -1 as sign of a matrix of '" + d.opcode + "'");
  return sign == -1;
}

static bool takeTranspose(Decoder &d) {
  int64_t value = d.constant();
  if (value != 0 && value != 1)
    d.fail("expected 0 or 1 as order of a matrix of '" + d.opcode + "'");
  return value == 1;
}

static void decodeMma(Decoder &d) {
  WgmmaShape shape{};
  shape.saturates = d.take("satfinite");
  unsigned columns = 0, depth = 0;
  StringRef shapeName = d.takeAny();
  if (!parseShape(shapeName, columns, depth))
    return d.fail("shape of '" + d.opcode + "' is not modelled");
  StringRef result = d.takeAny();
  std::optional<Element> a = parseElement(d.takeAny()),
                         b = parseElement(d.takeAny());
  if (!a || !b || !areTypesKnown(*a, *b, result))
    return d.fail("types of '" + d.opcode + "' are not modelled");
  shape.a = *a;
  shape.b = *b;
  shape.result = result == "f32"   ? WgmmaShape::F32
                 : result == "f16" ? WgmmaShape::F16
                                   : WgmmaShape::S32;
  shape.columnGroups = columns / 8;
  bool isWhole = isInteger(*a);
  if (columns < 8 || columns > WgmmaShape::kMaxColumns || columns % 8 ||
      (isWhole && columns > 32 && columns % 16) || depth != shape.getDepth() ||
      (shape.saturates && !isWhole))
    return d.fail("'" + d.opcode + "' does not exist");

  unsigned accumulators = d.dstVector(Type::B32);
  unsigned expected = columns / (shape.result == WgmmaShape::F16 ? 4 : 2);
  if (accumulators != expected)
    return d.fail("expected " + Twine(expected) + " accumulators of '" +
                  d.opcode + "', got " + Twine(accumulators));
  bool hasRegisters = d.peek() && d.peek()->kind == ptx::Operand::Vector;
  if (hasRegisters) {
    shape.aRegisters = d.srcVector(Type::B32);
    if (shape.aRegisters != 4)
      return d.fail("expected 4 registers of A of '" + d.opcode + "'");
  } else {
    d.src(Type::B64);
  }
  d.src(Type::B64);
  d.src(Type::Pred);
  if (!isWhole) {
    bool negatesA = takeSign(d), negatesB = takeSign(d);
    shape.negates = negatesA != negatesB;
    if (*a == Element::F16 || *a == Element::BF16) {
      shape.transposed = hasRegisters ? 0 : takeTranspose(d);
      shape.transposed |= takeTranspose(d) << 1;
    }
  }
  d.inst.imm = shape.pack();
  d.inst.matrixOperations = 2 * WgmmaShape::kWarpRows * columns * depth;
  d.inst.run = runWgmma;
  d.inst.isAsync = true;
}

static void decodeWgmma(Decoder &d) {
  d.inst.flow = Flow::WarpSync;
  d.inst.cls = InstClass::Matrix;
  bool isAligned = d.take("sync") && d.take("aligned");
  if (!isAligned)
    return;
  if (d.take("mma_async")) {
    decodeMma(d);
  } else if (d.take("fence")) {
    d.inst.run = runFence;
  } else if (d.take("commit_group")) {
    d.inst.run = runCommit;
  } else if (d.take("wait_group")) {
    d.inst.imm = d.constant();
    d.inst.run = runWait;
  }
  if (!d.inst.run && !d.failed())
    d.fail("instruction '" + d.opcode + "' is not modelled");
}

void addWgmmaInstructions(DecodeTable &table) { table["wgmma"] = decodeWgmma; }

} // namespace mamba::sim
