package plot

import "math"

// occupied counts, in square cells, how much ink lies in a plot area. Legends and labels use it to
// find places where they cover nothing.
type occupied struct {
	cols, rows int
	ink        []int
}

// cell is the side of a cell in points; curveInk and bandInk are the costs of covering one cell.
const (
	cell     = 2.0
	curveInk = 8
	bandInk  = 1
)

func newOccupied(w, h float64) *occupied {
	o := &occupied{cols: int(w/cell) + 1, rows: int(h/cell) + 1}
	o.ink = make([]int, o.cols*o.rows)
	return o
}

// raise makes the cell of (x, y) cost at least ink.
func (o *occupied) raise(x, y float64, ink int) {
	i, j := int(math.Floor(y/cell)), int(math.Floor(x/cell))
	if i >= 0 && i < o.rows && j >= 0 && j < o.cols {
		o.ink[i*o.cols+j] = max(o.ink[i*o.cols+j], ink)
	}
}

// line marks an unbroken line.
func (o *occupied) line(run []point) {
	limit := 4 * cell * float64(o.cols+o.rows)
	for i, p := range run {
		q := run[max(i-1, 0)]
		n := math.Ceil(min(math.Hypot(p.x-q.x, p.y-q.y), limit) / cell)
		for k := 0.0; k <= n; k++ {
			u := k / max(n, 1)
			o.raise(q.x+u*(p.x-q.x), q.y+u*(p.y-q.y), curveInk)
		}
	}
}

// band marks the cells between two edges with the same x; top and bottom are unbroken and as long
// as each other.
func (o *occupied) band(top, bottom []point) {
	for i := range top {
		for y := max(top[i].y, 0); y <= min(bottom[i].y, cell*float64(o.rows)); y += cell {
			o.raise(top[i].x, y, bandInk)
		}
	}
}

// box marks an upright rectangle.
func (o *occupied) box(x, y, w, h float64) {
	for dy := 0.0; dy <= h; dy += cell {
		for dx := 0.0; dx <= w; dx += cell {
			o.raise(x+dx, y+dy, 2*curveInk)
		}
	}
}

// cost returns the ink under a rectangle of w × h whose lower left corner is (x, y), turned about
// that corner by angle degrees (clockwise on the page). A part outside the plot area costs more
// than any ink.
func (o *occupied) cost(x, y, w, h, angle float64) int {
	sin, cos := math.Sincos(angle * math.Pi / 180)
	sum := 0
	for dy := 0.0; dy <= h+cell/2; dy += cell {
		for dx := 0.0; dx <= w+cell/2; dx += cell {
			px, py := x+dx*cos+dy*sin, y+dx*sin-dy*cos
			i, j := int(math.Floor(py/cell)), int(math.Floor(px/cell))
			if i < 0 || i >= o.rows || j < 0 || j >= o.cols {
				sum += 1000
				continue
			}
			sum += o.ink[i*o.cols+j]
		}
	}
	return sum
}
