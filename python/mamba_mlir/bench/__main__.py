"""python -m mamba_mlir.bench: checks and times kernels beside their peers."""

import argparse
import os
from pathlib import Path
import signal
import sys

from mamba_mlir.bench import rows as rows_of
from mamba_mlir.kernels import get_command, quote

_PEERS = ("mamba-ssm", "flashinfer")
_DESCRIPTION = """\
Checks each kernel against the recurrence in float64 and times it beside the
peers that are installed: mamba-ssm and FlashInfer. Times are medians over the
replays of a CUDA graph of many calls. Exit code 1 if a kernel of ours is
missing, fails or is wrong, 2 for a wrong command line.
"""
_EPILOG = """\
Bundles first, on a machine with the compiler, then the GPU:

  python -m mamba_mlir.bench --commands --target=sm_90a --bundles=bundles | sh
  python -m mamba_mlir.bench --bundles=bundles --csv=times.csv --plot=times.png
"""


def _split(text):
    return [part for part in text.split(",") if part]


def parse(arguments=None):
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m mamba_mlir.bench", description=_DESCRIPTION, epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_argument_group("what")
    what.add_argument("--ops", type=_split, metavar="OP,..",
                      help="operations: " + ", ".join(rows_of.OPS) + " (default: all)")
    what.add_argument("--rows", type=_split, metavar="PATTERN,..",
                      help="rows whose names match: 'decode/f32-*', or a part such as t16384")
    what.add_argument("--all", action="store_true",
                      help="also rows that only peers can do: int16 states, Philox")
    what.add_argument("--bundles", action="append", default=[], metavar="DIR", type=Path,
                      help="bundle or folder of bundles, may be repeated (default: "
                           "MAMBA_MLIR_BUNDLES)")
    what.add_argument("--peers", default="auto", metavar="NAME,..",
                      help="auto (those that are installed), none, or of mamba-ssm, flashinfer")
    what.add_argument("--peers-path", type=Path, default=os.environ.get("MAMBA_PEERS"),
                      metavar="DIR", help="folder to import peers from first (default: "
                                          "$MAMBA_PEERS)")
    instead = parser.add_argument_group("instead of measuring").add_mutually_exclusive_group()
    instead.add_argument("--list", action="store_true", help="print the names of the rows")
    instead.add_argument("--commands", action="store_true",
                         help="print the commands that make the rows' bundles, in --bundles")
    instead.add_argument("--read", type=Path, metavar="CSV",
                         help="print and plot what an earlier run wrote with --csv")
    how = parser.add_argument_group("how")
    how.add_argument("--device", help="of torch, e.g. cuda:1; with cpu, small sizes on bundles "
                                      "for the cpu (default: cuda)")
    how.add_argument("--target", help="of --commands: cpu, sm_90a, .. (default: sm_90a)")
    how.add_argument("--replays", type=int, default=15, metavar="N",
                     help="of the CUDA graph (default: 15)")
    how.add_argument("--no-check", action="store_true", help="time only")
    how.add_argument("--no-time", action="store_true", help="check only")
    how.add_argument("--verbose", action="store_true", help="print tracebacks")
    output = parser.add_argument_group("output, besides the table")
    output.add_argument("--csv", type=Path, metavar="FILE")
    output.add_argument("--plot", type=Path, metavar="FILE", help="needs matplotlib")
    options = parser.parse_args(arguments)

    for op in options.ops or ():
        if op not in rows_of.OPS:
            parser.error(f"unknown operation '{op}' (there are {', '.join(rows_of.OPS)})")
    if options.peers in ("auto", "none"):
        options.wanted_peers = _PEERS if options.peers == "auto" else ()
    else:
        options.wanted_peers = _split(options.peers)
        for name in options.wanted_peers:
            if name not in _PEERS:
                parser.error(f"unknown peer '{name}' (there are {', '.join(_PEERS)})")
    if options.replays < 1:
        parser.error("expected --replays to be at least 1")
    options.chosen = rows_of.choose(options.ops, options.rows, options.all)
    if not options.chosen and not options.read:
        parser.error("no row is left (--list shows their names)")
    if options.plot:
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            parser.error("--plot needs matplotlib (pip install matplotlib)")
    return parser, options


def list_rows(chosen):
    """Prints the names."""
    for row in chosen:
        print(row.name + (f"  ({row.unsupported})" if row.unsupported else ""))


def print_commands(chosen, target, folder):
    """Prints the commands for the rows' kernels, each once."""
    keys = (row.key(target) for row in chosen if row.unsupported is None)
    for line in dict.fromkeys(quote(get_command(key, folder)) for key in keys):
        print(line)


def read(parser, options):
    """Prints and plots an earlier run."""
    from mamba_mlir.bench import report
    try:
        results, device = report.read_csv(options.read)
    except (OSError, KeyError, ValueError) as error:
        parser.error(f"--read: {options.read} is no table of this script: {error}")
    results = [result for result in results if (not options.ops or result.op in options.ops)
               and rows_of.matches(result.row, options.rows)]
    table = report.Table(print)
    for row in dict.fromkeys(result.row for result in results):
        table.add([result for result in results if result.row == row])
    print("\n".join(report.summarize(results)))
    if options.plot:
        report.plot(results, options.plot, device)


def _describe(torch, device):
    """Columns that tell where times come from."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    return {"device": name, "torch": torch.__version__}


def measure(parser, options):
    """Measures; the exit code."""
    try:
        import torch
    except ImportError:
        parser.error("measuring needs torch (--list and --commands do not)")
    device = torch.device(options.device or "cuda")
    if device.type == "cuda" and not torch.cuda.is_available():
        parser.error("torch finds no GPU; --device=cpu runs small sizes")
    from mamba_mlir import BundleError, register
    from mamba_mlir.bench import peers as peers_of, report
    from mamba_mlir.bench.measure import BrokenDeviceError, Measurement
    from mamba_mlir.bench.problems import Ours
    chosen = options.chosen
    peers, missing = [], []
    if device.type == "cuda":
        device = torch.device("cuda", device.index or 0)
        torch.cuda.set_device(device)
        peers, missing = peers_of.load(options.wanted_peers, options.peers_path)
        if missing and options.peers != "auto":
            parser.error("; ".join(missing))
    else:
        chosen = list(dict.fromkeys(row.shrink() for row in chosen))
    try:
        for path in options.bundles:
            register(path)
    except (BundleError, OSError) as error:
        parser.error(str(error))

    where = _describe(torch, device)
    print(", ".join(f"{key} {value}" for key, value in where.items())
          + "".join(f"; {one.name}" for one in peers)
          + "".join(f"\nmissing: {text}" for text in missing), flush=True)
    for one in peers:
        if hasattr(one, "compile_ahead"):
            print(f"compiling the variants of {one.name}", file=sys.stderr, flush=True)
            try:
                one.compile_ahead(chosen)
            except Exception as error:  # pylint: disable=broad-except
                print(f"could not compile them ahead: {error}", file=sys.stderr, flush=True)

    measurement = Measurement(device, options.replays, not options.no_check, not options.no_time,
                              options.verbose)
    table_file = report.Csv(options.csv, where) if options.csv else None
    progress = report.Progress(len(chosen))
    table = report.Table(progress.write)
    results, broken = [], ""
    for row in chosen:
        progress.start(row.name)
        if broken:
            added = [report.Result(row.name, row.op, "ours", status="failed",
                                   reason=f"not run: the GPU is broken since {broken}")]
        else:
            try:
                added = measurement.run(row, [Ours(), *peers])
            except BrokenDeviceError as error:
                broken = row.name
                added = [report.Result(row.name, row.op, "ours", status="failed",
                                       reason=str(error))]
        results += added
        table.add(added)
        if table_file:
            table_file.add(added)
        progress.finish()
        if device.type == "cuda" and not broken:
            torch.cuda.empty_cache()
    progress.close()
    if table_file:
        table_file.close()
    print("\n".join(report.summarize(results)))
    if options.plot:
        report.plot(results, options.plot, where["device"])
    return int(any(result.implementation == "ours" and result.status in ("wrong", "failed")
                   for result in results))


def main(arguments=None):
    """Runs the command line; returns the exit code."""
    parser, options = parse(arguments)
    if options.list:
        list_rows(options.chosen)
        return 0
    if options.commands:
        folder = options.bundles[0] if options.bundles else "mamba_bundles"
        print_commands(options.chosen, options.target or "sm_90a", folder)
        return 0
    if options.read:
        read(parser, options)
        return 0
    return measure(parser, options)


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # of `| head`
    sys.exit(main())
