"""Checks and times the implementations on a row."""

import sys
import traceback

import torch

from mamba_mlir import NoKernelError
from mamba_mlir.bench import reference, timing
from mamba_mlir.bench.problems import make_problem
from mamba_mlir.bench.report import Result


class BrokenDeviceError(RuntimeError):
    """A kernel left the GPU unusable for this process."""


def _shorten(error):
    if isinstance(error, NoKernelError):
        return "no bundle has the kernel (--commands prints the command that makes it)"
    lines = [line.strip() for line in str(error).strip().splitlines()] or [""]
    return f"{type(error).__name__}: " + " ".join(lines)[:300]


class Measurement:
    """How rows are measured."""

    def __init__(self, device, replays, check=True, time=True, verbose=False):
        self.device, self.replays = torch.device(device), replays
        self.check, self.time, self.verbose = check, time, verbose

    def run(self, row, implementations):
        """Results of a row, ours first."""
        results = [Result(row.name, row.op, one.name) for one in implementations]
        todo = []
        for one, result in zip(implementations, results):
            result.reason = one.refuse(row) or ""
            if result.reason:
                result.status = "unsupported"
            else:
                todo.append((one, result))
        if todo:
            self._try(results, lambda: self._run_all(row, todo))
        ours = results[0].us
        for result in results:
            if result.us:
                result.ratio = result.us / ours if ours else None
                result.gb_per_s = row.count_bytes() / result.us / 1e3
        return [result for result in results
                if result.implementation == "ours" or result.status != "unsupported"]

    def _try(self, results, function):
        """Marks results as failed if a function fails."""
        try:
            function()
        except Exception as error:  # pylint: disable=broad-except
            if self.verbose:
                traceback.print_exc(file=sys.stderr)
            for result in results:
                if result.status == "ok":
                    result.status, result.reason = "failed", _shorten(error)
            error.__traceback__ = None  # it keeps tensors alive
        self._synchronize()

    def _synchronize(self):
        """Waits for the device; BrokenDeviceError if that fails."""
        if self.device.type == "cuda":
            try:
                torch.cuda.synchronize()
            except Exception as error:
                raise BrokenDeviceError(_shorten(error)) from None

    def _run_all(self, row, todo):
        problem = make_problem(row, self.device)
        for one, result in todo:
            self._try([result], lambda one=one: one.prepare(row))
        # All checks come first: timing changes the states.
        if self.check:
            exact = problem.get_reference()
            for one, result in todo:
                if result.status == "ok":
                    self._try([result], lambda one=one, result=result: self._check(
                        problem, exact, one, result))
            del exact
        if self.time:
            for one, result in todo:
                if result.status == "ok":
                    self._try([result], lambda one=one, result=result: self._time(
                        problem, one, result))

    @torch.no_grad()
    def _time(self, problem, one, result):
        """Sets the time; of several ways to do a row, that of the fastest."""
        row, reasons = problem.row, []
        for variant in one.variants(row):
            calls = one.calls(problem, variant)
            try:
                us = (timing.time_graph(calls, timing.CALLS[row.op], self.replays)
                      if self.device.type == "cuda" else timing.time_host(calls))
            except Exception as error:  # pylint: disable=broad-except
                reasons.append(f"{variant} {_shorten(error)}".strip())
                self._synchronize()
                continue
            if result.us is None or us < result.us:
                result.us, result.variant = us, variant
        if result.us is None:
            raise RuntimeError("; ".join(reasons))

    @staticmethod
    @torch.no_grad()
    def _check(problem, exact, one, result):
        """Sets the errors; of several ways to do a row, those of the worst."""
        for variant in one.variants(problem.row):
            found = [reference.get_error(out, right)
                     for out, right in zip(one.run_once(problem, variant), exact)]
            if result.y_error is None or found[0] > result.y_error:
                result.y_error = found[0]
            if result.state_error is None or found[1] > result.state_error:
                result.state_error = found[1]
        if one.name != "ours":
            return
        bounds = reference.get_bounds(problem.row)
        wrong = [f"error of {what} {error:.1e} above {bound:.1e}" for what, error, bound in
                 zip(("y", "states"), (result.y_error, result.state_error), bounds)
                 if not error <= bound]
        if wrong:
            result.status, result.reason = "wrong", "; ".join(wrong)
