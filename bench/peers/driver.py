"""Peers without an interpreter: a driver in C++ that is written, compiled and run here, and prints as
`go test -bench` prints. No source of it is in the tree, and none of the libraries that it calls.

    python3 driver.py [-blasfeo PREFIX] [PATTERN]

It runs what it finds: OpenBLAS (Debian: libopenblas-dev), on each of the cores that the processor
can take; Eigen (libeigen3-dev); and BLASFEO, where PREFIX has its include/ and lib/, as built for
this processor by its own instructions (github.com/giaf/blasfeo). All compiled with -O3
-march=native. PATTERN keeps the benchmarks whose names contain it.

Same work as in stable/bench: Cholesky reads A and leaves it, Cond is the factorisation and an
estimate of the condition number, Truncate takes the eigenvectors of the smaller side of mu, Step (of
Eigen) is numpy_bench.py's. BLASFEO is measured on its own panels, and again with the packing from
rows and back.
"""

import argparse
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time

SIZES = (14, 22, 32, 37, 54, 64, 91, 100, 128, 200, 256, 300, 512)

COMMON = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <time.h>
#include <vector>
using std::vector;
typedef vector<double> Vec;
static const double MU = 0.1;
static const char *pattern = "";

static double now() {
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

// Ten lines, each over 0.3 ms or more, as go test -benchtime 300us -count 10.
static void bench(const char *name, int n, std::function<void()> f, std::function<bool()> right) {
	if (!strstr(name, pattern)) return;
	f();
	if (!right()) {
		fprintf(stderr, "driver: a wrong result: %s, n = %d\n", name, n);
		exit(1);
	}
	long count = 1;
	for (double t = 0; t < 0.0003; count *= 2) {
		double s = now();
		for (long i = 0; i < count; i++) f();
		t = now() - s;
	}
	for (int k = 0; k < 10; k++) {
		double s = now();
		for (long i = 0; i < count; i++) f();
		printf("Benchmark%s=%d \t%ld\t%.1f ns/op\n", name, n, count, (now() - s) / count * 1e9);
	}
	fflush(stdout);
}

static Vec uniform(int n) { // on (-0.5, 0.5)
	uint64_t seed = n;
	Vec a(n * n);
	for (double &v : a) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		v = (seed >> 11) * 0x1p-53 - 0.5;
	}
	return a;
}
static Vec symmetric(int n, double shift) {
	Vec a = uniform(n), s(n * n);
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) s[i * n + j] = (a[i * n + j] + a[j * n + i]) / 2 + (i == j) * shift;
	return s;
}

// Whether c = A*B, column-major; or A*transpose(A) of a lower triangle A, where b is null.
static bool product(const double *c, const double *a, const double *b, int n) {
	double worst = 0;
	for (int i = 0; i < n; i += 3)
		for (int j = 0; j <= i; j += 5) {
			double s = 0;
			for (int k = 0; k < (b ? n : j + 1); k++) s += a[k * n + i] * (b ? b[j * n + k] : a[k * n + j]);
			worst = std::max(worst, fabs(s - c[j * n + i]));
		}
	return worst < 1e-9;
}
// Whether p is the projection of s: p*v = max(lambda, MU)*v for the eigenvectors v of s.
static bool projection(const double *p, const double *v, const double *w, int n) {
	double worst = 0;
	for (int k = 0; k < n; k += 3)
		for (int i = 0; i < n; i += 2) {
			double s = 0;
			for (int j = 0; j < n; j++) s += p[std::min(i, j) * n + std::max(i, j)] * v[k * n + j];
			worst = std::max(worst, fabs(s - std::max(w[k], MU) * v[k * n + i]));
		}
	return worst < 1e-9;
}

std::string core();
void peer(int n, const Vec &a, const Vec &s, const Vec &spd);

int main(int argc, char **argv) {
	if (argc > 1) pattern = argv[1];
	printf("# core %s\n", core().c_str());
	for (int n : {2, 4, 8, SIZES}) peer(n, uniform(n), symmetric(n, 0), symmetric(n, n));
}
"""

OPENBLAS = r"""
#include <cblas.h>
extern "C" {
char *openblas_get_corename(void);
void dpotrf_(const char *, const int *, double *, const int *, int *);
double dlansy_(const char *, const char *, const int *, const double *, const int *, double *);
void dpocon_(const char *, const int *, const double *, const int *, const double *, double *, double *, int *, int *);
void dsyevd_(const char *, const char *, const int *, double *, const int *, double *, double *, const int *, int *,
	const int *, int *);
}
std::string core() { return openblas_get_corename(); }

void peer(int n, const Vec &a, const Vec &s, const Vec &spd) {
	int info, lwork = 1 + 6 * n + 2 * n * n, liwork = 3 + 5 * n;
	Vec c(n * n), f(n * n), p(n * n), w(n), work(lwork);
	vector<int> iwork(liwork);
	auto mul = [&] {
		cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a.data(), n, a.data(), n, 0, c.data(), n);
	};
	auto chol = [&] {
		memcpy(f.data(), spd.data(), n * n * sizeof(double));
		dpotrf_("L", &n, f.data(), &n, &info);
	};
	double rcond = 0;
	auto cond = [&] {
		chol();
		double norm = dlansy_("1", "L", &n, spd.data(), &n, work.data());
		dpocon_("L", &n, f.data(), &n, &norm, &rcond, work.data(), iwork.data(), &info);
	};
	auto eig = [&] {
		memcpy(c.data(), s.data(), n * n * sizeof(double));
		dsyevd_("V", "L", &n, c.data(), &n, w.data(), work.data(), &lwork, iwork.data(), &liwork, &info);
	};
	auto truncate = [&] {
		eig();
		int k = std::lower_bound(w.begin(), w.end(), MU) - w.begin();
		bool below = k <= n - k;
		int first = below ? 0 : k, last = below ? k : n;
		for (int j = first; j < last; j++) {
			double r = sqrt(fabs(w[j] - MU));
			for (int i = 0; i < n; i++) f[j * n + i] = r * c[j * n + i];
		}
		if (below) memcpy(p.data(), s.data(), n * n * sizeof(double));
		else
			for (int j = 0; j < n; j++)
				for (int i = 0; i < n; i++) p[j * n + i] = (i == j) * MU;
		cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, n, last - first, 1, &f[first * n], n, 1, p.data(), n);
	};
	bench("Mul/n", n, mul, [&] { return product(c.data(), a.data(), a.data(), n); });
	bench("Truncate/clipped/n", n, truncate, [&] { return projection(p.data(), c.data(), w.data(), n); });
	bench("EigSym/n", n, eig, [&] { return info == 0; });
	bench("Cholesky/n", n, chol, [&] { return product(spd.data(), f.data(), nullptr, n); });
	bench("Cond/n", n, cond, [&] { return rcond > 0.1 && rcond <= 1; });
}
"""

EIGEN = r"""
#include <Eigen/Dense>
typedef Eigen::MatrixXd M;
typedef Eigen::VectorXd V;

// A step of STABLE with d_x = d_y = d, as numpy_bench.py has it: no oracles, g_yy = B*transpose(B)/d + I/2.
struct Step {
	M gxy, gyy, hxy, h, shifted;
	Eigen::LLT<M, Eigen::Lower> llt;
	V x, y, fx, fy, gy, dx, v;
	bool certified = true;
	Step(int d) : shifted(d, d), llt(d), dx(d), v(d) {
		Vec a = uniform(d);
		M b = Eigen::Map<M>(a.data(), d, d);
		gxy = hxy = b;
		h = gyy = 12.0 / d * b * b.transpose() + 0.5 * M::Identity(d, d);
		x = V::Constant(d, 0.5), y = V::Zero(d), fx = V::Ones(d), fy = V::Ones(d), gy = V::Ones(d);
	}
	void operator()() {
		const double tau = 0.1, bound = 1e3, step = 0.01;
		hxy = (1 - tau) * (hxy - gxy) + gxy;
		double norm = hxy.norm();
		if (norm > bound) hxy *= bound / norm;
		h = (1 - tau) * (h - gyy) + gyy;
		shifted = h;
		shifted.diagonal().array() -= MU;
		llt.compute(shifted); // the certificate, then the factor
		certified &= llt.info() == Eigen::Success;
		llt.compute(h);
		v = fy;
		llt.solveInPlace(v);
		dx = fx;
		dx.noalias() -= hxy * v;
		dx = (x - step * dx).cwiseMax(0).cwiseMin(1) - x;
		x += dx;
		v.noalias() = hxy.transpose() * dx;
		llt.solveInPlace(v);
		y -= step * gy + v;
		fx = -fx, fy = -fy, gy = -gy;
	}
};

std::string core() {
	std::string world = std::to_string(EIGEN_WORLD_VERSION), major = std::to_string(EIGEN_MAJOR_VERSION);
	return "Eigen " + world + "." + major + "." + std::to_string(EIGEN_MINOR_VERSION);
}

void peer(int n, const Vec &va, const Vec &vs, const Vec &vspd) {
	Step step(n);
	bench("Step/d", n, std::ref(step), [&] { return step.certified && step.y.allFinite(); });
	M a = Eigen::Map<const M>(va.data(), n, n), s = Eigen::Map<const M>(vs.data(), n, n);
	M spd = Eigen::Map<const M>(vspd.data(), n, n), c(n, n), z(n, n), p(n, n);
	Eigen::LLT<M, Eigen::Lower> llt(n);
	Eigen::SelfAdjointEigenSolver<M> e(n);
	double rcond = 0;
	auto eig = [&] { e.compute(s); };
	auto truncate = [&] {
		eig();
		const auto &w = e.eigenvalues();
		int k = 0;
		while (k < n && w[k] < MU) k++;
		bool below = k <= n - k;
		int first = below ? 0 : k, m = below ? k : n - k;
		z.leftCols(m) = e.eigenvectors().middleCols(first, m);
		for (int j = 0; j < m; j++) z.col(j) *= sqrt(fabs(w[first + j] - MU));
		if (below) p = s;
		else p = MU * M::Identity(n, n);
		p.selfadjointView<Eigen::Lower>().rankUpdate(z.leftCols(m));
	};
	bench("Mul/n", n, [&] { c.noalias() = a * a; }, [&] { return product(c.data(), a.data(), a.data(), n); });
	bench("Truncate/clipped/n", n, truncate,
		[&] { return projection(p.data(), e.eigenvectors().data(), e.eigenvalues().data(), n); });
	bench("EigSym/n", n, eig, [&] { return e.info() == Eigen::Success; });
	bench("Cholesky/n", n, [&] { llt.compute(spd); },
		[&] { return product(spd.data(), llt.matrixLLT().data(), nullptr, n); });
	bench("Cond/n", n, [&] { llt.compute(spd), rcond = llt.rcond(); }, [&] { return rcond > 0.1 && rcond <= 1; });
}
"""

BLASFEO = r"""
extern "C" {
#include <blasfeo.h>
}
std::string core() { return "BLASFEO"; }

void peer(int n, const Vec &a, const Vec &, const Vec &spd) {
	Vec c(n * n);
	blasfeo_dmat A, C, D;
	for (blasfeo_dmat *m : {&A, &C, &D}) blasfeo_allocate_dmat(n, n, m);
	auto pack = [&](const Vec &from) { blasfeo_pack_dmat(n, n, const_cast<double *>(from.data()), n, &A, 0, 0); };
	auto unpack = [&] { blasfeo_unpack_dmat(n, n, &D, 0, 0, c.data(), n); };
	auto mul = [&] { blasfeo_dgemm_nn(n, n, n, 1, &A, 0, 0, &A, 0, 0, 0, &C, 0, 0, &D, 0, 0); };
	auto chol = [&] { blasfeo_dpotrf_l(n, &A, 0, 0, &D, 0, 0); };
	auto isProduct = [&] { return unpack(), product(c.data(), a.data(), a.data(), n); };
	auto isFactor = [&] { return unpack(), product(spd.data(), c.data(), nullptr, n); };
	bench("Mul/packing/n", n, [&] { pack(a), mul(), unpack(); }, isProduct);
	pack(a);
	bench("Mul/n", n, mul, isProduct);
	bench("Cholesky/packing/n", n, [&] { pack(spd), chol(), unpack(); }, isFactor);
	pack(spd);
	bench("Cholesky/n", n, chol, isFactor);
}
"""


def bench(name, run):
    """Measures run(count), count steps, as the driver does."""
    def took(count):
        start = time.perf_counter()
        run(count)
        return time.perf_counter() - start

    count = 1
    while took(count) < 0.0003:
        count *= 2
    for _ in range(10):
        print(f"Benchmark{name} \t{count}\t{took(count) / count * 1e9:.1f} ns/op", flush=True)


def build(folder, name, source, *arguments):
    """Compiles the driver, and returns its path; None, and says so, where that cannot be done."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        print("driver: no C++ compiler: no peers besides gonum and NumPy", file=sys.stderr)
        return None
    path, program = pathlib.Path(folder, name + ".cc"), os.path.join(folder, name)
    path.write_text(COMMON.replace("SIZES", str(SIZES)[1:-1]) + source)
    done = subprocess.run([compiler, "-O3", "-march=native", "-o", program, path, *arguments], capture_output=True, text=True)
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if "error" in line or "cannot find" in line), "")
        print(f"driver: {name} is left out: {first}", file=sys.stderr)
        return None
    return program


def programs(folder, blasfeo=""):
    """Name, command and environment of each peer: OpenBLAS by AVX2, and by AVX-512 where there is that."""
    found = []
    if program := build(folder, "openblas", OPENBLAS, "-lopenblas"):
        flags = pathlib.Path("/proc/cpuinfo")
        flags = flags.read_text().split() if flags.exists() else []
        for name in ["Haswell"] + ["SkylakeX"] * ("avx512vl" in flags) if platform.machine() == "x86_64" else [""]:
            env = {"OPENBLAS_NUM_THREADS": "1", **({"OPENBLAS_CORETYPE": name} if name else {})}
            out = subprocess.check_output([program, "nothing"], env={**os.environ, **env}, text=True)
            core = out.strip().removeprefix("# core ")  # the one that it took
            if name and core != name and "avx2" in flags:
                raise SystemExit(f"driver: OpenBLAS takes its kernels for {core}, not for {name}: no fair table comes of that")
            found.append((f"OpenBLAS, LAPACK ({core})", program, env))
    if program := build(folder, "eigen", EIGEN, "-I/usr/include/eigen3"):
        found.append(("Eigen", program, {}))
    if blasfeo:
        if program := build(folder, "blasfeo", BLASFEO, f"-I{blasfeo}/include", f"{blasfeo}/lib/libblasfeo.a", "-lm"):
            target = re.search(r"define TARGET_(\w+)", pathlib.Path(blasfeo, "include", "blasfeo_target.h").read_text())
            found.append((f"BLASFEO ({target[1] if target else 'unknown target'})", program, {}))
    return found


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("-blasfeo", default="", help="where BLASFEO is installed")
    arguments.add_argument("pattern", nargs="?", default="")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, program, env in programs(folder, options.blasfeo):
            print(f"# {name}", flush=True)
            subprocess.run([program, options.pattern], env={**os.environ, **env}, check=True)


if __name__ == "__main__":
    main()
