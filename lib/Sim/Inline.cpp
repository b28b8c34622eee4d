//===- Inline.cpp - Calls of device functions -----------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "call" and "ret". Every call gets registers and variables of its
// own. A `.param` variable of the function stands for the one that the caller
// passes, so that nothing is copied; other arguments go through a variable or a
// move.
//
//===----------------------------------------------------------------------===//

#include "mamba/Sim/Ptx.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <map>

using namespace llvm;

namespace mamba::ptx {

namespace {

/// Calls that lie in each other, and instructions that a kernel may grow to.
constexpr unsigned kMaxDepth = 64, kMaxInstructions = 1 << 22;

class Inliner {
public:
  Inliner(Module &module, Entry &entry) : module(module), entry(entry) {}

  /// Appends `body`, in which calls are replaced.
  bool emit(const Entry &body);
  std::string message;
  std::vector<Instruction> code;
  std::vector<Label> labels;
  std::vector<BranchTable> tables;

private:
  bool fail(const Instruction &at, const Twine &text) {
    message = (module.file + ":" + Twine(at.line) + ": " + text).str();
    return false;
  }
  bool emitCall(const Instruction &call);
  bool emitBody(const Function &function, const StringMap<StringRef> &actuals,
                unsigned firstRegister);
  void rename(Operand &operand, unsigned firstRegister,
              const StringMap<StringRef> &names);
  void jump(const Instruction &at, StringRef label, bool isGuarded,
            bool negated);
  void access(const Instruction &at, bool isLoad, StringRef variable,
              Operand value, unsigned size);
  void move(const Instruction &at, Operand to, Operand from, unsigned size);
  Operand getRegister(unsigned reg) const;

  Module &module;
  Entry &entry;
  std::vector<const Function *> callers;
};

} // namespace

static StringRef getSuffix(unsigned size) {
  return size == 1 ? "b8" : size == 2 ? "b16" : size == 4 ? "b32" : "b64";
}

Operand Inliner::getRegister(unsigned reg) const {
  Operand operand;
  operand.kind = Operand::Register;
  operand.reg = reg;
  operand.name = entry.registers[reg].name;
  return operand;
}

void Inliner::rename(Operand &operand, unsigned firstRegister,
                     const StringMap<StringRef> &names) {
  if (operand.kind == Operand::Register)
    operand.reg += firstRegister;
  if (auto it = names.find(operand.name);
      operand.kind == Operand::Symbol && it != names.end())
    operand.name = it->second;
  for (Operand &part : operand.parts)
    rename(part, firstRegister, names);
}

void Inliner::jump(const Instruction &at, StringRef label, bool isGuarded,
                   bool negated) {
  Instruction jump;
  jump.line = at.line;
  jump.opcode = "bra";
  if (isGuarded) {
    jump.guard = at.guard;
    jump.guardNegated = at.guardNegated != negated;
  }
  jump.operands.emplace_back();
  jump.operands.back().kind = Operand::Symbol;
  jump.operands.back().name = label;
  code.push_back(std::move(jump));
}

void Inliner::access(const Instruction &at, bool isLoad, StringRef variable,
                     Operand value, unsigned size) {
  Instruction access;
  access.line = at.line;
  access.opcode = module.names.emplace_back(
      ((isLoad ? "ld.param." : "st.param.") + getSuffix(size)).str());
  Operand address, base;
  base.kind = Operand::Symbol;
  base.name = variable;
  address.kind = Operand::Address;
  address.parts = {std::move(base)};
  if (isLoad)
    access.operands = {std::move(value), std::move(address)};
  else
    access.operands = {std::move(address), std::move(value)};
  code.push_back(std::move(access));
}

void Inliner::move(const Instruction &at, Operand to, Operand from,
                   unsigned size) {
  Instruction move;
  move.line = at.line;
  move.opcode = module.names.emplace_back(("mov." + getSuffix(size)).str());
  move.operands = {std::move(to), std::move(from)};
  code.push_back(std::move(move));
}

bool Inliner::emit(const Entry &body) {
  // Labels by the instruction that they stand before.
  std::multimap<unsigned, StringRef> places;
  for (const Label &label : body.labels)
    places.emplace(label.target, label.name);
  for (unsigned i = 0; i <= body.instructions.size(); ++i) {
    for (auto [it, end] = places.equal_range(i); it != end; ++it)
      labels.push_back({it->second, unsigned(code.size())});
    if (i == body.instructions.size())
      break;
    const Instruction &instruction = body.instructions[i];
    if (instruction.opcode.split('.').first == "call") {
      if (!emitCall(instruction))
        return false;
    } else {
      code.push_back(instruction);
    }
    if (code.size() > kMaxInstructions)
      return fail(instruction, "calls make the kernel larger than " +
                                   Twine(kMaxInstructions) + " instructions");
  }
  append_range(tables, body.tables);
  return true;
}

bool Inliner::emitCall(const Instruction &call) {
  const Operand &callee = call.operands[0];
  if (callee.kind != Operand::Symbol)
    return fail(call, "a call through a register is not modelled");
  const Function *function = module.lookupFunction(callee.name);
  if (!function)
    return fail(call, "there is no function '" + callee.name + "'");
  if (!function->hasBody)
    return fail(call, "function '" + callee.name + "' has no body");
  if (is_contained(callers, function))
    return fail(call, "function '" + callee.name +
                          "' calls itself; recursion is not modelled");
  if (callers.size() == kMaxDepth)
    return fail(call, "more than " + Twine(kMaxDepth) + " calls in each other");
  const std::vector<Operand> &results = call.operands[1].parts,
                             &arguments = call.operands[2].parts;
  if (results.size() != function->results.size() ||
      arguments.size() != function->parameters.size())
    return fail(call, "function '" + callee.name + "' has " +
                          Twine(function->parameters.size()) +
                          " parameters and " + Twine(function->results.size()) +
                          " results, the call " + Twine(arguments.size()) +
                          " and " + Twine(results.size()));

  StringRef end = module.makeName("end");
  if (call.guard)
    jump(call, end, /*isGuarded=*/true, /*negated=*/true);
  unsigned firstRegister = entry.registers.size();
  for (const Register &reg : function->body.registers)
    entry.registers.push_back(reg);

  // What the names of the function stand for in this call.
  StringMap<StringRef> actuals;
  auto bind = [&](const Function::Formal &formal, const Operand &actual) {
    bool isVariable = actual.kind == Operand::Symbol;
    if (!formal.isRegister && isVariable) {
      actuals[formal.name] = actual.name;
      return StringRef(actual.name);
    }
    StringRef name = module.makeName(formal.name);
    if (!formal.isRegister) {
      actuals[formal.name] = name;
      entry.variables.push_back(
          {name, Space::Local, formal.size, formal.size, call.line, {}});
    }
    return name;
  };
  for (auto [formal, actual] : zip_equal(function->parameters, arguments)) {
    StringRef name = bind(formal, actual);
    bool isVariable = actual.kind == Operand::Symbol;
    if (formal.isRegister && isVariable)
      access(call, /*isLoad=*/true, actual.name,
             getRegister(firstRegister + formal.reg), formal.size);
    else if (formal.isRegister)
      move(call, getRegister(firstRegister + formal.reg), actual, formal.size);
    else if (!isVariable)
      access(call, /*isLoad=*/false, name, actual, formal.size);
  }
  std::vector<StringRef> resultNames;
  for (auto [formal, actual] : zip_equal(function->results, results))
    resultNames.push_back(bind(formal, actual));

  callers.push_back(function);
  if (!emitBody(*function, actuals, firstRegister))
    return false;
  callers.pop_back();

  for (auto [formal, actual, name] :
       zip_equal(function->results, results, resultNames)) {
    bool isVariable = actual.kind == Operand::Symbol;
    if (formal.isRegister && isVariable)
      access(call, /*isLoad=*/false, actual.name,
             getRegister(firstRegister + formal.reg), formal.size);
    else if (formal.isRegister)
      move(call, actual, getRegister(firstRegister + formal.reg), formal.size);
    else if (!isVariable)
      access(call, /*isLoad=*/true, name, actual, formal.size);
  }
  // A call whose guard is false has no results either.
  labels.push_back({end, unsigned(code.size())});
  return true;
}

bool Inliner::emitBody(const Function &function,
                       const StringMap<StringRef> &actuals,
                       unsigned firstRegister) {
  StringMap<StringRef> names = actuals;
  Entry body = function.body;
  for (Variable &variable : body.variables) {
    // Shared memory is one for all calls.
    if (variable.space == Space::Local) {
      StringRef name = module.makeName(variable.name);
      names[variable.name] = name;
      variable.name = name;
    } else if (any_of(entry.variables, [&](const Variable &other) {
                 return other.name == variable.name;
               })) {
      continue;
    }
    entry.variables.push_back(variable);
  }
  for (Label &label : body.labels) {
    StringRef name = module.makeName(label.name);
    names[label.name] = name;
    label.name = name;
  }
  for (BranchTable &table : body.tables) {
    StringRef name = module.makeName(table.name);
    names[table.name] = name;
    table.name = name;
    for (StringRef &target : table.targets)
      if (auto it = names.find(target); it != names.end())
        target = it->second;
  }
  StringRef end = module.makeName("return");
  for (Instruction &instruction : body.instructions) {
    if (instruction.guard)
      *instruction.guard += firstRegister;
    bool isCall = instruction.opcode.split('.').first == "call";
    for (auto [index, operand] : enumerate(instruction.operands))
      if (!isCall || index != 0) // a function's name
        rename(operand, firstRegister, names);
    if (isCall && instruction.operands[0].kind == Operand::Register)
      rename(instruction.operands[0], firstRegister, names);
    if (instruction.opcode.split('.').first == "ret") {
      instruction.opcode = "bra";
      instruction.operands.assign(1, {});
      instruction.operands.back().kind = Operand::Symbol;
      instruction.operands.back().name = end;
    }
  }
  body.labels.push_back({end, unsigned(body.instructions.size())});
  return emit(body);
}

Error inlineCalls(Module &module, Entry &entry) {
  if (none_of(entry.instructions, [](const Instruction &instruction) {
        return instruction.opcode.split('.').first == "call";
      }))
    return Error::success();
  Inliner inliner(module, entry);
  Entry body = entry;
  if (!inliner.emit(body))
    return createStringError(inliner.message);
  entry.instructions = std::move(inliner.code);
  entry.labels = std::move(inliner.labels);
  entry.tables = std::move(inliner.tables);
  return Error::success();
}

} // namespace mamba::ptx
