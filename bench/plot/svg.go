package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// svg collects the elements of a picture. Lengths are points, written with two decimals.
type svg struct{ b bytes.Buffer }

// num writes v with at most two decimals.
func num(v float64) string { return hundredths(int64(math.Round(v * 100))) }

// hundredths writes n/100 in the shortest form.
func hundredths(n int64) string {
	s := strconv.FormatFloat(float64(n)/100, 'f', -1, 64)
	if strings.HasPrefix(s, "0.") {
		return s[1:]
	}
	if strings.HasPrefix(s, "-0.") {
		return "-" + s[2:]
	}
	return s
}

// escape returns s as XML text; characters that XML forbids become U+FFFD.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder does not fail
	return b.String()
}

// printf writes markup; arguments are numbers written by num, colours and escaped text.
func (s *svg) printf(format string, args ...any) { fmt.Fprintf(&s.b, format, args...) }

func (s *svg) segment(x1, y1, x2, y2 float64) {
	s.printf(`<path d="M%s %sL%s %s"/>`, num(x1), num(y1), num(x2), num(y2))
}

// trace is path data through pts: one absolute place, then steps. Steps are differences of rounded
// places, so rounding errors do not add up; points that coincide in print are left out.
func trace(pts []point) string {
	var b strings.Builder
	var x, y int64
	for i, p := range pts {
		px, py := int64(math.Round(p.x*100)), int64(math.Round(p.y*100))
		switch {
		case i == 0:
			b.WriteString("M" + hundredths(px) + " " + hundredths(py))
		case px == x && py == y:
			continue
		default:
			b.WriteString("l" + hundredths(px-x))
			if py >= y {
				b.WriteByte(' ')
			}
			b.WriteString(hundredths(py - y))
		}
		x, y = px, py
	}
	return b.String()
}

// font is the setting of a text. Anchor is "start", "middle" or "end"; style holds further
// attributes.
type font struct {
	size   float64
	anchor string
	style  string
}

// text writes one line of marked-up text with its base line at (x, y), turned by angle degrees.
func (s *svg) text(x, y, angle float64, f font, line string) {
	turn := ""
	if angle != 0 {
		turn = fmt.Sprintf(` transform="rotate(%s %s %s)"`, num(angle), num(x), num(y))
	}
	style := f.style
	if f.anchor != "" && f.anchor != "start" {
		style += ` text-anchor="` + f.anchor + `"`
	}
	s.printf(`<text x="%s" y="%s" font-size="%s"%s%s>`, num(x), num(y), num(f.size), style, turn)
	level := 0
	for _, sp := range spans(line) {
		// A shift moves all the text after it, so each span shifts from the level of the span
		// before.
		shift := rise(level, f.size) - rise(sp.level, f.size)
		switch {
		case sp.level != 0:
			s.printf(`<tspan dy="%s" font-size="%s">%s</tspan>`, num(shift), num(f.size*small), escape(sp.text))
		case shift != 0:
			s.printf(`<tspan dy="%s">%s</tspan>`, num(shift), escape(sp.text))
		default:
			s.printf("%s", escape(sp.text))
		}
		level = sp.level
	}
	s.printf("</text>\n")
}

// rise is the height of a level above the base line.
func rise(level int, size float64) float64 {
	switch level {
	case 1:
		return 0.36 * size
	case -1:
		return -0.18 * size
	}
	return 0
}

// mark draws the mark of a look around (x, y).
func (s *svg) mark(l look, x, y float64) {
	const r = 1.9
	at := func(dx, dy float64) string { return num(x+dx*r) + " " + num(y+dy*r) }
	d := ""
	switch int(l) % markShapes {
	case 0:
		s.printf(`<circle cx="%s" cy="%s" r="%s"/>`, num(x), num(y), num(r))
		return
	case 1:
		d = at(-.9, -.9) + "H" + num(x+.9*r) + "V" + num(y+.9*r) + "H" + num(x-.9*r)
	case 2:
		d = at(0, -1.2) + "L" + at(1.1, .8) + "L" + at(-1.1, .8)
	case 3:
		d = at(0, -1.3) + "L" + at(1.1, 0) + "L" + at(0, 1.3) + "L" + at(-1.1, 0)
	case 4:
		d = at(0, 1.2) + "L" + at(1.1, -.8) + "L" + at(-1.1, -.8)
	case 5: // a cross with arms of width 2a
		const a, b = 0.35, 1.1
		d = at(-a, -b) + "L" + at(a, -b) + "L" + at(a, -a) + "L" + at(b, -a) + "L" + at(b, a) + "L" + at(a, a) +
			"L" + at(a, b) + "L" + at(-a, b) + "L" + at(-a, a) + "L" + at(-b, a) + "L" + at(-b, -a) + "L" + at(-a, -a)
	}
	s.printf(`<path d="M%sZ"/>`, d)
}
