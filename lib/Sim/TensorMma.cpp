//===- TensorMma.cpp - tcgen05.mma ----------------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "TensorCore 5th Generation Matrix Multiply and accumulate
// Operations": layouts D and F of "Data Path Layout Organization", "Block
// Scaling". A row of A takes 32 bytes, eight columns of tensor memory. An
// element of D has a column of its own, whatever its size. The scale factors of
// row r, or column r of B, are in lane r % 32 of each quarter, column r / 32.
//
//===----------------------------------------------------------------------===//

#include "TensorMma.h"

#include "Block.h"
#include "Decoder.h"
#include "FloatFormats.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mamba::sim {

namespace {

constexpr unsigned kRowBytes = 32, kRowWords = 8;

/// Places of operands: addresses have their displacement behind them, `a` may
/// be a descriptor with 0 behind it.
struct OperandPlaces {
  unsigned d = 0, a = 2, b = 4, descriptor = 5, masks = 6, scales = 6;
};

/// `Inst::imm`.
struct Immediate {
  unsigned perRow, scaleD;
  int64_t pack() const { return perRow | scaleD << 8; }
  static Immediate unpack(int64_t bits) {
    return {unsigned(bits & 0xff), unsigned(bits >> 8 & 0xff)};
  }
};

/// An operation with all that its computation needs.
struct Mma {
  TensorMmaShape shape;
  uint32_t d, a, scaleA, scaleB;
  bool aInTensor, accumulates, hasMask;
  unsigned scaleD;
  uint32_t mask[4]; // lanes that are not written

  bool isMasked(unsigned lane) const {
    return hasMask && mask[lane / 32] >> lane % 32 & 1;
  }
  unsigned getRowLane(uint32_t base, unsigned row) const {
    return (base >> 16) + shape.getLane(row);
  }

  bool claim(Warp &warp, TensorOperation &operation) const;
  bool addMatrix(Warp &warp, TensorOperation &operation, uint64_t descriptor,
                 bool isB) const;
  void compute(TensorMemory &tensor, TensorOperation &operation) const;
  void loadA(TensorMemory &tensor, TensorOperation &operation,
             std::vector<double> &to) const;
  void applyScales(TensorMemory &tensor, uint32_t base, unsigned first,
                   unsigned count, double *to, unsigned rowStride,
                   unsigned depthStride) const;
  uint32_t finish(double sum, uint32_t old) const;
};

bool Mma::addMatrix(Warp &warp, TensorOperation &operation, uint64_t descriptor,
                    bool isB) const {
  bool isTransposed = isB ? shape.transposesB : shape.transposesA;
  std::optional<SharedMatrix> matrix =
      SharedMatrix::parseTcgen05(descriptor, isTransposed);
  // Elements of 32 bits are transposed with units of 32 bytes, others not.
  bool isWide = matrix && matrix->hasWideUnits;
  bool needsWide = isTransposed && shape.kind == MmaKind::TF32;
  if (!matrix || isWide != needsWide) {
    warp.report(FindingKind::Descriptor, *operation.inst, operation.lane,
                std::nullopt,
                "a descriptor 0x" + Twine::utohexstr(descriptor) +
                    " of matrix " + (isB ? "B" : "A") + " that does not exist");
    return false;
  }
  ChunkReads &reads = isB ? operation.b : operation.a;
  unsigned size = isB ? shape.columns : shape.rows;
  unsigned lines = isTransposed ? shape.depth : size;
  unsigned chunks = isTransposed ? divideCeil(size, shape.getPerChunk()) : 2;
  for (unsigned line = 0; line != lines; ++line)
    for (unsigned chunk = 0; chunk != chunks; ++chunk)
      reads.add(warp, *operation.inst, matrix->getAddress(line, chunk),
                isB ? "matrix B" : "matrix A", operation.lane);
  return true;
}

/// Notes all accesses to tensor memory.
bool Mma::claim(Warp &warp, TensorOperation &operation) const {
  TensorMemory &tensor = warp.block.tensor;
  unsigned lane = d >> 16;
  if (lane != 0 && !(shape.rows == 64 && lane == 16)) {
    warp.report(FindingKind::TensorMemory, *operation.inst, operation.lane, d,
                "matrix D starts in lane " + Twine(lane));
    return false;
  }
  if (aInTensor && a >> 16 != lane) {
    warp.report(FindingKind::TensorMemory, *operation.inst, operation.lane, a,
                "matrix A starts in lane " + Twine(a >> 16) +
                    ", matrix D in lane " + Twine(lane));
    return false;
  }
  bool exists = true;
  operation.writes.reserve(shape.rows * shape.columns);
  for (unsigned row = 0; row != shape.rows; ++row) {
    if (aInTensor)
      for (unsigned i = 0; i != kRowWords; ++i)
        exists &= tensor.read(operation, getRowLane(a, row), (a & 0xffff) + i);
    if (isMasked(getRowLane(d, row)))
      continue;
    for (unsigned column = 0; column != shape.columns; ++column)
      exists &= tensor.write(operation, getRowLane(d, row),
                             (d & 0xffff) + column, accumulates);
  }
  if (!hasScales(shape.kind))
    return exists;
  for (auto [base, count] :
       {std::pair(scaleA, shape.rows), std::pair(scaleB, shape.columns)}) {
    if (base >> 16) {
      warp.report(FindingKind::TensorMemory, *operation.inst, operation.lane,
                  base, "scale factors start in lane " + Twine(base >> 16));
      return false;
    }
    for (unsigned i = 0; i != count; ++i)
      for (unsigned quarter = 0; quarter != 4; ++quarter)
        exists &= tensor.read(operation, 32 * quarter + i % 32, base + i / 32);
  }
  return exists;
}

void Mma::loadA(TensorMemory &tensor, TensorOperation &operation,
                std::vector<double> &to) const {
  if (!aInTensor)
    return operation.a.decode(*operation.warp, shape.a, shape.transposesA,
                              shape.rows, shape.depth, to.data(), shape.depth,
                              1, shape.getPerChunk());
  for (unsigned row = 0; row != shape.rows; ++row) {
    uint8_t bytes[kRowBytes];
    std::memcpy(bytes, &tensor[makeCell(getRowLane(a, row), a & 0xffff)],
                kRowBytes);
    for (unsigned k = 0; k != shape.depth; ++k)
      to[row * shape.depth + k] = shape.decodeTensorElement(bytes, k);
  }
}

/// Multiplies each row by its factors, the first of which is byte `first` of a
/// word.
void Mma::applyScales(TensorMemory &tensor, uint32_t base, unsigned first,
                      unsigned count, double *to, unsigned rowStride,
                      unsigned depthStride) const {
  unsigned block = shape.depth / shape.perRow;
  for (unsigned row = 0; row != count; ++row) {
    uint32_t word = tensor[makeCell(row % 32, base + row / 32)];
    for (unsigned k = 0; k != shape.depth; ++k)
      to[row * rowStride + k * depthStride] *=
          decodeElement(shape.scale, word >> 8 * (first + k / block) & 0xff);
  }
}

uint32_t Mma::finish(double sum, uint32_t old) const {
  if (shape.result == TensorMmaShape::S32)
    return addIntegers(sum, old, shape.saturates);
  if (shape.result == TensorMmaShape::F16) {
    double addend = decodeF16(uint16_t(old));
    return encode(addToOdd(sum, std::ldexp(addend, -int(scaleD))), kF16);
  }
  float addend = std::ldexp(fromBits<float>(old), -int(scaleD));
  return toBits(addRounded(sum, addend));
}

void Mma::compute(TensorMemory &tensor, TensorOperation &operation) const {
  unsigned rows = shape.rows, columns = shape.columns, depth = shape.depth;
  std::vector<double> left(rows * depth), right(depth * columns),
      sums(rows * columns);
  loadA(tensor, operation, left);
  operation.b.decode(*operation.warp, shape.b, shape.transposesB, columns,
                     depth, right.data(), 1, columns, shape.getPerChunk());
  if (shape.negatesA != shape.negatesB)
    for (double &element : left)
      element = -element;
  if (hasScales(shape.kind)) {
    applyScales(tensor, scaleA, shape.scaleA, rows, left.data(), depth, 1);
    applyScales(tensor, scaleB, shape.scaleB, columns, right.data(), 1,
                columns);
  }
  multiply(left.data(), depth, right.data(), sums.data(), rows, depth, columns);
  for (unsigned row = 0; row != rows; ++row) {
    unsigned lane = getRowLane(d, row);
    if (isMasked(lane))
      continue;
    uint32_t *to = &tensor[makeCell(lane, d & 0xffff)];
    for (unsigned column = 0; column != columns; ++column)
      to[column] =
          finish(sums[row * columns + column], accumulates ? to[column] : 0);
  }
}

void issue(Warp &warp, const Inst &inst, unsigned lane) {
  OperandPlaces places;
  Immediate immediate = Immediate::unpack(inst.imm);
  auto value = [&](unsigned index) { return warp.get(inst.ops[index], lane); };
  auto address = [&](unsigned index) {
    return uint32_t(value(index) + value(index + 1));
  };
  Expected<TensorMmaShape> shape = TensorMmaShape::parse(
      MmaKind(inst.mode), immediate.perRow, value(places.descriptor));
  if (!shape) {
    warp.report(FindingKind::Descriptor, inst, lane, std::nullopt,
                toString(shape.takeError()));
    return;
  }
  Mma mma{};
  mma.shape = *shape;
  mma.d = address(places.d);
  mma.aInTensor = inst.flag;
  mma.a = inst.flag ? address(places.a) : 0;
  mma.scaleD = immediate.scaleD;
  mma.accumulates = warp.predicate(inst.ops[inst.numOps - 1]) >> lane & 1;
  mma.hasMask = inst.flag2;
  for (unsigned i = 0; inst.flag2 && i != 4; ++i)
    mma.mask[i] = value(places.masks + i);
  if (hasScales(shape->kind)) {
    mma.scaleA = address(places.scales);
    mma.scaleB = address(places.scales + 2);
  }

  auto operation = makeOperation(warp, inst, lane);
  bool isValid = mma.claim(warp, *operation);
  if (!inst.flag)
    isValid &= mma.addMatrix(warp, *operation, value(places.a), false);
  isValid &= mma.addMatrix(warp, *operation, value(places.b), true);
  TensorMemory &tensor = warp.block.tensor;
  operation->run = [&tensor, mma, isValid](TensorOperation &operation) {
    if (isValid)
      mma.compute(tensor, operation);
  };
  tensor.enqueue(std::move(operation));
  warp.block.counters.matrixOperations +=
      uint64_t(2) * shape->rows * shape->columns * shape->depth;
}

void runMma(Warp &warp, const Inst &inst, LaneMask lanes) {
  forLanes(lanes, [&](unsigned lane) { issue(warp, inst, lane); });
}

/// An address of tensor memory and its displacement.
void takeAddress(Decoder &d) {
  d.address();
  d.constantSource(Type::B32, uint32_t(d.inst.displacement));
}

/// Factors of a row; 0 after a failure.
unsigned takeScaleSize(Decoder &d, MmaKind kind) {
  auto size = d.takeOneOf({"scale_vec::1X", "scale_vec::2X", "scale_vec::4X",
                           "block32", "block16"});
  bool isEight = kind == MmaKind::MxF8F6F4;
  unsigned perRow = isEight ? 1 : 2;
  if (size && *size < 3)
    perRow = 1u << *size;
  else if (size == 4u)
    perRow = 4;
  bool isKnown = isEight                 ? perRow == 1
                 : kind == MmaKind::MxF4 ? perRow == 2
                                         : size && perRow >= 2;
  if (isKnown)
    return perRow;
  d.fail("scale factors of '" + d.opcode + "' are not modelled");
  return 0;
}

} // namespace

void decodeTensorMma(Decoder &d) {
  d.inst.cls = InstClass::Matrix;
  auto kind =
      d.takeOneOf({"kind::f16", "kind::tf32", "kind::f8f6f4", "kind::i8",
                   "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4"});
  if (!kind)
    return d.fail("kind of '" + d.opcode + "' is not modelled");
  d.inst.mode = *kind;
  Immediate immediate{1, 0};
  bool isScaled = hasScales(MmaKind(*kind));
  if (d.take("block_scale") != isScaled)
    return d.fail("'" + d.opcode + "' does not exist");
  if (isScaled)
    immediate.perRow = takeScaleSize(d, MmaKind(*kind));
  // What the tensor core may keep of A changes no result.
  d.takeOneOf({"collector::a::fill", "collector::a::use",
               "collector::a::lastuse", "collector::a::discard"});
  if (d.failed() || d.hasModifiers())
    return;
  takeAddress(d);
  d.inst.flag = d.peek() && d.peek()->kind == ptx::Operand::Address;
  if (d.inst.flag) {
    takeAddress(d);
  } else {
    d.src(Type::B64);
    d.constantSource(Type::B32, 0);
  }
  d.src(Type::B64);
  d.src(Type::B32);
  if (isScaled) {
    takeAddress(d);
    takeAddress(d);
  } else if (d.peek() && d.peek()->kind == ptx::Operand::Vector) {
    d.inst.flag2 = true;
    if (d.srcVector(Type::B32) != 4)
      return d.fail("expected 4 words of lanes of '" + d.opcode + "'");
  }
  d.src(Type::Pred);
  if (!isScaled && d.hasOperands()) {
    int64_t scale = d.constant();
    if (scale < 0 || scale > 15 || *kind > 1)
      return d.fail("scale of D of '" + d.opcode + "' does not exist");
    immediate.scaleD = scale;
  }
  d.inst.imm = immediate.pack();
  d.inst.run = runMma;
}

} // namespace mamba::sim
