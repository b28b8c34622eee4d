"""User errors of mamba-compile: exit code 1, one message, no file left behind."""

import numpy as np
import pytest

from configs import SsdConfig, SsuConfig

CONFIG = SsdConfig(initial_state=True, seq_idx="packed")
RESULTS = ["--result", "y=y.npy", "--result", "final_state=final_state.npy"]
CRASH_WORDS = ("Stack dump", "PLEASE submit", "Assertion", "Traceback")
MODULE = """
func.func @ssd(%x: tensor<?x?x2x16xf32>, %dt: tensor<?x?x2xf32>, %A: tensor<2xf32>,
               %B: tensor<?x?x1x16xf32>, %C: tensor<?x?x1x16xf32>) -> tensor<?x?x2x16xf32> {
  %y = mamba.ssd chunk_size(16) softplus
      x(%x : tensor<?x?x2x16xf32>) dt(%dt : tensor<?x?x2xf32>) A(%A : tensor<2xf32>)
      B(%B : tensor<?x?x1x16xf32>) C(%C : tensor<?x?x1x16xf32>) -> y(tensor<?x?x2x16xf32>)
  return %y : tensor<?x?x2x16xf32>
}
"""


def base_arrays():
    return CONFIG.inputs(0, 2, 20)


def files_of(folder):
    """Path and content of everything below folder."""
    return {path.relative_to(folder): path.read_bytes() if path.is_file() else None
            for path in sorted(folder.rglob("*"))}


def expect_error(compiler, *arguments, stdin="", mentions=(), messages=1):
    """Runs the tool; it must fail cleanly and leave the folder as it was."""
    before = files_of(compiler.folder)
    done = compiler.invoke(*arguments, stdin=stdin)
    assert done.returncode == 1, f"exit code {done.returncode}\n{done.stderr}"
    assert not any(text in done.stderr for text in CRASH_WORDS), done.stderr
    assert done.stderr.strip(), "no message"
    assert messages is None or done.stderr.count("error:") == messages, done.stderr
    for text in mentions:
        assert text in done.stderr, done.stderr
    assert files_of(compiler.folder) == before


def run_flags(compiler, arrays, config=CONFIG):
    return [*config.flags(), "--target=cpu", "--run", *compiler.save(arrays)]


# Shapes and dtypes of --arg files. Each entry changes one array of a good set.

def cut(axis, size):
    return lambda a: np.take(a, range(size), axis=axis)


WRONG_SHAPES = {
    "head_dim": ("x", cut(3, 15)),
    "state_dim": ("C", cut(3, 15)),
    "rank_too_low": ("x", lambda a: a[0]),
    "rank_too_high": ("A", lambda a: a[None]),
    "scalar": ("A", lambda a: a[0]),
    "length_of_dt": ("dt", cut(1, 19)),
    "length_of_B": ("B", cut(1, 19)),
    "length_of_seq_idx": ("seq_idx", cut(1, 19)),
    "heads_of_A": ("A", cut(0, 1)),
    "heads_of_D": ("D", cut(0, 1)),
    "heads_of_dt_bias": ("dt_bias", cut(0, 1)),
    "heads_of_initial_state": ("initial_state", cut(1, 1)),
    "batch_of_C": ("C", cut(0, 1)),
    "batch_of_initial_state": ("initial_state", cut(0, 1)),
    "groups_of_C": ("C", lambda a: np.repeat(a, 2, axis=2)),
    "no_groups": ("B", cut(2, 0)),
}
WRONG_DTYPES = {
    "x_int64": ("x", np.int64), "x_float64": ("x", np.float64), "x_complex64": ("x", np.complex64),
    "x_bool": ("x", np.bool_), "A_int32": ("A", np.int32), "A_float64": ("A", np.float64),
    "seq_idx_float32": ("seq_idx", np.float32),
    "seq_idx_uint8": ("seq_idx", np.uint8), "x_text": ("x", "S4"),
}


@pytest.mark.parametrize("name,change", WRONG_SHAPES.values(), ids=WRONG_SHAPES)
def test_wrong_shape(compiler, name, change):
    arrays = base_arrays()
    arrays[name] = change(arrays[name])
    expect_error(compiler, *run_flags(compiler, arrays), *RESULTS)


@pytest.mark.parametrize("name,dtype", WRONG_DTYPES.values(), ids=WRONG_DTYPES)
def test_wrong_dtype(compiler, name, dtype):
    arrays = base_arrays()
    arrays[name] = arrays[name].astype(dtype)
    expect_error(compiler, *run_flags(compiler, arrays), *RESULTS, mentions=[name])


def test_index_out_of_range(compiler):
    """int64 files serve i32 arguments, but not silently truncated."""
    arrays = base_arrays()
    arrays["seq_idx"] = arrays["seq_idx"].astype(np.int64)
    arrays["seq_idx"][0, 0] = 2**32
    expect_error(compiler, *run_flags(compiler, arrays), *RESULTS, mentions=["seq_idx"])


def test_heads_not_divisible_by_groups(compiler):
    """Three heads and two groups, each consistent among all arguments."""
    config = SsdConfig(heads=3)
    arrays = config.inputs(0, 1, 5)
    arrays["B"], arrays["C"] = (np.repeat(arrays[n], 2, axis=2) for n in "BC")
    expect_error(compiler, *run_flags(compiler, arrays, config), "--result", "y=y.npy")


@pytest.mark.parametrize("name", ["x", "dt", "B", "state_batch_indices"])
def test_wrong_batch_of_ssu(compiler, name):
    config = SsuConfig(indices="shuffled")
    arrays = config.inputs(0, batch=3)
    arrays[name] = arrays[name][:2]
    expect_error(compiler, *run_flags(compiler, arrays, config), "--result", "y=y.npy")


# Damaged .npy files.

HEADER = b"\x93NUMPY\x01\x00"


def npy(header, data=b""):
    return HEADER + len(header).to_bytes(2, "little") + header + data


DAMAGED = {
    "empty": b"",
    "garbage": bytes(range(256)) * 4,
    "text": b"not a numpy file\n",
    "magic_only": HEADER,
    "short_header": HEADER + b"\xff\x00{'descr'",
    "unknown_version": b"\x93NUMPY\x09\x00" + b"\x02\x00{}",
    "no_dict": npy(b"hello world\n"),
    "missing_shape": npy(b"{'descr': '<f4', 'fortran_order': False}\n"),
    "negative_size": npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }\n"),
    "huge_size": npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': "
                     b"(4611686018427387905, 4, 2), }\n", b"\0" * 64),
    "pickled": npy(b"{'descr': '|O', 'fortran_order': False, 'shape': (2,), }\n", b"\0" * 16),
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_damaged_file(compiler, content):
    flags = run_flags(compiler, base_arrays())
    (compiler.folder / "x.npy").write_bytes(content)
    expect_error(compiler, *flags, *RESULTS, mentions=["x.npy"])


def test_truncated_file(compiler):
    flags = run_flags(compiler, base_arrays())
    path = compiler.folder / "x.npy"
    path.write_bytes(path.read_bytes()[:-1])
    expect_error(compiler, *flags, *RESULTS, mentions=["x.npy"])


@pytest.mark.parametrize("name,convert", [
    ("x", np.asfortranarray), ("x", lambda a: a.astype(">f4")),
    ("seq_idx", np.asfortranarray), ("seq_idx", lambda a: a.astype(">i4"))],
    ids=["fortran_x", "big_endian_x", "fortran_seq_idx", "big_endian_seq_idx"])
def test_unusual_layout_is_right_or_refused(compiler, name, convert):
    arrays = base_arrays()
    expected = compiler.run(CONFIG.flags(), arrays, CONFIG.result_dtypes())
    for file in compiler.folder.glob("out_*.npy"):
        file.unlink()
    arrays[name] = convert(arrays[name])
    flags = run_flags(compiler, arrays)
    if compiler.invoke(*flags, *RESULTS).returncode != 0:
        expect_error(compiler, *flags, *RESULTS, mentions=[f"{name}.npy"])
        return
    for result in ("y", "final_state"):
        np.testing.assert_array_equal(np.load(compiler.folder / f"{result}.npy"),
                                      expected[result])


# --arg and --result.

def without(flags, name):
    index = next(i for i, flag in enumerate(flags) if flag.startswith(f"{name}="))
    return flags[:index - 1] + flags[index + 1:]


ARGUMENT_ERRORS = {
    "missing_arg": (lambda f: without(f, "dt"), ["dt"]),
    "unknown_arg": (lambda f: [*f, "--arg", "nonsense=x.npy"], ["nonsense"]),
    "arg_of_absent_option": (lambda f: [*f, "--arg", "z=x.npy"], ["z"]),
    "duplicate_arg": (lambda f: [*f, "--arg", "x=x.npy"], ["x"]),
    "arg_without_file": (lambda f: [*without(f, "x"), "--arg", "x"], ["x"]),
    "arg_with_empty_file": (lambda f: [*without(f, "x"), "--arg", "x="], ["x"]),
    "missing_file": (lambda f: [*without(f, "x"), "--arg", "x=absent.npy"], ["absent.npy"]),
    "folder_as_file": (lambda f: [*without(f, "x"), "--arg", "x=."], []),
    "unknown_result": (lambda f: [*f, "--result", "nonsense=n.npy"], ["nonsense"]),
    "result_of_absent_option": (lambda f: [*f, "--result", "total_decay=t.npy"], ["total_decay"]),
    "duplicate_result": (lambda f: [*f, "--result", "y=second.npy"], ["y"]),
    "two_results_one_file": (lambda f: [*f, "--result", "final_state=y.npy"], ["y.npy"]),
    "unknown_function": (lambda f: [*f, "--function=nonsense"], ["nonsense"]),
}


@pytest.mark.parametrize("change,mentions", ARGUMENT_ERRORS.values(), ids=ARGUMENT_ERRORS)
def test_argument_list(compiler, change, mentions):
    flags = change(run_flags(compiler, base_arrays()))
    expect_error(compiler, *flags, "--result", "y=y.npy", mentions=mentions)


@pytest.mark.parametrize("path", ["absent/final_state.npy", "folder", ""],
                         ids=["absent_folder", "path_is_a_folder", "empty_path"])
def test_unwritable_result_leaves_no_other_result(compiler, path):
    """y could be written; final_state cannot, so neither is there afterwards."""
    (compiler.folder / "folder").mkdir()
    flags = run_flags(compiler, base_arrays())
    expect_error(compiler, *flags, "--result", "y=y.npy", "--result", f"final_state={path}")


def test_failure_keeps_the_old_result(compiler):
    flags = run_flags(compiler, base_arrays())
    (compiler.folder / "y.npy").write_bytes(b"old")
    (compiler.folder / "x.npy").write_bytes(b"damaged")
    expect_error(compiler, *flags, *RESULTS)


@pytest.mark.parametrize("path", ["absent/ssd.mlir", "folder"])
def test_unwritable_output(compiler, path):
    (compiler.folder / "folder").mkdir()
    expect_error(compiler, *CONFIG.flags(), "--target=cpu", "--emit=mamba", "-o", path,
                 mentions=[path])


# Input modules.

BAD_MODULES = {
    "garbage": "this is no MLIR {",
    "unclosed": MODULE.rstrip().removesuffix("}"),
    "unknown_op": MODULE.replace("mamba.ssd", "mamba.nonsense"),
    "unknown_dialect": 'func.func @f() { "nonsense.op"() : () -> () return }',
    "verifier": MODULE.replace("chunk_size(16)", "chunk_size(0)"),
    "shape_in_verifier": MODULE.replace("%A: tensor<2xf32>", "%A: tensor<3xf32>")
                               .replace("A(%A : tensor<2xf32>)", "A(%A : tensor<3xf32>)"),
    "type_mismatch": MODULE.replace("A(%A : tensor<2xf32>)", "A(%A : tensor<3xf32>)"),
    "no_function": "module {}",
    "empty": "",
}


@pytest.mark.parametrize("text", BAD_MODULES.values(), ids=BAD_MODULES)
@pytest.mark.parametrize("source", ["file", "stdin"])
def test_bad_module(compiler, text, source):
    path = "-" if source == "stdin" else "bad.mlir"
    if source == "file":
        (compiler.folder / path).write_text(text)
    expect_error(compiler, path, "--target=cpu", "--run", "--result", "y=y.npy",
                 stdin=text if source == "stdin" else "")


# The remaining flags.

COMPILE = ["--target=cpu", "--emit=mamba", "-o", "out.mlir"]
MODEL = "--model=mamba2-130m"
FLAG_ERRORS = {
    "no_input": (COMPILE, []),
    "input_and_model": (["good.mlir", MODEL, *COMPILE], []),
    "missing_input": (["absent.mlir", *COMPILE], ["absent.mlir"]),
    "near_model": (["--model=mamba2-130", *COMPILE], ["mamba2-130", "mamba2-130m"]),
    "near_model_case": (["--model=falcon-h1-0.5", *COMPILE], ["falcon-h1-0.5b"]),
    "far_model": (["--model=nonsense", *COMPILE], ["nonsense"]),
    "unknown_target": ([MODEL, "--target=sm_42", "--emit=mamba", "-o", "out.mlir"], ["sm_42"]),
    "unknown_emit": ([MODEL, "--target=cpu", "--emit=nonsense", "-o", "out.mlir"], ["nonsense"]),
    "ptx_for_cpu": ([MODEL, "--target=cpu", "--emit=ptx", "-o", "out.ptx"], ["ptx"]),
    "obj_for_gpu": ([MODEL, "--target=sm_90a", "--emit=obj", "-o", "out.o"], ["obj"]),
    "unknown_op": ([MODEL, "--op=nonsense", *COMPILE], ["nonsense"]),
    "unknown_dtype": ([MODEL, "--dtype=f8", *COMPILE], ["f8"]),
    "zero_chunk": ([MODEL, "--chunk-size=0", *COMPILE], ["chunk"]),
    "negative_head_dim": ([MODEL, "--head-dim=-4", *COMPILE], ["head"]),
    "ratio": ([MODEL, "--heads=3", "--groups=2", "--static-heads", *COMPILE], []),
    "one_limit": ([MODEL, "--dt-limit=1", *COMPILE], ["dt-limit"]),
    "limits_not_numbers": ([MODEL, "--dt-limit=a,b", *COMPILE], ["dt-limit"]),
    "swapped_limits": ([MODEL, "--dt-limit=2,1", *COMPILE], []),
}


@pytest.mark.parametrize("arguments,mentions", FLAG_ERRORS.values(), ids=FLAG_ERRORS)
def test_flags(compiler, arguments, mentions):
    (compiler.folder / "good.mlir").write_text(MODULE)
    expect_error(compiler, *arguments, mentions=mentions)


@pytest.mark.parametrize("flag", ["--nonsense", "--chunk-size=abc", "--tokens="])
def test_flag_parser(compiler, flag):
    """What LLVM's flag parser rejects has that parser's wording."""
    expect_error(compiler, MODEL, flag, *COMPILE, mentions=[flag.split("=")[0]], messages=None)
