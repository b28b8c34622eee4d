"""Finds 32-bit arithmetic on unbounded numbers in addresses of global memory.

Sizes and the block's index are unbounded: a tensor may have more than 2^31
elements. What is computed from them must be computed in 64 bits before it
becomes an address. The analysis goes through a kernel's PTX and gives each
register one of these, the worst that any of its definitions gives:

  BOUNDED  constants, the thread's index, sizes of blocks, and what is computed
           from them; remainders and other numbers below a constant
  FITS     an unbounded number that is known to fit into 32 bits: the block's
           index, and quotients and parts of such numbers
  WIDE     an unbounded number that nothing has cut
  CUT      32 bits of a WIDE number, or a sum or product in 32 bits that an
           unbounded number takes part in

Divisions and remainders of 32 bits give a number that FITS, whatever they
divide: the compiler divides so after a check that both numbers fit. An address
that is CUT is an error.
"""

import re

BOUNDED, FITS, WIDE, CUT = range(4)

ACCESS = re.compile(r"^(ld|st|atom|red|cp\.async)\b.*\.global")
BLOCK_INDEX = re.compile(r"%n?ctaid\.")
NARROWING = re.compile(r"^cvt\.[us](32|16|8)\.[us]64$|^cvt\.[us]16\.[us]32$")
EXACT_32 = re.compile(r"^(div|rem|mul\.hi)\.[us]32$")
ARITHMETIC_64 = re.compile(r"^(add|sub|mul\.lo|mad\.lo|shl|neg|mul\.wide|mad\.wide)\.")
ARITHMETIC_32 = re.compile(r"^(add|sub|mul\.lo|mad\.lo|shl|neg|mul24\.lo|mad24\.lo)"
                           r"\.([usb]32|[usb]16)$")
SMALL = re.compile(r"^(setp|popc|clz|bfind|isspacep|testp)\b")
MASK_LIMIT = 1 << 24


def _registers(text):
    return re.findall(r"%[a-z]+\d+", text)


def _constants(text):
    return [int(word, 0) for word in re.findall(r"(?<![%\w.])-?(?:0x[0-9a-fA-F]+|\d+)\b", text)]


def parse(ptx):
    """(kernel, [(line number, opcode, operand text)]) for every kernel."""
    kernels, current = [], None
    for number, line in enumerate(ptx.splitlines(), 1):
        if match := re.search(r"\.entry\s+(\w+)", line):
            current = (match[1], [])
            kernels.append(current)
        for statement in re.sub(r"//.*", "", line).split(";"):
            words = re.sub(r"^\s*@!?%p\d+\s+", "", statement).strip().split(None, 1)
            if current and len(words) == 2 and re.match(r"[a-z]", words[0]):
                current[1].append((number, *words))
    return kernels


def _is_remainder(sources, definitions):
    """Whether `a, b` are a number and a multiple of what it is divided by."""
    number, product = (sources.split(",") + [""])[:2]
    opcode, operands = definitions.get(product.strip(), ("", ""))
    if not opcode.startswith("mul.lo") or not _constants(operands):
        return False
    quotient = _registers(operands)[1]
    for _ in range(6):
        opcode, operands = definitions.get(quotient, ("", ""))
        registers = _registers(operands)
        if (not re.match(r"(div|mul\.hi|shr)\.[ub]32|cvt\.u(64\.u32|32\.u64)$", opcode)
                or len(registers) != 2):
            return False
        quotient = registers[1]
        if quotient == number.strip():
            return True
    return False


def _result(opcode, operands, level, definitions):
    """Level of what an instruction computes, from the levels of its operands."""
    sources = operands.split(",", 1)[1] if "," in operands else ""
    if BLOCK_INDEX.search(sources):
        return FITS
    if opcode.startswith(("ld.param", "ld.global")):
        return WIDE  # numbers in memory are indices of slots
    if opcode.startswith("ld.") or SMALL.search(opcode):
        return BOUNDED
    worst = max((level.get(r, BOUNDED) for r in _registers(sources)
                 if not r.startswith("%p")), default=BOUNDED)
    if worst == BOUNDED:
        return BOUNDED
    constants = [c for c in _constants(sources) if 0 <= c < MASK_LIMIT]
    if opcode.startswith(("and.b", "rem.u")) and constants:
        return BOUNDED
    if opcode.startswith("sub.") and _is_remainder(sources, definitions):
        return BOUNDED
    if EXACT_32.search(opcode):
        return FITS
    if ARITHMETIC_32.search(opcode):
        return CUT
    if NARROWING.search(opcode):
        return FITS if worst == FITS else CUT
    if ARITHMETIC_64.search(opcode):
        return max(worst, WIDE)
    return worst


def check(ptx):
    """[(kernel, line, what)] of every access at an address that was cut, and
    how many accesses there were."""
    found, accesses = [], 0
    for kernel, instructions in parse(ptx):
        level, definitions = {}, {}
        for _, opcode, operands in instructions:
            definitions[operands.split(",")[0].strip()] = opcode, operands
        changed = True
        while changed:
            changed = False
            for _, opcode, operands in instructions:
                if ACCESS.search(opcode) and not opcode.startswith("ld"):
                    continue
                destination = operands.split(",")[0]
                if destination.lstrip().startswith("{"):
                    destination = operands[:operands.index("}") + 1]
                    operands = "{}" + operands[operands.index("}") + 1:]
                value = _result(opcode, operands, level, definitions)
                for register in _registers(destination):
                    if value > level.get(register, BOUNDED):
                        level[register] = value
                        changed = True
        for number, opcode, operands in instructions:
            if not ACCESS.search(opcode):
                continue
            accesses += 1
            addresses = re.findall(r"\[([^\]]*)\]", operands)
            address = addresses[-1 if opcode.startswith("cp.async") else 0]
            if any(level.get(r, BOUNDED) == CUT for r in _registers(address)):
                found.append((kernel, number, f"{opcode} {operands}"))
    return found, accesses
