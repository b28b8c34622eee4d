//===- Parser.cpp - Declarations of PTX -----------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parser.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mamba::ptx {

bool Parser::fail(unsigned line, const Twine &text) {
  message = (module.file + ":" + Twine(line) + ": " + text).str();
  return false;
}

bool Parser::expect(char c) {
  return lexer.consume(c) || fail(Twine("expected '") + Twine(c) + "'");
}

bool Parser::parseModule() {
  while (!lexer.atEnd()) {
    unsigned line = lexer.getLine();
    StringRef directive = lexer.takeDirective();
    if (directive.empty())
      return fail(line, "expected a directive");
    if (!parseDirective(directive))
      return false;
  }
  return true;
}

bool Parser::parseDirective(StringRef directive) {
  if (directive == "version" || directive == "address_size")
    return lexer.takeNumber() || fail("expected a number");
  if (directive == "target") {
    do {
      StringRef name = lexer.takeName();
      if (name.empty())
        return fail("expected a target");
      if (module.target.empty())
        module.target = name.str();
    } while (lexer.consume(','));
    return true;
  }
  if (directive == "visible" || directive == "extern" || directive == "weak" ||
      directive == "common")
    return true; // the directive that it qualifies follows
  if (directive == "file" || directive == "loc") {
    lexer.skipLine();
    return true;
  }
  if (directive == "pragma")
    return lexer.skipPast(';') || fail("expected ';'");
  if (directive == "section") {
    lexer.takeDirective();
    return lexer.skipBraces() || fail("expected '{'");
  }
  if (directive == "entry")
    return parseEntry();
  if (directive == "func")
    return parseFunction();
  if (directive == "global")
    return parseVariable(Space::Global, false, module.variables);
  if (directive == "const")
    return parseVariable(Space::Const, false, module.variables);
  if (directive == "shared")
    return parseVariable(Space::Shared, false, module.variables);
  return fail("unknown directive '." + directive + "'");
}

/// The declarations up to the next comma, behind the state space.
bool Parser::parseVariable(Space space, bool isParameter,
                           std::vector<Variable> &variables) {
  unsigned alignment = 0;
  std::optional<Type> type;
  unsigned vector = 1;
  while (lexer.peek() == '.') {
    StringRef word = lexer.takeDirective();
    if (word == "align") {
      std::optional<Number> number = lexer.takeNumber();
      if (!number || !isPowerOf2_64(number->bits))
        return fail("expected an alignment");
      // A pointer parameter's ".ptr .align" is about what it points to.
      if (!type)
        alignment = number->bits;
    } else if (word == "v2" || word == "v4") {
      vector = word == "v2" ? 2 : 4;
    } else if (word == "ptr" || word == "global" || word == "shared" ||
               word == "const" || word == "local" || word == "generic" ||
               word.starts_with("attribute")) {
      if (word.starts_with("attribute") && !lexer.skipPast(')'))
        return fail("expected ')'");
    } else if (std::optional<Type> parsed = parseType(word)) {
      type = parsed;
    } else {
      return fail("unknown directive '." + word + "' of a variable");
    }
  }
  if (!type)
    return fail("expected a type");
  do {
    Variable variable;
    variable.line = lexer.getLine();
    variable.space = space;
    variable.name = lexer.takeName();
    if (variable.name.empty())
      return fail("expected a name");
    uint64_t element = getSize(*type) * vector;
    variable.alignment = alignment ? alignment : element;
    variable.size = element;
    while (lexer.consume('[')) {
      std::optional<Number> number = lexer.takeNumber();
      variable.size *= number ? number->bits : 0;
      if (!expect(']'))
        return false;
    }
    if (!isParameter && lexer.consume('=') &&
        !parseInitializer(*type, variable))
      return false;
    variables.push_back(std::move(variable));
  } while (!isParameter && lexer.consume(','));
  return isParameter || expect(';');
}

bool Parser::parseInitializer(Type type, Variable &variable) {
  // Nested braces only group the elements.
  unsigned depth = 0;
  do {
    while (lexer.consume('{'))
      ++depth;
    std::optional<Number> number = lexer.takeNumber();
    if (!number)
      return fail("expected a number; addresses in initializers are not "
                  "modelled");
    uint64_t bits = number->bits;
    for (unsigned i = 0, e = getSize(type); i != e; ++i)
      variable.initializer.push_back(bits >> (8 * i));
    while (depth && lexer.consume('}'))
      --depth;
  } while (lexer.consume(','));
  if (depth)
    return fail("expected '}'");
  if (!variable.size)
    variable.size = variable.initializer.size();
  if (variable.initializer.size() > variable.size)
    return fail("too many initializers of '" + variable.name + "'");
  return true;
}

/// Parameters or results of a function: `.param` variables or registers.
bool Parser::parseFormals(Function &function,
                          std::vector<Function::Formal> &list) {
  if (!expect('('))
    return false;
  if (lexer.consume(')'))
    return true;
  do {
    StringRef space = lexer.takeDirective();
    std::vector<Variable> variables;
    if (space != "param" && space != "reg")
      return fail("expected '.param' or '.reg'");
    if (!parseVariable(Space::Local, /*isParameter=*/true, variables))
      return false;
    Variable &variable = variables.front();
    Function::Formal formal{variable.name, space == "reg", 0,
                            unsigned(variable.size)};
    if (formal.isRegister) {
      formal.reg = function.body.registers.size();
      scopes.back()[variable.name] = formal.reg;
      Type type = variable.size == 1   ? Type::B8
                  : variable.size == 2 ? Type::B16
                  : variable.size == 4 ? Type::B32
                                       : Type::B64;
      function.body.registers.push_back({variable.name.str(), type});
    }
    list.push_back(formal);
  } while (lexer.consume(','));
  return expect(')');
}

/// `.func (results) name (parameters) attributes`, then ';' or a body.
bool Parser::parseFunction() {
  Function function;
  function.body.line = lexer.getLine();
  scopes.assign(1, {});
  variableScopes.assign(1, {});
  if (lexer.peek() == '(' && !parseFormals(function, function.results))
    return false;
  function.body.name = lexer.takeName();
  if (function.body.name.empty())
    return fail("expected a function's name");
  if (lexer.peek() == '(' && !parseFormals(function, function.parameters))
    return false;
  while (lexer.peek() == '.') {
    StringRef word = lexer.takeDirective();
    if (word == "pragma" ? !lexer.skipPast(';') : word != "noreturn")
      return fail("unknown directive '." + word + "' of a function");
  }
  if (!lexer.consume(';')) {
    if (!parseBody(function.body, /*hasScope=*/true))
      return false;
    function.hasBody = true;
  }
  module.functions.push_back(std::move(function));
  return true;
}

bool Parser::parseParameters(Entry &entry) {
  if (!lexer.consume('('))
    return true;
  if (lexer.consume(')'))
    return true;
  do {
    if (lexer.takeDirective() != "param")
      return fail("expected '.param'");
    if (!parseVariable(Space::Param, /*isParameter=*/true, entry.parameters))
      return false;
  } while (lexer.consume(','));
  return expect(')');
}

bool Parser::parseEntryDirectives(Entry &entry) {
  while (lexer.peek() == '.') {
    StringRef word = lexer.takeDirective();
    if (word == "pragma") {
      if (!lexer.skipPast(';'))
        return fail("expected ';'");
      continue;
    }
    if (!StringSwitch<bool>(word)
             .Cases({"reqntid", "maxntid", "minnctapersm", "maxnctapersm"},
                    true)
             .Cases({"maxnreg", "noreturn", "explicitcluster"}, true)
             .Cases({"reqnctapercluster", "maxclusterrank"}, true)
             .Case("blocksareclusters", true)
             .Default(false))
      return fail("unknown directive '." + word + "' of a kernel");
    std::vector<unsigned> sizes;
    if (isDigit(lexer.peek())) {
      do {
        std::optional<Number> number = lexer.takeNumber();
        if (!number)
          return fail("expected a number");
        sizes.push_back(number->bits);
      } while (lexer.consume(','));
    }
    if (word == "reqntid" || word == "maxntid") {
      sizes.resize(3, 1);
      (word == "reqntid" ? entry.requiredBlock : entry.maximumBlock) = sizes;
    } else if (word == "maxnreg" && !sizes.empty()) {
      entry.maxRegisters = sizes.front();
    }
    if (word == "reqnctapercluster") {
      sizes.resize(3, 1);
      entry.requiredCluster = sizes;
    }
    if (word == "blocksareclusters")
      return fail("directive '." + word + "' is not modelled");
  }
  return true;
}

bool Parser::parseEntry() {
  Entry entry;
  entry.line = lexer.getLine();
  entry.name = lexer.takeName();
  if (entry.name.empty())
    return fail("expected a kernel's name");
  if (module.lookup(entry.name))
    return fail(entry.line, "kernel '" + entry.name + "' is defined twice");
  if (!parseParameters(entry) || !parseEntryDirectives(entry))
    return false;
  for (const Variable &parameter : entry.parameters) {
    uint64_t offset = alignTo(entry.parameterBytes, Align(parameter.alignment));
    entry.offsets.push_back(offset);
    entry.parameterBytes = offset + parameter.size;
  }
  if (lexer.consume(';'))
    return true; // a declaration
  if (!parseBody(entry))
    return false;
  module.entries.push_back(std::move(entry));
  return true;
}

Expected<Module> parse(std::unique_ptr<MemoryBuffer> text, StringRef file) {
  Module module;
  module.text = std::move(text);
  module.file = file.str();
  Parser parser(module);
  if (!parser.parseModule())
    return createStringError(parser.message);
  return module;
}

} // namespace mamba::ptx
