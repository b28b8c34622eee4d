//===- NpyTest.cpp - Tests of .npy files and of element conversions -------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Driver/Npy.h"
#include "mamba/Driver/HostArray.h"
#include "llvm/ADT/APFloat.h"
#include "gtest/gtest.h"

#include <cstring>

using namespace llvm;
using namespace mamba;

namespace {

/// A file of version 1.0 with this header dictionary.
std::string makeFile(StringRef dictionary, StringRef elements, char major = 1) {
  std::string text("\x93NUMPY", 6);
  text += major;
  text += '\0';
  text += char(dictionary.size() & 0xff);
  text += char(dictionary.size() >> 8);
  if (major == 2)
    text.append(2, '\0');
  return text + dictionary.str() + elements.str();
}

template <typename T> std::string getBytes(std::vector<T> values) {
  return std::string(reinterpret_cast<const char *>(values.data()),
                     values.size() * sizeof(T));
}

std::string getError(StringRef contents) {
  Expected<HostArray> array = parseNpy(contents);
  return array ? "" : toString(array.takeError());
}

constexpr StringLiteral kTwoByThree =
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";

TEST(Npy, ReadsRowMajor) {
  for (char major : {1, 2}) {
    std::string file =
        makeFile(kTwoByThree, getBytes<float>({0, 1, 2, 3, 4, 5}), major);
    Expected<HostArray> array = parseNpy(file);
    ASSERT_TRUE(bool(array));
    EXPECT_EQ(array->getDtype(), Dtype::F32);
    EXPECT_EQ(array->getShape(), ArrayRef<int64_t>({2, 3}));
    EXPECT_EQ(array->getElements<float>()[4], 4.0f);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(array->getData()) % 64, 0u);
  }
}

TEST(Npy, TransposesFortranOrder) {
  Expected<HostArray> array = parseNpy(
      makeFile("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3)}",
               getBytes<int32_t>({0, 3, 1, 4, 2, 5})));
  ASSERT_TRUE(bool(array));
  EXPECT_EQ(array->getElements<int32_t>(),
            ArrayRef<int32_t>({0, 1, 2, 3, 4, 5}));
}

TEST(Npy, ReadsHeadersInAnyForm) {
  Expected<HostArray> array = parseNpy(
      makeFile("{\"shape\":(2L,),'fortran_order' :False, 'descr':'=i8'}   \n",
               getBytes<int64_t>({-1, 7})));
  ASSERT_TRUE(bool(array));
  EXPECT_EQ(array->getDtype(), Dtype::I64);
  EXPECT_EQ(array->getShape(), ArrayRef<int64_t>({2}));

  Expected<HostArray> scalar = parseNpy(
      makeFile("{'descr': '<f8', 'fortran_order': False, 'shape': (), }",
               getBytes<double>({2.5})));
  ASSERT_TRUE(bool(scalar));
  EXPECT_EQ(scalar->getShape().size(), 0u);
  EXPECT_EQ(scalar->getElements<double>()[0], 2.5);

  Expected<HostArray> empty = parseNpy(makeFile(
      "{'descr': '<f2', 'fortran_order': True, 'shape': (2, 0, 3), }", ""));
  ASSERT_TRUE(bool(empty));
  EXPECT_EQ(empty->getNumElements(), 0);
}

TEST(Npy, SaysWhatIsWrong) {
  EXPECT_EQ(getError(""), "not a .npy file");
  EXPECT_EQ(getError("PK\3\4 and so on"), "not a .npy file");
  EXPECT_EQ(getError(StringRef("\x93NUMPY\1", 7)),
            "the .npy header is cut off");
  EXPECT_EQ(getError(makeFile(kTwoByThree, "", 3)),
            "version 3.0 of the .npy format is not supported; expected 1.0 or "
            "2.0");
  EXPECT_EQ(getError(StringRef(makeFile(kTwoByThree, "")).drop_back()),
            "the .npy header is cut off");
  EXPECT_EQ(getError(makeFile(kTwoByThree, getBytes<float>({0, 1, 2, 3, 4}))),
            "the file is 4 bytes too short for float32 elements of shape [2, "
            "3]");
  EXPECT_EQ(getError(makeFile(kTwoByThree,
                              getBytes<float>({0, 1, 2, 3, 4, 5}) + "x")),
            "the file is 1 bytes too long for float32 elements of shape [2, "
            "3]");
  auto header = [](StringRef descr, StringRef shape) {
    return makeFile(("{'descr': " + descr +
                     ", 'fortran_order': False, "
                     "'shape': " +
                     shape + "}")
                        .str(),
                    "");
  };
  EXPECT_EQ(getError(header("'>f4'", "(1,)")),
            "big-endian elements ('>f4') are not supported; save the array in "
            "little endian");
  EXPECT_EQ(getError(header("'<c8'", "(1,)")),
            "element type '<c8' is not supported; expected float16, float32, "
            "float64, int32 or int64");
  EXPECT_EQ(getError(header("[('a', '<f4')]", "(1,)")),
            "structured arrays are not supported");
  EXPECT_EQ(getError(header("'<f4'", "(4611686018427387904, 4)")),
            "an array of shape [4611686018427387904, 4] is too large");
  for (StringRef shape : {"(-1,)", "(1 2)", "1", "(99999999999999999999,)"})
    EXPECT_EQ(getError(header("'<f4'", shape)), "the .npy header is malformed");
  EXPECT_EQ(getError(makeFile("{'descr': '<f4', 'shape': (1,)}", "")),
            "the .npy header is malformed");
  EXPECT_EQ(getError(makeFile("{'descr': '<f4', 'title': 1}", "")),
            "the .npy header has the unknown key 'title'");
}

TEST(Npy, WritesWhatItReads) {
  const std::vector<int64_t> shapes[] = {{}, {5}, {0, 3}, {2, 3, 4}};
  for (ArrayRef<int64_t> shape : shapes) {
    for (Dtype dtype :
         {Dtype::F16, Dtype::F32, Dtype::F64, Dtype::I32, Dtype::I64}) {
      HostArray array = cantFail(HostArray::create(dtype, shape));
      for (size_t i = 0; i < array.getNumBytes(); ++i)
        array.getData()[i] = char(i * 37);
      std::string text;
      raw_string_ostream os(text);
      writeNpy(array, os);
      size_t start = text.size() - array.getNumBytes();
      EXPECT_EQ(start % 64, 0u);
      EXPECT_EQ(text[start - 1], '\n');
      HostArray read = cantFail(parseNpy(text));
      EXPECT_EQ(read.getDtype(), dtype);
      EXPECT_EQ(read.getShape(), shape);
      EXPECT_EQ(
          std::memcmp(read.getData(), array.getData(), array.getNumBytes()), 0);
    }
  }
}

TEST(Npy, WritesBF16AsFloat32) {
  HostArray array = cantFail(HostArray::create(Dtype::BF16, {5000}));
  for (auto [index, value] : llvm::enumerate(array.getElements<uint16_t>()))
    value = index;
  std::string text;
  raw_string_ostream os(text);
  writeNpy(array, os);
  HostArray read = cantFail(parseNpy(text));
  EXPECT_EQ(read.getDtype(), Dtype::F32);
  EXPECT_EQ(read.getElements<uint32_t>()[4999], 4999u << 16);
}

/// `bits` as a float, converted by APFloat.
uint16_t convertByAPFloat(uint32_t bits, const fltSemantics &semantics) {
  APFloat value(APFloat::IEEEsingle(), APInt(32, bits));
  bool losesInfo;
  value.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
  return value.bitcastToAPInt().getZExtValue();
}

bool isNaN16(uint16_t bits, uint16_t infinity) {
  return (bits & 0x7fff) > infinity;
}

TEST(Conversion, RoundsAsAPFloat) {
  // All exponents, with fractions around every rounding decision.
  std::vector<uint32_t> fractions = {0, 1, 0x7fffff, 0x400000, 0x3fffff};
  for (unsigned bit = 10; bit < 23; ++bit)
    for (uint32_t odd : {0u, 1u})
      for (int32_t offset : {-1, 0, 1})
        fractions.push_back(((odd << (bit + 1)) + (1u << bit) + offset) &
                            0x7fffff);
  for (uint32_t exponent = 0; exponent < 512; ++exponent)
    for (uint32_t fraction : fractions) {
      uint32_t bits = exponent << 23 | fraction;
      uint16_t half = convertF32ToF16(bits);
      uint16_t brain = convertF32ToBF16(bits);
      if ((bits & 0x7fffffff) > 0x7f800000) {
        EXPECT_TRUE(isNaN16(half, 0x7c00)) << bits;
        EXPECT_TRUE(isNaN16(brain, 0x7f80)) << bits;
        continue;
      }
      EXPECT_EQ(half, convertByAPFloat(bits, APFloat::IEEEhalf())) << bits;
      EXPECT_EQ(brain, convertByAPFloat(bits, APFloat::BFloat())) << bits;
    }
}

TEST(Conversion, WidensExactly) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    uint32_t wide = convertF16ToF32(bits);
    if (isNaN16(bits, 0x7c00)) {
      EXPECT_GT(wide & 0x7fffffff, 0x7f800000u) << bits;
      continue;
    }
    APFloat value(APFloat::IEEEhalf(), APInt(16, bits));
    bool losesInfo;
    value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
    EXPECT_EQ(wide, value.bitcastToAPInt().getZExtValue()) << bits;
    EXPECT_EQ(convertF32ToF16(wide), bits);
    EXPECT_EQ(convertF32ToBF16(convertBF16ToF32(bits)) | 0x40,
              bits | 0x40); // NaNs become quiet
  }
}

TEST(Conversion, ChecksRanges) {
  HostArray wide = cantFail(HostArray::create(Dtype::I64, {2}));
  wide.getElements<int64_t>()[0] = -2147483648ll;
  wide.getElements<int64_t>()[1] = 2147483648ll;
  Expected<HostArray> narrow = convertArray(std::move(wide), Dtype::I32);
  ASSERT_FALSE(bool(narrow));
  EXPECT_EQ(toString(narrow.takeError()),
            "value 2147483648 does not fit in i32");
  HostArray floats = cantFail(HostArray::create(Dtype::F64, {1}));
  Expected<HostArray> other = convertArray(std::move(floats), Dtype::F32);
  ASSERT_FALSE(bool(other));
  EXPECT_EQ(toString(other.takeError()), "cannot convert f64 to f32");
}

} // namespace
