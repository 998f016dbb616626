package kernel

// An Upper is a Cholesky factor in the making, A = Uᵀ·U of order N, in strips of four rows, each
// minus what the rows above give, then divided by its corner:
//
//	for i ≤ j: U_ij = (A_ij − Σ_{p<i} U_pi·U_pj) / U_ii
//
// U holds A with stride Ld, in whole strips and whole vectors of columns; what stands beyond N
// reaches nothing inside.
//
// # How it works
//
// A block of rows above a strip is spread first, each entry over a vector. With 256 bits, finished
// rows also go to panels: blocks of columns as wide as the tile whose rows follow each other. A
// block of all panels lies together, since each by itself would begin on another page.
type Upper struct {
	U      []float64
	Ld, N  int
	spread []float64
	panels []float64
}

// An Elimination divides a strip by its corner: row j += M_ij·row i, then row i *= S_i.
type Elimination struct {
	M01, M02, M03, M12, M13, M23 float64
	S0, S1, S2, S3               float64
}

const (
	spreadSize = 4 * 64 * 8 // of 64 rows with vectors of 512 bits
	panelWidth = 2 * 4
	panelRows  = spreadSize / (4 * 4)
	panelsFrom = 72 // the order from which panels pay
)

// UpperOn reports whether vectors factor matrices of order n.
func UpperOn(n int) bool { return Vector() && n >= vectorUpper }

// Reset prepares for order n, for which UpperOn holds, in u. It allocates at a larger n than ever.
func (f *Upper) Reset(u []float64, ld, n int) {
	f.U, f.Ld, f.N, f.panels = u, ld, n, f.panels[:0]
	if f.spread == nil {
		f.spread = make([]float64, spreadSize)
	}
	if Lanes() == 4 && n >= panelsFrom {
		size := (n + panelWidth - 1) / panelWidth * panelWidth * ((n + 3) / 4 * 4)
		if cap(f.panels) < size {
			f.panels = make([]float64, size)
		}
		f.panels = f.panels[:size]
	}
}

// Subtract subtracts from rows i to i+3 what the rows above give.
func (f *Upper) Subtract(i int) {
	rows := spreadSize / (4 * Lanes())
	for p := 0; p < i; p += rows {
		subtractVector(f, p, min(rows, i-p), i)
	}
}

// Divide divides the rows i to i+3, from column i on.
func (f *Upper) Divide(i int, d *Elimination) { divideVector(f, i, d) }

// panelAt returns where row p of column j's panel stands.
func (f *Upper) panelAt(j, p int) int {
	top, columns := p/panelRows*panelRows, (f.N+panelWidth-1)/panelWidth*panelWidth
	return top*columns + j/panelWidth*f.panelStep(p) + (p-top)*panelWidth
}

// panelStep returns the distance from there to the next panel.
func (f *Upper) panelStep(p int) int {
	return panelWidth * min(panelRows, (f.N+3)/4*4-p/panelRows*panelRows)
}
