"""Small PTX kernels for matrix instructions, as in instruction_cases.py.

Operands are numbers of few bits, so that sums are exact: of wgmma in shared
memory, of mma by thread and register. Each thread gives its accumulators,
folded into four words if there are more.
"""

from instruction_cases import THREADS, Case, inputs, module  # noqa: F401  (the interface)

WORDS = 2048  # of the template's shared memory

# Type: bytes, mask and base of the words of shared memory, type of D.
_WGMMA_TYPES = {
    "f16": (2, 0x83F083F0, 0x3C003C00, "f32"),
    "bf16": (2, 0x807F807F, 0x3F803F80, "f32"),
    "tf32": (4, 0x807F0000, 0x3F800000, "f32"),
    "e4m3": (1, 0x87878787, 0x38383838, "f32"),
    "e5m2": (1, 0x83838383, 0x3C3C3C3C, "f32"),
    "s8": (1, 0xFFFFFFFF, 0, "s32"),
    "u8": (1, 0xFFFFFFFF, 0, "s32"),
}

_FILL = """
    mov.u32 %r0, %thread;
    fill:
    mul.lo.u32 %r1, %r0, 0x9E3779B1;
    shr.u32 %r2, %r1, 15;
    xor.b32 %r1, %r1, %r2;
    and.b32 %r1, %r1, {mask};
    or.b32 %r1, %r1, {base};
    shl.b32 %r2, %r0, 2;
    add.u32 %r2, %r2, %r31;
    st.shared.b32 [%r2], %r1;
    add.u32 %r0, %r0, {threads};
    setp.lt.u32 %p2, %r0, {words};
    @%p2 bra fill;
    fence.proxy.async;
    bar.sync 0;"""


def _descriptor(register, tile):
    """Lines that make a descriptor of (offset, LBO, SBO, span, base offset)."""
    offset, leading, stride, span, base = (*tile, 0)[:5]
    mode = {16: 0, 128: 1, 64: 2, 32: 3}[span]
    rest = leading >> 4 << 16 | stride >> 4 << 32 | base << 49 | mode << 62
    return f"""
    add.u32 %r0, %r31, {offset};
    shr.u32 %r0, %r0, 4;
    cvt.u64.u32 {register}, %r0;
    or.b64 {register}, {register}, {rest:#x};"""


def wgmma(name, a="bf16", b=None, d=None, columns=8, tile_a=(0, 0, 256, 32),
          tile_b=(4096, 0, 256, 32), trans=(0, 0), signs=(1, 1), registers=False, adds=True,
          fill=None, modifier=""):
    size, mask, base, result = _WGMMA_TYPES[a]
    mask, base = fill or (mask, base)
    result, b = d or result, b or a
    count = columns // (4 if result == "f16" else 2)
    names = [f"%acc{i}" for i in range(count)]
    # The accumulators are small numbers of the type of D.
    start = {"f32": "0x40000000", "f16": "0x40003C00", "s32": "%c32"}[result]
    lines = [f".reg .b32 %acc<{count}>, %ra<4>;", ".reg .b64 %da, %db;"]
    lines += _FILL.format(mask=mask, base=base, threads=THREADS, words=WORDS).splitlines()
    lines += _descriptor("%da", tile_a).splitlines() + _descriptor("%db", tile_b).splitlines()
    lines += [f"mov.b32 {acc}, {start};" for acc in names]
    if registers:
        lines += ["and.b32 %r0, %thread, 127;", "shl.b32 %r0, %r0, 4;",
                  f"add.u32 %r0, %r0, {tile_a[0]};", "add.u32 %r0, %r0, %r31;",
                  "ld.shared.v4.b32 {%ra0, %ra1, %ra2, %ra3}, [%r0];"]
    operands = ["{" + ", ".join(names) + "}",
                "{%ra0, %ra1, %ra2, %ra3}" if registers else "%da", "%db", "%p2"]
    if result != "s32":
        operands += [str(sign) for sign in signs]
        if size == 2:
            operands += [str(flag) for flag in (trans[1:] if registers else trans)]
    lines += [f"setp.eq.u32 %p2, {int(adds)}, 1;", "wgmma.fence.sync.aligned;",
              f"wgmma.mma_async.sync.aligned.m64n{columns}k{32 // size}{modifier}"
              f".{result}.{a}.{b} {', '.join(operands)};",
              "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"]
    for i, acc in enumerate(names):
        word = f"%{'xyzw'[i % 4]}32"
        lines += [f"shf.l.wrap.b32 {word}, {word}, {word}, 5;", f"xor.b32 {word}, {word}, {acc};"]
    return Case(f"wgmma_{name}", "u32", "b32", "\n".join(lines))


CASES = []
for _type in _WGMMA_TYPES:
    CASES += [wgmma(_type, _type), wgmma(f"{_type}_registers", _type, registers=True),
              wgmma(f"{_type}_128", _type, columns=32, tile_a=(0, 0, 1024, 128),
                    tile_b=(4096, 0, 1024, 128), adds=False),
              wgmma(f"{_type}_plain", _type, tile_a=(0, 128, 256, 16),
                    tile_b=(4096, 128, 256, 16))]
CASES += [
    wgmma("f16_f16", "f16", d="f16", fill=(0x83008300, 0x3C003C00)),
    wgmma("e4m3_f16", "e4m3", d="f16", fill=(0x84848484, 0x38383838)),
    wgmma("e4m3_e5m2", "e4m3", "e5m2", fill=(0x83838383, 0x38383838)),
    wgmma("s8_u8", "s8", "u8", columns=16, registers=True),
    wgmma("u8_saturated", "u8", modifier=".satfinite"),
    wgmma("negated_a", signs=(-1, 1)),
    wgmma("negated_b", "tf32", signs=(1, -1)),
    wgmma("negated_both", "f16", signs=(-1, -1), registers=True),
    wgmma("n24", columns=24), wgmma("n128", columns=128, tile_b=(4096, 0, 256, 32)),
    wgmma("n256", columns=256, tile_b=(0, 0, 256, 32), registers=True,
          tile_a=(2048, 0, 0, 16)),
    wgmma("step", tile_a=(32, 0, 1024, 128), tile_b=(4096 + 96, 0, 1024, 128)),
    wgmma("rows", tile_a=(3 * 128, 0, 512, 128), tile_b=(4096 + 5 * 128, 0, 0, 128)),
    wgmma("base_offset", tile_a=(3 * 128, 0, 512, 128, 3), tile_b=(4096, 0, 0, 64, 1)),
]
for _span in (16, 32, 64, 128):
    # Spans of rows lie apart by LBO, groups of eight k by SBO; without swizzle
    # the other way round.
    _tiles = [(offset, 16 * _span, 8 * _span, _span) if _span > 16 else (offset, 128, 256, 16)
              for offset in (0, 4096)]
    CASES += [wgmma(f"trans_a_{_span}", tile_a=_tiles[0], trans=(1, 0)),
              wgmma(f"trans_b_{_span}", "f16", columns=64, tile_b=_tiles[1], trans=(0, 1)),
              wgmma(f"trans_both_{_span}", columns=64, tile_a=_tiles[0], tile_b=_tiles[1],
                    trans=(1, 1)),
              wgmma(f"trans_b_registers_{_span}", columns=64, tile_b=_tiles[1], trans=(0, 1),
                    registers=True)]


# How the registers of a type come from a number of all bits, %r1.
_REGISTERS = {
    "b32": ("b32", "mov.b32 {to}, %r1;"),
    "f16": ("b32", "and.b32 %r1, %r1, 0x83F083F0;\nor.b32 {to}, %r1, 0x3C003C00;"),
    "f32": ("b32", "shr.s32 %r1, %r1, 24;\ncvt.rn.f32.s32 {to}, %r1;"),
    "bf16": ("b32", "and.b32 %r1, %r1, 0x80708070;\nor.b32 {to}, %r1, 0x3F803F80;"),
    "tf32": ("b32", "and.b32 %r1, %r1, 0x807F0000;\nor.b32 {to}, %r1, 0x3F800000;"),
    "f64": ("b64", "shr.s32 %r1, %r1, 24;\ncvt.rn.f64.s32 {to}, %r1;"),
}


def mma(name, opcode, counts, kinds, sparse=None):
    """An instruction with `counts` registers of A, B, C and D; `kinds` are the
    keys of _REGISTERS of the multiplicands, C and D. `sparse` is a word of
    metadata, which threads rotate, and the selector."""
    lines, operands = [], []
    for matrix, count, kind in zip("ABC", counts, (kinds[0], kinds[0], kinds[1])):
        register, text = _REGISTERS[kind]
        names = [f"%m{matrix}{i}" for i in range(count)]
        lines.append(f".reg .{register} {', '.join(names)};")
        for i, to in enumerate(names):
            lines += [f"mad.lo.u32 %r1, %thread, 13, {ord(matrix) * 16 + i};",
                      "mul.lo.u32 %r1, %r1, 0x9E3779B1;", "shr.u32 %r2, %r1, 15;",
                      "xor.b32 %r1, %r1, %r2;", *text.format(to=to).splitlines()]
        operands.append("{" + ", ".join(names) + "}")
    results = [f"%mD{i}" for i in range(counts[3])]
    lines.append(f".reg .{_REGISTERS[kinds[2]][0]} {', '.join(results)};")
    if sparse:
        lines += [f"mov.b32 %r3, {sparse[0]:#x};", "shl.b32 %r4, %thread, 2;",
                  "shf.l.wrap.b32 %r3, %r3, %r3, %r4;"]
        operands += ["%r3", str(sparse[1])]
    lines.append(f"{opcode} {{{', '.join(results)}}}, {', '.join(operands)};")
    if kinds[2] == "f64":
        for i, result in enumerate(results):
            word = "%xy"[1 + i % 2]
            lines += [f"shl.b64 %rd1, %{word}, 7;", f"xor.b64 %{word}, %rd1, {result};"]
        return Case(f"mma_{name}", "u32", "b64", "\n".join(lines))
    for i, result in enumerate(results):
        word = f"%{'xyzw'[i % 4]}32"
        lines += [f"shf.l.wrap.b32 {word}, {word}, {word}, 5;",
                  f"xor.b32 {word}, {word}, {result};"]
    return Case(f"mma_{name}", "u32", "b32", "\n".join(lines))


for _shape, _counts in {"m8n8k4": (1, 1, 2, 2), "m16n8k4": (2, 1, 4, 4), "m16n8k8": (4, 2, 4, 4),
                        "m16n8k16": (8, 4, 4, 4)}.items():
    CASES.append(mma(f"f64_{_shape}", f"mma.sync.aligned.{_shape}.row.col.f64.f64.f64.f64",
                     _counts, ("f64", "f64", "f64")))
for _types in ("s8.s8", "u8.s8"):
    CASES.append(mma(f"{_types.replace('.', '_')}_m8n8k16",
                     f"mma.sync.aligned.m8n8k16.row.col.s32.{_types}.s32", (1, 1, 2, 2),
                     ("b32", "b32", "b32")))
for _shape, _counts in {"m8n8k32": (1, 1, 2, 2), "m16n8k32": (2, 1, 4, 4),
                        "m16n8k64": (4, 2, 4, 4)}.items():
    for _types in ("s4.s4", "u4.s4"):
        CASES.append(mma(f"{_types.replace('.', '_')}_{_shape}",
                         f"mma.sync.aligned.{_shape}.row.col.satfinite.s32.{_types}.s32",
                         _counts, ("b32", "b32", "b32")))
for _shape, _counts in {"m8n8k128": (1, 1, 2, 2), "m16n8k128": (2, 1, 4, 4),
                        "m16n8k256": (4, 2, 4, 4)}.items():
    for _operation in ("xor", "and"):
        CASES.append(mma(f"b1_{_operation}_{_shape}",
                         f"mma.sync.aligned.{_shape}.row.col.s32.b1.b1.s32.{_operation}.popc",
                         _counts, ("b32", "b32", "b32")))
for _orders in ("row.row", "row.col", "col.row", "col.col"):
    for _d, _c in (("f32", "f32"), ("f16", "f16"), ("f32", "f16")):
        CASES.append(mma(f"f16_m8n8k4_{_orders.replace('.', '_')}_{_d}_{_c}",
                         f"mma.sync.aligned.m8n8k4.{_orders}.{_d}.f16.f16.{_c}",
                         (2, 2, 8 if _c == "f32" else 4, 8 if _d == "f32" else 4),
                         ("f16", _c, _d)))

# Two of four: every nibble is a pair of increasing places; one of two for tf32.
_PAIRS, _SINGLES = 0x4E9D8C4E, 0x4EE44E4E
for _selector in range(4):
    CASES += [
        mma(f"sparse_f16_k16_{_selector}",
            "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
            (2, 2, 4, 4), ("f16", "f32", "f32"), (_PAIRS, _selector)),
        mma(f"sparse_tf32_k8_{_selector}",
            "mma.sp::ordered_metadata.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
            (2, 2, 4, 4), ("tf32", "f32", "f32"), (_SINGLES, _selector))]
for _selector in range(2):
    CASES += [
        mma(f"sparse_bf16_k32_{_selector}",
            "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32",
            (4, 4, 4, 4), ("bf16", "f32", "f32"), (_PAIRS, _selector)),
        mma(f"sparse_tf32_k16_{_selector}",
            "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32",
            (4, 4, 4, 4), ("tf32", "f32", "f32"), (_SINGLES, _selector)),
        mma(f"sparse_s8_k32_{_selector}",
            "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32",
            (2, 2, 4, 4), ("b32", "b32", "b32"), (_PAIRS, _selector)),
        mma(f"sparse_u4_k64_{_selector}",
            "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.u4.s4.s32",
            (2, 2, 4, 4), ("b32", "b32", "b32"), (_PAIRS, _selector))]
CASES += [
    mma("sparse_f16_f16",
        "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16",
        (4, 4, 2, 2), ("f16", "f16", "f16"), (_PAIRS, 0)),
    mma("sparse_s8_k64",
        "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.satfinite.s32.s8.s8.s32",
        (4, 4, 4, 4), ("b32", "b32", "b32"), (_PAIRS, 0)),
    mma("sparse_s4_k128",
        "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.s32.s4.s4.s32",
        (4, 4, 4, 4), ("b32", "b32", "b32"), (_PAIRS, 0)),
]
