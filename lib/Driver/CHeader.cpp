//===- CHeader.cpp - C headers of compiled functions ----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Driver/CpuObject.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

#include <set>

using namespace llvm;

namespace mamba {

static bool isKeyword(StringRef name) {
  return StringSwitch<bool>(name)
      .Cases({"auto",     "break",   "case",     "char",    "const",
              "continue", "default", "do",       "double",  "else",
              "enum",     "extern",  "float",    "for",     "goto",
              "if",       "inline",  "int",      "long",    "register",
              "restrict", "return",  "short",    "signed",  "sizeof",
              "static",   "struct",  "switch",   "typedef", "union",
              "unsigned", "void",    "volatile", "while"},
             true)
      // C++ includes the header too.
      .Cases({"and",       "bool",   "catch",    "class",   "delete",
              "export",    "false",  "friend",   "mutable", "namespace",
              "new",       "not",    "operator", "or",      "private",
              "protected", "public", "template", "this",    "throw",
              "true",      "try",    "using",    "virtual", "xor"},
             true)
      .Default(false);
}

bool isCIdentifier(StringRef name) {
  return !name.empty() && !isDigit(name.front()) && !isKeyword(name) &&
         llvm::all_of(name, [](char c) { return isAlnum(c) || c == '_'; });
}

/// A C identifier like `name` that is not in `taken`, and adds it there.
static std::string makeIdentifier(StringRef name, StringSet<> &taken) {
  std::string identifier;
  for (char c : name)
    identifier += isAlnum(c) ? c : '_';
  if (identifier.empty() || isDigit(identifier.front()))
    identifier.insert(0, "_");
  while (isKeyword(identifier) || taken.contains(identifier))
    identifier += '_';
  taken.insert(identifier);
  return identifier;
}

static StringRef getElementDescription(Dtype dtype) {
  switch (dtype) {
  case Dtype::BF16:
    return "uint16_t (bf16 bits)";
  case Dtype::F16:
    return "uint16_t (f16 bits)";
  case Dtype::F32:
    return "float";
  case Dtype::F64:
    return "double";
  case Dtype::I32:
    return "int32_t";
  case Dtype::I64:
    return "int64_t";
  }
  llvm_unreachable("unknown dtype");
}

static void writeStruct(size_t rank, raw_ostream &os) {
  os << "#ifndef MAMBA_MEMREF_" << rank << "\n#define MAMBA_MEMREF_" << rank
     << "\ntypedef struct {\n"
     << "  void *allocated;\n  void *aligned;\n  int64_t offset;\n";
  if (rank)
    os << "  int64_t sizes[" << rank << "];\n  int64_t strides[" << rank
       << "];\n";
  os << "} mamba_memref_" << rank << ";\n#endif\n\n";
}

/// ", the first 2 strides are the caller's"
static std::string describePitches(unsigned pitches) {
  if (pitches == 0)
    return "";
  if (pitches == 1)
    return ", the first stride is the caller's";
  return ", the first " + std::to_string(pitches) + " strides are the caller's";
}

static void writePrototype(const Signature &signature, raw_ostream &os) {
  StringSet<> taken;
  struct Line {
    std::string identifier;
    const Parameter *parameter;
    std::string role;
    bool isInput;
  };
  std::vector<Line> lines;
  for (const Parameter &argument : signature.arguments)
    lines.push_back(
        {makeIdentifier(argument.name, taken), &argument, "in", true});
  for (auto [result, updated] :
       llvm::zip_equal(signature.results, signature.updatedArguments)) {
    if (updated) {
      lines[*updated].role = "in, updated in place: afterwards " + result.name;
      lines[*updated].isInput = false;
      continue;
    }
    lines.push_back(
        {makeIdentifier(result.name, taken), &result, "out", false});
  }

  os << "/*\n * " << signature.name << "\n *\n";
  for (const Line &line : lines)
    os << " *   " << line.identifier << ": "
       << getElementDescription(line.parameter->dtype) << " "
       << line.parameter->describeShape() << ", " << line.role
       << describePitches(line.parameter->pitches) << "\n";
  os << " */\nvoid " << signature.name << "(";
  ListSeparator separator(",");
  for (const Line &line : lines)
    os << separator << "\n    " << (line.isInput ? "const " : "")
       << "mamba_memref_" << line.parameter->dims.size() << " *"
       << line.identifier;
  if (lines.empty())
    os << "void";
  os << ");\n\n";
}

void writeHeader(ArrayRef<Signature> functions, StringRef stem,
                 raw_ostream &os) {
  StringSet<> none;
  std::string guard = StringRef(makeIdentifier(stem, none)).upper() + "_H";
  if (guard.front() == '_') // reserved for the implementation
    guard.insert(0, "MAMBA");
  os << "/* " << stem << ".h - written by mamba-compile */\n\n"
     << "#ifndef " << guard << "\n#define " << guard << "\n\n"
     << "#include <stdint.h>\n\n"
     << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
     << "/*\n"
        " * Arrays are passed as descriptors. The first element lies at "
        "aligned\n"
        " * plus offset elements; allocated is not read. Every array must be\n"
        " * dense and row-major: offset is 0, the last stride is 1, every "
        "other\n"
        " * stride is the next one times the next size, counted in elements,\n"
        " * but for leading strides that are the caller's.\n"
        " * The caller provides the arrays of outputs too. Dimensions of one\n"
        " * name have one size. Nothing is checked.\n"
        " */\n\n";
  std::set<size_t> ranks;
  for (const Signature &signature : functions)
    for (const std::vector<Parameter> *list :
         {&signature.arguments, &signature.results})
      for (const Parameter &parameter : *list)
        ranks.insert(parameter.dims.size());
  for (size_t rank : ranks)
    writeStruct(rank, os);
  for (const Signature &signature : functions)
    writePrototype(signature, os);
  os << "#ifdef __cplusplus\n}\n#endif\n\n#endif /* " << guard << " */\n";
}

} // namespace mamba
