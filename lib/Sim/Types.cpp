//===- Types.cpp - Types of PTX -------------------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Sim/Ptx.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mamba::ptx {

namespace {
struct TypeRow {
  Type type;
  StringRef name;
  unsigned size;
};
} // namespace

// In the order of the enumeration.
static constexpr TypeRow kTypes[] = {
    {Type::Pred, "pred", 4},     {Type::B8, "b8", 1},
    {Type::B16, "b16", 2},       {Type::B32, "b32", 4},
    {Type::B64, "b64", 8},       {Type::B128, "b128", 16},
    {Type::U8, "u8", 1},         {Type::U16, "u16", 2},
    {Type::U32, "u32", 4},       {Type::U64, "u64", 8},
    {Type::S8, "s8", 1},         {Type::S16, "s16", 2},
    {Type::S32, "s32", 4},       {Type::S64, "s64", 8},
    {Type::F16, "f16", 2},       {Type::F16x2, "f16x2", 4},
    {Type::BF16, "bf16", 2},     {Type::BF16x2, "bf16x2", 4},
    {Type::TF32, "tf32", 4},     {Type::F32, "f32", 4},
    {Type::F32x2, "f32x2", 8},   {Type::F64, "f64", 8},
    {Type::E4M3, "e4m3", 1},     {Type::E5M2, "e5m2", 1},
    {Type::E4M3x2, "e4m3x2", 2}, {Type::E5M2x2, "e5m2x2", 2},
};

std::optional<Type> parseType(StringRef name) {
  for (const TypeRow &row : kTypes)
    if (row.name == name)
      return row.type;
  return std::nullopt;
}

StringRef getName(Type type) { return kTypes[unsigned(type)].name; }

unsigned getSize(Type type) { return kTypes[unsigned(type)].size; }

bool isSigned(Type type) { return type >= Type::S8 && type <= Type::S64; }

bool isInteger(Type type) { return type >= Type::B8 && type <= Type::S64; }

const Entry *Module::lookup(StringRef name) const {
  auto it = find_if(entries, [&](const Entry &e) { return e.name == name; });
  return it == entries.end() ? nullptr : &*it;
}

const Function *Module::lookupFunction(StringRef name) const {
  // A definition may follow its declaration.
  const Function *found = nullptr;
  for (const Function &function : functions)
    if (function.body.name == name && (!found || function.hasBody))
      found = &function;
  return found;
}

StringRef Module::makeName(StringRef name) {
  // '#' is in no name of PTX.
  return names.emplace_back((name + "#" + Twine(names.size())).str());
}

} // namespace mamba::ptx
