//===- TensorMmaShape.cpp - Instruction descriptors of tcgen05.mma --------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Instruction descriptor", the tables for each kind, and "Packing
// formats of elements in Tensor and Shared memory".
//
//===----------------------------------------------------------------------===//

#include "TensorMma.h"

#include <cstring>

using namespace llvm;

namespace mamba::sim {

/// The type of A or B by its code, if there is one.
static std::optional<Element> getElement(MmaKind kind, unsigned code) {
  auto pick = [&](std::initializer_list<std::optional<Element>> elements) {
    return code < elements.size() ? elements.begin()[code] : std::nullopt;
  };
  switch (kind) {
  case MmaKind::F16:
    return pick({Element::F16, Element::BF16});
  case MmaKind::TF32:
    return pick({std::nullopt, std::nullopt, Element::TF32});
  case MmaKind::F8F6F4:
  case MmaKind::MxF8F6F4:
    return pick({Element::E4M3, Element::E5M2, std::nullopt, Element::E2M3,
                 Element::E3M2, Element::E2M1});
  case MmaKind::I8:
    return pick({Element::U8, Element::S8});
  case MmaKind::MxF4:
  case MmaKind::MxF4NvF4:
    return pick({std::nullopt, Element::E2M1});
  }
  return std::nullopt;
}

/// The type of D by its code.
static std::optional<TensorMmaShape::Result> getResult(MmaKind kind,
                                                       unsigned code) {
  if (hasScales(kind) || (code == 1 && kind != MmaKind::I8))
    return TensorMmaShape::F32;
  if (code == 0 && (kind == MmaKind::F16 || kind == MmaKind::F8F6F4))
    return TensorMmaShape::F16;
  if (code == 2 && kind == MmaKind::I8)
    return TensorMmaShape::S32;
  return std::nullopt;
}

static bool isShapeKnown(const TensorMmaShape &shape) {
  unsigned n = shape.columns;
  if (n < 8 || n > 256)
    return false;
  if (hasScales(shape.kind))
    return shape.rows == 128 && n % 8 == 0;
  if (shape.kind == MmaKind::I8 && n % 16 && n != 8 && n != 24)
    return false;
  return shape.rows == 64 || (shape.rows == 128 && n % 16 == 0);
}

Expected<TensorMmaShape> TensorMmaShape::parse(MmaKind kind, unsigned perRow,
                                               uint32_t descriptor) {
  auto field = [&](unsigned from, unsigned bits) {
    return descriptor >> from & ((1u << bits) - 1);
  };
  auto fail = [&](const Twine &what) {
    return createStringError("an instruction descriptor 0x" +
                             Twine::utohexstr(descriptor) + " with " + what);
  };
  bool isScaled = hasScales(kind), isFour = kind >= MmaKind::MxF4;
  TensorMmaShape shape{};
  shape.kind = kind;
  if (field(2, 1))
    return fail("a sparse matrix, which is not modelled");
  std::optional<Element> a = getElement(kind, field(7, 3)),
                         b = getElement(kind, field(10, isFour ? 2 : 3));
  std::optional<Result> result = getResult(kind, isScaled ? 1 : field(4, 2));
  if (!a || !b || !result)
    return fail("types that do not exist");
  shape.a = *a;
  shape.b = *b;
  shape.result = *result;
  shape.saturates = !isScaled && field(3, 1);
  shape.negatesA = field(13, 1);
  shape.negatesB = field(14, 1);
  shape.transposesA = field(15, 1);
  shape.transposesB = field(16, 1);
  shape.columns = field(17, 6) * 8;
  shape.rows = isScaled ? field(27, 2) * 128 : field(24, 5) * 16;
  shape.depth = 256 / (isFour ? 4 : isScaled ? 8 : getBits(shape.a));
  if (kind == MmaKind::F8F6F4)
    shape.depth = 32;
  if (isFour && (field(31, 1) || shape.transposesA || shape.transposesB))
    return fail("a depth of 96 or a transposed matrix, which is not modelled");
  if (!isShapeKnown(shape))
    return fail("a shape of " + Twine(shape.rows) + " x " +
                Twine(shape.columns) + ", which does not exist");
  if (isScaled) {
    shape.perRow = perRow;
    shape.scale = field(23, 1) ? Element::UE8M0 : Element::UE4M3;
    shape.scaleA = field(29, 2);
    shape.scaleB = field(4, 2);
    bool isKnown = shape.scale == Element::UE8M0 ||
                   (kind == MmaKind::MxF4NvF4 && perRow == 4);
    if (!isKnown || shape.scaleA % perRow || shape.scaleB % perRow)
      return fail("scale factors that do not exist");
  }
  return shape;
}

unsigned TensorMmaShape::getPerChunk() const {
  return kind >= MmaKind::MxF4 ? 32 : 16 * depth / 32;
}

double TensorMmaShape::decodeTensorElement(const uint8_t *row,
                                           unsigned k) const {
  if (kind >= MmaKind::MxF4)
    return decodeElement(a, row[k / 2] >> (k % 2 * 4));
  if (a == Element::E2M1) // in the middle of a byte
    return decodeElement(a, row[k] >> 2);
  unsigned bytes = 32 / depth;
  uint64_t bits = 0;
  std::memcpy(&bits, row + k * bytes, bytes);
  return decodeElement(a, bits);
}

} // namespace mamba::sim
