"""Measures every tier of the kernels beside gonum, OpenBLAS and NumPy in one run, and writes the
table of this machine into mat/kernel/KERNELS.md, in place of what an earlier run wrote there. It
prints how much faster than its peers each tier is, and the small orders.

    python3 kernels_table.py [-rounds 6] [-on "taskset -c 1"] [-title "AMD EPYC (Zen 5)"]
                             [-times FILE]

The programs take turns, and measure for a third of a millisecond at a time, ten times a turn. A
figure is the least of all. So a machine shared with others is measured in the moments when it is
free, and more rounds find more of them. A burst of a faster clock that comes to one program alone
may move a ratio by some per cent. With -times, FILE keeps the times, and those that an earlier run
of the same code left there count, too. -on is put before each program, to keep it on one core.
OpenBLAS runs with its own choice of kernels, and with OPENBLAS_CORETYPE=Haswell, which is AVX2.
Debian: python3-numpy python3-scipy libopenblas0-pthread. Go 1.27 is fetched by go.
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

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "mat" / "kernel" / "KERNELS.md"
SIZES = (14, 32, 37, 54, 64, 91, 100, 128, 200, 256, 300, 512)
SMALL = (4, 8, 12, 16, 20, 24, 28, 32)
PATTERNS = ("Benchmark(Mul|Cholesky|EigSym)$", "BenchmarkTruncate$/clipped", "BenchmarkStep$/^d=", "BenchmarkSmall$")
SIMD = {"GOTOOLCHAIN": "go1.27.0", "GOEXPERIMENT": "simd"}
TIERS = (
    ("portable", {}, ()),
    ("v3", {"GOAMD64": "v3"}, ()),
    ("simd, 256 bits", SIMD, ("-tags", "noavx512")),
    ("simd", SIMD, ()),
    ("simd on v3", {**SIMD, "GOAMD64": "v3"}, ()),
)
PEERS = {
    "gonum": "gonum (assembly)",
    "openblas": "OpenBLAS, LAPACK",
    "haswell": "OpenBLAS, LAPACK, Haswell",
    "numpy": "NumPy, Cholesky",
}
GROUPS = (
    ("Mul", "**Mul**", ("gonum", "openblas", "haswell")),
    ("Cholesky", "**Cholesky**", ("gonum", "openblas", "haswell")),
    ("EigSym", "**Eigenvalues and eigenvectors**", ("gonum", "openblas", "haswell")),
    ("Truncate/clipped", "**Truncate, half clipped**", ("openblas", "haswell")),
    ("Step", "**a step of STABLE, d = n**", ("numpy",)),
)
RATIOS = (
    ("Mul", "Mul", (("portable", "gonum"), ("simd", "openblas"), ("simd, 256 bits", "haswell"))),
    ("Cholesky", "Cholesky", (("portable", "gonum"), ("simd", "openblas"), ("simd, 256 bits", "haswell"))),
    ("EigSym", "Eigenvectors", (("portable", "gonum"), ("simd", "openblas"), ("simd, 256 bits", "haswell"))),
    ("Truncate/clipped", "Truncate", (("portable", "openblas"), ("simd", "openblas"), ("simd, 256 bits", "haswell"))),
    ("Step", "Step", (("portable", "numpy"),)),
)
SMALL_GROUPS = (
    ("Small/Mul", "**Mul**", ()),
    ("Small/MulVec", "**MulVec**", ()),
    ("Small/MulVecSym", "**MulVecSym**", ()),
    ("Small/Cholesky", "**Cholesky**", ()),
    ("Small/Solve", "**SolveVec**", ()),
)


def run(on, command, env, cwd=HERE):
    return subprocess.run(
        [*on, *command], env={**os.environ, "GOMAXPROCS": "1", "OPENBLAS_NUM_THREADS": "1", **env},
        cwd=cwd, check=True, text=True, capture_output=True).stdout


def record(times, program, text):
    """Keeps the times of each benchmark, in microseconds."""
    for line in text.splitlines():
        m = re.match(r"Benchmark(\S+?)/[nd]=(\d+)\s+\d+\s+([0-9.]+) ns/op", line)
        if m:
            name = "Step" if m[1] == "StepCholesky" else None if program == "numpy" else m[1]
            times.setdefault((program, name, int(m[2])), []).append(float(m[3]) / 1000)


def measure(rounds, on, folder):
    programs, times = {}, {}
    for name, env, flags in TIERS:
        programs[name] = os.path.join(folder, name.replace(", ", "-").replace(" ", "-"))
        run((), ("go", "test", "-c", *flags, "-o", programs[name], "./bench"), env, ROOT)
    gonum = os.path.join(folder, "gonum")
    run((), ("go", "test", "-c", "-o", gonum, "."), {})
    quick = "-test.run", "^$", "-test.benchtime", "300us", "-test.count", "10", "-test.bench"
    for turn in range(rounds):
        print("round", turn + 1, "of", rounds, file=sys.stderr, flush=True)
        for pattern in PATTERNS:
            for name, program in programs.items():
                if name == TIERS[-1][0] and pattern != PATTERNS[-1]:
                    continue
                record(times, name, run(on, (program, *quick, pattern), {}))
        record(times, "gonum", run(on, (gonum, *quick, PATTERNS[0]), {}))
        for what in ("Mul", "Cholesky", "EigSym", "Truncate"):
            command = sys.executable, "openblas_bench.py", what
            record(times, "openblas", run(on, command, {}))
            record(times, "haswell", run(on, command, {"OPENBLAS_CORETYPE": "Haswell"}))
        record(times, "numpy", run(on, (sys.executable, "numpy_bench.py", "StepCholesky"), {}))
    return times


def join(times, rounds, file):
    """The least times of this run and of the earlier ones in the file, and the rounds of all."""
    best = {key: min(t) for key, t in times.items()}
    if not file:
        return best, rounds
    if os.path.exists(file):
        with open(file) as f:
            old = json.load(f)
        rounds += old["rounds"]
        for *key, t in old["times"]:
            best[tuple(key)] = min(t, best.get(tuple(key), t))
    with open(file + ".new", "w") as f:
        json.dump({"rounds": rounds, "times": [[*key, t] for key, t in best.items()]}, f)
    os.replace(file + ".new", file)
    return best, rounds


def cell(x):
    return "" if x is None else f"{x:.2f}" if x < 10 else f"{x:.1f}" if x < 100 else f"{x:,.0f}"


def rows(best, groups, sizes, tiers):
    yield "| µs, one core | " + " | ".join(f"n = {n}" for n in sizes) + " |"
    yield "|---" * (len(sizes) + 1) + "|"
    for key, title, peers in groups:
        for i, name in enumerate(tiers):
            label = f"{title}, {name}" if i == 0 else name
            yield f"| {label} | " + " | ".join(cell(best.get((name, key, n))) for n in sizes) + " |"
        for name in peers:
            yield f"| {PEERS[name]} | " + " | ".join(cell(best.get((name, key, n))) for n in sizes) + " |"


def ratio(theirs, ours, peer):
    """Nothing where the interpreter takes more than what is left of a peer's time without it."""
    return "" if theirs < 1 and peer in ("openblas", "haswell") else f"{theirs / ours:.2f}"


def ratios(best):
    """How many times faster than the peer each tier is."""
    yield "| speed over that of the peer | " + " | ".join(f"n = {n}" for n in SIZES) + " |"
    yield "|---" * (len(SIZES) + 1) + "|"
    for key, title, pairs in RATIOS:
        for tier, peer in pairs:
            cells = (ratio(best[peer, key, n], best[tier, key, n], peer) for n in SIZES)
            yield f"| {title}, {tier} / {peer} | " + " | ".join(cells) + " |"


def tables(best):
    """The table for the page, and those that are printed."""
    tiers = [name for name, _, _ in TIERS]
    large = "\n".join(rows(best, GROUPS, SIZES, tiers[:-1]))
    small = "\n".join(rows(best, SMALL_GROUPS, SMALL, tiers))
    speeds = "\n".join(ratios(best))
    return large, f"{speeds}\n\nSmall orders, with a build of the simd tier for GOAMD64=v3 besides:\n\n{small}"


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("-rounds", type=int, default=6)
    flags.add_argument("-on", default="", help="a command to run the programs by")
    flags.add_argument("-title", default="", help="the name of this machine; default: that of its processor")
    flags.add_argument("-times", default="", help="a file that keeps the times from one run to the next")
    options = flags.parse_args()
    about = run((), ("go", "run", "./bench", "-version"), SIMD, ROOT).split("\n")[0]
    title = options.title or about.split("; ")[-1]
    with tempfile.TemporaryDirectory() as folder:
        times = measure(options.rounds, shlex.split(options.on), folder)
    best, rounds = join(times, options.rounds, options.times)
    today = datetime.date.today().isoformat()
    go = run((), ("go", "version"), {}, ROOT).split()[2]
    note = f"{today}, least of {rounds} rounds; portable and v3 by {go}, simd: {about}."
    begin, end = f"<!-- begin {title} -->", f"<!-- end {title} -->"
    note = textwrap.fill(note, 100)
    large, others = tables(best)
    text = f"{begin}\n### {title}\n\n{large}\n\n{note}\n{end}"
    page = PAGE.read_text()
    if begin in page:
        head, rest = page.split(begin)
        page = head + text + rest.split(end)[1]
    else:
        page = page.rstrip() + "\n\n" + text + "\n"
    PAGE.write_text(page)
    print(others)


main()
