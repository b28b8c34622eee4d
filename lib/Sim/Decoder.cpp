//===- Decoder.cpp - From instructions of PTX to functions ----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mamba::sim {

static const DecodeTable &getDecodeTable() {
  static const DecodeTable table = [] {
    DecodeTable table;
    addIntegerInstructions(table);
    addBitInstructions(table);
    addFloatInstructions(table);
    addApproximateInstructions(table);
    addCompareInstructions(table);
    addConvertInstructions(table);
    addMoveInstructions(table);
    addMemoryInstructions(table);
    addAtomicInstructions(table);
    addAsyncCopyInstructions(table);
    addMbarrierInstructions(table);
    addClusterInstructions(table);
    addWarpInstructions(table);
    addControlInstructions(table);
    addMatrixInstructions(table);
    addWgmmaInstructions(table);
    addTcgen05Instructions(table);
    return table;
  }();
  return table;
}

Decoder::Decoder(const ptx::Module &module, const ptx::Entry &entry,
                 const StringMap<uint64_t> &globals, Kernel &kernel)
    : module(module), entry(entry), globals(globals), kernel(kernel) {}

void Decoder::fail(const Twine &text) {
  unsigned line = current ? current->line : entry.line;
  if (!failed())
    message = (module.file + ":" + Twine(line) + ": " + text).str();
}

bool Decoder::take(StringRef modifier) {
  auto it = find(modifiers, modifier);
  if (it == modifiers.end())
    return false;
  modifiers.erase(it);
  return true;
}

std::optional<unsigned> Decoder::takeOneOf(ArrayRef<StringRef> names) {
  for (auto [index, name] : enumerate(names))
    if (take(name))
      return index;
  return std::nullopt;
}

std::optional<Type> Decoder::tryTakeType() {
  for (StringRef modifier : modifiers)
    if (std::optional<Type> type = ptx::parseType(modifier)) {
      take(modifier);
      return type;
    }
  return std::nullopt;
}

Type Decoder::takeType() {
  if (std::optional<Type> type = tryTakeType())
    return *type;
  fail("expected a type in '" + opcode + "'");
  return Type::B32;
}

StringRef Decoder::takeAny() {
  if (modifiers.empty())
    return {};
  StringRef modifier = modifiers.front();
  modifiers.erase(modifiers.begin());
  return modifier;
}

/// Places of the kernel's own variables. Only what the kernel names takes
/// shared memory, as in the assembler.
void Decoder::layoutVariables() {
  StringSet<> used;
  std::vector<const ptx::Operand *> open;
  for (const ptx::Instruction &instruction : entry.instructions)
    for (const ptx::Operand &operand : instruction.operands)
      open.push_back(&operand);
  while (!open.empty()) {
    const ptx::Operand *operand = open.back();
    open.pop_back();
    if (operand->kind == ptx::Operand::Symbol)
      used.insert(operand->name);
    for (const ptx::Operand &part : operand->parts)
      open.push_back(&part);
  }

  uint64_t shared = kSharedStart, local = 0;
  std::vector<const ptx::Variable *> dynamic;
  uint64_t dynamicAlignment = 16;
  auto place = [&](const ptx::Variable &variable) {
    if (variable.space == Space::Local) {
      local = alignTo(local, Align(variable.alignment));
      symbols[variable.name] = local;
      local += variable.size;
    } else if (variable.space == Space::Shared &&
               used.contains(variable.name)) {
      sharedSymbols.insert(variable.name);
      if (!variable.size) {
        dynamic.push_back(&variable);
        dynamicAlignment =
            std::max<uint64_t>(dynamicAlignment, variable.alignment);
        return;
      }
      shared = alignTo(shared, Align(variable.alignment));
      symbols[variable.name] = shared;
      shared += variable.size;
    }
  };
  for (const ptx::Variable &variable : module.variables)
    place(variable);
  for (const ptx::Variable &variable : entry.variables)
    place(variable);
  kernel.staticShared = shared;
  kernel.dynamicShared = alignTo(shared, dynamicAlignment);
  for (const ptx::Variable *variable : dynamic)
    symbols[variable->name] = kernel.dynamicShared;
  kernel.localBytes = local;
  for (auto [parameter, offset] : zip_equal(entry.parameters, entry.offsets))
    symbols[parameter.name] = offset;
  kernel.parameters = entry.parameters;
  kernel.parameterOffsets = entry.offsets;
  kernel.parameterBytes = entry.parameterBytes;
  kernel.requiredBlock = entry.requiredBlock;
  kernel.maximumBlock = entry.maximumBlock;
  kernel.maxRegisters = entry.maxRegisters;
  kernel.requiredCluster = entry.requiredCluster;
}

bool Decoder::decodeKernel() {
  kernel.name = entry.name.str();
  layoutVariables();
  for (const ptx::Register &reg : entry.registers)
    registers.push_back(makeRow(getSize(reg.type), reg.type == Type::Pred,
                                reg.name, /*written=*/0));
  for (const Opnd &row : registers)
    kernel.registerUnits.push_back(row.isPredicate  ? 0
                                   : row.bytes <= 4 ? 1
                                                    : row.bytes / 4);
  for (const ptx::Instruction &instruction : entry.instructions)
    if (!decodeInstruction(instruction))
      return false;

  // The end of the body is a return.
  Inst end;
  end.flow = Flow::Exit;
  end.cls = InstClass::Control;
  end.synthetic = true;
  kernel.code.push_back(end);
  orderCode(kernel);
  return true;
}

/// Why an instruction is not modelled, if there is more to say.
static StringRef getReason(StringRef base) {
  if (base == "multimem")
    return ": there is one device only";
  if (is_contained({"tex", "tld4", "txq", "suld", "sust", "sured", "suq"},
                   base))
    return ": there are no textures and surfaces";
  if (base == "alloca" || base == "stacksave" || base == "stackrestore")
    return ": the size of the stack must be known";
  return "";
}

bool Decoder::decodeInstruction(const ptx::Instruction &instruction) {
  current = &instruction;
  inst = Inst();
  inst.line = instruction.line;
  opcode = instruction.opcode;
  nextOperand = 0;
  destinations.clear();
  sources.clear();
  modifiers.clear();
  opcode.split(modifiers, '.');
  base = takeAny();

  const DecodeTable &table = getDecodeTable();
  auto it = table.find(base);
  if (it == table.end()) {
    fail("instruction '" + opcode + "' is not modelled" + getReason(base));
    return false;
  }
  if (instruction.guard) {
    inst.hasGuard = true;
    inst.guardNegated = instruction.guardNegated;
    inst.guard = registers[*instruction.guard];
  }
  it->second(*this);
  if (!failed() && !modifiers.empty())
    fail("modifier '." + modifiers.front() + "' of '" + opcode +
         "' is not modelled");
  if (!failed() && hasOperands())
    fail("too many operands of '" + opcode + "'");
  if (!failed() && !inst.run && inst.flow == Flow::None)
    fail("instruction '" + opcode + "' is not modelled");
  if (failed())
    return false;

  kernel.operandLists.emplace_back(destinations.begin(), destinations.end());
  std::vector<Opnd> &ops = kernel.operandLists.back();
  ops.insert(ops.end(), sources.begin(), sources.end());
  inst.ops = ops.data();
  inst.numDsts = destinations.size();
  inst.numOps = ops.size();
  inst.address += inst.numDsts;
  if (inst.acquires || inst.releases) {
    kernel.ordersThreads = true;
    kernel.ordersBlocks |= inst.scope == MemoryScope::Device;
  }
  kernel.code.push_back(inst);
  kernel.usesAsyncRegisters |= inst.isAsync;
  kernel.usesTensorMemory |= base == "tcgen05";
  return true;
}

} // namespace mamba::sim
