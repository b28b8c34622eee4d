"""Tensor maps of launch files: a kernel that moves a matrix through shared memory."""

import json

import numpy as np
import pytest

# Block (i, j) loads box (i, j) of x and stores it as box (j, i) of y, untransposed.
KERNEL = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry move(.param .align 64 .b8 x[128], .param .align 64 .b8 y[128])
{
 .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
 .shared .align 1024 .b8 tile[4096];
 .shared .align 8 .b8 bar[8];
 mov.b64 %rd0, x;
 cvta.param.u64 %rd0, %rd0;
 prefetch.param.tensormap [x];
 mov.b64 %rd1, y;
 cvta.param.u64 %rd1, %rd1;
 mov.u32 %r0, %ctaid.x;
 shl.b32 %r0, %r0, 5;
 mov.u32 %r1, %ctaid.y;
 shl.b32 %r1, %r1, 4;
 mov.u32 %r2, %tid.x;
 setp.ne.u32 %p0, %r2, 0;
 @%p0 ret;
 mbarrier.init.shared::cta.b64 [bar], 1;
 fence.mbarrier_init.release.cluster;
 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 1024;
 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%rd0, {%r0, %r1}], [bar];
WAIT:
 mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;
 @!%p1 bra WAIT;
 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {%r0, %r1}], [tile];
 cp.async.bulk.commit_group;
 cp.async.bulk.wait_group.read 0;
 ret;
}
"""


def tensor_map(name, **changes):
    entry = {"kind": "tensor_map", "argument": name, "dtype": "bf16", "sizes": ["n", "m"],
             "strides": ["n"], "box": [32, 16], "swizzle": 64}
    entry.update(changes)
    return entry


@pytest.fixture
def move(simulator):
    """Runs the kernel on a matrix of 40 x 72."""
    x = np.random.default_rng(0).standard_normal((40, 72)).astype(np.float32)
    simulator.save({"x": x})
    (simulator.folder / "k.ptx").write_text(KERNEL)

    def run(x_changes=None, y_changes=None, flags=()):
        launch = {"name": "move",
                  "arguments": [{"name": "x", "dtype": "bf16", "shape": ["m", "n"], "role": "input"},
                                {"name": "y", "dtype": "bf16", "shape": ["m", "n"],
                                 "role": "output"}],
                  "sizes": {"m": {"argument": "x", "axis": 0}, "n": {"argument": "x", "axis": 1}},
                  "launches": [{"kernel": "move", "grid": ["ceildiv(n, 32)", "ceildiv(m, 16)"],
                                "block": [32],
                                "parameters": [tensor_map("x", **(x_changes or {})),
                                               tensor_map("y", **(y_changes or {}))]}]}
        (simulator.folder / "k.json").write_text(json.dumps(launch))
        return simulator.simulate("k.ptx", "--launch=k.json", "--arg=x=x.npy",
                                  "--result=y=y.npy", *flags)
    run.folder, run.x = simulator.folder, x
    return run


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("swizzle", [0, 64, 128])
def test_moves_a_matrix(move, swizzle, seed):
    changes = {"swizzle": swizzle, "l2_promotion": 128, "fill": "nan", "element_strides": [1, 1],
               "offset": 0}
    done = move(changes, changes, [f"--seed={seed}"])
    assert (done.returncode, done.stderr) == (0, "")
    y = np.load(move.folder / "y.npy")
    np.testing.assert_allclose(y, move.x, rtol=2**-8)


def test_offset(move):
    """Rows from the eighth on, and zeros behind the last."""
    done = move({"offset": "8 * n", "sizes": ["n", "m - 8"]})
    assert done.returncode == 0, done.stderr
    y = np.load(move.folder / "y.npy")
    np.testing.assert_allclose(y[:32], move.x[8:], rtol=2**-8)
    assert not y[32:].any()


@pytest.mark.parametrize("changes, message", [
    ({"swizzle": 32}, "a box row of 64 bytes, more than the 32 of the swizzle"),
    ({"swizzle": 16}, "a swizzle of 16 bytes, expected 0, 32, 64 or 128"),
    ({"box": [257, 16], "swizzle": 0}, "dimension 0 has a box of 257 elements, expected 1 to 256"),
    ({"box": [4, 16]}, "a box row of 8 bytes, expected a multiple of 16"),
    ({"box": [32]}, "1 sizes of the box, expected 2"),
    ({"strides": ["n + 1"]},
     "dimension 1 has a stride of 146 bytes, expected a multiple of 16 below 2^40"),
    ({"strides": []}, "0 strides, expected 1"),
    ({"dtype": "e2m1"}, "unknown dtype 'e2m1'"),
    ({"fill": "one"}, "unknown fill 'one', expected 'zero' or 'nan'"),
    ({"sizes": ["n", "m - 41"]}, "dimension 1 has size -1, expected 1 to 2^32"),
    ({"element_strides": [1, 9]}, "dimension 1 has an element stride of 9, expected 1 to 8"),
])
def test_illegal_maps(move, changes, message):
    done = move(changes)
    assert done.returncode == 1
    assert done.stderr == f"mamba-sim: error: manifest: tensor map of 'x': {message}\n"


def test_misaligned_base(move):
    done = move({"offset": 4})
    assert done.returncode == 1
    assert "expected a multiple of 16" in done.stderr


def test_unknown_argument(move):
    done = move({"argument": "z"})
    assert done.returncode == 1
    assert done.stderr == "mamba-sim: error: manifest: a tensor map to nothing that is known\n"


def test_tensor_larger_than_its_array(move):
    done = move({"sizes": ["n", "m + 1"]})
    assert done.returncode == 2
    assert "out-of-bounds: read of 64 bytes at byte 5760 of 'x', which has 5760" in done.stderr
