// The benchmarks of stable/bench on OpenBLAS and LAPACK, called from C on one thread, printed as `go test -bench` prints them, so that benchstat can
// compare. An argument keeps the benchmarks whose names contain it. Inputs that an operation overwrites are copied outside of its time.
//
//     cc -O2 -o openblas openblas.c -lopenblas      (Debian: libopenblas-dev)
//     OPENBLAS_NUM_THREADS=1 ./openblas > openblas.txt

#include <cblas.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);
extern void dsyevd_(const char *jobz, const char *uplo, const int *n, double *a, const int *lda, double *w, double *work, const int *lwork,
                    int *iwork, const int *liwork, int *info);

static const double mu = 0.1;

// The state of the benchmarks of one order n.
static int n, info, lwork, liwork;
static double *square, *input, *a, *product, *scaled, *values, *work;
static int *iwork;

static void check(const char *what) {
	if (info != 0) {
		fprintf(stderr, "openblas: %s of order %d: info %d\n", what, n, info);
		exit(1);
	}
}

static void mul(void) { cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, square, n, square, n, 0, product, n); }

static void cholesky(void) {
	dpotrf_("L", &n, a, &n, &info);
	check("dpotrf");
}

static void eigen(void) {
	dsyevd_("V", "L", &n, a, &n, values, work, &lwork, iwork, &liwork, &info);
	check("dsyevd");
}

// truncate_back sets product = V·max(Λ, mu)·Vᵀ, the recipe that takes no thought.
static void truncate_back(void) {
	eigen();
	for (int j = 0; j < n; j++) {
		double v = values[j] < mu ? mu : values[j];
		for (int i = 0; i < n; i++)
			scaled[j * n + i] = v * a[j * n + i];
	}
	cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, n, n, n, 1, scaled, n, a, n, 0, product, n);
}

static int64_t nanoseconds(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

// bench runs f for 200 ms, each time on a copy of input in a, and prints the mean time of f alone, less what reading the clock takes.
static void bench(const char *name, const char *only, void (*f)(void)) {
	if (only && !strstr(name, only))
		return;
	int64_t total = 0, clock = INT64_MAX, count = 0;
	for (int i = 0; i < 1000; i++) {
		int64_t t = nanoseconds();
		t = nanoseconds() - t;
		clock = t < clock ? t : clock;
	}
	for (int64_t end = nanoseconds() + 200000000; nanoseconds() < end; count++) {
		memcpy(a, input, sizeof(double) * n * n);
		int64_t t = nanoseconds();
		f();
		total += nanoseconds() - t - clock;
	}
	printf("Benchmark%s/n=%d\t%lld\t%.1f ns/op\n", name, n, (long long)count, (double)total / count);
	fflush(stdout);
}

static double *vector(int length) {
	double *v = calloc(length, sizeof(double));
	if (!v) {
		fprintf(stderr, "openblas: no memory\n");
		exit(1);
	}
	return v;
}

int main(int argc, char **argv) {
	static const int sizes[] = {14, 22, 32, 54, 64, 100, 128, 200, 256, 512};
	const char *only = argc > 1 ? argv[1] : NULL;
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		n = sizes[s];
		lwork = 1 + 6 * n + 2 * n * n;
		liwork = 3 + 5 * n;
		square = vector(n * n), input = vector(n * n), a = vector(n * n), product = vector(n * n), scaled = vector(n * n);
		values = vector(n), work = vector(lwork);
		iwork = calloc(liwork, sizeof(int));
		for (int i = 0; i < n * n; i++)
			square[i] = rand() / (double)RAND_MAX - 0.5;
		for (int i = 0; i < n; i++)
			for (int j = 0; j < n; j++)
				input[i * n + j] = (square[i * n + j] + square[j * n + i]) / 2;
		bench("Mul", only, mul);
		bench("Eig", only, eigen);
		bench("Truncate/clipped", only, truncate_back);
		for (int i = 0; i < n; i++)
			input[i * n + i] += n;
		bench("Cholesky", only, cholesky);
		free(square), free(input), free(a), free(product), free(scaled), free(values), free(work), free(iwork);
	}
}
