//===- Operands.cpp - Operands as rows of the register file ---------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "FloatFormats.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace llvm;

namespace mamba::sim {

Opnd Decoder::makeRow(unsigned bytes, bool isPredicate, StringRef name,
                      LaneMask written) {
  Opnd row;
  row.bytes = bytes;
  row.isPredicate = isPredicate;
  // Rows start on cache lines.
  row.offset = alignTo(kernel.file.size(), Align(64));
  row.slot = kernel.written.size();
  kernel.file.resize(row.offset +
                     (isPredicate ? sizeof(LaneMask) : bytes * kLanes));
  kernel.written.push_back(written);
  kernel.slotNames.push_back(name.str());
  return row;
}

Opnd Decoder::getConstant(uint64_t bits, unsigned bytes, bool isPredicate) {
  unsigned kind = isPredicate ? 0 : bytes;
  for (const auto &[key, row] : constants)
    if (key == std::pair(bits, kind))
      return row;
  Opnd row = makeRow(bytes, isPredicate, "", kAllLanes);
  char *place = kernel.file.data() + row.offset;
  if (isPredicate) {
    LaneMask mask = bits ? kAllLanes : 0;
    std::memcpy(place, &mask, sizeof(mask));
  } else {
    for (unsigned lane = 0; lane != kLanes; ++lane)
      std::memcpy(place + lane * bytes, &bits,
                  std::min<size_t>(bytes, sizeof(bits)));
  }
  constants.push_back({{bits, kind}, row});
  return row;
}

Opnd Decoder::getSharedAddress(uint64_t address, unsigned bytes) {
  for (const auto &[key, row] : sharedAddresses)
    if (key == std::pair(address, bytes))
      return row;
  Opnd row = makeRow(bytes, /*isPredicate=*/false, "", kAllLanes);
  for (unsigned lane = 0; lane != kLanes; ++lane)
    std::memcpy(kernel.file.data() + row.offset + lane * bytes, &address,
                bytes);
  sharedAddresses.push_back({{address, bytes}, row});
  kernel.sharedAddresses.push_back(row);
  return row;
}

Opnd Decoder::getSpecial(StringRef name) {
  for (const SpecialRow &special : kernel.specials)
    if (special.name == name)
      return special.row;
  static constexpr StringRef kVectors[] = {
      "%tid",       "%ntid",       "%ctaid",         "%nctaid",
      "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid"};
  static constexpr StringRef kWords[] = {"%laneid",
                                         "%warpid",
                                         "%nwarpid",
                                         "%smid",
                                         "%nsmid",
                                         "%lanemask_eq",
                                         "%lanemask_le",
                                         "%lanemask_lt",
                                         "%lanemask_ge",
                                         "%lanemask_gt",
                                         "%dynamic_smem_size",
                                         "%total_smem_size",
                                         "%cluster_ctarank",
                                         "%cluster_nctarank",
                                         "%clock",
                                         "%is_explicit_cluster"};
  static constexpr StringRef kLongs[] = {"%gridid", "%clock64", "%globaltimer"};
  auto [vector, component] = name.split('.');
  unsigned bytes = 0;
  if (is_contained(kWords, name) ||
      (is_contained(kVectors, vector) && !component.empty()))
    bytes = 4;
  else if (is_contained(kLongs, name))
    bytes = 8;
  if (!bytes) {
    fail("'" + name + "' is no register, or one that is not modelled");
    return {};
  }
  bool isPredicate = name == "%is_explicit_cluster";
  Opnd row = makeRow(bytes, isPredicate, name, kAllLanes);
  kernel.specials.push_back({name.str(), row});
  return row;
}

std::optional<uint64_t> Decoder::lookupSymbol(StringRef name) const {
  if (auto it = symbols.find(name); it != symbols.end())
    return it->second;
  if (auto it = globals.find(name); it != globals.end())
    return it->second;
  return std::nullopt;
}

bool Decoder::convertLiteral(const ptx::Operand &operand, Type type,
                             uint64_t &bits) {
  bits = operand.bits;
  switch (operand.kind) {
  case ptx::Operand::Integer:
    if (type == Type::F32 || type == Type::F64)
      return false;
    return true;
  case ptx::Operand::Single:
    if (type == Type::F64)
      bits = toBits(double(fromBits<float>(bits)));
    return getSize(type) >= 4;
  case ptx::Operand::Double:
    if (type == Type::F32)
      bits = toBits(float(fromBits<double>(bits)));
    return type == Type::F32 || getSize(type) == 8;
  case ptx::Operand::Symbol:
    if (std::optional<uint64_t> address = lookupSymbol(operand.name)) {
      bits = *address + operand.offset;
      return getSize(type) >= 4;
    }
    fail("unknown name '" + operand.name + "'");
    return false;
  default:
    return false;
  }
}

Opnd Decoder::getRow(const ptx::Operand &operand, Type type, bool wide,
                     bool isDestination) {
  unsigned bytes = getSize(type);
  bool isPredicate = type == Type::Pred;
  switch (operand.kind) {
  case ptx::Operand::Register: {
    Opnd row = registers[operand.reg];
    if (row.isPredicate != isPredicate ||
        (wide ? row.bytes < bytes : row.bytes != bytes))
      fail("register '" + operand.name + "' of '" + opcode + "' has type ." +
           ptx::getName(entry.registers[operand.reg].type) + ", expected ." +
           ptx::getName(type));
    row.negated = operand.negated;
    if (row.negated && (!isPredicate || isDestination))
      fail("unexpected '!' in '" + opcode + "'");
    return row;
  }
  case ptx::Operand::Sink:
    if (isDestination)
      return makeRow(std::max(bytes, 2u), isPredicate, "_", kAllLanes);
    break;
  case ptx::Operand::Special: {
    Opnd row = getSpecial(operand.name);
    if (!failed() && row.bytes < bytes)
      fail("'" + operand.name + "' has 32 bits");
    if (!isDestination)
      return row;
    break;
  }
  default:
    uint64_t bits;
    if (!isDestination && convertLiteral(operand, type, bits)) {
      // Not shared with an equal number, which is the same in every block.
      if (operand.kind == ptx::Operand::Symbol && isShared(operand.name))
        return getSharedAddress(bits, bytes);
      if (bytes < 8 && !isPredicate)
        bits &= maskTrailingOnes<uint64_t>(bytes * 8);
      return getConstant(bits, bytes, isPredicate);
    }
  }
  fail("unexpected operand of '" + opcode + "'");
  return {};
}

void Decoder::pushDestination(Opnd row) { destinations.push_back(row); }
void Decoder::pushSource(Opnd row) { sources.push_back(row); }

bool Decoder::isLocal(const ptx::Operand &address) const {
  if (address.kind != ptx::Operand::Address ||
      address.parts.front().kind != ptx::Operand::Symbol)
    return false;
  return any_of(entry.variables, [&](const ptx::Variable &variable) {
    return variable.space == Space::Local &&
           variable.name == address.parts.front().name;
  });
}

const ptx::Operand *Decoder::peek() const {
  return hasOperands() ? &current->operands[nextOperand] : nullptr;
}

const ptx::Operand *Decoder::takeOperand() {
  if (hasOperands())
    return &current->operands[nextOperand++];
  fail("too few operands of '" + opcode + "'");
  return nullptr;
}

void Decoder::dst(Type type) {
  if (const ptx::Operand *operand = takeOperand())
    pushDestination(getRow(*operand, type, false, true));
}

void Decoder::dstWide(Type type) {
  if (const ptx::Operand *operand = takeOperand())
    pushDestination(getRow(*operand, type, true, true));
}

void Decoder::src(Type type) {
  if (const ptx::Operand *operand = takeOperand())
    pushSource(getRow(*operand, type, false, false));
}

void Decoder::srcWide(Type type) {
  if (const ptx::Operand *operand = takeOperand())
    pushSource(getRow(*operand, type, true, false));
}

unsigned Decoder::dstVector(Type type, bool wide) {
  const ptx::Operand *operand = takeOperand();
  if (!operand)
    return 0;
  if (operand->kind != ptx::Operand::Vector) {
    pushDestination(getRow(*operand, type, wide, true));
    return 1;
  }
  for (const ptx::Operand &part : operand->parts)
    pushDestination(getRow(part, type, wide, true));
  return operand->parts.size();
}

unsigned Decoder::srcVector(Type type, bool wide) {
  const ptx::Operand *operand = takeOperand();
  if (!operand)
    return 0;
  if (operand->kind != ptx::Operand::Vector) {
    pushSource(getRow(*operand, type, wide, false));
    return 1;
  }
  for (const ptx::Operand &part : operand->parts)
    pushSource(getRow(part, type, wide, false));
  return operand->parts.size();
}

void Decoder::address() {
  if (const ptx::Operand *operand = takeOperand())
    pushAddress(*operand);
}

void Decoder::pushAddress(const ptx::Operand &operand) {
  if (operand.kind != ptx::Operand::Address || operand.parts.size() != 1) {
    fail("expected an address in '" + opcode + "'");
    return;
  }
  inst.address = sources.size();
  inst.displacement = operand.offset;
  const ptx::Operand &base = operand.parts.front();
  if (base.kind == ptx::Operand::Register && registers[base.reg].bytes == 4) {
    pushSource(getRow(base, Type::B32, false, false));
    return;
  }
  pushSource(getRow(base, Type::B64, false, false));
}

int64_t Decoder::constant() {
  const ptx::Operand *operand = takeOperand();
  if (!operand)
    return 0;
  if (operand->kind != ptx::Operand::Integer)
    fail("expected an integer constant in '" + opcode + "'");
  return operand->bits;
}

bool Decoder::dstPair(Type first, Type second) {
  const ptx::Operand *operand = takeOperand();
  if (!operand)
    return false;
  if (operand->kind != ptx::Operand::Pair) {
    pushDestination(getRow(*operand, first, false, true));
    return false;
  }
  pushDestination(getRow(operand->parts[0], first, false, true));
  pushDestination(getRow(operand->parts[1], second, false, true));
  return true;
}

StringRef Decoder::name() {
  const ptx::Operand *operand = takeOperand();
  if (!operand)
    return {};
  if (operand->kind != ptx::Operand::Symbol)
    fail("expected a label in '" + opcode + "'");
  return operand->name;
}

uint32_t Decoder::lookupLabel(StringRef name) {
  for (const ptx::Label &label : entry.labels)
    if (label.name == name)
      return label.target;
  fail("unknown label '" + name + "'");
  return 0;
}

const std::vector<uint32_t> *Decoder::makeTable(StringRef name) {
  auto it = find_if(entry.tables, [&](const ptx::BranchTable &table) {
    return table.name == name;
  });
  if (it == entry.tables.end()) {
    fail("unknown branch table '" + name + "'");
    return nullptr;
  }
  kernel.branchTables.emplace_back();
  for (StringRef target : it->targets)
    kernel.branchTables.back().push_back(lookupLabel(target));
  return &kernel.branchTables.back();
}

void Decoder::constantSource(Type type, uint64_t bits) {
  pushSource(getConstant(bits, getSize(type), type == Type::Pred));
}

} // namespace mamba::sim
