"""Small PTX kernels with mbarriers, bulk and tensor copies, and clusters.

As instruction_cases.py, whose inputs and results they share, with more in
scope: %r30 is the address of 16 bytes for mbarriers, %p7 says whether this is
thread 0 of its block, %rd15 is the address of a tensor map on the inputs or
the outputs, and the threads may be those of a cluster of two blocks. Shared
memory at %r31 is aligned to 1024 bytes. GPU/check_instructions.py records what
a GPU gives, Sim/test_async_instructions.py compares.
"""

from dataclasses import dataclass

import instruction_cases
from instruction_cases import HEAD, THREADS, inputs  # noqa: F401  (part of the interface)

INPUT_BYTES, OUTPUT_BYTES = 24 * THREADS, 16 * THREADS


@dataclass(frozen=True)
class Case(instruction_cases.Case):
    """tensor: None or (buffer, map): "in" or "out", and the fields of a
    parameter of kind tensor_map. cluster: blocks, which share the threads."""

    tensor: tuple = None
    cluster: int = 1

    def text(self):
        name, text = self.name, super().text()

        def replace(old, new):
            nonlocal text
            assert old in text
            text = text.replace(old, new, 1)

        replace(".shared .align 16", ".shared .align 1024")
        replace(f" mov.u32 %r31, {name}_shared;\n",
                f" .shared .align 8 .b8 {name}_bar[16];\n mov.u32 %r30, {name}_bar;\n"
                f" mov.u32 %r31, {name}_shared;\n mov.u32 %r29, %tid.x;\n"
                " setp.eq.u32 %p7, %r29, 0;\n")
        if self.tensor:
            replace(f"{name}_out)", f"{name}_out, .param .align 64 .b8 {name}_map[128])")
            replace("{\n", f"{{\n .reg .b64 %map;\n mov.b64 %map, {name}_map;\n"
                    " cvta.param.u64 %map, %map;\n")
            text = text.replace("%rd15", "%map")
        if self.cluster > 1:
            replace(" mov.u32 %thread, %tid.x;\n",
                    " mov.u32 %r0, %tid.x;\n mov.u32 %r1, %ctaid.x;\n mov.u32 %r2, %ntid.x;\n"
                    " mad.lo.u32 %thread, %r1, %r2, %r0;\n")
            replace(" and.b32 %lane, %thread, 31;\n", " and.b32 %lane, %r0, 31;\n")
        return text


def module(cases):
    return HEAD.replace("8.0", "8.6") + "\n".join(case.text() for case in cases)


INIT = """
    @%p7 mbarrier.init.shared::cta.b64 [%r30], {count};
    @%p7 fence.mbarrier_init.release.cluster;
    bar.sync 0;"""
WAIT = """
    WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p6, [%r30], 0;
    @!%p6 bra WAIT;"""
# Every thread's 16 bytes of the tile, and what stays as it was.
FILL = """
    mad.lo.u32 %r0, %thread, 16, %r31;
    st.shared.v4.b32 [%r0], {%thread, -1, 77, 1000};"""
READ = """
    ld.shared.v4.b32 {%x32, %y32, %z32, %w32}, [%r0];"""
# Thread 0 of a block alone; results by way of shared memory.
ALONE = """
    @!%p7 bra END;"""
SHARE = """
    st.shared.v4.b32 [%r31], {%x32, %y32, %z32, %w32};
    END:
    bar.sync 0;
    ld.shared.v4.b32 {%x32, %y32, %z32, %w32}, [%r31];"""
# Tests of parity 0 and 1 as two bits of a register.
TEST = """
    mbarrier.test_wait.parity.shared::cta.b64 %p5, [%r30], 0;
    selp.b32 %r20, 1, 0, %p5;
    mbarrier.test_wait.parity.shared::cta.b64 %p5, [%r30], 1;
    @%p5 add.u32 %r20, %r20, 2;
    shl.b32 {0}, {0}, 2;
    or.b32 {0}, {0}, %r20;"""


def _test(register="%x32"):
    return TEST.replace("{0}", register)


CASES = [
    Case("mbarrier_phases", "u32", "b32", INIT.format(count=THREADS) + _test() + """
        bar.sync 0;
        mbarrier.arrive.shared::cta.b64 _, [%r30];
        bar.sync 0;""" + _test() + """
        bar.sync 0;
        mbarrier.arrive.shared.b64 %rd3, [%r30];
        bar.sync 0;""" + _test() + """
        mbarrier.test_wait.acquire.cta.shared::cta.b64 %p0, [%r30], %rd3;
        selp.b32 %y32, 1, 0, %p0;
        mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r30], 1, 1000;
        selp.b32 %z32, 1, 0, %p0;"""),
    Case("mbarrier_counts", "u32", "b32", INIT.format(count=9) + ALONE + """
        mbarrier.arrive.shared::cta.b64 %rd3, [%r30], 3;
        mbarrier.pending_count.b64 %x32, %rd3;
        mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %rd3, [%r30], 2;
        mbarrier.pending_count.b64 %y32, %rd3;""" + _test("%w32") + """
        mbarrier.arrive.shared::cta.b64 %rd3, [%r30], 4;
        mbarrier.pending_count.b64 %z32, %rd3;""" + _test("%w32") + """
        mbarrier.test_wait.shared::cta.b64 %p0, [%r30], %rd3;
        @%p0 add.u32 %w32, %w32, 256;""" + SHARE),
    Case("mbarrier_drop", "u32", "b32", INIT.format(count=3) + ALONE + """
        mbarrier.arrive_drop.shared::cta.b64 %rd3, [%r30];
        mbarrier.arrive.shared::cta.b64 _, [%r30], 2;""" + _test() + """
        mbarrier.arrive.shared::cta.b64 _, [%r30], 2;""" + _test() + """
        mbarrier.arrive.shared::cta.b64 %rd3, [%r30];
        mbarrier.pending_count.b64 %y32, %rd3;""" + _test() + """
        mbarrier.inval.shared::cta.b64 [%r30];""" + SHARE),
    Case("mbarrier_bytes", "u32", "b32", INIT.format(count=2) + ALONE + """
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r30], 64;
        mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r30], 16;""" + _test() + """
        mbarrier.arrive.shared::cta.b64 _, [%r30];""" + _test() + """
        mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r30], 48;""" + _test() + """
        mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r30], 32;""" + _test() + """
        mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r30], 32;
        mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r30], 32;
        mbarrier.arrive.shared::cta.b64 _, [%r30], 2;""" + _test() + SHARE),
    Case("bulk_load", "u32", "b32", FILL + INIT.format(count=1) + """
        fence.proxy.async;
        bar.sync 0;
        mov.u32 %r2, 2064;
        @%p7 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r31+16], [%in+64], %r2, [%r30];
        @%p7 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r31+4096], [%in], 16, [%r30];
        @%p7 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r30], 2080;""" + WAIT + READ),
    Case("bulk_store", "u32", "b32", """
        mad.lo.u32 %r0, %thread, 16, %r31;
        st.shared.v4.b32 [%r0], {%thread, %a32, %b32, %c32};
        st.global.v2.b64 [%out], {%a, %b};
        fence.proxy.async;
        bar.sync 0;
        @!%p7 ret;
        cp.async.bulk.global.shared::cta.bulk_group [%out+32], [%r31], 1600;
        cp.async.bulk.commit_group;
        cp.async.bulk.global.shared::cta.bulk_group [%out+2048], [%r31+64], 48;
        cp.async.bulk.commit_group;
        cp.async.bulk.wait_group.read 1;
        cp.async.bulk.wait_group 0;
        ret;"""),
    Case("bulk_prefetch", "u32", "b32", """
        @%p7 cp.async.bulk.prefetch.L2.global [%in], 512;
        mov.b32 %x32, %a32;"""),
    Case("copy_arrive", "u32", "b32", INIT.format(count=THREADS) + """
        mad.lo.u32 %r0, %thread, 16, %r31;
        and.b64 %rd1, %in, -16;
        cp.async.cg.shared.global [%r0], [%rd1], 16;
        cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r30];""" + WAIT + """
        xor.b32 %r1, %thread, 32;
        mad.lo.u32 %r0, %r1, 16, %r31;""" + READ),
    Case("copy_arrive_counted", "u32", "b32", INIT.format(count=THREADS) + """
        mad.lo.u32 %r0, %thread, 16, %r31;
        and.b64 %rd1, %in, -16;
        cp.async.cg.shared.global [%r0], [%rd1], 16;
        cp.async.mbarrier.arrive.shared::cta.b64 [%r30];
        mbarrier.arrive.shared::cta.b64 _, [%r30];""" + WAIT + """
        xor.b32 %r1, %thread, 32;
        mad.lo.u32 %r0, %r1, 16, %r31;""" + READ),
]

for _operation, _kind in [
        ("add.u32", "u32"), ("min.s32", "u32"), ("max.u32", "u32"), ("and.b32", "u32"),
        ("or.b32", "u32"), ("xor.b32", "u32"), ("inc.u32", "u32"), ("dec.u32", "u32"),
        ("add.u64", "u64"), ("min.s64", "u64"), ("max.u64", "u64"), ("add.f32", "f32"),
        ("add.f64", "f64"), ("add.noftz.f16", "f16"), ("min.f16", "f16"),
        ("add.noftz.bf16", "bf16"), ("max.bf16", "bf16")]:
    CASES.append(Case("bulk_reduce_" + _operation.replace(".", "_"), _kind, "b32", f"""
        mad.lo.u32 %r0, %thread, 16, %r31;
        st.shared.v2.b64 [%r0], {{%a, %b}};
        st.global.v2.b64 [%out], {{%c, %a}};
        fence.proxy.async;
        bar.sync 0;
        @!%p7 ret;
        cp.reduce.async.bulk.global.shared::cta.bulk_group.{_operation} [%out], [%r31], {OUTPUT_BYTES};
        cp.async.bulk.commit_group;
        cp.async.bulk.wait_group 0;
        ret;"""))


def _tensor(sizes, box, dtype="bf16", **more):
    """A dense tensor; `more` may hold swizzle, fill, strides and so on."""
    strides = [1]
    for size in sizes[:-1]:
        strides.append(strides[-1] * size)
    return {"dtype": dtype, "sizes": list(sizes), "strides": strides[1:], "box": list(box), **more}


def _box_bytes(tensor):
    count = {"u8": 1, "bf16": 2, "f16": 2, "f32": 4, "f64": 8}[tensor["dtype"]]
    steps = tensor.get("element_strides", [1] * len(tensor["box"]))
    for axis, (size, step) in enumerate(zip(tensor["box"], steps)):
        count *= -(-size // step) if axis else size
    return count


def _coordinates(values):
    lines = "".join(f"\n        mov.b32 %r{10 + i}, {value};" for i, value in enumerate(values))
    return lines, "{" + ", ".join(f"%r{10 + i}" for i in range(len(values))) + "}"


def _load(name, tensor, coordinates, offset=0):
    moves, operand = _coordinates(coordinates)
    return Case(name, "u32", "b32", FILL + INIT.format(count=1) + moves + f"""
        fence.proxy.async;
        bar.sync 0;
        @%p7 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r30], {_box_bytes(tensor)};
        @%p7 cp.async.bulk.tensor.{len(coordinates)}d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r31+{offset}], [%rd15, {operand}], [%r30];"""
                + WAIT + READ, tensor=("in", tensor))


def _store(name, tensor, coordinates, opcode="cp.async.bulk.tensor", operation="", kind="u32"):
    moves, operand = _coordinates(coordinates)
    return Case(name, kind, "b32", f"""
        mad.lo.u32 %r0, %thread, 16, %r31;
        st.shared.v2.b64 [%r0], {{%a, %b}};
        st.global.v2.b64 [%out], {{%c, %a}};{moves}
        fence.proxy.async;
        bar.sync 0;
        @!%p7 ret;
        {opcode}.{len(coordinates)}d.global.shared::cta{operation}.tile.bulk_group [%rd15, {operand}], [%r31+128];
        cp.async.bulk.commit_group;
        cp.async.bulk.wait_group 0;
        ret;""", tensor=("out", tensor))


# Tensors of at most INPUT_BYTES (loads) and OUTPUT_BYTES (stores); boxes with rows of
# 32 bytes serve every swizzle.
_SHAPES = [
    ("1d", [100], [16], "bf16", [8], [96]),
    ("2d", [48, 30], [8, 12], "f32", [4, 3], [44, 25]),
    ("3d", [64, 9, 7], [32, 4, 5], "u8", [16, 1, 2], [48, 7, 4]),
    ("4d", [24, 5, 4, 6], [16, 3, 2, 4], "bf16", [8, 1, 2, 0], [16, 3, 3, 4]),
    ("5d", [12, 3, 4, 2, 5], [8, 2, 3, 2, 2], "f32", [0, 1, 0, 0, 3], [8, 2, 2, 1, 4]),
]
for _rank, _sizes, _box, _dtype, _inside, _outside in _SHAPES:
    for _swizzle in (0, 32, 64, 128):
        _map = _tensor(_sizes, _box, _dtype, swizzle=_swizzle)
        CASES.append(_load(f"tensor_load_{_rank}_{_swizzle}", _map, _outside, 128))
        CASES.append(_store(f"tensor_store_{_rank}_{_swizzle}", _map,
                            _inside if _swizzle == 32 else _outside))
    CASES.append(_load(f"tensor_load_{_rank}_inside", _tensor(_sizes, _box, _dtype), _inside))

CASES += [
    _load("tensor_load_wide", _tensor([96, 48], [64, 40], swizzle=128), [32, 4], 256),
    _load("tensor_load_negative", _tensor([96, 48], [32, 16], swizzle=64), [-8, -3]),
    _load("tensor_load_far_outside", _tensor([96, 48], [32, 16], swizzle=64), [1000, -1000]),
    _load("tensor_load_steps",
          _tensor([96, 48], [64, 24], swizzle=128, element_strides=[1, 2]), [0, 30]),
    _load("tensor_load_overlap", dict(_tensor([64, 40], [64, 24]), strides=[8]), [0, 5]),
    _load("tensor_load_repeat", dict(_tensor([64, 40], [64, 24]), strides=[0]), [0, 5]),
    _load("tensor_load_nan_bf16", _tensor([96, 48], [16, 4], fill="nan"), [88, 46]),
    _load("tensor_load_nan_f16", _tensor([96, 48], [16, 4], "f16", fill="nan"), [88, 46]),
    _load("tensor_load_nan_f32", _tensor([48, 48], [8, 4], "f32", fill="nan"), [44, 46]),
    _load("tensor_load_nan_f64", _tensor([24, 48], [4, 4], "f64", fill="nan"), [22, 46]),
    _store("tensor_reduce_add_f32", _tensor([48, 30], [8, 12], "f32", swizzle=32), [44, 25],
           "cp.reduce.async.bulk.tensor", ".add", "f32"),
    _store("tensor_reduce_min_bf16", _tensor([96, 30], [16, 12], "bf16"), [88, 25],
           "cp.reduce.async.bulk.tensor", ".min", "bf16"),
    _store("tensor_reduce_xor_u8x", _tensor([48, 30], [8, 12], "u32"), [4, 3],
           "cp.reduce.async.bulk.tensor", ".xor"),
]

MEET = """
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;"""
# %r1: the own rank, %r2: the other one, %r0: the thread's 16 bytes, %r3: those of the
# other block, %r4: its mbarrier.
PEER = """
    mov.u32 %r1, %cluster_ctarank;
    xor.b32 %r2, %r1, 1;
    mad.lo.u32 %r0, %r29, 16, %r31;
    mapa.shared::cluster.u32 %r3, %r0, %r2;
    mapa.shared::cluster.u32 %r4, %r30, %r2;
    st.shared.v4.b32 [%r0], {%a32, %b32, %c32, %thread};"""


def _cluster(name, body, **more):
    return Case(name, "u32", "b32", body + MEET, cluster=2, **more)


CASES += [
    _cluster("cluster_registers", """
        mov.u32 %x32, %cluster_ctarank;
        mov.u32 %y32, %cluster_nctaid.x;
        mov.u32 %r1, %clusterid.x;
        mov.u32 %r2, %nclusterid.x;
        mad.lo.u32 %z32, %r1, 100, %r2;
        mov.u32 %w32, %cluster_ctaid.x;"""),
    _cluster("cluster_load", PEER + MEET + """
        ld.shared::cluster.v4.b32 {%x32, %y32, %z32, %w32}, [%r3];"""),
    _cluster("cluster_store", PEER + MEET + """
        st.shared::cluster.b32 [%r3], %thread;""" + MEET + READ),
    _cluster("cluster_generic", PEER + """
        cvt.u64.u32 %rd3, %r0;
        cvta.shared.u64 %rd3, %rd3;
        mapa.u64 %rd4, %rd3, %r2;""" + MEET + """
        ld.v4.b32 {%x32, %y32, %z32, %r5}, [%rd4];
        getctarank.u64 %w32, %rd4;
        getctarank.shared::cluster.u32 %r6, %r3;
        mad.lo.u32 %w32, %r6, 10, %w32;
        isspacep.shared::cta %p2, %rd4;
        isspacep.shared::cluster %p3, %rd4;
        @%p2 add.u32 %w32, %w32, 100;
        @%p3 add.u32 %w32, %w32, 1000;"""),
    _cluster("cluster_atomics", PEER + MEET + """
        mapa.shared::cluster.u32 %r5, %r31, 0;
        red.shared::cluster.add.u32 [%r5], %thread;
        atom.shared::cluster.max.u32 %r6, [%r5+4], %b32;""" + MEET + """
        ld.shared.v4.b32 {%x32, %y32, %z32, %w32}, [%r31];"""),
    _cluster("cluster_arrive", INIT.format(count=THREADS // 2) + PEER + MEET + """
        st.shared::cluster.b32 [%r3], %thread;
        mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r4];
        WAIT:
        mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p6, [%r30], 0;
        @!%p6 bra WAIT;""" + READ),
    _cluster("store_async", INIT.format(count=1) + PEER + """
        @%p7 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r30], 2304;""" + MEET + """
        st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r3], %thread, [%r4];
        st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r3+8], {%c32, %b32}, [%r4];"""
             + WAIT + READ),
    _cluster("reduce_async", INIT.format(count=1) + PEER + """
        @%p7 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r30], 2304;""" + MEET + """
        red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r3], %thread, [%r4];
        red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min.s32 [%r3+4], %c32, [%r4];
        red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.xor.b32 [%r3+8], %b32, [%r4];"""
             + WAIT + READ),
    _cluster("bulk_to_peer", INIT.format(count=1) + PEER + """
        @%p7 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r30], 2048;
        fence.proxy.async;""" + MEET + """
        @%p7 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r3+4096], [%r31], 2048, [%r4];"""
             + WAIT + """
        ld.shared.v4.b32 {%x32, %y32, %z32, %w32}, [%r0+4096];""".replace(
                 "[%r0+4096]", "[%r5]").replace("\n        ld", """
        and.b32 %r5, %r29, 127;
        mad.lo.u32 %r5, %r5, 16, %r31;
        add.u32 %r5, %r5, 4096;
        ld""", 1)),
    _cluster("bulk_multicast", FILL.replace("%thread, 16", "%r29, 16") + INIT.format(count=1) + """
        mov.u32 %r1, %cluster_ctarank;
        setp.eq.and.u32 %p6, %r1, 1, %p7;
        @%p7 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r30], 2048;
        fence.proxy.async;""" + MEET + """
        mov.b16 %h0, 3;
        and.b64 %rd1, %in, -16;
        @%p6 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r31+32], [%rd1], 2048, [%r30], %h0;"""
             + WAIT + READ),
    _cluster("tensor_multicast", FILL.replace("%thread, 16", "%r29, 16") + INIT.format(count=1) + """
        mov.u32 %r1, %cluster_ctarank;
        shl.b32 %r11, %r1, 3;
        mov.u32 %r10, 16;
        @%p7 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r30], 1024;
        fence.proxy.async;""" + MEET + """
        mov.b16 %h0, 3;
        shl.b32 %r5, %r1, 9;
        add.u32 %r5, %r5, %r31;
        @%p7 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%r5], [%rd15, {%r10, %r11}], [%r30], %h0;"""
             + WAIT + READ, tensor=("in", _tensor([96, 48], [32, 8], swizzle=64))),
]
