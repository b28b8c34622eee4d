"""python -m mamba_mlir.bench.ablation: what each pass of the compiler is worth.

Every kernel is compiled with all passes and with each of them left out. On a
GPU the variants are timed in one process; mamba-sim counts what they do.
"""

import argparse
import json
import os
from pathlib import Path
import subprocess
import sys
import tempfile

import numpy as np

from mamba_mlir.bench import rows as rows_of
from mamba_mlir.kernels import find_compiler, get_command, get_folder_name, quote

PASSES = ("mamba-fuse", "mamba-share-heads", "mamba-fold-causal-mask", "mamba-rewrite-exp2",
          "mamba-select-tma-layout")
ALL = "all"
ROWS = ("prefill/b4-t4096-h8-p64-n128-g1-q128", "prefill/b4-t16384-h8-p64-n128-g1-q128",
        "prefill/b1-t8192-h128-p64-n128-g8-q128", "prefill/b1-t8192-h80-p64-n128-g1-q256")
_COUNTED_CHUNKS = 4
_DESCRIPTION = """\
Times kernels with each pass left out in turn, beside those with all passes, or
counts with mamba-sim what they do. Times are medians over the replays of a CUDA
graph of many calls, all in this process.
"""
_EPILOG = """\
  python -m mamba_mlir.bench.ablation --commands --bundles=ablation | sh
  python -m mamba_mlir.bench.ablation --count --bundles=ablation
  python -m mamba_mlir.bench.ablation --bundles=ablation --csv=ablation.csv  (with a GPU)
"""


def parse(arguments=None):
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m mamba_mlir.bench.ablation", description=_DESCRIPTION, epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundles", type=Path, default=Path("ablation"), metavar="DIR",
                        help="folder with a folder for each variant (default: ablation)")
    parser.add_argument("--rows", default=",".join(ROWS), metavar="PATTERN,..",
                        help="rows of python -m mamba_mlir.bench (default: four of prefill)")
    parser.add_argument("--passes", default=",".join(PASSES), metavar="PASS,..",
                        help="passes to leave out, each alone (default: all)")
    parser.add_argument("--flags", default="", metavar="FLAGS",
                        help="further flags of mamba-compile, for --commands")
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--replays", type=int, default=15, metavar="N")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="also write the times to a file")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--commands", action="store_true",
                         help="print the commands that make the bundles")
    instead.add_argument("--count", action="store_true",
                         help="count with mamba-sim ($MAMBA_SIM) instead of timing")
    options = parser.parse_args(arguments)
    options.passes = [name for name in options.passes.split(",") if name]
    for name in options.passes:
        if name not in PASSES:
            parser.error(f"unknown pass '{name}' (there are {', '.join(PASSES)})")
    options.chosen = rows_of.choose(["prefill"], options.rows.split(","))
    if not options.chosen:
        parser.error("no row is left (python -m mamba_mlir.bench --list shows their names)")
    if options.replays < 1:
        parser.error("expected --replays to be at least 1")
    return parser, options


def print_commands(options):
    """Prints a command for each kernel and variant."""
    lines = []
    for variant in (ALL, *options.passes):
        for row in options.chosen:
            command = get_command(row.key(options.target), options.bundles / variant)
            flags = options.flags.split() + ([f"--without={variant}"] if variant != ALL else [])
            lines.append(quote(command[:1] + flags + command[1:]))
    print(f"mkdir -p {quote(str(options.bundles / name) for name in (ALL, *options.passes))}")
    print("\n".join(dict.fromkeys(lines)))


def _bundle_of(row, options, variant):
    return options.bundles / variant / get_folder_name(row.key(options.target))


def count(row, bundle):
    """Counters of a run of small sizes, summed over kernels, for a token of a head."""
    heads, tokens = 2 * row.groups, _COUNTED_CHUNKS * row.chunk
    rng = np.random.default_rng(0)
    arrays = {"x": rng.standard_normal((1, tokens, heads, row.head_dim)),
              "dt": np.logaddexp(0, rng.standard_normal((1, tokens, heads)) - 4),
              "A": -np.exp(rng.random(heads)),
              "B": rng.standard_normal((1, tokens, row.groups, row.state_dim)),
              "C": rng.standard_normal((1, tokens, row.groups, row.state_dim)),
              "D": rng.standard_normal(heads)}
    simulator = os.environ.get("MAMBA_SIM") or Path(find_compiler()).with_name("mamba-sim")
    with tempfile.TemporaryDirectory() as folder:
        command = [str(simulator), str(bundle), "--counters=json", "--no-sanitize"]
        for name, array in arrays.items():
            path = Path(folder) / f"{name}.npy"
            np.save(path, array.astype(np.float32))
            command += ["--arg", f"{name}={path}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
    launches = json.loads(done.stdout)
    launches = launches.get("launches", [launches]) if isinstance(launches, dict) else launches
    share = tokens * heads

    def total(name):
        return sum(launch[name] for launch in launches) / share

    return {"kernels": len(launches),
            "instructions": sum(sum(launch["thread_instructions"].values())
                                for launch in launches) / share,
            "exponentials": total("exponentials"), "flops": 1e-3 * total("matrix_operations"),
            "shared passes": total("shared_passes"),
            "bytes": total("global_load_bytes") + total("global_store_bytes")}


def print_counts(options):
    """A table for each kernel and number of groups: what else rows differ in counts the
    same."""
    counted = set()
    for row in options.chosen:
        same = row.groups, _bundle_of(row, options, ALL)
        if same in counted:
            continue
        counted.add(same)
        print(f"\n{row.name}, for a token of a head\n")
        print("| without | kernels | instructions | exponentials | tensor flops (1e3) | "
              "shared passes | bytes read and written |\n|---|---|---|---|---|---|---|")
        for variant in (ALL, *options.passes):
            counts = count(row, _bundle_of(row, options, variant))
            print(f"| {'-' if variant == ALL else variant} | {counts['kernels']} | "
                  + " | ".join(f"{counts[name]:.1f}" for name in (
                      "instructions", "exponentials", "flops", "shared passes", "bytes"))
                  + " |", flush=True)


def measure(parser, options):
    """Times all variants; the exit code."""
    try:
        import torch
    except ImportError:
        parser.error("measuring needs torch (--commands and --count do not)")
    if not torch.cuda.is_available():
        parser.error("torch finds no GPU")
    from mamba_mlir.bench import reference, timing
    from mamba_mlir.bench.problems import Ours, make_problem
    from mamba_mlir.dispatch import registry
    device = torch.device("cuda", 0)
    print(torch.cuda.get_device_name(device))
    print("| row | " + " | ".join(["all, us", *(f"without {name}" for name in options.passes)])
          + " |\n|---|" + "---|" * (1 + len(options.passes)))
    lines, is_wrong = ["row,variant,us,error"], False
    for row in options.chosen:
        problem, ours, cells, base = make_problem(row, device), Ours(), [], None
        exact = problem.get_reference()
        for variant in (ALL, *options.passes):
            registry.clear()
            registry.register(_bundle_of(row, options, variant))
            with torch.no_grad():
                error = max(reference.get_error(out, right) for out, right
                            in zip(ours.run_once(problem, ""), exact))
                time = timing.time_graph(ours.calls(problem, ""), timing.CALLS["prefill"],
                                         options.replays)
            base = base or time
            is_wrong |= not error < 1e-2
            cells.append(f"{time:.1f}" if variant == ALL else f"{time:.1f} ({time / base:.2f})")
            lines.append(f"{row.name},{variant},{time:.2f},{error:.3e}")
        print(f"| {row.name} | " + " | ".join(cells) + " |", flush=True)
        del problem, exact
        torch.cuda.empty_cache()
    if options.csv:
        options.csv.write_text("\n".join(lines) + "\n")
    if is_wrong:
        print("error: a result differs from the recurrence by more than 1e-2", file=sys.stderr)
    return int(is_wrong)


def main(arguments=None):
    """Runs the command line; returns the exit code."""
    parser, options = parse(arguments)
    if options.commands:
        print_commands(options)
        return 0
    try:
        if options.count:
            print_counts(options)
            return 0
        return measure(parser, options)
    except (OSError, RuntimeError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
