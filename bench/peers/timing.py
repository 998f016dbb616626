"""Times an operation as `go test -bench . -benchtime 300us -count 10` does, and prints it so."""

import sys
import time


def loop(f, count):
    start = time.perf_counter()
    for _ in range(count):
        f()
    return time.perf_counter() - start


def wanted(name):
    return len(sys.argv) < 2 or sys.argv[1] in name


def show(name, f, nothing=None):
    """Ten lines, each over 0.3 ms or more of calls of f, less what as many of nothing take."""
    f()
    count = 1
    while loop(f, count) < 0.0003:
        count *= 2
    idle = min(loop(nothing, count) for _ in range(10)) if nothing else 0
    for _ in range(10):
        print(f"Benchmark{name} \t{count}\t{(loop(f, count) - idle) / count * 1e9:.1f} ns/op", flush=True)
