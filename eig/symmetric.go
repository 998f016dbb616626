package eig

import (
	"math"
	"slices"

	"stable/mat"
	"stable/mat/kernel"
)

// Symmetric is a decomposition A = V·Λ·Vᵀ by the tridiagonal form.
type Symmetric struct {
	tri    spectral
	values []float64
	lambda []float64 // values in the order of the rows of z
	z      mat.Dense // Vᵀ
	known  bool      // z belongs to values
}

// Factor computes all eigenvalues and eigenvectors of a, n × n. An eigenvalue much smaller than ‖A‖ may have no
// correct digit: use Jacobi. Close eigenvalues get some orthonormal basis of their common space.
//
// a is read only. Errors: ErrNotFinite, ErrNoConvergence (never seen). It panics if the rows of a
// overlap. 10n³/3 flops and some 10n² divisions; up to 5n³ more where eigenvalues agree to rounding.
//
// Householder's reduction (EISPACK tred2), QL (LAPACK dsterf), twisted factorisations (Parlett,
// Dhillon, Linear Algebra Appl. 267 (1997)) or, for close eigenvalues, QL rotations (LAPACK dsteqr).
func (e *Symmetric) Factor(a *mat.Sym) error {
	if err := e.factorValues("eig: Symmetric.Factor", a); err != nil {
		return err
	}
	return e.findVectors(a.N)
}

// FactorValues computes the eigenvalues alone, bit for bit: 4n³/3 flops, some 3n² divisions.
func (e *Symmetric) FactorValues(a *mat.Sym) error {
	return e.factorValues("eig: Symmetric.FactorValues", a)
}

func (e *Symmetric) factorValues(name string, a *mat.Sym) error {
	refuse(kernel.Torn(a.N, a.N, a.Stride), name, kernel.MsgTorn)
	e.values, e.known = e.values[:0], false
	m, err := maxAbs(a)
	if err != nil {
		return err
	}
	e.tri.factor(a, m)
	return e.findValues(a.N)
}

func (e *Symmetric) findValues(n int) error {
	if !e.tri.eigenvalues() {
		return e.tri.noConvergence()
	}
	e.values = grow(e.values, n)
	for i, v := range e.tri.values {
		e.values[i] = v / e.tri.scale
	}
	if len(e.tri.ends) > 1 {
		slices.Sort(e.values)
	}
	return nil
}

func (e *Symmetric) findVectors(n int) error {
	ld := stride(n)
	e.z = mat.Dense{Rows: n, Cols: n, Stride: ld, Data: grow(e.z.Data, n*ld)}
	e.lambda = grow(e.lambda, n)
	if !e.tri.vectors(&e.z, e.lambda, math.Inf(-1), false, nil) {
		e.values = e.values[:0]
		return e.tri.noConvergence()
	}
	e.tri.back(&e.z)
	ascend(e.lambda, &e.z)
	e.known = true
	return nil
}

// Values returns the eigenvalues, ascending, in e's memory; none after a failure.
func (e *Symmetric) Values() []float64 { return e.values }

// VectorsT returns Vᵀ, n × n, in e's memory. It panics after FactorValues or a failure.
func (e *Symmetric) VectorsT() *mat.Dense {
	refuse(!e.known, "eig: Symmetric.VectorsT", ": no vectors")
	return &e.z
}
