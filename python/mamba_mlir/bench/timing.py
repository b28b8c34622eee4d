"""Times of calls."""

import math
import statistics
import time

import torch

# Back-to-back calls in a CUDA graph.
CALLS = {"prefill": 20, "decode": 50, "multi": 50}
_WARM_UPS = 2


def time_graph(calls, count, replays=15):
    """Median microseconds of a call, over the replays of one CUDA graph with
    `count` calls of `calls` in turn, each equally often."""
    count = math.ceil(count / len(calls)) * len(calls)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):  # loads kernels, which a capture cannot
        for i in range(max(3, len(calls))):
            calls[i % len(calls)]()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(count):
            calls[i % len(calls)]()
    times = []
    for _ in range(_WARM_UPS + replays):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop) * 1000 / count)
    return statistics.median(times[_WARM_UPS:])


def time_host(calls, replays=3):
    """The same on the CPU, without a graph."""
    times = []
    for i in range(1 + replays):
        start = time.perf_counter()
        calls[i % len(calls)]()
        times.append((time.perf_counter() - start) * 1e6)
    return statistics.median(times[1:])
