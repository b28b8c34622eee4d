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


class _NothingWorksError(RuntimeError):
    """Every way to do a row failed; the message has the reasons."""


def _shorten(error):
    """One line."""
    if isinstance(error, _NothingWorksError):
        return str(error)
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
        variants = {}
        for one, result in todo:
            variants[one.name] = one.variants(row)
            self._try([result], lambda one=one: one.prepare(row))
        # All checks come first: timing changes the states.
        if self.check:
            exact = problem.get_reference()
            for one, result in todo:
                self._try([result], lambda one=one, result=result: self._check(
                    problem, exact, one, variants[one.name], result))
            del exact
        if self.time:
            for one, result in todo:
                self._try([result], lambda one=one, result=result: self._time(
                    problem, one, variants[one.name], result))

    @torch.no_grad()
    def _each(self, variants, function):
        """Calls a function with every variant, and drops those that fail; an error
        if all do."""
        reasons = []
        for variant in list(variants):
            try:
                function(variant)
            except NoKernelError:
                raise
            except Exception as error:  # pylint: disable=broad-except
                reasons.append(f"{variant} {_shorten(error)}".strip())
                variants.remove(variant)
                self._synchronize()
        if not variants:
            raise _NothingWorksError("; ".join(reasons))

    def _check(self, problem, exact, one, variants, result):
        """Sets the errors; of several ways to do a row, those of the worst."""
        if result.status != "ok":
            return

        def check(variant):
            y_error, state_error = (
                reference.get_error(out, right)
                for out, right in zip(one.run_once(problem, variant), exact))
            result.y_error = max(y_error, result.y_error or 0)
            result.state_error = max(state_error, result.state_error or 0)

        self._each(variants, check)
        if one.name != "ours":
            return
        wrong = [f"error of {what} {error:.1e} above {bound:.1e}"
                 for what, error, bound in zip(("y", "states"),
                                               (result.y_error, result.state_error),
                                               reference.get_bounds(problem.row))
                 if not error <= bound]
        if wrong:
            result.status, result.reason = "wrong", "; ".join(wrong)

    def _time(self, problem, one, variants, result):
        """Sets the time; of several ways to do a row, that of the fastest."""
        if result.status != "ok":
            return

        def measure(variant):
            calls = one.calls(problem, variant)
            us = (timing.time_graph(calls, timing.CALLS[problem.row.op], self.replays)
                  if self.device.type == "cuda" else timing.time_host(calls))
            if result.us is None or us < result.us:
                result.us, result.variant = us, variant

        self._each(variants, measure)
