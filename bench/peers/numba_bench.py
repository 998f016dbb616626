"""Steps of SOBA and SABA in numba, printed as `go test -bench` prints, for BenchmarkSamples.

    python3 numba_bench.py

Logistic loss, weights exp(x)/2, 10,000 dense rows of 50 features at each level, n = samples a step.
numba at its best: one pass over a row for all of its derivatives, one exp(x) a step, fast-math, no
checks, no f_x. Debian: python3-numba.
"""

import numpy as np
from numba import njit

import driver

N, D, STEP, LO, HI = 10_000, 50, 1e-3, np.log(0.02), np.log(2)
fast = njit(fastmath=True, error_model="numpy")


@fast
def upper(a, b, y, out, weight):
    """out += weight * the derivative by y of the loss of row a with label b."""
    t = 0.0
    for j in range(D):
        t += a[j] * y[j]
    c = -weight * b / (1 + np.exp(b * t))
    for j in range(D):
        out[j] += c * a[j]


@fast
def lower(a, b, y, v, gy, hv, weight):
    """Adds weight * g_y and g_yy*v, without regularisation."""
    t = u = 0.0
    for j in range(D):
        t += a[j] * y[j]
        u += a[j] * v[j]
    s = 1 / (1 + np.exp(b * t))
    c, h = -weight * b * s, weight * s * (1 - s) * u
    for j in range(D):
        gy[j] += c * a[j]
        hv[j] += h * a[j]


@fast
def move(x, y, v, fy, gy, hv, cv):
    for j in range(D):
        y[j] -= STEP * gy[j]
        v[j] -= STEP * (hv[j] + fy[j])
        x[j] = min(max(x[j] - STEP * cv[j], LO), HI)


@fast
def soba(train, val, x, y, v, batch, steps):
    fy, gy, hv, cv = np.empty(D), np.empty(D), np.empty(D), np.empty(D)
    for _ in range(steps):
        for j in range(D):
            e = np.exp(x[j])
            fy[j], gy[j], hv[j], cv[j] = 0, e * y[j], e * v[j], e * y[j] * v[j]
        for _ in range(batch):
            i = np.random.randint(N)
            upper(val[0][i], val[1][i], y, fy, 1 / batch)
        for _ in range(batch):
            i = np.random.randint(N)
            lower(train[0][i], train[1][i], y, v, gy, hv, 1 / batch)
        move(x, y, v, fy, gy, hv, cv)


@fast
def replace(table, mean, out, fresh, which, batch):
    """SAGA's estimate, then the new rows of the table and their mean."""
    out[:] = mean
    for k in range(batch):
        last = table[which[k]]
        for j in range(len(mean)):
            out[j] += (fresh[k, j] - last[j]) / batch
    for k in range(batch):
        last = table[which[k]]
        for j in range(len(mean)):
            mean[j] += (fresh[k, j] - last[j]) / N
            last[j] = fresh[k, j]


@fast
def saba(train, val, x, y, v, batch, steps, tf, mf, tg, mg):
    f, g, e, which = np.empty(D), np.empty(3 * D), np.empty(D), np.empty(batch, np.int64)
    ff, fg = np.empty((batch, D)), np.empty((batch, 3 * D))
    for _ in range(steps):
        for j in range(D):
            e[j] = np.exp(x[j])
        for k in range(batch):
            i = which[k] = np.random.randint(N)
            ff[k] = 0
            upper(val[0][i], val[1][i], y, ff[k], 1)
        replace(tf, mf, f, ff, which, batch)
        for k in range(batch):
            i, row = np.random.randint(N), fg[k]
            which[k] = i
            for j in range(D):
                row[j], row[D + j], row[2 * D + j] = e[j] * y[j], e[j] * v[j], e[j] * y[j] * v[j]
            lower(train[0][i], train[1][i], y, v, row[:D], row[D : 2 * D], 1)
        replace(tg, mg, g, fg, which, batch)
        move(x, y, v, f, g[:D], g[D : 2 * D], g[2 * D :])


def data(seed):
    r = np.random.default_rng(seed)
    a = r.standard_normal((N, D))
    return a, np.where(a.sum(1) + r.standard_normal(N) > 0, 1.0, -1.0)


rows = data(1), data(2)
tables = tuple(np.full(shape, 0.0) for shape in ((N, D), D, (N, 3 * D), 3 * D))  # np.zeros would touch no memory
for name, f, more in (("SOBA", soba, ()), ("SABA", saba, tables)):
    for batch in (1, 64):
        run = lambda count: f(*rows, np.full(D, np.log(0.2)), np.zeros(D), np.zeros(D), batch, count, *more)
        run(1024 // batch)  # compiles
        driver.bench(f"Samples/{name}/n={batch}", run)
