//===- Body.cpp - Statements of a kernel ----------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parser.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace mamba::ptx {

std::optional<unsigned> Parser::lookupRegister(StringRef name) const {
  for (const StringMap<unsigned> &scope : reverse(scopes))
    if (auto it = scope.find(name); it != scope.end())
      return it->second;
  return std::nullopt;
}

bool Parser::parseBody(Entry &entry, bool hasScope) {
  if (!expect('{'))
    return false;
  if (!hasScope) {
    scopes.assign(1, {});
    variableScopes.assign(1, {});
  }
  while (!scopes.empty()) {
    if (lexer.atEnd())
      return fail("expected '}'");
    if (lexer.consume('{')) {
      scopes.emplace_back();
      variableScopes.emplace_back();
    } else if (lexer.consume('}')) {
      scopes.pop_back();
      variableScopes.pop_back();
    } else if (lexer.peek() == '.' ? !parseBodyDirective(entry)
                                   : !parseStatement(entry)) {
      return false;
    }
  }
  return true;
}

bool Parser::parseBodyDirective(Entry &entry) {
  StringRef word = lexer.takeDirective();
  if (word == "reg")
    return parseRegisters(entry);
  // Parameters of calls are memory of the thread.
  if (word == "local" || word == "param")
    return parseLocalVariable(entry, Space::Local);
  if (word == "shared")
    return parseLocalVariable(entry, Space::Shared);
  if (word == "loc") {
    lexer.skipLine();
    return true;
  }
  if (word == "pragma")
    return lexer.skipPast(';') || fail("expected ';'");
  if (word == "extern" || word == "visible")
    return true;
  return fail("unknown directive '." + word + "' in a kernel");
}

/// In the innermost scope. Names that scopes share become different ones.
bool Parser::parseLocalVariable(Entry &entry, Space space) {
  std::vector<Variable> variables;
  if (!parseVariable(space, false, variables))
    return false;
  for (Variable &variable : variables) {
    bool isKnown = llvm::any_of(entry.variables, [&](const Variable &other) {
      return other.name == variable.name;
    });
    StringRef name = isKnown ? module.makeName(variable.name) : variable.name;
    variableScopes.back()[variable.name] = name;
    variable.name = name;
    entry.variables.push_back(std::move(variable));
  }
  return true;
}

bool Parser::parseRegisters(Entry &entry) {
  StringRef typeName = lexer.takeDirective();
  std::optional<Type> type = parseType(typeName);
  if (!type)
    return fail("unknown type '." + typeName + "' of a register");
  do {
    StringRef name = lexer.takeName();
    if (name.empty())
      return fail("expected a register");
    auto add = [&](const Twine &registerName) {
      SmallString<32> buffer;
      StringRef key = registerName.toStringRef(buffer);
      auto [it, inserted] =
          scopes.back().try_emplace(key, entry.registers.size());
      if (!inserted)
        return fail("register '" + key + "' is declared twice");
      entry.registers.push_back({key.str(), *type});
      return true;
    };
    if (!lexer.consume('<')) {
      if (!add(name))
        return false;
      continue;
    }
    std::optional<Number> number = lexer.takeNumber();
    if (!number || number->bits > 1 << 20)
      return fail("expected a number of registers");
    for (uint64_t i = 0; i != number->bits; ++i)
      if (!add(name + Twine(i)))
        return false;
    if (!expect('>'))
      return false;
  } while (lexer.consume(','));
  return expect(';');
}

bool Parser::parseStatement(Entry &entry) {
  Instruction instruction;
  unsigned line = lexer.getLine();
  if (lexer.consume('@')) {
    instruction.guardNegated = lexer.consume('!');
    StringRef name = lexer.takeName();
    instruction.guard = lookupRegister(name);
    if (!instruction.guard ||
        entry.registers[*instruction.guard].type != Type::Pred)
      return fail(line, "'" + name + "' is no predicate");
  }
  StringRef opcode = lexer.takeOpcode();
  if (opcode.empty())
    return fail(line, "expected an instruction");
  if (!instruction.guard && lexer.consume(':')) {
    if (!lexer.peek() || lexer.peek() != '.') {
      entry.labels.push_back({opcode, unsigned(entry.instructions.size())});
      return true;
    }
    // `name: .branchtargets a, b;`
    StringRef word = lexer.takeDirective();
    if (word == "callprototype")
      return lexer.skipPast(';') || fail("expected ';'");
    if (word != "branchtargets") {
      // A directive such as `.loc` behind a label.
      entry.labels.push_back({opcode, unsigned(entry.instructions.size())});
      if (word != "loc" && word != "pragma")
        return fail("unknown directive '." + word + "' behind a label");
      lexer.skipLine();
      return true;
    }
    BranchTable table;
    table.name = opcode;
    do {
      table.targets.push_back(lexer.takeName());
    } while (lexer.consume(','));
    entry.tables.push_back(std::move(table));
    return expect(';');
  }
  return parseInstruction(entry, opcode, line, std::move(instruction));
}

bool Parser::parseInstruction(Entry &entry, StringRef opcode, unsigned line,
                              Instruction instruction) {
  instruction.line = line;
  instruction.opcode = opcode;
  if (opcode.split('.').first == "call") {
    if (!parseCall(instruction))
      return false;
    entry.instructions.push_back(std::move(instruction));
    return true;
  }
  if (!lexer.consume(';')) {
    do {
      Operand operand;
      if (!parseOperand(operand))
        return false;
      instruction.operands.push_back(std::move(operand));
    } while (lexer.consume(','));
    if (!expect(';'))
      return false;
  }
  entry.instructions.push_back(std::move(instruction));
  return true;
}

/// `(results), function, (arguments), prototypes;` of which only the function
/// must be there. The operands are the function and two vectors.
bool Parser::parseCall(Instruction &instruction) {
  Operand results, callee, arguments;
  results.kind = arguments.kind = Operand::Vector;
  if (lexer.consume('(') && (!parseList(results, ')') || !expect(',')))
    return false;
  if (!parseOperand(callee))
    return false;
  if (lexer.consume(',') && lexer.consume('(') && !lexer.consume(')') &&
      !parseList(arguments, ')'))
    return false;
  instruction.operands = {std::move(callee), std::move(results),
                          std::move(arguments)};
  // What is left are names of prototypes or possible targets.
  return lexer.skipPast(';') || fail("expected ';'");
}

bool Parser::parseList(Operand &operand, char close) {
  do {
    Operand part;
    if (!parseOperand(part))
      return false;
    operand.parts.push_back(std::move(part));
  } while (lexer.consume(','));
  return expect(close);
}

bool Parser::parseOperand(Operand &operand) {
  if (!parsePrimary(operand))
    return false;
  if (!lexer.consume('|'))
    return true;
  Operand second;
  if (!parsePrimary(second))
    return false;
  Operand pair;
  pair.kind = Operand::Pair;
  pair.parts = {std::move(operand), std::move(second)};
  operand = std::move(pair);
  return true;
}

/// "+4", "-4" or "+-4" behind an address.
bool Parser::parseOffset(Operand &operand) {
  while (lexer.peek() == '+' || lexer.peek() == '-') {
    bool plus = lexer.consume('+');
    std::optional<Number> number = lexer.takeNumber();
    if (!number || number->kind != Number::Integer)
      return fail("expected an offset");
    (void)plus;
    operand.offset += int64_t(number->bits);
  }
  return true;
}

bool Parser::parsePrimary(Operand &operand) {
  if (lexer.consume('!')) {
    if (!parsePrimary(operand))
      return false;
    operand.negated = true;
    return true;
  }
  if (lexer.consume('{')) {
    operand.kind = Operand::Vector;
    return parseList(operand, '}');
  }
  if (lexer.consume('[')) {
    operand.kind = Operand::Address;
    Operand base;
    if (!parseOperand(base))
      return false;
    operand.offset = base.offset;
    base.offset = 0;
    operand.parts.push_back(std::move(base));
    if (!parseOffset(operand))
      return false;
    // A tensor map's coordinates: [map, {x, y}].
    while (lexer.consume(',')) {
      Operand part;
      if (!parseOperand(part))
        return false;
      operand.parts.push_back(std::move(part));
    }
    return expect(']');
  }
  if (std::optional<Number> number = lexer.takeNumber()) {
    operand.kind = number->kind == Number::Integer  ? Operand::Integer
                   : number->kind == Number::Single ? Operand::Single
                                                    : Operand::Double;
    operand.bits = number->bits;
    return true;
  }
  return parseNamed(operand);
}

bool Parser::parseNamed(Operand &operand) {
  unsigned line = lexer.getLine();
  StringRef name = lexer.takeName();
  if (name.empty())
    return fail("expected an operand");
  if (name == "_") {
    operand.kind = Operand::Sink;
    return true;
  }
  if (name == "WARP_SZ") {
    operand.kind = Operand::Integer;
    operand.bits = 32;
    return true;
  }
  if (std::optional<unsigned> reg = lookupRegister(name)) {
    operand.kind = Operand::Register;
    operand.reg = *reg;
    operand.name = name;
    return true;
  }
  if (name.starts_with("%")) {
    operand.kind = Operand::Special;
    operand.name = name;
    if (lexer.peek() != '.')
      return true;
    StringRef component = lexer.takeDirective();
    if (component.size() != 1 || !StringRef("xyzw").contains(component))
      return fail(line,
                  "unknown component '." + component + "' of '" + name + "'");
    // One piece of the text: name, dot, component.
    operand.name = StringRef(name.data(), component.end() - name.data());
    return true;
  }
  operand.kind = Operand::Symbol;
  operand.name = name;
  for (const StringMap<StringRef> &scope : reverse(variableScopes))
    if (auto it = scope.find(name); it != scope.end()) {
      operand.name = it->second;
      break;
    }
  return parseOffset(operand);
}

} // namespace mamba::ptx
