//===- MmaShapes.cpp - Further shapes of mma.sync -------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Matrix multiply-accumulate operation using mma instruction": f64,
// integers of four bits, bits, elements of six and four bits, block scaling,
// sparse matrices and all shapes m8n8.
//
// With E elements in a register, g = lane / 4 and t = lane % 4 the fragments
// are those of Matrix.cpp; with 8 rows they have the registers of even number
// only. Elements of f64 have a register each. m8n8k4 of f16 is another matter:
// four products side by side, each of the threads 4 i to 4 i + 3 and 16 more.
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "Decoder.h"
#include "FloatFormats.h"
#include "MatrixElements.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mamba::sim {

namespace {

constexpr unsigned kColumns = 8, kMaxRows = 16, kMaxDepth = 256;

struct MmaShape {
  enum Accumulator : uint8_t { F16, F32, F64, S32 };
  enum Flags : uint8_t {
    Saturates = 1,
    Exclusive = 2,  // counts bits that differ, not those that both have
    Containers = 4, // small elements in a byte each
    Sparse = 8,     // half of A's elements are given
  };

  Element a, b;
  Accumulator accumulator;
  uint8_t flags;
  uint8_t rows;
  uint8_t depthUnits; // of 4
  uint8_t perRow;     // scale factors, 0 without
  Element scale;

  unsigned getDepth() const { return depthUnits * 4; }
  bool has(Flags flag) const { return flags & flag; }
  unsigned getRegisterBits() const { return a == Element::F64 ? 64 : 32; }
  unsigned getElementBits() const { return has(Containers) ? 8 : getBits(a); }
  unsigned getPerRegister() const {
    return getRegisterBits() / getElementBits();
  }
  /// Elements of a row of A that registers hold.
  unsigned getStoredDepth() const {
    return has(Sparse) ? getDepth() / 2 : getDepth();
  }
  unsigned countA() const {
    return rows * getStoredDepth() / (kLanes * getPerRegister());
  }
  unsigned countB() const {
    return kColumns * getDepth() / (kLanes * getPerRegister());
  }
  unsigned countC() const { return rows / 4 / (accumulator == F16 ? 2 : 1); }

  int64_t pack() const {
    int64_t bits;
    std::memcpy(&bits, this, sizeof(bits));
    return bits;
  }
  static MmaShape unpack(int64_t bits) {
    MmaShape shape;
    std::memcpy(&shape, &bits, sizeof(bits));
    return shape;
  }
};
static_assert(sizeof(MmaShape) == sizeof(int64_t));

bool takesPart(Warp &warp, const Inst &inst, LaneMask lanes) {
  if (lanes == kAllLanes)
    return true;
  warp.report(FindingKind::BarrierMisuse, inst, countr_zero(lanes),
              std::nullopt, "not all threads of the warp take part");
  return false;
}

/// Calls fn(lane, e, k, value) for each element of `count` registers, of which
/// each second one is `rowGroups` - 1 groups of 8 rows further on.
template <typename Fn>
void forElements(Warp &warp, const MmaShape &shape, Element element,
                 const Opnd *ops, unsigned count, unsigned rowGroups, Fn fn) {
  unsigned bits = shape.getElementBits(), perRegister = shape.getPerRegister();
  // A number of four bits is in the middle of its byte.
  unsigned shift =
      shape.has(MmaShape::Containers) && getBits(element) == 4 ? 2 : 0;
  for (unsigned r = 0; r != count; ++r)
    for (unsigned lane = 0; lane != kLanes; ++lane) {
      uint64_t value = warp.get(ops[r], lane);
      unsigned k = (lane % 4 + 4 * (r / rowGroups)) * perRegister;
      for (unsigned e = 0; e != perRegister; ++e)
        fn(lane / 4 + 8 * (r % rowGroups), k + e,
           decodeElement(element, value >> (e * bits + shift)));
    }
}

/// Multiplies elements by the factors of their row. Factors are in the lanes
/// `first` on of each four, byte `byte` on.
void applyScales(Warp &warp, const MmaShape &shape, const Opnd *ops,
                 unsigned rowGroups, double *elements, unsigned rowStride,
                 unsigned depthStride) {
  unsigned byte = warp.get(ops[1], 0), thread = warp.get(ops[2], 0);
  unsigned block = shape.getDepth() / shape.perRow;
  for (unsigned row = 0; row != 8 * rowGroups; ++row) {
    unsigned lane = row % 8 * 4 + thread * rowGroups + row / 8;
    uint64_t word = warp.get(ops[0], lane % kLanes);
    for (unsigned k = 0; k != shape.getDepth(); ++k)
      elements[row * rowStride + k * depthStride] *= decodeElement(
          shape.scale, word >> 8 * ((byte + k / block) % 4) & 0xff);
  }
}

/// Whether the two selectors are the same in all lanes and exist.
bool checkSelectors(Warp &warp, const Inst &inst, const Opnd *ops,
                    unsigned perRow, unsigned threads) {
  for (unsigned lane = 0; lane != kLanes; ++lane) {
    uint64_t byte = warp.get(ops[1], lane), thread = warp.get(ops[2], lane);
    if (byte == warp.get(ops[1], 0) && thread == warp.get(ops[2], 0) &&
        byte < 4 && byte % perRow == 0 && thread < threads)
      continue;
    warp.report(FindingKind::Descriptor, inst, lane, std::nullopt,
                "scale factors in byte " + Twine(byte) + " of thread " +
                    Twine(thread) + ", which do not exist");
    return false;
  }
  return true;
}

/// Moves the stored elements of a row to their places. PTX ISA, "Sparse matrix
/// storage": of four units two are there, and two bits for each say which; a
/// unit is an element, half a tf32 or two numbers of four bits. Of types with
/// 16 bits or more a thread has 16 bits for row g and 16 for row g + 8, of
/// others 32 bits for one of them.
void expandRow(Warp &warp, const MmaShape &shape, const Opnd &metadata,
               unsigned selector, unsigned row, const double *stored,
               double *to) {
  bool isWide = getBits(shape.a) >= 16, isTF32 = shape.a == Element::TF32,
       isPair = getBits(shape.a) == 4;
  unsigned depth = shape.getDepth();
  unsigned chunks = (isTF32 ? 2 * depth : isPair ? depth / 2 : depth) / 4;
  std::fill(to, to + depth, 0.0);
  for (unsigned chunk = 0; chunk != chunks; ++chunk) {
    unsigned thread, bit;
    if (isWide) {
      thread = chunks == 4 ? selector : 2 * selector + chunk / 4;
      bit = 16 * (row / 8) + 4 * (chunk % 4);
    } else {
      thread = 2 * (chunks == 8 ? selector : chunk / 8) + row / 8;
      bit = 4 * (chunk % 8);
    }
    unsigned lane = (row % 8 * 4 + thread) % kLanes;
    unsigned nibble = warp.get(metadata, lane) >> bit & 15;
    unsigned places[] = {nibble & 3, nibble >> 2};
    if (isTF32) {
      to[2 * chunk + places[0] / 2] = stored[chunk];
      continue;
    }
    unsigned unit = isPair ? 2 : 1;
    for (unsigned i = 0; i != 2; ++i)
      for (unsigned j = 0; j != unit; ++j)
        to[(4 * chunk + places[i]) * unit + j] =
            stored[(2 * chunk + i) * unit + j];
  }
}

double multiplyAdd(const MmaShape &shape, const double *a, const double *b) {
  double sum = 0;
  for (unsigned k = 0; k != shape.getDepth(); ++k) {
    double left = a[k], right = b[k * kColumns];
    sum +=
        shape.has(MmaShape::Exclusive) ? double(left != right) : left * right;
  }
  return sum;
}

void runMma(Warp &warp, const Inst &inst, LaneMask lanes) {
  if (!takesPart(warp, inst, lanes))
    return;
  MmaShape shape = MmaShape::unpack(inst.imm);
  unsigned rowGroups = shape.rows / 8, depth = shape.getDepth();
  const Opnd *aOps = inst.ops + inst.numDsts, *bOps = aOps + shape.countA(),
             *cOps = bOps + shape.countB(), *scales = cOps + shape.countC();
  double a[kMaxRows * kMaxDepth], b[kMaxDepth * kColumns];
  forElements(warp, shape, shape.a, aOps, shape.countA(), rowGroups,
              [&](unsigned row, unsigned k, double value) {
                a[row * depth + k] = value;
              });
  for (unsigned row = 0; shape.has(MmaShape::Sparse) && row != shape.rows;
       ++row) {
    double stored[kMaxDepth];
    std::copy_n(a + row * depth, shape.getStoredDepth(), stored);
    expandRow(warp, shape, *scales, inst.mode, row, stored, a + row * depth);
  }
  forElements(warp, shape, shape.b, bOps, shape.countB(), 1,
              [&](unsigned column, unsigned k, double value) {
                b[k * kColumns + column] = value;
              });
  if (shape.perRow) {
    if (!checkSelectors(warp, inst, scales, shape.perRow, 2) ||
        !checkSelectors(warp, inst, scales + 3, shape.perRow, 4))
      return;
    applyScales(warp, shape, scales, 2, a, depth, 1);
    applyScales(warp, shape, scales + 3, 1, b, 1, kColumns);
  }
  for (unsigned lane = 0; lane != kLanes; ++lane)
    for (unsigned i = 0; i != shape.rows / 4u; ++i) {
      unsigned row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
      const double *left = a + row * depth, *right = b + column;
      if (shape.accumulator == MmaShape::F64) {
        double sum = warp.row<double>(cOps[i])[lane];
        for (unsigned k = 0; k != depth; ++k)
          sum = std::fma(left[k], right[k * kColumns], sum);
        warp.row<double>(inst.ops[i])[lane] = canonical(sum);
        continue;
      }
      double sum = multiplyAdd(shape, left, right);
      if (shape.accumulator == MmaShape::F16) {
        unsigned half = 2 * lane + i % 2;
        uint16_t addend = warp.row<uint16_t>(cOps[i / 2])[half];
        warp.row<uint16_t>(inst.ops[i / 2])[half] = addRoundedF16(sum, addend);
      } else if (shape.accumulator == MmaShape::F32) {
        float addend = warp.row<float>(cOps[i])[lane];
        warp.row<float>(inst.ops[i])[lane] = addRounded(sum, addend);
      } else {
        int32_t addend = warp.row<int32_t>(cOps[i])[lane];
        warp.row<int32_t>(inst.ops[i])[lane] =
            addIntegers(sum, addend, shape.has(MmaShape::Saturates));
      }
    }
}

/// m8n8k4 of f16: `mode` has the columns-first order of A in bit 0, the
/// rows-first order of B in bit 1; `flag` and `flag2` say that D and C are f32.
void runQuadPairs(Warp &warp, const Inst &inst, LaneMask lanes) {
  if (!takesPart(warp, inst, lanes))
    return;
  const Opnd *aOps = inst.ops + inst.numDsts, *bOps = aOps + 2,
             *cOps = bOps + 2;
  double a[4][8][4], b[4][4][8];
  bool isColumnA = inst.mode & 1, isRowB = inst.mode & 2;
  auto getPair = [](unsigned lane) { return lane % 16 / 4; };
  for (unsigned lane = 0; lane != kLanes; ++lane)
    for (unsigned i = 0; i != 4; ++i) {
      unsigned upper = lane / 16 * 4, t = lane % 4, pair = getPair(lane);
      auto get = [&](const Opnd *ops) {
        return decodeF16(warp.row<uint16_t>(ops[i / 2])[2 * lane + i % 2]);
      };
      a[pair][isColumnA ? i + upper : t + upper][isColumnA ? t : i] = get(aOps);
      b[pair][isRowB ? t : i][isRowB ? i + upper : t + upper] = get(bOps);
    }
  // C has to be read as a whole, as D may have the same registers.
  struct Place {
    unsigned row, column;
  };
  auto locate = [](unsigned lane, unsigned i, bool isWide) -> Place {
    unsigned upper = lane / 16 * 4;
    if (!isWide)
      return {lane % 4 + upper, i};
    return {(lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1)};
  };
  float c[4][8][8];
  for (unsigned lane = 0; lane != kLanes; ++lane)
    for (unsigned i = 0; i != 8; ++i) {
      Place at = locate(lane, i, inst.flag2);
      c[getPair(lane)][at.row][at.column] =
          inst.flag2
              ? warp.row<float>(cOps[i])[lane]
              : decodeF16(warp.row<uint16_t>(cOps[i / 2])[2 * lane + i % 2]);
    }
  for (unsigned lane = 0; lane != kLanes; ++lane)
    for (unsigned i = 0; i != 8; ++i) {
      Place at = locate(lane, i, inst.flag);
      unsigned pair = getPair(lane);
      double sum = 0;
      for (unsigned k = 0; k != 4; ++k)
        sum += a[pair][at.row][k] * b[pair][k][at.column];
      float addend = c[pair][at.row][at.column];
      if (inst.flag)
        warp.row<float>(inst.ops[i])[lane] = addRounded(sum, addend);
      else
        warp.row<uint16_t>(inst.ops[i / 2])[2 * lane + i % 2] =
            encode(addToOdd(sum, addend), kF16);
    }
}

void checkCounts(Decoder &d, ArrayRef<unsigned> given,
                 ArrayRef<unsigned> expected) {
  if (given != expected)
    d.fail("wrong number of registers of '" + d.opcode + "'");
}

void decodeQuadPairs(Decoder &d) {
  // The orders of A and B, then the types.
  StringRef orders[] = {d.takeAny(), d.takeAny()};
  StringRef types[] = {d.takeAny(), d.takeAny(), d.takeAny(), d.takeAny()};
  for (StringRef order : orders)
    if (order != "row" && order != "col")
      return d.fail("'" + d.opcode + "' does not exist");
  auto isFloat = [](StringRef type) { return type == "f16" || type == "f32"; };
  if (!isFloat(types[0]) || types[1] != "f16" || types[2] != "f16" ||
      !isFloat(types[3]))
    return d.fail("types of '" + d.opcode + "' are not modelled");
  d.inst.mode = (orders[0] == "col") | (orders[1] == "row") << 1;
  d.inst.flag = types[0] == "f32";
  d.inst.flag2 = types[3] == "f32";
  unsigned given[4] = {d.dstVector(Type::B32), d.srcVector(Type::B32),
                       d.srcVector(Type::B32), d.srcVector(Type::B32)};
  checkCounts(d, given, {d.inst.flag ? 8u : 4u, 2, 2, d.inst.flag2 ? 8u : 4u});
  d.inst.matrixOperations = 4 * 2 * 8 * 8 * 4;
  d.inst.run = runQuadPairs;
}

/// "m16n8k64".
bool parseShape(StringRef text, unsigned &rows, unsigned &depth) {
  return text.consume_front("m") && !text.consumeInteger(10, rows) &&
         text.consume_front("n8k") && !text.getAsInteger(10, depth) &&
         (rows == 8 || rows == 16);
}

/// What a kind says; 0 factors for kinds without.
bool takeKind(Decoder &d, MmaShape &shape, bool &isMixed) {
  auto kind = d.takeOneOf(
      {"kind::f8f6f4", "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4"});
  bool isScaled = d.take("block_scale");
  auto size = d.takeOneOf({"scale_vec::1X", "scale_vec::2X", "scale_vec::4X"});
  isMixed = kind && *kind < 2;
  if (!kind || *kind == 0)
    return !isScaled && !size;
  unsigned usual = *kind == 1 ? 0 : 1; // of kinds with one choice
  shape.perRow = 1u << size.value_or(usual);
  return isScaled && (*kind == 3 ? size && *size > 0 : !size || *size == usual);
}

/// Depths that the ISA has for the types with 16 rows; with 8 there is one.
bool isDepthKnown(const MmaShape &shape) {
  unsigned depth = shape.getDepth(), bits = shape.getElementBits();
  if (shape.a == Element::F64)
    return depth == 4 || (shape.rows == 16 && (depth == 8 || depth == 16));
  if (shape.rows == 8)
    return depth * bits == 128;
  bool isFloat = !isInteger(shape.a);
  if (shape.has(MmaShape::Sparse)) // of fp8 there is one
    return depth * bits == 512 ||
           (depth * bits == 256 && (!isFloat || bits >= 16));
  return depth * bits == 256 || (!isFloat && depth * bits == 128);
}

bool areTypesKnown(const MmaShape &shape, StringRef result, bool isMixed) {
  auto isAmong = [&](std::initializer_list<Element> elements) {
    return is_contained(elements, shape.a) && is_contained(elements, shape.b);
  };
  if (isMixed)
    return isAmong({Element::E4M3, Element::E5M2, Element::E2M3, Element::E3M2,
                    Element::E2M1}) &&
           (result == "f32" || (result == "f16" && !shape.perRow));
  if (shape.has(MmaShape::Sparse)) {
    bool isSame = shape.a == shape.b;
    if (isSame && isAmong({Element::BF16, Element::TF32}))
      return result == "f32";
    if ((isSame && isAmong({Element::F16})) ||
        isAmong({Element::E4M3, Element::E5M2}))
      return result == "f32" || result == "f16";
    return (isAmong({Element::S8, Element::U8}) ||
            isAmong({Element::S4, Element::U4})) &&
           result == "s32";
  }
  if (shape.perRow)
    return isAmong({Element::E2M1}) && result == "f32";
  if (isAmong({Element::F64}))
    return result == "f64";
  if (isAmong({Element::S4, Element::U4}) || isAmong({Element::B1}) ||
      (shape.rows == 8 && isAmong({Element::S8, Element::U8})))
    return result == "s32";
  return false;
}

} // namespace

bool isOtherMma(StringRef opcode) {
  if (opcode.starts_with("mma.sp"))
    return true;
  for (StringRef part : {".m8n8", ".f64", ".s4", ".u4", ".b1", ".kind::"})
    if (opcode.contains(part))
      return true;
  return false;
}

void decodeOtherMma(Decoder &d) {
  MmaShape shape{};
  bool isMixed;
  bool saturates = d.take("satfinite");
  bool isKind = takeKind(d, shape, isMixed);
  if (d.takeOneOf({"sp", "sp::ordered_metadata"})) {
    if (d.opcode.contains("kind::"))
      return d.fail("kinds of '" + d.opcode + "' are not modelled");
    shape.flags |= MmaShape::Sparse;
  }
  auto operation = d.takeOneOf({"and", "xor"});
  bool counts = d.take("popc");
  if (d.take("m8n8k4")) {
    if (d.opcode.contains(".f16"))
      return decodeQuadPairs(d);
    shape.rows = 8;
    shape.depthUnits = 1;
  } else {
    unsigned rows = 0, depth = 0;
    if (!parseShape(d.takeAny(), rows, depth) || depth % 4 || depth > kMaxDepth)
      return d.fail("shape of '" + d.opcode + "' is not modelled");
    shape.rows = rows;
    shape.depthUnits = depth / 4;
  }
  d.take("row");
  d.take("col");
  d.take("rn");
  StringRef result = d.takeAny();
  std::optional<Element> a = parseElement(d.takeAny()),
                         b = parseElement(d.takeAny());
  StringRef addend = d.takeAny();
  if (shape.perRow) {
    std::optional<Element> scale = parseElement(d.takeAny());
    isKind &= scale == Element::UE8M0 ||
              (scale == Element::UE4M3 && shape.perRow == 4);
    shape.scale = scale.value_or(Element::UE8M0);
  }
  if (!a || !b || !isKind || result != addend)
    return d.fail("types of '" + d.opcode + "' are not modelled");
  shape.a = *a;
  shape.b = *b;
  bool isBits = *a == Element::B1;
  if (isMixed)
    shape.flags |= MmaShape::Containers;
  if (saturates)
    shape.flags |= MmaShape::Saturates;
  if (operation == 1u)
    shape.flags |= MmaShape::Exclusive;
  if (!areTypesKnown(shape, result, isMixed) || !isDepthKnown(shape) ||
      isBits != (operation && counts) || (saturates && result != "s32"))
    return d.fail("types of '" + d.opcode + "' are not modelled");
  shape.accumulator = result == "f16"   ? MmaShape::F16
                      : result == "f32" ? MmaShape::F32
                      : result == "f64" ? MmaShape::F64
                                        : MmaShape::S32;
  Type inputs = *a == Element::F64 ? Type::F64 : Type::B32;
  unsigned given[4] = {d.dstVector(inputs), d.srcVector(inputs),
                       d.srcVector(inputs), d.srcVector(inputs)};
  checkCounts(d, given,
              {shape.countC(), shape.countA(), shape.countB(), shape.countC()});
  if (shape.has(MmaShape::Sparse)) {
    d.src(Type::B32);
    int64_t selector = d.constant();
    if (selector < 0 || selector > 3)
      d.fail("sparsity selector of '" + d.opcode + "' does not exist");
    d.inst.mode = selector;
  }
  for (unsigned i = 0; shape.perRow && i != 2; ++i) {
    d.srcVector(Type::B32);
    if (d.srcVector(Type::B16) != 2)
      d.fail("expected a byte and a thread in '" + d.opcode + "'");
  }
  d.inst.imm = shape.pack();
  d.inst.matrixOperations = 2 * shape.rows * kColumns * shape.getDepth();
  d.inst.run = runMma;
}

} // namespace mamba::sim
