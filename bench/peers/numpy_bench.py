"""The benchmarks of stable/bench in NumPy and SciPy on OpenBLAS, printed as `go test -bench` prints them, so that benchstat can compare.

    OPENBLAS_NUM_THREADS=1 python3 numpy_bench.py > numpy.txt

An argument keeps the benchmarks whose names contain it.

BenchmarkStep is one step of STABLE with the oracles left out, as the paper describes it: an eigen-decomposition every step. BenchmarkStepCholesky puts a
Cholesky certificate in its place where nothing is to be clipped. Times include NumPy's own overhead of about a microsecond a call, which a
user of NumPy pays. Debian: python3-numpy python3-scipy libopenblas0-pthread.
"""

import numpy as np
import scipy.linalg as sl

from timing import show, wanted

SIZES = (14, 22, 32, 37, 54, 64, 91, 100, 128, 200, 256, 300, 512)


def run(name, n, f):
    if wanted(name):
        show(f"{name}={n}", f)


def symmetric(n):
    a = np.random.default_rng(n).random((n, n)) - 0.5
    return a, (a + a.T) / 2


def truncate(s, mu=0.1):
    w, v = np.linalg.eigh(s)
    return (v * np.maximum(w, mu)) @ v.T


class Step:
    """State of a step with d_x = d_y = d; g_yy = BBᵀ/d + I/2 everywhere."""

    def __init__(self, d):
        r = np.random.default_rng(d)
        b = r.standard_normal((d, d))
        self.g = b @ b.T / d + np.eye(d) / 2
        self.gxy = r.random((d, d)) - 0.5
        self.h, self.hxy = self.g.copy(), self.gxy.copy()
        self.x, self.y = r.random(d), r.standard_normal(d)
        self.fy, self.gy = r.standard_normal(d), r.standard_normal(d)

    def begin(self, tau=0.1, bound=1e3):
        self.hxy = (1 - tau) * (self.hxy - self.gxy) + self.gxy
        n = np.linalg.norm(self.hxy)
        if n > bound:
            self.hxy *= bound / n
        self.h = (1 - tau) * (self.h - self.g) + self.g

    def finish(self, solve, alpha=0.01, beta=0.01):
        x = np.clip(self.x + alpha * (self.hxy @ solve(self.fy)), 0, 1)
        self.y = self.y - beta * self.gy - solve(self.hxy.T @ (x - self.x))
        self.x = x

    def eigh(self):
        self.begin()
        self.h = truncate(self.h)
        self.finish(lambda b: np.linalg.solve(self.h, b))

    def cholesky(self):
        self.begin()
        np.linalg.cholesky(self.h - 0.1 * np.eye(len(self.y)))
        c = sl.cho_factor(self.h, lower=True, check_finite=False)
        self.finish(lambda b: sl.cho_solve(c, b, check_finite=False))


for n in SIZES:
    a, s = symmetric(n)
    spd = s + n * np.eye(n)
    factor = sl.cho_factor(spd, lower=True)
    rhs = a[0].copy()
    run("Mul/n", n, lambda: a @ a)
    run("Cholesky/n", n, lambda: np.linalg.cholesky(spd))
    run("Solve/n", n, lambda: sl.cho_solve(factor, rhs, check_finite=False))
    for name in "Eig/n", "EigSym/n":
        run(name, n, lambda: np.linalg.eigh(s))
    for name, m in (("clear", spd), ("few", s), ("clipped", s), ("warm", s)):
        run(f"Truncate/{name}/n", n, lambda: truncate(m))
    run("Step/d", n, Step(n).eigh)
    run("StepCholesky/d", n, Step(n).cholesky)
