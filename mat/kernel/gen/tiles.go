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
	lanes, vectors int
	out            *bytes.Buffer
}

const (
	panel    = 8 // kernel.Panel
	unrolled = 4 // kernel.unrolled
)

// tiles returns those for vectors of some lanes: for one panel, and for more where a panel is one
// vector; and those of package chol's factor then.
func tiles(lanes int) string {
	t := tile{lanes, panel / lanes, new(bytes.Buffer)}
	t.packed("tile1")
	if lanes == 4 {
		t.few("tileFew")
	}
	for t.vectors = 2; lanes == panel && t.vectors <= 3; t.vectors++ {
		t.packed(fmt.Sprint("tile", t.vectors))
	}
	for t.vectors = 1; lanes == panel && t.vectors <= 6; t.vectors++ {
		t.picks()
	}
	if lanes == panel {
		return wideNames(t.out.String())
	}
	return t.out.String()
}

// packed writes a tile, by some inner indices at a time. That a slice goes on behind the last of
// them spares a test whether it ends there.
func (t tile) packed(name string) {
	size := unrolled * 4 * t.lanes
	t.put("\nfunc %sVector(t *tile) {", name)
	t.sums()
	t.put("a, b := t.a, t.b\nfor len(a) > %d {", size)
	t.put("x4, row := (*[%d]float64)(a), (*[%d*PanelStep + %d]float64)(b)", size, t.vectors*t.lanes/panel-1, unrolled*panel+1)
	t.steps("a, b", fmt.Sprintf("a[%d:], b[%d:]", size, unrolled*panel), t.spread, func(k, j int) string {
		return load("row", strings.TrimPrefix(fmt.Sprintf("%d*PanelStep+", j*t.lanes/panel), "0*PanelStep+"), k*panel+j*t.lanes%panel, t.lanes)
	})
	t.put("}\nf := spread(t.alpha)")
	t.end("t.c", "t.ldc", "put4Vector(%s, t.set, f, %s)")
}

// picks writes a tile c −= a·b whose entries are picked from vectors of a, which is in a panel as b is,
// from the first on: four rows at once, or two, where more vectors share a pick.
func (t tile) picks() {
	rows, size, loop := 4, unrolled*panel, "const i = 0\n{"
	if t.vectors > 2 {
		rows, loop = 2, "for i := 0; i < 4; i += 2 {"
	}
	each := func(text string, j int) string { // text for each row I
		all := make([]string, rows)
		for i := range all {
			all[i] = strings.NewReplacer("I", fmt.Sprint(i), "J", fmt.Sprint(j)).Replace(text)
		}
		return strings.Join(all, ", ")
	}
	t.put("\nfunc pick%dVector(c, a, b []float64, ld, first int) {\n%s", t.vectors, loop)
	t.put("%s := %s", each("pI", 0), each("archsimd.LoadUint64x8Array(&pick[first+i+I])", 0))
	t.put("var %s, y vec", each("xI", 0))
	for j := range t.vectors {
		t.put("var %s vec", each("cIJ", j))
	}
	t.put("for a, b := a, b; len(a) > %d; {\na4, row := (*[%d]float64)(a), (*[%d*PanelStep + %d]float64)(b)\na, b = a[%d:], b[%d:]",
		size, size, t.vectors-1, size+1, size, size)
	for k := range unrolled {
		to, from := each("xI", 0), each(loadArray("a4", 0, k*panel)+".Permute(pI)", 0)
		for j := range t.vectors {
			t.put("%s, y = %s, %s", to, from, loadArray("row", j, k*panel))
			to, from = each("cIJ", j), each("y.MulAdd(xI, cIJ)", j)
		}
		t.put("%s = %s", to, from)
	}
	t.put("}\n%s := %s", each("rI", 0), each(fmt.Sprintf("(*[%d]float64)(c[(i+I)*ld:])", t.vectors*panel), 0))
	for j := range t.vectors {
		t.put("sub%dVector(%s, %s)", rows, each(fmt.Sprintf("rI[%d:]", j*panel), j), each("cIJ", j))
	}
	t.put("}\n}")
}

// loadArray loads without a function in between, which would leave an empty instruction behind.
func loadArray(array string, panel, at int) string {
	return fmt.Sprintf("archsimd.LoadFloat64x8Array((*array)(%s[%d*PanelStep+%d:]))", array, panel, at)
}

// few writes a tile c −= a·b of two vectors whose a, in a panel, too, meets b in four orders.
func (t tile) few(name string) {
	t.put("\nfunc %sVector(c, a, b []float64, ld int) {\nvar %s, %s, %s, %s vec", name, t.row(0), t.row(1), t.row(2), t.row(3))
	t.put("for len(b) > %d {\nx4, row := (*[%d]float64)(a), (*[%d]float64)(b)", 4*panel, 3*panel+4, 4*panel+1)
	t.put("var x0, x1, x2, x3, y0, y1 vec\na, b = a[%d:], b[%d:]", 4*panel, 4*panel)
	for k := range unrolled {
		t.put("x0, y0, y1 = %s, %s, %s", load("x4", "", k*panel, 4), load("row", "", k*panel, 4), load("row", "", k*panel+4, 4))
		t.put("x1 = x0.ConcatPermuteScalarsGrouped(1, 2, x0)")
		t.put("x2, x3 = x0.ConcatPermute128Scalars(1, 2, x0), x1.ConcatPermute128Scalars(1, 2, x1)")
		for i := range 4 {
			t.put("%s = y0.MulAdd(x%d, c%d0), x%d.MulAdd(y1, c%d1)", t.row(i), i, i, i, i)
		}
	}
	t.put("}\nr0, r1, r2, r3 := (*[8]float64)(c), (*[8]float64)(c[ld:]), (*[8]float64)(c[2*ld:]), (*[8]float64)(c[3*ld:])")
	for j := range t.vectors {
		t.put("c0%d, c1%d, c2%d, c3%d = rows4(c0%d, c1%d, c2%d, c3%d)", j, j, j, j, j, j, j, j)
		for i := range 4 {
			r := fmt.Sprintf("r%d[%d:%d]", i, 4*j, 4*j+4)
			t.put("load(%s).Sub(c%d%d).StoreArray((*array)(%s))", r, i, j, r)
		}
	}
	t.put("}")
}

func (t tile) sums() {
	t.put("var %s, %s, %s, %s vec", t.row(0), t.row(1), t.row(2), t.row(3))
	t.put("var x, %s vec", "y0, y1, y2, y3"[:4*t.vectors-2])
}

func (t tile) end(c, ld, put string) {
	n := t.vectors * t.lanes
	t.put("r0, r1 := (*[%d]float64)(%s), (*[%d]float64)(%s[%s:])", n, c, n, c, ld)
	t.put("r2, r3 := (*[%d]float64)(%s[2*%s:]), (*[%d]float64)(%s[3*%s:])", n, c, ld, n, c, ld)
	for j := range t.vectors {
		at := fmt.Sprintf("%d:%d", j*t.lanes, (j+1)*t.lanes)
		rows := fmt.Sprintf("r0[%s], r1[%s], r2[%s], r3[%s]", at, at, at, at)
		t.put(put, rows, fmt.Sprintf("c0%d, c1%d, c2%d, c3%d", j, j, j, j))
	}
	t.put("}")
}

// steps writes out the inner indices. MulAdd overwrites its receiver on amd64: y is copied for the
// next row; x, not used again, takes the last product. The compiler loads all of the last inner
// index first: if y were copied there, it would put one of three on the stack. What is loaded for
// the next row stands beside products, see load.
func (t tile) steps(to, next string, x, y func(k, i int) string) {
	first := []string{x(0, 0)}
	for j := range t.vectors {
		first = append(first, y(0, j))
	}
	t.put("%s, x, %s = %s, %s", to, "y0, y1, y2, y3"[:4*t.vectors-2], next, strings.Join(first, ", "))
	for k := range unrolled {
		for i := range 4 {
			to, products := t.row(i), make([]string, t.vectors)
			for j := range products {
				products[j] = fmt.Sprintf("y%d.MulAdd(x, c%d%d)", j, i, j)
				if j == t.vectors-1 || (t.vectors > 2 || t.lanes < panel) && k == unrolled-1 {
					products[j] = fmt.Sprintf("x.MulAdd(y%d, c%d%d)", j, i, j)
				}
				if i == 3 && k < unrolled-1 {
					to, p := fmt.Sprintf("c3%d, y%d", j, j), fmt.Sprintf("%s, %s", products[j], y(k+1, j))
					if j == t.vectors-1 {
						to, p = to+", x", p+", "+x(k+1, 0)
					}
					t.put("%s = %s", to, p)
				}
			}
			all := strings.Join(products, ", ")
			switch {
			case i < 3:
				t.put("%s, x = %s, %s", to, all, x(k, i+1))
			case k == unrolled-1:
				t.put("%s = %s", to, all)
			}
		}
	}
}

func (t tile) spread(k, i int) string { return load("x4", "", (4*k+i)*t.lanes, t.lanes) }

func (t tile) put(text string, args ...any) { fmt.Fprintf(t.out, text+"\n", args...) }

func (t tile) row(i int) string {
	var names []string
	for j := range t.vectors {
		names = append(names, fmt.Sprintf("c%d%d", i, j))
	}
	return strings.Join(names, ", ")
}

func load(array, from string, i, lanes int) string {
	return fmt.Sprintf("load(%s[%s%d:%s%d])", array, from, i, from, i+lanes)
}
