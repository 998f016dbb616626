package main

import (
	"bytes"
	"fmt"
	"strings"
)

// A tile keeps four rows by some vectors of sums in registers:
//
//	for i < 4, j: c_ij = Σ_p a_pi·b_pj
//
// a is spread, four vectors for each p; b is packed, or has a row every ld entries.
type tile struct {
	form
	vectors int
	packed  bool
	out     *bytes.Buffer
}

// tiles writes the tiles that belong to a template.
func (f form) tiles(b *bytes.Buffer, template string) {
	for v := 1; v <= f.vectors; v++ {
		switch template {
		case "strip":
			tile{f, v, true, b}.strip()
		case "upper":
			tile{f, v, false, b}.upper()
		}
	}
	if template == "upper" && f.bits == 256 {
		tile{f, 2, true, b}.upperPacked()
	}
}

// strip writes a product's tile, by eight inner indices at a time.
func (t tile) strip() {
	t.put("\nfunc tile%dVector(t *tileVector) {", t.vectors)
	t.sums()
	t.put("a, b := t.a, t.b\nfor len(a) >= %d {", 32*t.lanes)
	t.steps(8)
	t.put("}\nf, c, ld := simd.LoadFloat64s(t.alpha), t.c, t.ldc")
	for i := range 4 {
		t.put("put%dVector(c, t.set, f, %s)", t.vectors, t.row(i))
		if i < 3 {
			t.put("c = c[ld:]")
		}
	}
	t.put("}")
}

// upper writes a factorisation's tile, by the four rows of a strip.
func (t tile) upper() {
	t.put("\nfunc subtract%dVector(c, a, b []float64, ld int) {", t.vectors)
	t.sums()
	t.put("for len(a) > 0 {")
	t.steps(4)
	t.put("}")
	t.subtract()
}

// upperPacked writes a factorisation's tile whose rows lie in a panel.
func (t tile) upperPacked() {
	t.put("\nfunc subtractPackedVector(c []float64, ld int, a, b []float64) {")
	t.sums()
	for _, n := range []int{8, 4} {
		t.put("for len(a) >= %d {", 4*n*t.lanes)
		t.steps(n)
		t.put("}")
	}
	t.subtract()
}

func (t tile) put(text string, args ...any) {
	fmt.Fprintln(t.out, t.rewrite(fmt.Sprintf(text, args...)))
}

func (t tile) row(i int) string {
	var names []string
	for j := range t.vectors {
		names = append(names, fmt.Sprintf("c%d%d", i, j))
	}
	return strings.Join(names, ", ")
}

func (t tile) sums() {
	t.put("var %s, %s, %s, %s simd.Float64s", t.row(0), t.row(1), t.row(2), t.row(3))
	t.put("var x, %s simd.Float64s", t.operands())
}

func (t tile) operands() string { return "y0, y1, y2"[:4*t.vectors-2] }

// steps writes out n inner indices, and goes on. MulAdd overwrites its receiver: y is copied for
// the next row; x, not used again, takes the last product.
func (t tile) steps(n int) {
	t.put("x4 := (*[%d]float64)(a)", 4*n*t.lanes)
	if t.packed {
		t.put("row := (*[%d]float64)(b)", t.vectors*n*t.lanes)
	}
	for k := range n {
		if !t.packed { // all checks of bounds first: between two loads they would cost registers
			t.put("row%d := (*[%d]float64)(b)\nb = b[ld:]", k, t.vectors*t.lanes)
		}
	}
	for k := range n {
		loads := make([]string, t.vectors)
		for j := range loads {
			if t.packed {
				loads[j] = t.load("row", k*t.vectors+j)
			} else {
				loads[j] = t.load(fmt.Sprint("row", k), j)
			}
		}
		for i := range 4 {
			t.put("x = %s", t.load("x4", 4*k+i))
			products := make([]string, t.vectors)
			for j := range products {
				products[j] = fmt.Sprintf("y%d.MulAdd(x, c%d%d)", j, i, j)
				if j == t.vectors-1 {
					products[j] = fmt.Sprintf("x.MulAdd(y%d, c%d%d)", j, i, j)
				}
				if i == 0 {
					t.put("y%d = %s\nc%d%d = %s", j, loads[j], i, j, products[j])
				}
			}
			if i > 0 {
				t.put("%s = %s", t.row(i), strings.Join(products, ", "))
			}
		}
	}
	t.put("a = a[%d:]", 4*n*t.lanes)
	if t.packed {
		t.put("b = b[%d:]", n*t.vectors*t.lanes)
	}
}

func (t tile) load(array string, i int) string {
	return fmt.Sprintf("simd.LoadFloat64s(%s[%d:%d])", array, i*t.lanes, (i+1)*t.lanes)
}

// subtract ends a tile by subtracting the sums from c, a row every ld entries.
func (t tile) subtract() {
	for i := range 4 {
		for j := range t.vectors {
			t.put("subVector(c[%d:], c%d%d)", j*t.lanes, i, j)
		}
		if i < 3 {
			t.put("c = c[ld:]")
		}
	}
	t.put("}")
}
