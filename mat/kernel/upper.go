package kernel

// An Upper computes a Cholesky factor, A = Uᵀ·U of order N, in strips of four rows, each minus what
// the rows above give, divided by its corner:
//
//	for i ≤ j: U_ij = (A_ij − Σ_{p<i} U_pi·U_pj) / U_ii
//
// U holds A with stride Ld, in whole strips and panels; what stands beyond N reaches nothing inside.
// Finished rows also go to panels, for the tiles.
type Upper struct {
	U      []float64
	Ld, N  int
	panels []float64
	spread []float64
}

// Up to length narrow, no entries are spread: rows of 512 bits pick them, rows of 256 meet four orders of them.
const narrow = 16 * Panel

// An Elimination divides a strip by its corner: row j += M_ij·row i, then row i *= S_i.
type Elimination struct {
	M01, M02, M03, M12, M13, M23 float64
	S0, S1, S2, S3               float64
}

// UpperOn reports whether vectors factor matrices of order n.
func UpperOn(n int) bool { return Vector() && n >= vectorUpper }

// Reset prepares for order n, for which UpperOn holds, in u. It allocates at a larger n than ever.
func (f *Upper) Reset(u []float64, ld, n int) {
	f.U, f.Ld, f.N = u, ld, n
	if f.spread == nil {
		f.spread = make([]float64, 4*PanelRows*Panel+1)
	}
	if size := f.panelAt((n+PanelRows-1)/PanelRows*PanelRows, Panel); cap(f.panels) < size {
		f.panels = make([]float64, size)
	} else {
		f.panels = f.panels[:size]
	}
}

// panelAt returns where row p of column j's panel stands: panels of the same rows follow each other.
func (f *Upper) panelAt(p, j int) int {
	return (p/PanelRows*((f.N+Panel-1)/Panel)+j/Panel)*PanelStep + p%PanelRows*Panel
}

// Subtract subtracts from rows i to i+3 what the rows above give.
func (f *Upper) Subtract(i int) {
	for p := 0; p < i; p += PanelRows {
		subtractVector(f, p, min(PanelRows, i-p), i)
	}
}

// Divide divides the rows i to i+3, from column i on.
func (f *Upper) Divide(i int, d *Elimination) { divideVector(f, i, d) }

// Load sets columns i to i+3 of U's first rows to four rows of A, which end on its diagonal.
func (f *Upper) Load(i int, r0, r1, r2, r3 []float64) { transposeVector(f.U[i:], f.Ld, r0, r1, r2, r3) }

// Forward4 sets X = U⁻ᵀ·X for the upper triangle of u: X has four columns, 0 before row from, and a
// multiple of 4 rows. It needs vectors of 256 bits or more.
func Forward4(x, u []float64, ld, from int) { forward4Vector(x, u, ld, from/4*4) }

// Back4 is Forward4 for X = U⁻¹·X.
func Back4(x, u []float64, ld int) { back4Vector(x, u, ld) }
