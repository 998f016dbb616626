"""Measures every tier of the kernels beside gonum, OpenBLAS, Eigen, BLASFEO, NumPy and numba in one run, and
writes the table of this machine into mat/kernel/KERNELS.md, in place of what an earlier run wrote
there. It prints how much faster than its peers each tier is, the small orders, and steps on samples.

    python3 kernels_table.py [-rounds 6] [-on "taskset -c 1"] [-blasfeo PREFIX] [-times FILE]

The programs take turns, and measure for a third of a millisecond at a time, ten times a turn. A
figure is the least of all: a machine shared with others is measured when it is free. -on is put
before each program, to keep it on one core. driver.py says which peers run, and how. Debian:
python3-numpy python3-scipy python3-numba libopenblas-dev libeigen3-dev g++. Go 1.27 is fetched by go.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap

import driver

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "mat" / "kernel" / "KERNELS.md"
SIZES = (14, 32, 37, 54, 64, 91, 100, 128, 200, 256, 300, 512)
SMALL = (4, 8, 12, 16, 20, 24, 28, 32)
PATTERNS = ("Benchmark(Mul|Cholesky|Cond|EigSym)$", "BenchmarkTruncate$/clipped", "BenchmarkStep$/^d=", "BenchmarkSmall$", "BenchmarkSamples$")
SIMD = {"GOTOOLCHAIN": "go1.27.0", "GOEXPERIMENT": "simd"}
TIERS = (
    ("portable", {}, ()),
    ("v3", {"GOAMD64": "v3"}, ()),
    ("simd, 256 bits", SIMD, ("-tags", "noavx512")),
    ("simd", SIMD, ()),
    ("simd on v3", {**SIMD, "GOAMD64": "v3"}, ()),
)
GROUPS = (
    ("Mul", "**Mul**"),
    ("Cholesky", "**Cholesky**"),
    ("Cond", "**Cholesky and condition number**"),
    ("EigSym", "**Eigenvalues and eigenvectors**"),
    ("Truncate/clipped", "**Truncate, half clipped**"),
    ("Step", "**a step of STABLE, d = n**"),
)
SMALL_GROUPS = tuple((f"Small/{op}", f"**{op}**") for op in ("Mul", "MulVec", "MulVecSym", "Cholesky", "Solve"))
SAMPLE_GROUPS = tuple((f"Samples/{name}", f"**{name}, n samples a step**") for name in ("SOBA", "SABA"))
GONUM = {"Cholesky": "gonum (Potrf on a copy)", "Cond": "gonum (Factorize)"}


def run(on, command, env, cwd=HERE):
    return subprocess.run(
        [*on, *command], env={**os.environ, "GOMAXPROCS": "1", "OPENBLAS_NUM_THREADS": "1", **env},
        cwd=cwd, check=True, text=True, capture_output=True).stdout


def record(times, program, text):
    """Keeps the times of each benchmark, in microseconds."""
    for line in text.splitlines():
        m = re.match(r"Benchmark(\S+?)(/packing)?/[nd]=(\d+)\s+\d+\s+([0-9.]+) ns/op", line)
        if m:
            name = GONUM.get(m[1], program) if program == "gonum" else program + (", with packing" if m[2] else "")
            times.setdefault((name, m[1], int(m[3])), []).append(float(m[4]) / 1000)


def measure(options, folder):
    on, tiers, times = shlex.split(options.on), {}, {}
    for name, env, flags in TIERS:
        tiers[name] = os.path.join(folder, name.replace(", ", "-").replace(" ", "-"))
        run((), ("go", "test", "-c", *flags, "-o", tiers[name], "./bench"), env, ROOT)
    gonum = os.path.join(folder, "gonum")
    run((), ("go", "test", "-c", "-o", gonum, "."), {})
    peers = driver.programs(folder, options.blasfeo)
    quick = "-test.run", "^$", "-test.benchtime", "300us", "-test.count", "10", "-test.bench"
    for turn in range(options.rounds):
        print("round", turn + 1, "of", options.rounds, file=sys.stderr, flush=True)
        for pattern in PATTERNS:
            for name, program in tiers.items():
                if name != TIERS[-1][0] or pattern == PATTERNS[3]:
                    record(times, name, run(on, (program, *quick, pattern), {}))
        record(times, "gonum", run(on, (gonum, *quick, "."), {}))
        for what in ("Mul", "Cholesky", "Cond", "EigSym", "Truncate", "Step"):
            for name, program, env in peers:
                record(times, name, run(on, (program, what), env))
        for name in ("NumPy", "numba"):
            record(times, name, run(on, (sys.executable, name.lower() + "_bench.py"), {}))
    return times


def cell(t):
    return "" if t is None else f"{t:.2f}" if t < 10 else f"{t:.1f}" if t < 100 else f"{t:,.0f}"


def peers(best, key):
    return list(dict.fromkeys(name for name, k, _ in best if k == key and name not in [t[0] for t in TIERS]))


def rows(head, sizes, lines):
    """A table of Markdown, with a line for each pair of a label and a function of n."""
    yield f"| {head} | " + " | ".join(f"n = {n}" for n in sizes) + " |"
    yield "|---" * (len(sizes) + 1) + "|"
    for label, text in lines:
        yield f"| {label} | " + " | ".join(map(text, sizes)) + " |"


def table(best, groups, sizes, tiers, head):
    return "\n".join(rows(head, sizes, (
        (f"{title}, {name}" if i == 0 else name, lambda n: cell(best.get((name, key, n))))
        for key, title in groups for i, name in enumerate([*tiers, *peers(best, key)]))))


def ratios(best):
    """How many times faster than each peer the slowest and the fastest tier are."""
    return "\n".join(rows("speed over that of the peer", SIZES, (
        (f"{title}, {tier} / {peer}",
         lambda n: f"{best[peer, key, n] / best[tier, key, n]:.2f}" if (peer, key, n) in best else "")
        for key, title in GROUPS for tier in ("portable", "simd") for peer in peers(best, key))))


def machine():
    """The processor by lscpu: model name, family and model."""
    found = dict(line.split(":", 1) for line in run((), ("lscpu",), {"LC_ALL": "C"}).splitlines() if ":" in line)
    get = lambda key: found.get(key, "?").strip()
    return f"{get('Model name')}, family {get('CPU family')}, model {get('Model')}"


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("-rounds", type=int, default=6)
    flags.add_argument("-on", default="", help="a command to run the programs by")
    flags.add_argument("-blasfeo", default="", help="where BLASFEO is installed, with include/ and lib/")
    flags.add_argument("-times", type=pathlib.Path, help="a file that keeps the times; those of earlier runs count, too")
    options = flags.parse_args()
    about = run((), ("go", "run", "./bench", "-version"), SIMD, ROOT).split("\n")[0]
    with tempfile.TemporaryDirectory() as folder:
        times = measure(options, folder)
    if options.times:
        for *key, t in json.loads(options.times.read_text() if options.times.exists() else "[]"):
            times.setdefault(tuple(key), []).extend(t)
        options.times.write_text(json.dumps([[*key, t] for key, t in times.items()]))
    best = {key: min(t) for key, t in times.items()}
    tiers, title = [name for name, _, _ in TIERS], machine()
    go = run((), ("go", "version"), {}, ROOT).split()[2]
    compiler = run((), (os.environ.get("CXX", "c++"), "--version"), {}).split("\n")[0]
    note = textwrap.fill(f"{datetime.date.today().isoformat()}, least of {len(times['portable', 'Mul', 14]) // 10} rounds; "
                         f"portable and v3 by {go}, simd: {about}; peers by {compiler}.", 100)
    begin, end = f"<!-- begin {title} -->", f"<!-- end {title} -->"
    text = f"{begin}\n### {title}\n\n{table(best, GROUPS, SIZES, tiers[:-1], 'µs, one core')}\n\n{note}\n{end}"
    page = PAGE.read_text()
    head, _, rest = page.partition(begin)
    PAGE.write_text(head.rstrip() + "\n\n" + text + (rest.partition(end)[2] or "\n"))
    print(ratios(best))
    print("\nSmall orders, with a build of the simd tier for GOAMD64=v3 besides:\n")
    print(table(best, SMALL_GROUPS, SMALL, tiers, "µs, one core"))
    print(table(best, SAMPLE_GROUPS, (1, 64), tiers[:-1], "µs, one core"))


main()
