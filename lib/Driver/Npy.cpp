//===- Npy.cpp - Reading and writing .npy files ---------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Driver/Npy.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"

#include <cstring>

using namespace llvm;

namespace mamba {

static constexpr StringLiteral kMagic = "\x93NUMPY";
/// Magic, version and the length field of version 1.0.
static constexpr size_t kPrologueSize = 10;
/// The elements start at a multiple of this.
static constexpr size_t kAlignment = 64;

StringRef getNumpyName(Dtype dtype) {
  switch (dtype) {
  case Dtype::BF16:
    return "bfloat16";
  case Dtype::F16:
    return "float16";
  case Dtype::F32:
    return "float32";
  case Dtype::F64:
    return "float64";
  case Dtype::I32:
    return "int32";
  case Dtype::I64:
    return "int64";
  }
  llvm_unreachable("unknown dtype");
}

namespace {

struct Header {
  Dtype dtype = Dtype::F32;
  bool fortranOrder = false;
  SmallVector<int64_t> shape;
};

/// The header is a Python dictionary literal with three known keys, in any
/// order.
class HeaderParser {
public:
  explicit HeaderParser(StringRef text) : rest(text) {}

  Expected<Header> parse() {
    Header header;
    bool hasDescr = false, hasOrder = false, hasShape = false;
    if (!consume('{'))
      return malformed();
    while (!consume('}')) {
      std::optional<StringRef> key = parseString();
      if (!key || !consume(':'))
        return malformed();
      if (*key == "descr") {
        if (Error error = parseDescr(header.dtype))
          return std::move(error);
        hasDescr = true;
      } else if (*key == "fortran_order") {
        header.fortranOrder = consume("True");
        if (!header.fortranOrder && !consume("False"))
          return malformed();
        hasOrder = true;
      } else if (*key == "shape") {
        if (!parseShape(header.shape))
          return malformed();
        hasShape = true;
      } else {
        return createStringError("the .npy header has the unknown key '" +
                                 *key + "'");
      }
      if (!consume(',') && !rest.ltrim().starts_with("}"))
        return malformed();
    }
    if (!hasDescr || !hasOrder || !hasShape || !rest.trim().empty())
      return malformed();
    return header;
  }

private:
  static Error malformed() {
    return createStringError("the .npy header is malformed");
  }

  bool consume(StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }
  bool consume(char token) { return consume(StringRef(&token, 1)); }

  std::optional<StringRef> parseString() {
    rest = rest.ltrim();
    if (!rest.starts_with("'") && !rest.starts_with("\""))
      return std::nullopt;
    size_t end = rest.find(rest.front(), 1);
    if (end == StringRef::npos)
      return std::nullopt;
    StringRef text = rest.slice(1, end);
    rest = rest.drop_front(end + 1);
    return text;
  }

  Error parseDescr(Dtype &dtype) {
    if (rest.ltrim().starts_with("["))
      return createStringError("structured arrays are not supported");
    std::optional<StringRef> text = parseString();
    if (!text)
      return malformed();
    StringRef descr = *text;
    if (descr.consume_front(">"))
      return createStringError(
          "big-endian elements ('" + *text +
          "') are not supported; save the array in little endian");
    if (!descr.consume_front("<") && !descr.consume_front("="))
      descr.consume_front("|");
    auto known = StringSwitch<std::optional<Dtype>>(descr)
                     .Case("f2", Dtype::F16)
                     .Case("f4", Dtype::F32)
                     .Case("f8", Dtype::F64)
                     .Case("i4", Dtype::I32)
                     .Case("i8", Dtype::I64)
                     .Default(std::nullopt);
    if (!known)
      return createStringError(
          "element type '" + *text +
          "' is not supported; expected float16, float32, float64, int32 or "
          "int64");
    dtype = *known;
    return Error::success();
  }

  bool parseShape(SmallVectorImpl<int64_t> &shape) {
    if (!consume('('))
      return false;
    while (!consume(')')) {
      uint64_t size;
      rest = rest.ltrim();
      if (rest.consumeInteger(10, size) || !isInt<64>(int64_t(size)) ||
          int64_t(size) < 0)
        return false;
      rest.consume_front("L"); // as Python 2 wrote it
      shape.push_back(size);
      if (!consume(',') && !rest.ltrim().starts_with(")"))
        return false;
    }
    return true;
  }

  StringRef rest;
};

} // namespace

/// Splits `contents` into header text and elements.
static Expected<std::pair<StringRef, StringRef>> splitNpy(StringRef contents) {
  if (!contents.starts_with(kMagic))
    return createStringError("not a .npy file");
  if (contents.size() < kPrologueSize)
    return createStringError("the .npy header is cut off");
  unsigned major = uint8_t(contents[6]), minor = uint8_t(contents[7]);
  if ((major != 1 && major != 2) || minor != 0)
    return createStringError(
        Twine("version ") + Twine(major) + "." + Twine(minor) +
        " of the .npy format is not supported; expected 1.0 or 2.0");
  size_t lengthSize = major == 1 ? 2 : 4;
  StringRef rest = contents.drop_front(8);
  if (rest.size() < lengthSize)
    return createStringError("the .npy header is cut off");
  size_t length = major == 1 ? support::endian::read16le(rest.data())
                             : support::endian::read32le(rest.data());
  rest = rest.drop_front(lengthSize);
  if (rest.size() < length)
    return createStringError("the .npy header is cut off");
  return std::make_pair(rest.take_front(length), rest.drop_front(length));
}

/// Copies elements from Fortran order to row-major order.
static void transpose(StringRef from, HostArray &to) {
  ArrayRef<int64_t> shape = to.getShape();
  unsigned size = getDtypeSize(to.getDtype());
  SmallVector<int64_t> index(shape.size(), 0), strides;
  int64_t stride = size;
  for (int64_t extent : shape) {
    strides.push_back(stride);
    stride *= extent;
  }
  const char *source = from.data();
  char *target = to.getData();
  for (int64_t i = 0, e = to.getNumElements(); i != e; ++i, target += size) {
    std::memcpy(target, source, size);
    // The next row-major index.
    for (int64_t d = shape.size() - 1; d >= 0; --d) {
      source += strides[d];
      if (++index[d] < shape[d])
        break;
      source -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

Expected<HostArray> parseNpy(StringRef contents) {
  Expected<std::pair<StringRef, StringRef>> parts = splitNpy(contents);
  if (!parts)
    return parts.takeError();
  auto [text, elements] = *parts;
  Expected<Header> header = HeaderParser(text).parse();
  if (!header)
    return header.takeError();

  // The size is checked before memory is asked for: the header may be wrong.
  unsigned elementSize = getDtypeSize(header->dtype);
  std::optional<int64_t> count = countElements(header->shape, elementSize);
  if (!count)
    return createStringError("an array of shape " + formatShape(header->shape) +
                             " is too large");
  size_t expected = size_t(*count) * elementSize;
  if (elements.size() != expected) {
    bool isShort = elements.size() < expected;
    size_t difference =
        isShort ? expected - elements.size() : elements.size() - expected;
    return createStringError(
        Twine("the file is ") + Twine(difference) +
        (isShort ? " bytes too short" : " bytes too long") + " for " +
        getNumpyName(header->dtype) + " elements of shape " +
        formatShape(header->shape));
  }

  Expected<HostArray> array = HostArray::create(header->dtype, header->shape);
  if (!array)
    return array.takeError();
  if (header->fortranOrder && header->shape.size() > 1)
    transpose(elements, *array);
  else if (expected)
    std::memcpy(array->getData(), elements.data(), expected);
  return array;
}

Expected<HostArray> readNpy(StringRef path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getFile(path, /*IsText=*/false,
                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return createStringError("could not read '" + path +
                             "': " + buffer.getError().message());
  Expected<HostArray> array = parseNpy((*buffer)->getBuffer());
  if (!array)
    return createStringError("could not read '" + path +
                             "': " + toString(array.takeError()));
  return array;
}

static StringRef getDescr(Dtype dtype) {
  switch (dtype) {
  case Dtype::F16:
    return "<f2";
  case Dtype::BF16:
  case Dtype::F32:
    return "<f4";
  case Dtype::F64:
    return "<f8";
  case Dtype::I32:
    return "<i4";
  case Dtype::I64:
    return "<i8";
  }
  llvm_unreachable("unknown dtype");
}

void writeNpy(const HostArray &array, raw_ostream &os) {
  std::string header;
  raw_string_ostream text(header);
  text << "{'descr': '" << getDescr(array.getDtype())
       << "', 'fortran_order': False, 'shape': (";
  // Each size has its comma: (5,) is the tuple, (5) is not.
  llvm::interleave(
      array.getShape(), text, [&](int64_t size) { text << size << ","; }, " ");
  text << "), }";
  size_t end = alignTo(kPrologueSize + header.size() + 1, kAlignment);
  header.append(end - kPrologueSize - header.size() - 1, ' ');
  header.push_back('\n');

  char length[2];
  support::endian::write16le(length, header.size());
  os << kMagic << '\1' << '\0' << StringRef(length, 2) << header;

  if (array.getDtype() != Dtype::BF16) {
    os.write(array.getData(), array.getNumBytes());
    return;
  }
  constexpr size_t blockSize = 4096;
  uint32_t block[blockSize];
  for (ArrayRef<uint16_t> rest = array.getElements<uint16_t>();
       !rest.empty();) {
    ArrayRef<uint16_t> part = rest.take_front(blockSize);
    llvm::transform(part, block, convertBF16ToF32);
    os.write(reinterpret_cast<const char *>(block), part.size() * 4);
    rest = rest.drop_front(part.size());
  }
}

} // namespace mamba
