package mat

// An operand is a matrix as rows that run along a product's inner index.
type operand struct {
	data   []float64
	stride int
	kind   kind
}

type kind int

const (
	along     kind = iota // a row is a row of the memory
	across                // a row is a column of the memory
	symmetric             // the memory is the lower triangle of a symmetric matrix
)

// from returns x's memory from inner index p on, and strides of rows, entries; x is not symmetric.
func (x *operand) from(p int) (data []float64, ld, step int) {
	if x.kind == across {
		return x.data[p*x.stride:], 1, x.stride
	}
	return x.data[p:], x.stride, 1
}

// pack copies entries p to p+k−1 of rows i to i+rows−1 to dst, with stride ld.
func (x *operand) pack(dst []float64, ld, i, rows, p, k int) {
	switch x.kind {
	case along:
		for r := range rows {
			copy(dst[r*ld:r*ld+k], x.data[(i+r)*x.stride+p:])
		}
	case across:
		x.packAcross(dst, ld, i, rows, p, k)
	case symmetric:
		for r := range rows {
			row := dst[r*ld : r*ld+k]
			low := min(max(i+r+1-p, 0), k)
			copy(row[:low], x.data[(i+r)*x.stride+p:])
			for q := low; q < k; q++ {
				row[q] = x.data[(p+q)*x.stride+i+r]
			}
		}
	}
}

func (x *operand) packAcross(dst []float64, ld, i, rows, p, k int) {
	r := 0
	for ; r+2 < rows; r += 3 {
		packThree(dst[r*ld:], ld, x.data[p*x.stride+i+r:], x.stride, k)
	}
	for ; r < rows; r++ {
		d, at := dst[r*ld:][:k], p*x.stride+i+r
		for q := range d {
			d[q] = x.data[at]
			at += x.stride
		}
	}
}

//go:noinline
func packThree(dst []float64, ld int, src []float64, stride, k int) {
	d0, d1, d2 := dst[:k], dst[ld:][:k], dst[2*ld:][:k]
	at := 0
	for q := range d0 {
		s := src[at : at+3]
		d0[q], d1[q], d2[q] = s[0], s[1], s[2]
		at += stride
	}
}
