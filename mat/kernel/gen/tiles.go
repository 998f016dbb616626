package main

import (
	"bytes"
	"fmt"
	"strings"
)

// A tile keeps four rows by some vectors of sums in registers:
//
//	for i < 4, j: c_ij (+)= alpha · Σ_p a_pi·b_pj
//
// as kernel.tile says.
type tile struct {
	form
	vectors int
	out     *bytes.Buffer
}

const (
	panel    = 8 // kernel.Panel
	unrolled = 4 // kernel.unrolled
)

// tiles writes the tiles that belong to a template: for one panel, and for more where a panel is one
// vector; those of package chol's factor then have their rows in the matrix.
func (f form) tiles(b *bytes.Buffer, template string) {
	for n := 1; n == 1 || n <= 3 && f.lanes == panel; n++ {
		t := tile{f, n * panel / f.lanes, b}
		switch {
		case template == "strip":
			t.packed(fmt.Sprintf("tile%dVector", n))
		case template == "upper" && f.lanes == panel:
			t.rows(fmt.Sprintf("subtract%dVector", n))
		}
	}
}

// packed writes a tile, by some inner indices at a time. That a slice goes on behind the last of
// them spares a test whether it ends there.
func (t tile) packed(name string) {
	size := unrolled * 4 * t.lanes
	t.put("\nfunc %s(t *tile) {", name)
	t.sums()
	t.put("a, b := t.a, t.b\nfor len(a) > %d {", size)
	t.put("x4, row := (*[%d]float64)(a), (*[%d*PanelStep + %d]float64)(b)", size, t.vectors*t.lanes/panel-1, unrolled*panel+1)
	for k := range unrolled {
		t.step(k, t.spread, func(j int) string {
			return t.load("row", fmt.Sprintf("%d*PanelStep+%%d", j*t.lanes/panel), k*panel+j*t.lanes%panel)
		})
	}
	t.put("a, b = a[%d:], b[%d:]", size, unrolled*panel)
	t.put("}\nf, c, ld := simd.BroadcastFloat64s(t.alpha), t.c, t.ldc")
	t.end("put1Vector(c[%d:], t.set, f, c%d%d)")
}

// rows writes a tile c −= a·b, with rows of b every ld entries, and those of a, unless that is spread:
// three vectors leave no registers for entries to be picked.
func (t tile) rows(name string) {
	size := unrolled * 4 * t.lanes
	t.put("\nfunc %s(c, a, b []float64, ld int) {", name)
	t.sums()
	x, first, last := t.spread, fmt.Sprintf("x4 := (*[%d]float64)(a)", size), fmt.Sprintf("a = a[%d:]", size)
	if t.vectors < 3 {
		x = func(_, i int) string { return fmt.Sprintf("v.Permute(archsimd.LoadUint64x8Array(&pick[%d]))", i) }
		first, last = "", ""
	}
	t.put("for len(a) > 0 {\n%s", first)
	for k := range unrolled { // all checks of bounds first: between two loads they would cost registers
		t.put("row%d := (*[%d]float64)(b)\nb = b[ld:]", k, t.vectors*t.lanes)
		if first == "" {
			t.put("a%d := (*[%d]float64)(a)\na = a[ld:]", k, t.lanes)
		}
	}
	for k := range unrolled {
		if first == "" {
			t.put("%s %s", map[bool]string{true: "v :=", false: "v ="}[k == 0], t.load(fmt.Sprint("a", k), "%d", 0))
		}
		t.step(k, x, func(j int) string { return t.load(fmt.Sprint("row", k), "%d", j*t.lanes) })
	}
	t.put("%s\n}", last)
	t.end("subVector(c[%d:], c%d%d)")
}

func (t tile) sums() {
	t.put("var %s, %s, %s, %s simd.Float64s", t.row(0), t.row(1), t.row(2), t.row(3))
	t.put("var x, %s simd.Float64s", t.operands())
}

func (t tile) end(put string) {
	for i := range 4 {
		for j := range t.vectors {
			t.put(put, j*t.lanes, i, j)
		}
		if i < 3 {
			t.put("c = c[ld:]")
		}
	}
	t.put("}")
}

// step writes out one inner index. MulAdd overwrites its receiver on amd64: y is copied for the
// next row; x, not used again, takes the last product. The compiler loads all of the last inner
// index first: if y were copied there, it would put one of three on the stack.
func (t tile) step(k int, x func(k, i int) string, y func(j int) string) {
	for i := range 4 {
		t.put("x = %s", x(k, i))
		products := make([]string, t.vectors)
		for j := range products {
			products[j] = fmt.Sprintf("y%d.MulAdd(x, c%d%d)", j, i, j)
			if j == t.vectors-1 || t.vectors > 2 && k == unrolled-1 {
				products[j] = fmt.Sprintf("x.MulAdd(y%d, c%d%d)", j, i, j)
			}
			if i == 0 { // one after the other: fewer wait in registers
				t.put("y%d = %s\nc%d%d = %s", j, y(j), i, j, products[j])
			}
		}
		if i > 0 {
			t.put("%s = %s", t.row(i), strings.Join(products, ", "))
		}
	}
}

func (t tile) spread(k, i int) string { return t.load("x4", "%d", (4*k+i)*t.lanes) }

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

func (t tile) operands() string { return "y0, y1, y2, y3"[:4*t.vectors-2] }

func (t tile) load(array, at string, i int) string {
	at = strings.TrimPrefix(at, "0*PanelStep+")
	return fmt.Sprintf("simd.LoadFloat64s(%s["+at+":"+at+"])", array, i, i+t.lanes)
}
