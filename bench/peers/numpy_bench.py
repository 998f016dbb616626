"""A step of STABLE in NumPy and SciPy, printed as `go test -bench` prints, so that benchstat can compare.

    OPENBLAS_NUM_THREADS=1 python3 numpy_bench.py

Oracles are left out; a Cholesky certificate shows that nothing is to be clipped. NumPy at its best:
in Fortran order, in place, LAPACK called directly. Times include the interpreter, some 0.3 µs a
call, which a user of NumPy pays. Debian: python3-numpy python3-scipy libopenblas0-pthread.
"""

import functools

import numpy as np
from scipy.linalg.blas import dgemv
from scipy.linalg.lapack import dpotrf, dpotrs

import driver

TAU, BOUND, MU, ALPHA, BETA = 0.1, 1e3, 0.1, 0.01, 0.01


class Step:
    """State of a step with d_x = d_y = d; g_yy = BBᵀ/d + I/2 everywhere."""

    def __init__(self, d):
        r = np.random.default_rng(d)
        b = r.standard_normal((d, d))
        self.g = np.asfortranarray(b @ b.T / d + np.eye(d) / 2)
        self.gxy = np.asfortranarray(r.random((d, d)) - 0.5)
        self.h, self.hxy = self.g.copy("F"), self.gxy.copy("F")
        self.factor = np.empty((d, d), order="F")
        self.diagonal = self.factor.ravel("K")[:: d + 1]
        self.x, self.y = r.random(d), r.standard_normal(d)
        self.fx, self.fy, self.gy = r.standard_normal(d), r.standard_normal(d), r.standard_normal(d)
        self.dx = np.empty(d)

    def solve(self, b):
        return dpotrs(self.factor, b, lower=1, overwrite_b=1)[0]

    def __call__(self):
        for h, g in ((self.hxy, self.gxy), (self.h, self.g)):
            h -= g
            h *= 1 - TAU
            h += g
        flat = self.hxy.ravel("K")
        if (size := np.dot(flat, flat)) > BOUND * BOUND:
            self.hxy *= BOUND / np.sqrt(size)
        for shift in (MU, 0):  # the certificate, then the factor
            np.copyto(self.factor, self.h)
            if shift:
                self.diagonal -= shift
            assert dpotrf(self.factor, lower=1, clean=0, overwrite_a=1)[1] == 0
        h = dgemv(-1, self.hxy, self.solve(self.fy.copy()), beta=1, y=self.fx)
        np.multiply(h, -ALPHA, out=self.dx)
        self.dx += self.x
        np.clip(self.dx, 0, 1, out=self.dx)
        self.dx -= self.x
        self.x += self.dx
        self.y -= BETA * self.gy
        self.y -= self.solve(dgemv(1, self.hxy, self.dx, trans=1))


def steps(step, count):
    for _ in range(count):
        step()


for n in driver.SIZES:
    driver.bench(f"Step/d={n}", functools.partial(steps, Step(n)))
