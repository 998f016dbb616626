package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

const inkColour, dotSize = "#262626", 3.2

// WriteSVG writes f as a stand-alone SVG picture, in one call of w. Errors: [ErrEmpty]; that of w.
func (f *Figure) WriteSVG(w io.Writer) error {
	pg, err := f.layout()
	if err != nil {
		return err
	}
	var s svg
	s.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%smm" height="%smm" viewBox="0 0 %s %s" role="img" xml:space="preserve"`,
		num(pg.w/mm), num(pg.h/mm), num(pg.w), num(pg.h))
	s.printf(` font-family="Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif" fill="%s">`+"\n", inkColour)
	s.printf(`<rect width="%s" height="%s" fill="#fff"/>`+"\n", num(pg.w), num(pg.h))
	for i := range pg.frames {
		pg.frames[i].write(&s)
	}
	for i := range pg.frames {
		pg.frames[i].legend.write(&s)
	}
	y := pg.h - margin - float64(len(pg.caption)-1)*smallSize*lead - 2
	s.lines(margin, y, font{smallSize, "start", ` fill="#555"`}, pg.caption)
	s.printf("</svg>\n")
	_, err = w.Write(s.b.Bytes())
	return err
}

func (f *frame) write(s *svg) {
	f.writeTicks(s, "#e6e6e6", -f.h, f.w, 0)
	s.printf(`<svg x="%s" y="%s" width="%s" height="%s" overflow="hidden">`+"\n", num(f.x), num(f.y), num(f.w), num(f.h))
	for i := len(f.Series) - 1; i >= 0; i-- {
		f.writeBand(s, &f.Series[i], f.looks[i])
	}
	for _, l := range f.Lines {
		f.writeLine(s, l)
	}
	s.printf(`<g fill="none" stroke-linejoin="round">` + "\n")
	for i := len(f.Series) - 1; i >= 0; i-- {
		f.writeCurve(s, &f.Series[i], f.looks[i])
	}
	f.writeArrows(s)
	s.printf("</g>\n</svg>\n"+`<path d="M%s %sv%sh%s" stroke="%s" stroke-width=".7" stroke-linecap="square" fill="none"/>`+"\n",
		num(f.x), num(f.y), num(f.h), num(f.w), inkColour)
	f.writeTicks(s, inkColour, tickLen, -tickLen, 0.6)

	bottom := f.y + f.h + tickLen + 1 + smallSize
	for _, t := range f.xt {
		s.text(f.across(t), bottom, 0, font{smallSize, "middle", ""}, t.label)
	}
	for _, t := range f.yt {
		s.text(f.x-tickLen-2, f.up(t)+0.36*smallSize, 0, font{smallSize, "end", ""}, t.label)
	}
	label := font{panelSize, "middle", ""}
	s.lines(f.x+f.w/2, bottom+3+panelSize, label, f.xlabel)
	s.text(f.x-f.left()+panelSize, f.y+f.h/2, -90, label, f.Y.Label)
	y := f.y - 4 - float64(len(f.title)-1)*panelSize*lead
	s.lines(f.x+f.w/2, y, font{panelSize, "middle", ` font-weight="bold"`}, f.title)
	if f.empty {
		s.text(f.x+f.w/2, f.y+f.h/2, 0, font{panelSize, "middle", ` fill="#555"`}, "no data")
	}
}

func (f *frame) across(t tick) float64 { return f.x + f.w*(t.at-f.sx.lo)/(f.sx.hi-f.sx.lo) }
func (f *frame) up(t tick) float64     { return f.y + f.h*(1-(t.at-f.sy.lo)/(f.sy.hi-f.sy.lo)) }

func (f *frame) writeTicks(s *svg, colour string, down, right, minor float64) {
	length := map[bool]float64{false: 1, true: minor}
	s.printf(`<path stroke="%s" stroke-width=".5" d="`, colour)
	for _, t := range f.xt {
		s.printf("M%s %sv%s", num(f.across(t)), num(f.y+f.h), num(down*length[t.label == ""]))
	}
	for _, t := range f.yt {
		s.printf("M%s %sh%s", num(f.x), num(f.up(t)), num(right*length[t.label == ""]))
	}
	s.printf(`"/>` + "\n")
}

func (f *frame) writeBand(s *svg, series *Series, l look) {
	if len(series.Lo) == 0 || l == faint {
		return
	}
	series = series.stairs()
	var top, bottom []point
	for i, x := range series.X {
		lo, hi := f.place(x, series.Lo[i]), f.place(x, series.Hi[i])
		if f.sy.log && series.Lo[i] <= 0 && series.Lo[i] >= -huge {
			lo = point{hi.x, f.h + 10} // below the axis
		}
		if !f.place(x, series.Y[i]).ok() || !lo.ok() || !hi.ok() {
			lo.x, hi.x = math.NaN(), math.NaN()
		}
		top, bottom = append(top, hi), append(bottom, lo)
	}
	d, lower := "", runs(bottom)
	for j, run := range runs(top) {
		slices.Reverse(lower[j])
		d += trace(slices.Concat(run, lower[j])) + "z"
	}
	if d != "" {
		s.printf(`<path d="%s" fill="%s" fill-opacity=".18"/>`+"\n", d, l.colour)
	}
}

// writeCurve writes lines, and dots for points with markers, or between two breaks.
func (f *frame) writeCurve(s *svg, series *Series, l look) {
	var pts []point
	series = series.stairs()
	for i, x := range series.X {
		pts = append(pts, f.place(x, series.Y[i]))
	}
	lines, dots := "", ""
	for _, run := range runs(pts) {
		d := trace(run)
		line := strings.Contains(d, "L")
		if line {
			lines += d
		}
		for i := 0; i < len(run) && (!line || series.Markers && l != faint); i++ {
			dots += trace(run[i:i+1]) + "h0"
		}
	}
	if lines != "" && !series.Bare {
		s.printf(`<path d="%s"%s/>`+"\n", lines, l.stroke)
	}
	if dots != "" {
		s.printf(`<path d="%s" stroke="%s" stroke-width="%s" stroke-linecap="round"/>`+"\n", dots, l.colour, num(dotSize))
	}
}

func (f *frame) ends(l Line) (a, b point) {
	if l.From == l.To {
		l.From, l.To = f.sx.value(0), f.sx.value(1)
	}
	return f.place(l.From, l.C*math.Pow(l.From, l.P)), f.place(l.To, l.C*math.Pow(l.To, l.P))
}

// writeLine puts a sloping line's label on it or below, where there is room.
func (f *frame) writeLine(s *svg, l Line) {
	a, b := f.ends(l)
	if !a.ok() || !b.ok() {
		return
	}
	s.printf(`<path d="%s" fill="none"%s/>`+"\n", trace([]point{a, b}), ruled.stroke)
	if l.P == 0 {
		return
	}
	if b.y < 0 && a.y > 0 { // it leaves at the top
		b = point{a.x + (b.x-a.x)*a.y/(a.y-b.y), 0}
	}
	sin, cos := math.Sincos(math.Atan2(b.y-a.y, b.x-a.x))
	half, most, at := textWidth(l.Label, smallSize)/2, -1.0, point{}
	for _, up := range []float64{2.5, -smallSize} {
		for share := 0.9; share > 0.3; share -= 0.05 {
			p := point{a.x + share*(b.x-a.x) + up*sin, a.y + share*(b.y-a.y) - up*cos}
			if room := f.room(l, point{p.x - half*cos + 2*sin, p.y - half*sin - 2*cos}, half); room > most+1 {
				most, at = room, p
			}
		}
	}
	s.text(at.x, at.y, math.Asin(sin)*180/math.Pi, font{smallSize, "end", ` fill="#555"`}, l.Label)
}

// room is the distance from edges, curves and other lines, at most so much.
func (f *frame) room(own Line, p point, most float64) float64 {
	most = min(most, p.x, p.y, f.w-p.x, f.h-p.y)
	near := func(a, b point) {
		dx, dy := b.x-a.x, b.y-a.y
		t := max(0, min(1, ((p.x-a.x)*dx+(p.y-a.y)*dy)/max(dx*dx+dy*dy, 1e-9)))
		if d := math.Hypot(p.x-a.x-t*dx, p.y-a.y-t*dy); d < most { // NaN is none
			most = d
		}
	}
	for _, l := range f.Lines {
		if l != own {
			near(f.ends(l))
		}
	}
	for _, c := range f.Series {
		for i := 1; i < len(c.X); i++ {
			near(f.place(c.X[i-1], c.Y[i-1]), f.place(c.X[i], c.Y[i]))
		}
	}
	return most
}

// writeArrows marks where curves first leave an axis that begins above their end.
func (f *frame) writeArrows(s *svg) {
	for i, series := range f.Series {
		above := true
		for j, x := range series.X {
			p := f.place(x, series.Y[j])
			if above && !(p.y <= f.h) && p.x <= f.w {
				s.printf(`<path d="M%s %sh6l-3 6z" fill="%s"/>`+"\n", num(p.x-3), num(f.h-6), f.looks[i].colour)
				break
			}
			above = above && j > 0 || p.y <= f.h
		}
	}
}

func (l *legend) write(s *svg) {
	for i, e := range l.entries {
		x, y := l.x+float64(i%l.cols)*l.column, l.y+(float64(i/l.cols)+0.5)*smallSize*lead
		if e.band {
			s.printf(`<rect x="%s" y="%s" width="%s" height="5" fill="%s" fill-opacity=".18"/>`,
				num(x), num(y-2.5), num(sampleLen), e.look.colour)
		}
		if !e.bare {
			s.printf(`<path d="M%s %sh%s" fill="none"%s/>`, num(x), num(y), num(sampleLen), e.look.stroke)
		}
		if e.dots {
			s.printf(`<circle cx="%s" cy="%s" r="%s" fill="%s"/>`, num(x+sampleLen/2), num(y), num(dotSize/2), e.look.colour)
		}
		s.text(x+sampleLen+4, y+0.36*smallSize, 0, font{smallSize, "start", ""}, e.name)
	}
}

// point is a place in the plot area, in points from its upper left; NaN: nothing to draw.
type point struct{ x, y float64 }

func (p point) ok() bool { return !math.IsNaN(p.x + p.y) }

// place is bounded outside of the plot area to keep numbers short.
func (f *frame) place(x, y float64) point {
	const far = 1e4
	p := point{f.sx.unit(x) * f.w, (1 - f.sy.unit(y)) * f.h}
	return point{min(max(p.x, -far), far), min(max(p.y, -far), far)} // min and max keep NaN
}

// stairs has a step to each X but the first, if Y is held.
func (s *Series) stairs() *Series {
	if !s.Held {
		return s
	}
	out := *s
	for _, v := range []*[]float64{&out.X, &out.Y, &out.Lo, &out.Hi} {
		old := *v
		if *v = nil; len(old) == 0 {
			continue
		}
		for i, y := range old[:len(old)-1] {
			if v == &out.X {
				y = old[i+1]
			}
			*v = append(*v, old[i], y)
		}
		*v = append(*v, old[len(old)-1])
	}
	return &out
}

func runs(pts []point) (out [][]point) {
	first := 0
	for i, p := range append(slices.Clone(pts), point{math.NaN(), 0}) {
		if !p.ok() {
			if i > first {
				out = append(out, pts[first:i])
			}
			first = i + 1
		}
	}
	return out
}

func trace(pts []point) string {
	var b strings.Builder
	command, last := "M", ""
	for _, p := range pts {
		if at := num(p.x) + " " + num(p.y); at != last {
			b.WriteString(command + at)
			command, last = "L", at
		}
	}
	return b.String()
}

type svg struct{ b bytes.Buffer }

func (s *svg) printf(format string, args ...any) { fmt.Fprintf(&s.b, format, args...) }

func num(v float64) string {
	return strconv.FormatFloat(math.Round(v*100)/100+0, 'f', -1, 64) // + 0: no −0
}

type font struct {
	size          float64
	anchor, style string
}

func (s *svg) lines(x, y float64, f font, lines []string) {
	for i, line := range lines {
		s.text(x, y+float64(i)*f.size*lead, 0, f, line)
	}
}

func (s *svg) text(x, y, angle float64, f font, line string) {
	if line == "" {
		return
	}
	if angle != 0 {
		f.style += fmt.Sprintf(` transform="rotate(%s %s %s)"`, num(angle), num(x), num(y))
	}
	s.printf(`<text x="%s" y="%s" font-size="%s" text-anchor="%s"%s>`, num(x), num(y), num(f.size), f.anchor, f.style)
	level := 0.0 // a shift moves all the text after it
	for _, sp := range spans(line) {
		rise, size := []float64{-0.18, 0, 0.36}[1+sp.level]*f.size, f.size
		if sp.level != 0 {
			size *= 0.72
		}
		s.printf(`<tspan dy="%s" font-size="%s">`, num(level-rise), num(size))
		_ = xml.EscapeText(&s.b, []byte(sp.text)) // a Buffer does not fail
		s.printf("</tspan>")
		level = rise
	}
	s.printf("</text>\n")
}
