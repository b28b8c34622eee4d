"""Addresses of tensors with more than 2^31 elements: no kernel computes what
depends on sizes or on the block's index in 32 bits (addresses.py)."""

import pytest

from addresses import check
from assembler import compile_ptx

SSD = ["--model=mamba2-130m", "--op=ssd"]
SSU = ["--model=mamba2-130m", "--op=ssu", "--state-indices"]
ALL_SSD = ["--z", "--seq-idx", "--initial-state", "--chunk-states", "--total-decay"]
ALL_SSU = ["--z", "--tokens=4", "--dst-state-indices", "--intermediate-states"]

CASES = {
    "ssd-f16": SSD,
    "ssd-bf16-static-heads": [*SSD, "--dtype=bf16", "--static-heads"],
    "ssd-bf16-all": [*SSD, "--dtype=bf16", "--state-dtype=f32", *ALL_SSD],
    "ssd-f32-all": [*SSD, "--dtype=f32", "--state-dtype=f32", *ALL_SSD],
    "ssd-chunk-parallel": [*SSD, "--schedule=chunk_parallel"],
    "ssd-odd": [*SSD, "--head-dim=24", "--state-dim=20", "--chunk-size=48", "--dtype=bf16"],
    "ssu-f16": SSU,
    "ssu-bf16-all": [*SSU, "--dtype=bf16", *ALL_SSU],
    "ssu-f32": [*SSU, "--dtype=f32", "--state-dtype=f32"],
}


@pytest.mark.parametrize("name", CASES)
def test_addresses(tmp_path, name):
    path, _ = compile_ptx(tmp_path, CASES[name], "sm_90a")
    found, accesses = check(path.read_text())
    assert accesses > 5
    assert not found


# The analysis itself.

def program(*lines):
    return ".visible .entry k(){\n" + "\n".join(lines) + "\n}\n"


START = ["mov.u32 %r1, %ctaid.x;", "mov.u32 %r2, %tid.x;", "ld.param.b64 %rd1, [k_param_0];",
         "ld.param.b64 %rd2, [k_param_1];"]


@pytest.mark.parametrize("lines", [
    ["mul.lo.s32 %r3, %r1, 64;", "mul.wide.s32 %rd3, %r3, 4;", "add.s64 %rd4, %rd1, %rd3;"],
    ["mad.lo.s32 %r3, %r1, 64, %r2;", "cvt.s64.s32 %rd3, %r3;", "add.s64 %rd4, %rd1, %rd3;"],
    ["cvt.u32.u64 %r3, %rd2;", "cvt.u64.u32 %rd3, %r3;", "add.s64 %rd4, %rd1, %rd3;"],
    ["shl.b32 %r3, %r1, 6;", "or.b32 %r4, %r3, %r2;", "cvt.u64.u32 %rd3, %r4;",
     "add.s64 %rd4, %rd1, %rd3;"],
])
def test_finds_narrow_addresses(lines):
    for access in ("ld.global.b32 %r9, [%rd4+8];", "st.global.v2.b32 [%rd4], {%r1, %r2};",
                   "cp.async.cg.shared.global [%r2], [%rd4], 16;"):
        found, accesses = check(program(*START, *lines, access))
        assert accesses == 1 and len(found) == 1, access


@pytest.mark.parametrize("lines", [
    ["mul.wide.u32 %rd3, %r1, 64;", "add.s64 %rd4, %rd1, %rd3;"],
    ["cvt.u64.u32 %rd3, %r1;", "mul.lo.s64 %rd5, %rd3, %rd2;", "add.s64 %rd4, %rd1, %rd5;"],
    ["mul.lo.s32 %r3, %r2, 64;", "mul.wide.s32 %rd3, %r3, 4;", "add.s64 %rd4, %rd1, %rd3;"],
    ["cvt.u32.u64 %r3, %rd2;", "div.u32 %r4, %r1, %r3;", "cvt.u64.u32 %rd3, %r4;",
     "add.s64 %rd4, %rd1, %rd3;"],
])
def test_accepts_wide_addresses(lines):
    found, accesses = check(program(*START, *lines, "ld.global.b32 %r9, [%rd4];"))
    assert accesses == 1 and not found
