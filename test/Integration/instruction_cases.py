"""Small PTX kernels, one or two instructions' semantics each, with inputs.

Every kernel runs as one block of THREADS threads. Thread i has three 64-bit
inputs, %a, %b and %c, of which %a32 and %a16 (and so on) are the lower bits,
and gives up to four results. A GPU and the simulator run the same text:
GPU/check_instructions.py records what a GPU gives, Sim/test_instructions.py
compares.
"""

from dataclasses import dataclass

import numpy as np

THREADS = 384
HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n"

# How results are stored: lines that fill %out0 and %out1 (64 bits each).
RESULTS = {
    "b64": "mov.b64 %out0, %x;\n mov.b64 %out1, %y;",
    "b32": "mov.b64 %out0, {%x32, %y32};\n mov.b64 %out1, {%z32, %w32};",
    "b16": "mov.b64 %out0, {%x16, %y16, %x16, %y16};\n mov.b64 %out1, 0;",
    "pred": "selp.b64 %out0, 1, 0, %p0;\n selp.b64 %out1, 1, 0, %p1;",
}

TEMPLATE = """
.visible .entry {name}(.param .u64 {name}_in, .param .u64 {name}_out)
{{
 .reg .pred %p<8>;
 .reg .b16 %h<16>, %a16, %b16, %c16, %x16, %y16;
 .reg .b32 %r<32>, %a32, %b32, %c32, %x32, %y32, %z32, %w32, %thread, %lane;
 .reg .b64 %rd<16>, %a, %b, %c, %x, %y, %out0, %out1, %in, %out;
 .shared .align 16 .b8 {name}_shared[8192];
 ld.param.u64 %in, [{name}_in];
 ld.param.u64 %out, [{name}_out];
 cvta.to.global.u64 %in, %in;
 cvta.to.global.u64 %out, %out;
 mov.u32 %thread, %tid.x;
 and.b32 %lane, %thread, 31;
 mul.wide.u32 %rd0, %thread, 8;
 add.s64 %in, %in, %rd0;
 mul.wide.u32 %rd0, %thread, 16;
 add.s64 %out, %out, %rd0;
 ld.global.b64 %a, [%in];
 ld.global.b64 %b, [%in+{b_offset}];
 ld.global.b64 %c, [%in+{c_offset}];
 cvt.u32.u64 %a32, %a;
 cvt.u32.u64 %b32, %b;
 cvt.u32.u64 %c32, %c;
 cvt.u16.u64 %a16, %a;
 cvt.u16.u64 %b16, %b;
 cvt.u16.u64 %c16, %c;
 mov.b64 %x, 0;
 mov.b64 %y, 0;
 mov.b32 %x32, 0;
 mov.b32 %y32, 0;
 mov.b32 %z32, 0;
 mov.b32 %w32, 0;
 mov.b16 %x16, 0;
 mov.b16 %y16, 0;
 setp.ne.u32 %p0, %lane, %lane;
 setp.ne.u32 %p1, %lane, %lane;
 mov.u32 %r31, {name}_shared;
{body}
 {store}
 st.global.v2.b64 [%out], {{%out0, %out1}};
 ret;
}}
"""


@dataclass(frozen=True)
class Case:
    """kind: of the inputs (INPUTS). result: see RESULTS. error: None for equal
    bits, else (type, bound): largest relative error of results of that type;
    a third number is an absolute error that is allowed besides."""

    name: str
    kind: str
    result: str
    body: str
    error: tuple = None

    def text(self):
        body = "\n".join(f" {line.strip()}" for line in self.body.strip().splitlines())
        return TEMPLATE.format(name=self.name, body=body, store=RESULTS[self.result],
                               b_offset=8 * THREADS, c_offset=16 * THREADS)


def _specials(kind):
    if kind == "f32":
        words = [0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x00800000, 0x3F800000, 0xBF800000,
                 0x3F800001, 0x4B800001, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000,
                 0x7FC12345, 0xFFA00001]
        return np.array(words, dtype=np.uint64)
    if kind == "f64":
        values = [0.0, -0.0, 5e-324, -2.2e-308, 2.2250738585072014e-308, 1.0, -1.0, 1 + 2**-52,
                  1.5, 2.0**53 + 2, 1.7976931348623157e308, -1e308, np.inf, -np.inf, 3e9, -0.5]
        words = np.array(values).view(np.uint64)
        words[8], words[15] = 0x7FF8000000000123, 0xFFF0000000000ABC
        return words
    if kind in ("f16", "f16x2"):
        words = [0, 0x8000, 1, 0x8001, 0x03FF, 0x0400, 0x3C00, 0xBC00, 0x3C01, 0x6801, 0x7BFF,
                 0xFBFF, 0x7C00, 0xFC00, 0x7E01, 0x1001]
    elif kind in ("bf16", "bf16x2"):
        words = [0, 0x8000, 1, 0x8001, 0x007F, 0x0080, 0x3F80, 0xBF80, 0x3F81, 0x4B81, 0x7F7F,
                 0xFF7F, 0x7F80, 0xFF80, 0x7FC1, 0x3001]
    else:
        words = [0, 1, 2, 3, 31, 32, 33, 63, 64, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000,
                 0xFFFFFFFF, 0x12345678]
        if kind == "u64":
            words[9:12] = [0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF]
    array = np.array(words, dtype=np.uint64)
    if kind.endswith("x2"):
        array = array | (np.roll(array, 5) << np.uint64(16))
    return array


def _random(kind, rng, count):
    """Values of moderate size, some integers, some close to each other."""
    real = rng.standard_normal(count) * np.exp2(rng.integers(-8, 9, count))
    if kind == "f64":
        return real.view(np.uint64)
    single = real.astype(np.float32)
    if kind == "f32":
        return single.view(np.uint32).astype(np.uint64)
    if kind in ("f16", "f16x2"):
        half = single.astype(np.float16).view(np.uint16).astype(np.uint64)
    elif kind in ("bf16", "bf16x2"):
        half = (single.view(np.uint32) >> 16).astype(np.uint64)
    else:
        bits = rng.integers(0, 2**63, count, dtype=np.uint64) * np.uint64(2)
        return bits if kind == "u64" else bits >> np.uint64(32)
    if kind.endswith("x2"):
        half = half | (np.roll(half, 3) << np.uint64(16))
    return half


def inputs(kind):
    """(3, THREADS) uint64: pairs of special values, then random ones."""
    rng = np.random.default_rng(sum(map(ord, kind)))
    specials = _specials(kind)
    first = np.arange(THREADS)
    rows = []
    for row in range(3):
        index = (first if row == 0 else first // 16 if row == 1 else first * 7 // 3) % 16
        values = specials[index]
        values[256:] = _random(kind, rng, THREADS - 256)
        rows.append(values)
    return np.stack(rows)


def module(cases):
    """PTX text with a kernel for every case."""
    return HEAD + "".join(case.text() for case in cases)


def _simple(operations, kind, result, suffix):
    """One case for each opcode: destination, then as many inputs as stated."""
    cases = []
    for operation in operations:
        opcode, _, count = operation.partition("/")
        sources = ", ".join(f"%{letter}{suffix}" for letter in "abc"[:int(count or 2)])
        name = opcode.replace(".", "_").replace("::", "_")
        cases.append(Case(name, kind, result, f"{opcode} %x{suffix}, {sources};"))
    return cases


CASES = []
CASES += _simple(
    ["add.sat.s32", "sub.sat.s32", "mul.lo.s32", "mul.hi.s32", "mul.hi.u32", "mad.lo.s32/3",
     "mad.hi.s32/3", "mad.hi.u32/3", "mul24.lo.s32", "mul24.lo.u32", "min.s32", "min.u32",
     "max.s32", "abs.s32/1", "neg.s32/1", "sad.u32/3", "sad.s32/3", "dp4a.s32.s32/3",
     "dp4a.u32.s32/3", "and.b32", "not.b32/1", "cnot.b32/1", "shl.b32", "shr.u32", "shr.s32",
     "shf.l.wrap.b32/3", "shf.r.clamp.b32/3", "popc.b32/1", "clz.b32/1", "brev.b32/1",
     "bfind.u32/1", "bfind.s32/1", "bfind.shiftamt.s32/1", "bfe.u32/3", "bfe.s32/3",
     "prmt.b32/3", "prmt.b32.f4e/3", "prmt.b32.b4e/3", "prmt.b32.rc8/3", "prmt.b32.ecl/3",
     "prmt.b32.ecr/3", "prmt.b32.rc16/3", "bmsk.clamp.b32", "szext.clamp.s32",
     "szext.wrap.u32", "min.s16x2", "max.u16x2", "add.u16x2"], "u32", "b32", "32")
CASES += _simple(["add.s64", "mul.lo.s64", "mul.hi.s64", "mul.hi.u64", "mad.lo.s64/3", "min.s64",
                  "max.u64", "abs.s64/1", "brev.b64/1"], "u64", "b64", "")
CASES += _simple(["mul.lo.u16", "mul.hi.s16", "mad.lo.s16/3", "min.s16", "max.u16", "not.b16/1"],
                 "u32", "b16", "16")
CASES += [
    Case("division", "u32", "b32", """
        max.u32 %r0, %b32, 1;
        div.u32 %x32, %a32, %r0;
        rem.u32 %y32, %a32, %r0;
        div.s32 %z32, %a32, %r0;
        rem.s32 %w32, %a32, %r0;"""),
    Case("division_64", "u64", "b64", """
        max.u64 %rd1, %b, 1;
        div.s64 %x, %a, %rd1;
        rem.u64 %y, %a, %rd1;"""),
    Case("mul_wide", "u32", "b64", "mul.wide.s32 %x, %a32, %b32;\nmad.wide.u32 %y, %a32, %b32, %c;"),
    Case("carry", "u32", "b32", """
        add.cc.u32 %x32, %a32, %b32;
        addc.cc.u32 %y32, %b32, %c32;
        addc.u32 %z32, 0, 0;
        sub.cc.u32 %r0, %a32, %c32;
        subc.u32 %w32, %b32, %c32;"""),
    Case("mad_carry", "u32", "b32", """
        mad.lo.cc.u32 %x32, %a32, %b32, %c32;
        madc.hi.cc.u32 %y32, %a32, %b32, %c32;
        addc.u32 %z32, 0, 0;"""),
    Case("lop3", "u32", "b32", "lop3.b32 %x32, %a32, %b32, %c32, 0x96;\n"
                               "lop3.b32 %y32, %a32, %b32, %c32, 0xCA;"),
    Case("bfi", "u32", "b32", "bfi.b32 %x32, %a32, %b32, %c32, 7;\nbfi.b32 %y32, %a32, %b32, 5, %c32;"),
    Case("bfe_64", "u64", "b64", """
        and.b32 %r0, %b32, 255;
        and.b32 %r1, %c32, 255;
        bfe.u64 %x, %a, %r0, %r1;
        bfe.s64 %y, %a, %r1, %r0;"""),
    Case("shift_64", "u64", "b64", "shl.b64 %x, %a, %b32;\nshr.s64 %y, %a, %c32;"),
    Case("setp_int", "u32", "pred", """
        setp.lt.s32 %p2, %a32, %b32;
        setp.hi.and.u32 %p0|%p1, %a32, %b32, %p2;"""),
    Case("setp_xor", "u32", "pred", """
        setp.eq.s32 %p2, %a32, %c32;
        setp.ge.xor.s32 %p0|%p1, %a32, %b32, !%p2;"""),
    Case("set", "u32", "b32", "set.lt.u32.s32 %x32, %a32, %b32;\nset.gt.f32.u32 %y32, %a32, %b32;"),
    Case("slct", "u32", "b32", "slct.b32.s32 %x32, %a32, %b32, %c32;"),
]

CASES += _simple(
    ["add.rn.f32", "add.rz.f32", "add.rm.f32", "add.rp.f32", "add.ftz.f32", "add.sat.f32",
     "sub.f32", "mul.rn.f32", "mul.rz.f32", "mul.rp.ftz.f32", "mul.rm.sat.f32", "fma.rn.f32/3",
     "fma.rz.f32/3", "fma.rm.f32/3", "fma.rp.f32/3", "fma.rn.ftz.sat.f32/3", "div.rn.f32",
     "div.rz.f32", "div.rp.f32", "sqrt.rn.f32/1", "sqrt.rm.f32/1", "rcp.rn.f32/1",
     "rcp.rp.f32/1", "min.f32", "max.f32", "min.NaN.f32", "max.NaN.f32", "max.ftz.f32",
     "max.xorsign.abs.f32", "min.NaN.xorsign.abs.f32", "abs.f32/1", "neg.f32/1",
     "neg.ftz.f32/1", "copysign.f32"], "f32", "b32", "32")
CASES += _simple(["add.rn.f64", "add.rz.f64", "mul.rp.f64", "mul.rm.f64", "fma.rn.f64/3",
                  "div.rn.f64", "div.rz.f64", "sqrt.rn.f64/1", "min.f64", "max.f64", "abs.f64/1",
                  "neg.f64/1"], "f64", "b64", "")
for _type in ("f16", "bf16"):
    CASES += _simple(
        [f"add.rn.{_type}", f"mul.rn.{_type}", f"sub.rn.{_type}", f"fma.rn.{_type}/3",
         f"fma.rn.relu.{_type}/3", f"min.{_type}", f"max.NaN.{_type}", f"neg.{_type}/1",
         f"abs.{_type}/1", f"max.xorsign.abs.{_type}"], _type, "b16", "16")
    CASES += _simple([f"add.rn.{_type}x2", f"fma.rn.{_type}x2/3", f"max.{_type}x2"],
                     f"{_type}x2", "b32", "32")
CASES += _simple(["add.sat.f16", "fma.rn.ftz.f16/3", "mul.ftz.f16"], "f16", "b16", "16")
CASES += [
    Case("setp_float", "f32", "pred", "setp.ltu.f32 %p0, %a32, %b32;\nsetp.ge.f32 %p1, %a32, %b32;"),
    Case("setp_nan", "f32", "pred", "setp.nan.f32 %p0, %a32, %b32;\nsetp.eq.ftz.f32 %p1, %a32, %b32;"),
    Case("setp_f16x2", "f16x2", "pred", "setp.gtu.f16x2 %p0|%p1, %a32, %b32;"),
    Case("setp_bf16", "bf16", "pred", "setp.le.bf16 %p0, %a16, %b16;\nsetp.neu.bf16 %p1, %a16, %b16;"),
    Case("testp", "f32", "pred", "testp.subnormal.f32 %p0, %a32;\ntestp.normal.f32 %p1, %a32;"),
]


def _conversions():
    sizes = {"8": 16, "16": 16, "32": 32, "64": 64}

    def cvt(modifiers, to, source, kind, result=None):
        to_bits = {"f16": 16, "bf16": 16, "tf32": 32}.get(to) or sizes[to.lstrip("usf")]
        from_bits = {"f16": 16, "bf16": 16}.get(source) or sizes[source.lstrip("usf")]
        suffix = {16: "16", 32: "32", 64: ""}
        name = "_".join(["cvt", *modifiers.split("."), to, source]).replace("__", "_")
        opcode = ".".join(filter(None, ["cvt", modifiers, to, source]))
        return Case(name, kind, result or f"b{to_bits}",
                    f"{opcode} %x{suffix[to_bits]}, %a{suffix[from_bits]};")

    for to in ("s8", "u16", "s32", "u32", "s64", "u64"):
        yield cvt("rzi", to, "f32", "f32")
        yield cvt("rni", to, "f64", "f64")
    yield cvt("rmi", "s32", "f32", "f32")
    yield cvt("rpi.ftz", "u32", "f32", "f32")
    yield cvt("rni", "s32", "f16", "f16")
    for modifiers in ("rn", "rz", "rm", "rp"):
        yield cvt(modifiers, "f32", "s64", "u64")
        yield cvt(modifiers, "f32", "u32", "u32")
        yield cvt(modifiers, "f32", "f64", "f64")
        yield cvt(modifiers, "f64", "u64", "u64")
    for modifiers in ("rn", "rz", "rn.relu", "rz.relu"):
        yield cvt(modifiers, "f16", "f32", "f32")
        yield cvt(modifiers, "bf16", "f32", "f32")
    yield cvt("rm", "f16", "f32", "f32")
    yield cvt("rn", "f16", "f64", "f64")
    yield cvt("rn", "f16", "s32", "u32")
    yield cvt("rna", "tf32", "f32", "f32")
    yield cvt("", "f32", "f16", "f16")
    yield cvt("", "f32", "bf16", "bf16")
    yield cvt("ftz", "f64", "f32", "f32")
    yield cvt("rni", "f32", "f32", "f32")
    yield cvt("rpi", "f64", "f64", "f64")
    yield cvt("rmi.sat", "f32", "f32", "f32")
    yield cvt("sat", "s16", "s32", "u32")
    yield cvt("sat", "u8", "s32", "u32")
    yield cvt("sat", "u32", "s64", "u64")
    yield cvt("", "s64", "s8", "u32")
    yield cvt("", "u32", "u16", "u32")
    for to in ("f16x2", "bf16x2"):
        for modifiers in ("rn", "rz.relu"):
            name = f"cvt_{modifiers.replace('.', '_')}_{to}_f32"
            yield Case(name, "f32", "b32", f"cvt.{modifiers}.{to}.f32 %x32, %a32, %b32;")
    for to in ("e4m3x2", "e5m2x2"):
        yield Case(f"cvt_{to}_f32", "f32", "b16",
                   f"cvt.rn.satfinite.{to}.f32 %x16, %a32, %b32;")
        yield Case(f"cvt_f16x2_{to}", "u32", "b32", f"cvt.rn.f16x2.{to} %x32, %a16;")


CASES += list(_conversions())

# Approximate functions: the bound is the PTX ISA's, plus one rounding.
F32_ULP = 2.0**-23
CASES += [
    Case("ex2_approx", "f32", "b32", "ex2.approx.f32 %x32, %a32;", ("f32", 3 * F32_ULP)),
    Case("ex2_approx_ftz", "f32", "b32", "ex2.approx.ftz.f32 %x32, %a32;", ("f32", 3 * F32_ULP)),
    Case("lg2_approx", "f32", "b32", "lg2.approx.f32 %x32, %a32;", ("f32", 2 * F32_ULP, 2**-21.0)),
    Case("rcp_approx", "f32", "b32", "rcp.approx.f32 %x32, %a32;", ("f32", 2 * F32_ULP)),
    Case("rcp_approx_ftz", "f32", "b32", "rcp.approx.ftz.f32 %x32, %a32;", ("f32", 2 * F32_ULP)),
    Case("rsqrt_approx", "f32", "b32", "rsqrt.approx.f32 %x32, %a32;", ("f32", 3 * F32_ULP)),
    Case("sqrt_approx", "f32", "b32", "sqrt.approx.f32 %x32, %a32;", ("f32", 3 * F32_ULP)),
    Case("div_approx", "f32", "b32", "div.approx.f32 %x32, %a32, %b32;", ("f32", 3 * F32_ULP)),
    Case("div_full", "f32", "b32", "div.full.f32 %x32, %a32, %b32;", ("f32", 3 * F32_ULP)),
    Case("tanh_approx", "f32", "b32", "tanh.approx.f32 %x32, %a32;", ("f32", 2**-10.5)),
    Case("ex2_f16", "f16", "b16", "ex2.approx.f16 %x16, %a16;", ("f16", 2**-9.5)),
    Case("ex2_bf16", "bf16", "b16", "ex2.approx.ftz.bf16 %x16, %a16;"),
    Case("ex2_bf16x2", "bf16x2", "b32", "ex2.approx.ftz.bf16x2 %x32, %a32;"),
    Case("tanh_bf16", "bf16", "b16", "tanh.approx.bf16 %x16, %a16;", ("bf16", 2**-6.5)),
]

CASES += [
    Case("shuffles", "u32", "b32", """
        shfl.sync.up.b32 %x32, %a32, 3, 0, -1;
        shfl.sync.down.b32 %y32|%p2, %a32, 5, 0x1f, -1;
        shfl.sync.bfly.b32 %z32, %a32, 7, 0x1f, -1;
        shfl.sync.idx.b32 %w32, %a32, %b32, 0x1c1f, -1;
        @%p2 add.u32 %y32, %y32, 1;"""),
    Case("shuffle_segments", "u32", "b32", """
        shfl.sync.up.b32 %x32|%p2, %a32, 2, 0x1800, -1;
        shfl.sync.down.b32 %y32|%p3, %a32, 2, 0x1807, -1;
        shfl.sync.idx.b32 %z32|%p4, %a32, 9, 0x1807, -1;
        selp.u32 %w32, 1, 0, %p2;
        @%p3 add.u32 %w32, %w32, 2;
        @%p4 add.u32 %w32, %w32, 4;"""),
    Case("shuffle_divergent", "u32", "b32", """
        setp.lt.u32 %p2, %lane, 12;
        @%p2 bra $LOW_shuffle_divergent;
        shfl.sync.bfly.b32 %x32, %a32, 1, 0x1f, 0xfffff000;
        bra $END_shuffle_divergent;
        $LOW_shuffle_divergent:
        shfl.sync.bfly.b32 %x32, %a32, 2, 0x1f, 0x00000fff;
        $END_shuffle_divergent:
        shfl.sync.idx.b32 %y32, %x32, 13, 0x1f, -1;"""),
    Case("votes", "u32", "b32", """
        setp.lt.s32 %p2, %a32, %b32;
        vote.sync.ballot.b32 %x32, %p2, -1;
        vote.sync.any.pred %p3, %p2, -1;
        vote.sync.all.pred %p4, %p2, -1;
        vote.sync.uni.pred %p5, !%p2, -1;
        selp.u32 %y32, 1, 0, %p3;
        @%p4 add.u32 %y32, %y32, 2;
        @%p5 add.u32 %y32, %y32, 4;
        activemask.b32 %z32;"""),
    Case("match", "u32", "b32", """
        and.b32 %r0, %a32, 3;
        match.any.sync.b32 %x32, %r0, -1;
        match.all.sync.b32 %y32|%p2, %b32, -1;
        selp.u32 %z32, 1, 0, %p2;"""),
    Case("redux", "u32", "b32", """
        redux.sync.add.u32 %x32, %a32, -1;
        redux.sync.min.s32 %y32, %a32, -1;
        redux.sync.max.u32 %z32, %a32, -1;
        redux.sync.xor.b32 %w32, %a32, -1;"""),
    Case("elect", "u32", "pred", "elect.sync _|%p0, -1;"),
    Case("barrier_reduce", "u32", "b32", """
        setp.lt.s32 %p2, %a32, %b32;
        bar.red.popc.u32 %x32, 0, %p2;
        bar.red.or.pred %p3, 1, %p2;
        barrier.sync.aligned 2, 384;
        selp.u32 %y32, 1, 0, %p3;"""),
    Case("divergence", "u32", "b32", """
        and.b32 %r0, %a32, 15;
        mov.u32 %r1, 0;
        $LOOP_divergence:
        add.u32 %x32, %x32, %r1;
        add.u32 %r1, %r1, 1;
        setp.le.u32 %p2, %r1, %r0;
        @%p2 bra $LOOP_divergence;
        activemask.b32 %y32;"""),
    Case("branch_table", "u32", "b32", """
        and.b32 %r0, %lane, 3;
        $TABLE_branch_table: .branchtargets $A_branch_table, $B_branch_table, $A_branch_table, $C_branch_table;
        brx.idx %r0, $TABLE_branch_table;
        $A_branch_table:
        mov.u32 %x32, 1;
        bra $END_branch_table;
        $B_branch_table:
        mov.u32 %x32, 2;
        $C_branch_table:
        add.u32 %x32, %x32, 3;
        $END_branch_table:
        mov.u32 %y32, %x32;"""),
    Case("atomics", "u32", "b32", """
        st.shared.v4.b32 [%r31], {0, 0, 0, 0};
        bar.sync 0;
        atom.shared.add.u32 %r0, [%r31], %a32;
        red.shared.max.s32 [%r31+4], %a32;
        atom.shared.xor.b32 %r1, [%r31+8], %a32;
        atom.shared.inc.u32 %r2, [%r31+12], 99;
        bar.sync 0;
        ld.shared.v4.b32 {%x32, %y32, %z32, %w32}, [%r31];"""),
    Case("atomic_cas", "u32", "b32", """
        shl.b32 %r0, %thread, 2;
        add.u32 %r0, %r31, %r0;
        st.shared.b32 [%r0], %a32;
        atom.shared.cas.b32 %x32, [%r0], %b32, %c32;
        atom.shared.exch.b32 %y32, [%r0], 7;
        atom.shared.min.u32 %z32, [%r0], %a32;"""),
    Case("loads", "u32", "b32", """
        mad.lo.u32 %r0, %thread, 16, %r31;
        st.shared.b64 [%r0], %a;
        st.shared.b64 [%r0+8], %b;
        ld.shared.s8 %x32, [%r0+3];
        ld.shared.u16 %y32, [%r0+2];
        ld.shared.v2.b16 {%h0, %h1}, [%r0+8];
        mov.b32 %z32, {%h1, %h0};
        cvta.shared.u64 %rd1, smem_of_loads;
        ld.shared.s16 %w32, [%r0];""".replace("cvta.shared.u64 %rd1, smem_of_loads;", "")),
    Case("generic", "u32", "b32", """
        mad.lo.u32 %r0, %thread, 16, %r31;
        cvt.u64.u32 %rd1, %r0;
        cvta.shared.u64 %rd2, %rd1;
        st.v2.b32 [%rd2], {%a32, %b32};
        isspacep.shared %p2, %rd2;
        ld.shared.b32 %x32, [%r0+4];
        ld.b32 %y32, [%in];
        isspacep.global %p3, %in;
        selp.u32 %z32, 1, 0, %p2;
        selp.u32 %w32, 1, 0, %p3;"""),
    Case("async_copy", "u32", "b32", """
        mad.lo.u32 %r0, %thread, 16, %r31;
        and.b64 %rd1, %in, -16;
        cp.async.cg.shared.global [%r0], [%rd1], 16;
        cp.async.commit_group;
        cp.async.wait_group 0;
        ld.shared.v4.b32 {%x32, %y32, %z32, %w32}, [%r0];"""),
    Case("async_copy_zero", "u32", "b32", """
        mad.lo.u32 %r0, %thread, 16, %r31;
        and.b64 %rd1, %in, -16;
        and.b32 %r1, %lane, 15;
        cp.async.ca.shared.global [%r0], [%rd1], 16, %r1;
        cp.async.wait_all;
        ld.shared.v4.b32 {%x32, %y32, %z32, %w32}, [%r0];"""),
    Case("ldmatrix", "u32", "b32", """
        rem.u32 %r3, %thread, 128;
        mad.lo.u32 %r0, %r3, 16, %r31;
        setp.lt.u32 %p2, %thread, 128;
        @%p2 st.shared.v4.b32 [%r0], {%a32, %b32, %c32, %thread};
        bar.sync 0;
        ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%x32, %y32, %z32, %w32}, [%r0];"""),
    Case("ldmatrix_trans", "u32", "b32", """
        rem.u32 %r3, %thread, 128;
        mad.lo.u32 %r0, %r3, 16, %r31;
        setp.lt.u32 %p2, %thread, 128;
        @%p2 st.shared.v4.b32 [%r0], {%a32, %b32, %c32, %thread};
        bar.sync 0;
        ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%x32, %y32}, [%r0];
        movmatrix.sync.aligned.m8n8.trans.b16 %z32, %a32;"""),
    Case("stmatrix", "u32", "b32", """
        mad.lo.u32 %r0, %thread, 16, %r31;
        stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r0], {%a32, %b32, %c32, %thread};
        bar.warp.sync -1;
        ld.shared.v4.b32 {%x32, %y32, %z32, %w32}, [%r0];"""),
]

# Small integers as inputs of matrices, so that sums are exact in any order.
_FRAGMENTS = """
        and.b32 %r0, %a32, {mask};
        and.b32 %r1, %b32, {mask};
        and.b32 %r2, %c32, {mask};
        xor.b32 %r3, %r0, {flip};
        xor.b32 %r4, %r1, {flip};
        xor.b32 %r5, %r2, {flip};
        shfl.sync.bfly.b32 %r6, %r3, 1, 0x1f, -1;"""
_MMA = [
    ("mma_bf16", "m16n8k16", "f32.bf16.bf16.f32", 4, 2, "0xC0304030", "0x3F803F80"),
    ("mma_f16", "m16n8k16", "f32.f16.f16.f32", 4, 2, "0x88008400", "0x3C003C00"),
    ("mma_f16_k8", "m16n8k8", "f32.f16.f16.f32", 2, 1, "0x88008400", "0x3C003C00"),
    ("mma_tf32", "m16n8k8", "f32.tf32.tf32.f32", 4, 2, "0x80400000", "0x3F800000"),
    ("mma_tf32_k4", "m16n8k4", "f32.tf32.tf32.f32", 2, 1, "0x80400000", "0x3F800000"),
    ("mma_s8", "m16n8k32", "s32.s8.s8.s32", 4, 2, "0xFFFFFFFF", "0"),
    ("mma_u8", "m16n8k16", "s32.u8.s8.s32", 2, 1, "0xFFFFFFFF", "0"),
]
for _name, _shape, _types, _a, _b, _mask, _flip in _MMA:
    _regs = {4: "{%r3, %r4, %r5, %r6}", 2: "{%r4, %r5}", 1: "{%r3}"}
    CASES.append(Case(_name, "u32", "b32", _FRAGMENTS.format(mask=_mask, flip=_flip) + f"""
        mma.sync.aligned.{_shape}.row.col.{_types} {{%x32, %y32, %z32, %w32}},
            {_regs[_a]}, {_regs[_b]}, {{{', '.join([('%r0' if 's32' in _types else '0f3F800000')] * 4)}}};"""
        .replace(",\n            ", ", ")))
CASES.append(Case("mma_f16_accumulator", "u32", "b32",
                  _FRAGMENTS.format(mask="0x88008400", flip="0x3C003C00") + """
        mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%x32, %y32}, {%r3, %r4, %r5, %r6}, {%r4, %r5}, {%r5, %r6};"""))
