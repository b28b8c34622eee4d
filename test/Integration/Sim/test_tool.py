"""The command line of mamba-sim: errors, findings, counters, launch files."""

import json

import numpy as np
import pytest

KERNEL = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 y, .param .f32 factor, .param .u32 count)
{
 .reg .pred %p; .reg .b32 %r<8>; .reg .f32 %f<4>; .reg .b64 %rd<8>;
 ld.param.u64 %rd0, [x];
 ld.param.u64 %rd1, [y];
 ld.param.f32 %f0, [factor];
 ld.param.u32 %r0, [count];
 mov.u32 %r1, %ctaid.x;
 mov.u32 %r2, %ntid.x;
 mov.u32 %r3, %tid.x;
 mad.lo.u32 %r4, %r1, %r2, %r3;
 setp.ge.u32 %p, %r4, %r0;
 @%p ret;
 mul.wide.u32 %rd2, %r4, 4;
 add.s64 %rd0, %rd0, %rd2;
 add.s64 %rd1, %rd1, %rd2;
 ld.global.f32 %f1, [%rd0];
 mul.rn.f32 %f2, %f1, %f0;
 st.global.f32 [%rd1], %f2;
 ret;
}
"""

LAUNCH = {
    "name": "scale",
    "arguments": [{"name": "x", "dtype": "f32", "shape": ["n"], "role": "input"},
                  {"name": "y", "dtype": "f32", "shape": ["n"], "role": "output"}],
    "sizes": {"n": {"argument": "x", "axis": 0}},
    "constraints": ["n >= 1"],
    "launches": [{"kernel": "scale", "grid": ["ceildiv(n, 32)"], "block": [32],
                  "parameters": [{"kind": "pointer", "argument": "x"},
                                 {"kind": "pointer", "argument": "y"},
                                 {"kind": "f32", "value": 2.5}, {"kind": "i32", "value": "limit"}]}],
}


@pytest.fixture
def scale(simulator):
    """Runs the kernel above on 100 numbers with more flags."""
    simulator.save({"x": np.arange(100, dtype=np.float32)})
    (simulator.folder / "k.ptx").write_text(KERNEL)
    (simulator.folder / "k.json").write_text(json.dumps(LAUNCH))

    def run(*flags, kernel="k.ptx", launch="--launch=k.json"):
        return simulator.simulate(kernel, launch, *flags)
    run.folder = simulator.folder
    return run


ARG = "--arg=x=x.npy"
RESULT = "--result=y=y.npy"
LIMIT = "--size=limit=100"


def test_bare_ptx(scale):
    done = scale(ARG, RESULT, LIMIT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    np.testing.assert_array_equal(np.load(scale.folder / "y.npy"),
                                  2.5 * np.arange(100, dtype=np.float32))


def test_first_variant(scale):
    missing = [{**LAUNCH["launches"][0], "kernel": "missing"}]
    variants = [{"launches": LAUNCH["launches"]}, {"launches": missing}]
    function = {key: value for key, value in LAUNCH.items() if key != "launches"}
    (scale.folder / "k.json").write_text(json.dumps({**function, "variants": variants}))
    assert scale(ARG, RESULT, LIMIT).returncode == 0
    (scale.folder / "k.json").write_text(json.dumps({**function, "variants": variants[::-1]}))
    assert "missing" in scale(ARG, RESULT, LIMIT).stderr


def test_findings_leave_no_results(scale):
    """Elements that nothing writes: exit code 2, results only by --force."""
    done = scale(ARG, RESULT, "--size=limit=90")
    assert done.returncode == 2
    assert done.stderr == ("unwritten-result: 40 bytes of 'y' were not written, the first is "
                           "byte 360 (scale)\n")
    assert not (scale.folder / "y.npy").exists()
    done = scale(ARG, RESULT, "--size=limit=90", "--force")
    assert done.returncode == 2
    assert np.isnan(np.load(scale.folder / "y.npy")[90:]).all()


def test_finding_names_line_thread_and_address(scale):
    done = scale(ARG, RESULT, "--size=limit=101")
    assert done.returncode == 2
    first = done.stderr.splitlines()[0]
    assert first.startswith("k.ptx:20: out-of-bounds: read of 4 bytes at byte 400 of 'x', which "
                            "has 400 (scale, block (3, 0, 0), thread (4, 0, 0), address 0x")


def test_counters(scale):
    done = scale(ARG, LIMIT, "--counters=json")
    assert done.returncode == 0, done.stderr
    launch, = json.loads(done.stdout)["launches"]
    assert launch["kernel"] == "scale" and launch["grid"] == [4, 1, 1]
    assert launch["warp_instructions"]["global-load"] == 4
    assert launch["thread_instructions"]["global-load"] == 100
    assert launch["global_load_sectors"] == launch["global_load_ideal_sectors"] == 13
    text = scale(ARG, LIMIT, "--counters=text").stdout
    assert "scale, grid (4, 1, 1)" in text and "global_store_bytes" in text


@pytest.mark.parametrize("flags,message", [
    ([RESULT, LIMIT], "argument 'x' is missing"),
    ([ARG, "--arg=w=x.npy", LIMIT], "there is no argument 'w'"),
    ([ARG, ARG, LIMIT], "argument 'x' is given twice"),
    ([ARG, "--result=z=z.npy", LIMIT], "there is no result 'z'; there is y"),
    ([ARG, RESULT, RESULT, LIMIT], "results 'y' and 'y' have one file, 'y.npy'"),
    ([ARG, RESULT], "size expression 'limit': there is no size 'limit'"),
    ([ARG, LIMIT, "--size=n=0"], "the sizes do not satisfy n >= 1"),
    ([ARG, LIMIT, "--size=n=99"], "argument 'x' has shape [100], expected [99]"),
    ([ARG, LIMIT, "--size=limit"], "expected --size NAME=VALUE, got 'limit'"),
    ([ARG, LIMIT, "--function=other"], "there is no function 'other'; there is scale"),
    ([ARG, LIMIT, "--counters=xml"],
     "expected --counters=text or --counters=json, got 'xml'"),
    (["--arg=x=none.npy", LIMIT], "could not read 'none.npy': No such file or directory"),
])
def test_errors(scale, flags, message):
    done = scale(*flags)
    assert done.returncode == 1
    assert done.stderr == f"mamba-sim: error: {message}\n"
    assert not list(scale.folder.glob("[yz].npy*"))


def test_error_in_ptx(scale):
    (scale.folder / "bad.ptx").write_text(KERNEL.replace("mul.rn.f32", "mull.rn.f32"))
    done = scale(ARG, RESULT, LIMIT, kernel="bad.ptx")
    assert done.returncode == 1
    assert done.stderr == ("mamba-sim: error: bad.ptx:21: instruction 'mull.rn.f32' is not "
                           "modelled\n")
    assert not (scale.folder / "y.npy").exists()


def test_paths(scale, simulator):
    done = simulator.simulate("k.ptx")
    assert done.stderr == ("mamba-sim: error: 'k.ptx' is no bundle; a PTX file needs --launch\n")
    done = simulator.simulate("nothing")
    assert done.stderr == ("mamba-sim: error: could not read 'nothing': no such file or folder\n")
    (scale.folder / "broken.json").write_text("{")
    done = scale(ARG, launch="--launch=broken.json")
    assert done.returncode == 1 and "'broken.json' is no JSON" in done.stderr
