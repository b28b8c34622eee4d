"""python -m mamba_mlir.bench.ablation: its commands, its counts, its errors."""

from pathlib import Path
import subprocess

import pytest

from mamba_mlir.bench import ablation
from mamba_mlir.kernels import find_compiler

ROW = "prefill/b4-t1024-h8-p64-n64-g1-q128"


def test_commands(capsys):
    assert ablation.main(["--commands", f"--rows={ROW}", "--passes=mamba-share-heads",
                          "--bundles=out", "--flags=--schedule=fused"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "mkdir -p out/all out/mamba-share-heads"
    assert len(lines) == 3
    assert "--without" not in lines[1] and "-o out/all/" in lines[1]
    assert "--without=mamba-share-heads" in lines[2] and "--schedule=fused" in lines[2]


@pytest.mark.parametrize("flags, text", [
    (["--passes=mamba-fus"], "unknown pass 'mamba-fus'"),
    (["--rows=nothing"], "no row is left"),
    (["--replays=0"], "at least 1"),
])
def test_errors(capsys, flags, text):
    with pytest.raises(SystemExit) as error:
        ablation.main(flags)
    assert error.value.code == 2
    assert text in capsys.readouterr().err


def test_missing_bundles(tmp_path, capsys):
    assert ablation.main(["--count", f"--rows={ROW}", f"--bundles={tmp_path}"]) == 1
    assert capsys.readouterr().err.startswith("error: ")


def test_counts(tmp_path, capsys):
    """Heads that share a block multiply C * B^T once: fewer products, fewer bytes."""
    if not Path(find_compiler()).with_name("mamba-sim").is_file():
        pytest.skip("no mamba-sim beside mamba-compile")
    flags = [f"--rows={ROW}", "--passes=mamba-share-heads", f"--bundles={tmp_path}"]
    assert ablation.main(["--commands", *flags]) == 0
    subprocess.run(["sh", "-e"], input=capsys.readouterr().out, text=True, check=True)
    assert ablation.main(["--count", *flags]) == 0
    rows = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines()
            if line.startswith("| -") or line.startswith("| mamba")]
    assert [row[0].strip() for row in rows] == ["-", "mamba-share-heads"]
    flops, passes, read = ([float(row[i]) for row in rows] for i in (4, 5, 6))
    assert flops[0] < flops[1] and passes[0] < passes[1] and read[0] < read[1]
