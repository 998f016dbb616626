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
static const int SIZES[] = {14, 22, 32, 37, 54, 64, 91, 100, 128, 200, 256, 300, 512};
static const char *pattern = "";

static double now() {
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

// Ten lines, each over 0.3 ms or more, as go test -benchtime 300us -count 10.
static void bench(const char *name, int n, bool ok, std::function<void()> f) {
	if (!ok) {
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
static bool wanted(const char *name) { return strstr(name, pattern) != nullptr; }

static uint64_t seed;
static double uniform() { // on (-0.5, 0.5)
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 11) * 0x1p-53 - 0.5;
}
static Vec square(int n) {
	seed = n;
	Vec a(n * n);
	for (double &v : a) v = uniform();
	return a;
}
static Vec symmetric(int n, double shift) {
	Vec a = square(n), s(n * n);
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) s[i * n + j] = (a[i * n + j] + a[j * n + i]) / 2 + (i == j) * shift;
	return s;
}
// Whether c = A*B, or A*transpose(B), column-major.
static bool product(const double *c, const double *a, const double *b, int n, bool t) {
	double worst = 0;
	for (int i = 0; i < n; i += 3)
		for (int j = 0; j <= i; j += 5) {
			double s = 0;
			for (int k = 0; k < n; k++) s += a[k * n + i] * (t ? b[k * n + j] : b[j * n + k]);
			worst = std::max(worst, fabs(s - c[j * n + i]));
		}
	return worst < 1e-9;
}
static void lower(Vec &l, int n) {
	for (int j = 0; j < n; j++)
		for (int i = 0; i < j; i++) l[j * n + i] = 0;
}
// Whether p is the projection of s: p*v = max(lambda, MU)*v for the eigenvectors v of s.
static bool projection(const Vec &p, const Vec &v, const Vec &w, int n) {
	double worst = 0;
	for (int k = 0; k < n; k += 3)
		for (int i = 0; i < n; i += 2) {
			double s = 0;
			for (int j = 0; j < n; j++) s += p[std::min(i, j) * n + std::max(i, j)] * v[k * n + j];
			worst = std::max(worst, fabs(s - std::max(w[k], MU) * v[k * n + i]));
		}
	return worst < 1e-9;
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
int main(int argc, char **argv) {
	if (argc > 1) pattern = argv[1];
	printf("# core %s\n", openblas_get_corename());
	for (int n : SIZES) {
		int info, lwork = 1 + 6 * n + 2 * n * n, liwork = 3 + 5 * n;
		Vec a = square(n), s = symmetric(n, 0), spd = symmetric(n, n), c(n * n), f(n * n), p(n * n), w(n), work(lwork);
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
		if (wanted("Mul")) mul(), bench("Mul/n", n, product(c.data(), a.data(), a.data(), n, false), mul);
		if (wanted("Truncate")) truncate(), bench("Truncate/clipped/n", n, projection(p, c, w, n), truncate);
		if (wanted("EigSym")) bench("EigSym/n", n, true, eig);
		if (wanted("Cholesky")) {
			chol();
			lower(f, n);
			bench("Cholesky/n", n, product(spd.data(), f.data(), f.data(), n, true), chol);
		}
		if (wanted("Cond")) cond(), bench("Cond/n", n, rcond > 0.1 && rcond <= 1, cond);
	}
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
		Vec a = square(d);
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

int main(int argc, char **argv) {
	if (argc > 1) pattern = argv[1];
	printf("# core Eigen %d.%d.%d\n", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
	for (int n : SIZES) {
		Vec va = square(n), vs = symmetric(n, 0), vspd = symmetric(n, n);
		M a = Eigen::Map<M>(va.data(), n, n), s = Eigen::Map<M>(vs.data(), n, n), spd = Eigen::Map<M>(vspd.data(), n, n);
		M c(n, n), z(n, n), p(n, n);
		Eigen::LLT<M, Eigen::Lower> llt(n);
		Eigen::SelfAdjointEigenSolver<M> e(n);
		double rcond = 0;
		auto mul = [&] { c.noalias() = a * a; };
		auto chol = [&] { llt.compute(spd); };
		auto cond = [&] { llt.compute(spd), rcond = llt.rcond(); };
		auto eig = [&] { e.compute(s); };
		auto truncate = [&] {
			e.compute(s);
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
		if (wanted("Mul")) mul(), bench("Mul/n", n, product(c.data(), a.data(), a.data(), n, false), mul);
		if (wanted("Truncate")) {
			truncate();
			Vec vp(p.data(), p.data() + n * n), v(e.eigenvectors().data(), e.eigenvectors().data() + n * n);
			Vec w(e.eigenvalues().data(), e.eigenvalues().data() + n);
			bench("Truncate/clipped/n", n, projection(vp, v, w, n), truncate);
		}
		if (wanted("EigSym")) bench("EigSym/n", n, true, eig);
		if (wanted("Cholesky")) {
			chol();
			M l = llt.matrixL();
			bench("Cholesky/n", n, product(spd.data(), l.data(), l.data(), n, true), chol);
		}
		if (wanted("Cond")) cond(), bench("Cond/n", n, rcond > 0.1 && rcond <= 1, cond);
	}
	vector<int> orders = {2, 4, 8};
	orders.insert(orders.end(), std::begin(SIZES), std::end(SIZES));
	for (int d : orders)
		if (wanted("Step")) {
			Step step(d);
			step();
			bench("Step/d", d, step.certified && step.y.allFinite(), std::ref(step));
		}
}
"""

BLASFEO = r"""
extern "C" {
#include <blasfeo.h>
}
int main(int argc, char **argv) {
	if (argc > 1) pattern = argv[1];
	printf("# core BLASFEO\n");
	for (int n : SIZES) {
		Vec a = square(n), spd = symmetric(n, n), c(n * n);
		blasfeo_dmat A, S, C, D;
		for (blasfeo_dmat *m : {&A, &S, &C, &D}) blasfeo_allocate_dmat(n, n, m);
		blasfeo_pack_dmat(n, n, a.data(), n, &A, 0, 0);
		blasfeo_pack_dmat(n, n, spd.data(), n, &S, 0, 0);
		auto mul = [&] { blasfeo_dgemm_nn(n, n, n, 1, &A, 0, 0, &A, 0, 0, 0, &C, 0, 0, &D, 0, 0); };
		auto mulPack = [&] {
			blasfeo_pack_dmat(n, n, a.data(), n, &A, 0, 0);
			mul();
			blasfeo_unpack_dmat(n, n, &D, 0, 0, c.data(), n);
		};
		auto chol = [&] { blasfeo_dpotrf_l(n, &S, 0, 0, &D, 0, 0); };
		auto cholPack = [&] {
			blasfeo_pack_dmat(n, n, spd.data(), n, &S, 0, 0);
			chol();
			blasfeo_unpack_dmat(n, n, &D, 0, 0, c.data(), n);
		};
		if (wanted("Mul")) {
			mulPack();
			bench("Mul/n", n, product(c.data(), a.data(), a.data(), n, false), mul);
			bench("Mul/packing/n", n, true, mulPack);
		}
		if (wanted("Cholesky")) {
			cholPack();
			lower(c, n);
			bench("Cholesky/n", n, product(spd.data(), c.data(), c.data(), n, true), chol);
			bench("Cholesky/packing/n", n, true, cholPack);
		}
	}
}
"""

# OpenBLAS takes kernels for SSE2 on processors that it does not know. These use AVX2 at the least.
MODERN = {"Haswell", "Zen", "SkylakeX", "Cooperlake", "Sapphirerapids"}


def flags():
    """The processor's features; none where there is no /proc/cpuinfo."""
    file = pathlib.Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    return next((set(line.split()) for line in lines if line.startswith("flags")), set())


def build(folder, name, source, *arguments):
    """Compiles the driver, and returns its path; None, and says so, where that cannot be done."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        print("driver: no C++ compiler: no peers besides gonum and NumPy", file=sys.stderr)
        return None
    path, program = pathlib.Path(folder, name + ".cc"), os.path.join(folder, name)
    path.write_text(COMMON + source)
    done = subprocess.run([compiler, "-O3", "-march=native", "-o", program, str(path), *arguments], capture_output=True, text=True)
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if "error" in line or "cannot find" in line), "")
        print(f"driver: {name} is left out: {first}", file=sys.stderr)
        return None
    return program


def core(program, env):
    """The core that OpenBLAS takes, and an error where the processor has AVX2 and that core has not."""
    out = subprocess.run([program, "nothing"], env={**os.environ, **env}, check=True, capture_output=True, text=True).stdout
    name = out.split("\n")[0].removeprefix("# core ")
    if "avx2" in flags() and name not in MODERN:
        raise SystemExit(f"driver: OpenBLAS takes its kernels for {name}, which is older than Haswell, on a processor with AVX2: "
                         "set OPENBLAS_CORETYPE")
    return name


def programs(folder, blasfeo=""):
    """Name, command and environment of each peer: OpenBLAS by its fastest core, and by AVX2."""
    found = []
    if program := build(folder, "openblas", OPENBLAS, "-lopenblas"):
        cores = ["Haswell"] + ["SkylakeX"] * ("avx512vl" in flags())
        for name in cores if platform.machine() == "x86_64" else [""]:
            env = {"OPENBLAS_NUM_THREADS": "1", **({"OPENBLAS_CORETYPE": name} if name else {})}
            found.append((f"OpenBLAS, LAPACK ({core(program, env)})", program, env))
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
