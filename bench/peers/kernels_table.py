"""Measures every tier of the kernels beside gonum, OpenBLAS and NumPy in one run, and writes the
table of this machine into mat/kernel/KERNELS.md, in place of what an earlier run wrote there.

    python3 kernels_table.py [-rounds 5] [-on "taskset -c 1"] [-title "AMD EPYC (Zen 5)"]

The programs take turns; a figure is the least of all rounds. -on is put before each of them, to
keep them on one core. OpenBLAS runs with its own choice of kernels, and with OPENBLAS_CORETYPE=Haswell,
which is AVX2. Debian: python3-numpy python3-scipy libopenblas0-pthread. Go 1.27 is fetched by go.
"""

import argparse
import datetime
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
SIZES = (14, 32, 54, 100, 128, 200, 256, 512)
SMALL = (4, 8, 12, 16, 20, 24, 28, 32)
PATTERNS = ("Benchmark(Mul|Cholesky)$", "BenchmarkTruncate$/clipped", "BenchmarkStep$/^d=", "BenchmarkSmall$")
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
    "own": "OpenBLAS, LAPACK",
    "haswell": "OpenBLAS, LAPACK, Haswell",
    "numpy": "NumPy, Cholesky",
}
GROUPS = (
    ("Mul", "**Mul**", ("gonum", "own", "haswell")),
    ("Cholesky", "**Cholesky**", ("gonum", "own", "haswell")),
    ("Truncate/clipped", "**Truncate, half clipped**", ("own", "haswell")),
    ("Step", "**a step of STABLE, d = n**", ("numpy",)),
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


def record(best, program, text):
    """Keeps the least time of each benchmark, in microseconds."""
    for line in text.splitlines():
        m = re.match(r"Benchmark(\S+?)/[nd]=(\d+)\s+\d+\s+([0-9.]+) ns/op", line)
        if m:
            name = "Step" if m[1] == "StepCholesky" else None if program == "numpy" else m[1]
            key = program, name, int(m[2])
            best[key] = min(best.get(key, float("inf")), float(m[3]) / 1000)


def measure(rounds, on, folder):
    programs, best = {}, {}
    for name, env, flags in TIERS:
        programs[name] = os.path.join(folder, name.replace(", ", "-").replace(" ", "-"))
        run((), ("go", "test", "-c", *flags, "-o", programs[name], "./bench"), env, ROOT)
    gonum = os.path.join(folder, "gonum")
    run((), ("go", "test", "-c", "-o", gonum, "."), {})
    quick = "-test.run", "^$", "-test.benchtime", "5ms", "-test.bench"
    for turn in range(rounds):
        print("round", turn + 1, "of", rounds, file=sys.stderr, flush=True)
        for pattern in PATTERNS:
            for name, program in programs.items():
                if name == TIERS[-1][0] and pattern != PATTERNS[-1]:
                    continue
                record(best, name, run(on, (program, *quick, pattern), {}))
        record(best, "gonum", run(on, (gonum, *quick, PATTERNS[0]), {}))
        for what in ("Mul", "Cholesky", "Truncate"):
            command = sys.executable, "openblas_bench.py", what
            record(best, "own", run(on, command, {}))
            record(best, "haswell", run(on, command, {"OPENBLAS_CORETYPE": "Haswell"}))
        if turn == 0:
            record(best, "numpy", run(on, (sys.executable, "numpy_bench.py"), {}))
    return best


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


def table(best, version):
    tiers = [name for name, _, _ in TIERS]
    large = "\n".join(rows(best, GROUPS, SIZES, tiers[:-1]))
    small = "\n".join(rows(best, SMALL_GROUPS, SMALL, tiers))
    return f"{large}\n\nSmall orders, with a build of the simd tier for GOAMD64=v3 besides:\n\n{small}\n\n{version}\n"


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("-rounds", type=int, default=5)
    flags.add_argument("-on", default="", help="a command to run the programs by")
    flags.add_argument("-title", default="", help="the name of this machine; default: that of its processor")
    options = flags.parse_args()
    about = run((), ("go", "run", "./bench", "-version"), SIMD, ROOT).split("\n")[0]
    title = options.title or about.split("; ")[-1]
    with tempfile.TemporaryDirectory() as folder:
        best = measure(options.rounds, shlex.split(options.on), folder)
    today = datetime.date.today().isoformat()
    go = run((), ("go", "version"), {}, ROOT).split()[2]
    note = f"{today}, least of {options.rounds} rounds; portable and v3 by {go}, simd: {about}."
    begin, end = f"<!-- begin {title} -->", f"<!-- end {title} -->"
    note = textwrap.fill(note, 100)
    text = f"{begin}\n### {title}\n\n{table(best, note)}{end}"
    page = PAGE.read_text()
    if begin in page:
        head, rest = page.split(begin)
        page = head + text + rest.split(end)[1]
    else:
        page = page.rstrip() + "\n\n" + text + "\n"
    PAGE.write_text(page)


main()
