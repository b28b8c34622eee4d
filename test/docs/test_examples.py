"""Every example of README.md and docs/ works; see run_examples.py."""

import pytest

import run_examples

EXAMPLES = run_examples.all_examples()
PAGES = sorted({example.file for example in EXAMPLES if example.info != "mlir"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands(page):
    """In order: they use files that earlier ones of the page wrote."""
    for example in EXAMPLES:
        if example.file == page and example.info != "mlir":
            run_examples.run_example(example)


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.info == "mlir"],
                         ids=lambda example: example.name)
def test_mlir(example):
    run_examples.run_example(example)


@pytest.mark.parametrize("text, arguments", [
    ("#mamba.plan<chunk_parallel tile [1]>", None),
    ("func.func private @f()", None),
    ("%d = f(%x : tensor<?xf32>) g(%d : tensor<2xf32>)\n", "%x: tensor<?xf32>"),
    ("g %a, %b : memref<8xf32, strided<[2]>> to memref<8xf32>",
     "%a: memref<8xf32, strided<[2]>>, %b: memref<8xf32>"),
])
def test_incomplete_blocks_get_a_module(text, arguments):
    module = run_examples.complete_module(text)
    if arguments is not None:
        assert f"@example({arguments})" in module
    elif text.startswith("#"):
        assert module.startswith("module attributes")
    else:
        assert module == text


def test_output_lines_must_appear_in_order():
    run_examples.check_output(["a", "...", "b ... d"], "x a\ny b c d\n")
    with pytest.raises(run_examples.ExampleError):
        run_examples.check_output(["b", "a"], "a\nb\n")
