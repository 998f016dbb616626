"""The benchmarks of stable/bench on OpenBLAS and LAPACK, printed as `go test -bench` prints them, so that benchstat can compare.

    OPENBLAS_NUM_THREADS=1 python3 openblas_bench.py > openblas.txt

An argument keeps the benchmarks whose names contain it. The library is called directly, through ctypes. What the interpreter takes, and the copy of an
input that an operation overwrites, is measured by the same loop over calls of order 0, and taken off; some 0.1 µs of the call stay in what is left.
Debian: python3-numpy libopenblas0-pthread.
"""

import ctypes
import sys

import numpy as np

from timing import show, wanted

SIZES = (14, 22, 32, 37, 54, 64, 91, 100, 128, 200, 256, 300, 512)
MU = 0.1
ROWS, PLAIN, TRANS, COLUMNS = 101, 111, 112, 102  # cblas.h

lib = ctypes.CDLL("libopenblas.so.0")
for f in (lib.cblas_dgemm, lib.dpotrf_, lib.dsyevd_):
    f.restype = None


def pointer(a):
    return a.ctypes.data_as(ctypes.c_void_p)


def integer(i):
    return ctypes.byref(ctypes.c_int(i))


class Order:
    """The operations of one order, on matrices of one size: order 0 does nothing, by the same calls."""

    def __init__(self, size, order):
        r = np.random.default_rng(size)
        self.square = r.random((size, size)) - 0.5
        self.input = (self.square + self.square.T) / 2
        self.a, self.scaled, self.product = (np.empty((size, size)) for _ in range(3))
        self.values, self.clipped = np.empty(order), np.empty(order)
        lwork, liwork = 1 + 6 * size + 2 * size * size, 3 + 5 * size
        self.work, self.iwork = np.empty(lwork), np.empty(liwork, dtype=np.intc)
        self.info = ctypes.c_int()
        n, ld, info = integer(order), integer(max(order, 1)), ctypes.byref(self.info)
        a, one, zero = pointer(self.a), ctypes.c_double(1), ctypes.c_double(0)
        side, lead = ctypes.c_int(order), ctypes.c_int(max(order, 1))
        self.gemm = (ROWS, PLAIN, PLAIN, side, side, side, one, pointer(self.square), lead, pointer(self.square), lead, zero, pointer(self.product), lead)
        self.back = (COLUMNS, PLAIN, TRANS, side, side, side, one, pointer(self.scaled), lead, a, lead, zero, pointer(self.product), lead)
        self.potrf = (b"L", n, a, ld, info)
        self.syevd = (b"V", b"L", n, a, ld, pointer(self.values), pointer(self.work), integer(lwork), pointer(self.iwork), integer(liwork), info)
        self.vectors, self.weighted = self.a[:order, :order], self.scaled[:order, :order]

    def mul(self):
        lib.cblas_dgemm(*self.gemm)

    def cholesky(self):
        np.copyto(self.a, self.input)
        lib.dpotrf_(*self.potrf)

    def eigen(self):
        np.copyto(self.a, self.input)
        lib.dsyevd_(*self.syevd)

    def truncate(self):
        """product = V·max(Λ, mu)·Vᵀ, the recipe that takes no thought; eigenvectors stand in the rows of a."""
        self.eigen()
        np.maximum(self.values, MU, out=self.clipped)
        np.multiply(self.vectors, self.clipped[:, None], out=self.weighted)
        lib.cblas_dgemm(*self.back)


def run(name, n, f, nothing, check):
    if wanted(name):
        f()
        check()
        show(f"{name}/n={n}", f, nothing)


def same(a, b):
    if not np.allclose(a, b, rtol=0, atol=1e-9 * np.linalg.norm(b)):
        sys.exit("openblas_bench: a wrong result")


for size in SIZES:
    o, nothing = Order(size, size), Order(size, 0)
    run("Mul", size, o.mul, nothing.mul, lambda: same(o.product, o.square @ o.square))
    for name in "Eig", "EigSym":
        run(name, size, o.eigen, nothing.eigen, lambda: same(o.a.T * o.values @ o.a, o.input))
    w, v = np.linalg.eigh(o.input)
    run("Truncate/clipped", size, o.truncate, nothing.truncate, lambda: same(o.product, v * np.maximum(w, MU) @ v.T))
    o.input += size * np.eye(size)
    run("Cholesky", size, o.cholesky, nothing.cholesky, lambda: same(np.triu(o.a).T @ np.triu(o.a), o.input))
