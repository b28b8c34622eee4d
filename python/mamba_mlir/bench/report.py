"""Results as a table, CSV and a plot, and the progress bar."""

import csv
from dataclasses import dataclass, fields
import math
import sys
from typing import Optional


@dataclass
class Result:
    """One implementation on one row. us: microseconds of a call; ratio: its time
    over ours; errors: relative rms against float64."""

    row: str
    op: str
    implementation: str
    variant: str = ""
    us: Optional[float] = None
    gb_per_s: Optional[float] = None
    ratio: Optional[float] = None
    y_error: Optional[float] = None
    state_error: Optional[float] = None
    status: str = "ok"  # "ok", "wrong", "failed", "unsupported"
    reason: str = ""


def _number(value, form):
    return "-" if value is None else format(value, form)


def _time(value):
    return _number(value, ".2f" if value is not None and value < 10 else ",.1f")


class Table:
    """Lines of text, as soon as a row is done."""

    _WIDTHS = (39, 12, 10, 12, 8, 7, 10, 12)
    _TITLES = ("row", "by", "us", "", "GB/s", "ratio", "y error", "state error")

    def __init__(self, write):
        self._write = write
        self._line(self._TITLES, "status")

    def _line(self, cells, last):
        text = [f"{cell:<{width}}" if i in (0, 1, 3) else f"{cell:>{width}}"
                for i, (cell, width) in enumerate(zip(cells, self._WIDTHS))]
        self._write("  ".join([*text, last]).rstrip())

    def add(self, results):
        """Adds a row's results."""
        for number, result in enumerate(results):
            self._line(("" if number else result.row, result.implementation, _time(result.us),
                        result.variant, _number(result.gb_per_s, ",.0f"),
                        _number(result.ratio, ".2f"), _number(result.y_error, ".1e"),
                        _number(result.state_error, ".1e")),
                       result.status + (f": {result.reason}" if result.reason else ""))


class Csv:
    """A file with a line for each result, complete after every row."""

    def __init__(self, path, extra):
        # pylint: disable=consider-using-with
        self._file = open(path, "w", newline="", encoding="utf-8")
        self._extra = extra
        self._writer = csv.writer(self._file)
        self._writer.writerow([field.name for field in fields(Result)] + list(extra))

    def add(self, results):
        """Adds a row's results."""
        for result in results:
            values = [getattr(result, field.name) for field in fields(Result)]
            self._writer.writerow(["" if value is None else value for value in values]
                                  + list(self._extra.values()))
        self._file.flush()

    def close(self):
        """Ends the file."""
        self._file.close()


def read_csv(path):
    """(results, the device they come from) of a file that Csv wrote."""
    numbers = ("us", "gb_per_s", "ratio", "y_error", "state_error")
    results, device = [], ""
    with open(path, newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            device = line.get("device", "")
            values = {field.name: line[field.name] for field in fields(Result)}
            for name in numbers:
                values[name] = float(values[name]) if values[name] else None
            results.append(Result(**values))
    return results, device


def summarize(results):
    """Lines with the counts, and for each operation and peer the geometric mean
    of the ratios."""
    counts = {}
    for result in results:
        if result.implementation == "ours":
            counts[result.status] = counts.get(result.status, 0) + 1
    lines = ["ours: " + ", ".join(f"{count} {status}" for status, count in counts.items())]
    ratios = {}
    for result in results:
        if result.implementation != "ours" and result.ratio:
            ratios.setdefault((result.op, result.implementation), []).append(result.ratio)
    for (op, name), values in ratios.items():
        mean = math.exp(sum(map(math.log, values)) / len(values))
        lines.append(f"{op}: {name} takes {mean:.2f} times as long (geometric mean of "
                     f"{len(values)}; {min(values):.2f} to {max(values):.2f})")
    return lines


def plot(results, path, title):
    """A bar for each row and peer: its time over ours; or our times alone."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    timed = [result for result in results if result.us]
    peers = sorted({result.implementation for result in timed if result.ratio} - {"ours"})
    shown = [result for result in timed if not peers or result.implementation in peers]
    rows = list(dict.fromkeys(result.row for result in shown))
    figure, axes = pyplot.subplots(figsize=(9, 1.5 + 0.28 * max(1, len(rows))),
                                   layout="constrained")
    height = 0.8 / max(1, len(peers))
    for number, name in enumerate(peers or ["ours"]):
        values = {result.row: result.ratio if peers else result.us for result in shown
                  if result.implementation == name}
        places = [place for place, row in enumerate(rows) if values.get(row)]
        bars = axes.barh([place + (number + 0.5) * height - 0.4 for place in places],
                         [values[rows[place]] for place in places], height, label=name)
        axes.bar_label(bars, fmt="%.2f", padding=2, fontsize=7)
    axes.set_yticks(range(len(rows)), rows, fontsize=7)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.margins(x=0.1)
    if peers:
        axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel("time over ours (above 1: ours is faster)" if peers else "us of a call")
    axes.set_title(title, fontsize=9)
    axes.legend()
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


class Progress:
    """On standard error tqdm's bar; without it, or in a log, a line for each row."""

    def __init__(self, total):
        self._total, self._done, self._bar = total, 0, None
        try:
            from tqdm import tqdm
        except ImportError:
            return
        if not sys.stderr.isatty():
            return
        self._bar = tqdm(total=total, file=sys.stderr, unit="row", dynamic_ncols=True)

    def start(self, name):
        """Says what runs now."""
        if self._bar is not None:
            self._bar.set_description(name)
        else:
            print(f"[{self._done + 1}/{self._total}] {name}", file=sys.stderr, flush=True)

    def finish(self):
        """Counts a row."""
        self._done += 1
        if self._bar is not None:
            self._bar.update()

    def write(self, text):
        """Prints a line on standard output, clear of the bar."""
        if self._bar is not None:
            with self._bar.external_write_mode(file=sys.stdout):
                print(text, flush=True)
        else:
            print(text, flush=True)

    def close(self):
        """Removes the bar."""
        if self._bar is not None:
            self._bar.close()
