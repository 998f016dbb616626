package plot

import (
	"fmt"
	"io"
	"strings"
)

const (
	inkColour  = "#262626"
	gridColour = "#e6e6e6"
	refColour  = "#707070"
)

// WriteSVG writes f as a stand-alone SVG picture. f is read only.
//
// Errors: [ErrEmpty] where no panel has a drawable point; an error that names the field or the
// series where an option is out of range, slices differ in length, or Width is too small for the
// labels; that of w. Nothing is written before the picture is complete, and w gets it in one call.
func (f *Figure) WriteSVG(w io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	pg, err := f.layout()
	if err != nil {
		return err
	}
	var s svg
	s.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%smm" height="%smm" viewBox="0 0 %s %s" role="img" xml:space="preserve"`,
		num(pg.w/mm), num(pg.h/mm), num(pg.w), num(pg.h))
	s.printf(` font-family="Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif" fill="%s">`+"\n", inkColour)
	if f.Title != "" {
		s.printf("<title>%s</title>\n", escape(unmarked(f.Title)))
	}
	if f.Caption != "" {
		s.printf("<desc>%s</desc>\n", escape(unmarked(f.Caption)))
	}
	s.printf(`<rect width="%s" height="%s" fill="#fff"/>`+"\n", num(pg.w), num(pg.h))
	pg.draw(&s)
	s.printf("</svg>\n")
	if n, err := w.Write(s.b.Bytes()); err != nil {
		return err
	} else if n != s.b.Len() {
		return io.ErrShortWrite
	}
	return nil
}

// unmarked is text without the marks of superscripts.
func unmarked(s string) string {
	var b strings.Builder
	for _, sp := range spans(s) {
		b.WriteString([]string{"_", "", "^"}[sp.level+1] + sp.text)
	}
	return b.String()
}

func (pg *page) draw(s *svg) {
	y := margin
	for _, line := range pg.title {
		y += titleSize * lead
		s.text(pg.w/2, y-2, 0, font{titleSize, "middle", ` font-weight="bold"`}, line)
	}
	for i := range pg.frames {
		pg.frames[i].draw(s)
	}
	pg.legend.draw(s)
	y = pg.h - margin - float64(len(pg.caption))*noteSize*lead
	for _, line := range pg.caption {
		y += noteSize * lead
		s.text(margin, y-2, 0, font{noteSize, "start", ` fill="#555"`}, line)
	}
}

func (f *frame) draw(s *svg) {
	f.drawGrid(s)
	f.drawCurves(s)
	f.drawAxes(s)
	f.drawLabels(s)
}

// across and up are the places of ticks.
func (f *frame) across(t float64) float64 { return f.x + f.w*(t-f.sx.lo)/(f.sx.hi-f.sx.lo) }
func (f *frame) up(t float64) float64     { return f.y + f.h*(1-(t-f.sy.lo)/(f.sy.hi-f.sy.lo)) }

func (f *frame) drawGrid(s *svg) {
	s.printf(`<g stroke="%s" stroke-width=".5">`, gridColour)
	for _, t := range f.xt.major {
		s.segment(f.across(t), f.y, f.across(t), f.y+f.h)
	}
	for _, t := range f.yt.major {
		s.segment(f.x, f.up(t), f.x+f.w, f.up(t))
	}
	s.printf("</g>\n")
}

// drawCurves draws bands, reference lines and curves, cut off at the plot area by an inner svg
// element, then the marks, which may reach beyond it. An inner element needs no id, so several
// figures can stand in one HTML page.
func (f *frame) drawCurves(s *svg) {
	s.printf(`<svg x="%s" y="%s" width="%s" height="%s" overflow="hidden">`+"\n",
		num(f.x), num(f.y), num(f.w), num(f.h))
	for i := len(f.curves) - 1; i >= 0; i-- {
		c := &f.curves[i]
		var d strings.Builder
		for j := range c.top {
			d.WriteString(trace(append(c.top[j][:len(c.top[j]):len(c.top[j])], reversed(c.bottom[j])...)) + "z")
		}
		if d.Len() > 0 {
			s.printf(`<path d="%s" fill="%s" fill-opacity=".18"/>`+"\n", d.String(), c.look.colour())
		}
	}
	s.printf(`<g fill="none" stroke-linejoin="round">` + "\n")
	for _, r := range f.refs {
		for _, run := range r.lines {
			s.printf(`<path d="%s" stroke="%s" stroke-width=".7"/>`+"\n", trace(run), refColour)
		}
	}
	for i := len(f.curves) - 1; i >= 0; i-- {
		f.curves[i].draw(s)
	}
	s.printf("</g>\n</svg>\n")
	for i := len(f.curves) - 1; i >= 0; i-- {
		if c := &f.curves[i]; len(c.marks) > 0 {
			s.printf(`<g fill="%s" stroke="#fff" stroke-width=".4">`, c.look.colour())
			for _, m := range c.marks {
				s.mark(c.look, f.x+m.x, f.y+m.y)
			}
			s.printf("</g>\n")
		}
	}
}

// draw draws the lines, and a dot for a point between two breaks or points that coincide in print.
func (c *curve) draw(s *svg) {
	var lines, dots strings.Builder
	for _, run := range c.lines {
		if d := trace(run); strings.Contains(d, "l") {
			lines.WriteString(d)
		} else {
			dots.WriteString(d + "h0")
		}
	}
	if lines.Len() > 0 {
		s.printf(`<path d="%s"%s/>`+"\n", lines.String(), c.look.stroke())
	}
	if dots.Len() > 0 {
		s.printf(`<path d="%s" stroke="%s" stroke-width="2.2" stroke-linecap="round"/>`+"\n",
			dots.String(), c.look.colour())
	}
}

// stroke holds the attributes of the line of a look.
func (l look) stroke() string {
	if l == faint {
		return fmt.Sprintf(` stroke="%s" stroke-width=".6"`, l.colour())
	}
	s := fmt.Sprintf(` stroke="%s" stroke-width="1.05"`, l.colour())
	if d := l.dash(); d != "" {
		s += fmt.Sprintf(` stroke-dasharray="%s"`, d)
	}
	return s
}

func reversed(run []point) []point {
	out := make([]point, len(run))
	for i, p := range run {
		out[len(run)-1-i] = p
	}
	return out
}

func (f *frame) drawAxes(s *svg) {
	bottom := f.y + f.h
	s.printf(`<g stroke="%s" stroke-width=".7" stroke-linecap="square" fill="none">`, inkColour)
	s.printf(`<path d="M%s %sV%sH%s"/>`, num(f.x), num(f.y), num(bottom), num(f.x+f.w))
	for _, t := range f.xt.major {
		s.segment(f.across(t), bottom, f.across(t), bottom+tickLen)
	}
	for _, t := range f.yt.major {
		s.segment(f.x, f.up(t), f.x-tickLen, f.up(t))
	}
	s.printf(`</g><g stroke="%s" stroke-width=".45">`, inkColour)
	for _, t := range f.xt.minor {
		s.segment(f.across(t), bottom, f.across(t), bottom+minorLen)
	}
	for _, t := range f.yt.minor {
		s.segment(f.x, f.up(t), f.x-minorLen, f.up(t))
	}
	s.printf("</g>\n")
	for i, t := range f.xt.major {
		s.text(f.across(t), bottom+tickLen+1+tickSize, 0, font{size: tickSize, anchor: "middle"}, f.xt.labels[i])
	}
	for i, t := range f.yt.major {
		s.text(f.x-tickLen-2, f.up(t)+0.36*tickSize, 0, font{size: tickSize, anchor: "end"}, f.yt.labels[i])
	}
}

// haloed is the style of the label of a reference line. Its white edge keeps it legible where there
// is no place that covers no curve.
const haloed = ` fill="#555" stroke="#fff" stroke-width="2" stroke-linejoin="round" paint-order="stroke"`

func (f *frame) drawLabels(s *svg) {
	y := f.y - 4
	if f.yt.note != "" {
		s.text(f.x-tickLen, y, 0, font{size: tickSize}, f.yt.note)
		y -= tickSize * lead
	}
	for i := len(f.title) - 1; i >= 0; i-- {
		s.text(f.x+f.w/2, y, 0, font{panelSize, "middle", ` font-weight="bold"`}, f.title[i])
		y -= panelSize * lead
	}
	y = f.y + f.h + tickLen + 1 + tickSize*lead + 1
	if f.xt.note != "" {
		s.text(f.x+f.w, y+labelSize, 0, font{size: tickSize, anchor: "end"}, f.xt.note)
	}
	for _, line := range f.xlabel {
		s.text(f.x+f.w/2, y+labelSize, 0, font{size: labelSize, anchor: "middle"}, line)
		y += labelSize * lead
	}
	x := f.x - f.left() + labelSize
	for _, line := range f.ylabel {
		s.text(x, f.y+f.h/2, -90, font{size: labelSize, anchor: "middle"}, line)
		x += labelSize * lead
	}
	for _, r := range f.refs {
		if r.Label != "" {
			s.text(f.x+r.at.x, f.y+r.at.y, r.angle, font{size: tickSize, style: haloed}, r.Label)
		}
	}
	if f.empty {
		s.text(f.x+f.w/2, f.y+f.h/2, 0, font{labelSize, "middle", ` fill="#555"`}, "no data")
	}
}

func (l *legend) draw(s *svg) {
	if len(l.entries) == 0 {
		return
	}
	y := l.y + legendPad
	for i, e := range l.entries {
		x := l.x + legendPad + float64(i%l.cols)*l.column
		mid := y + 0.5*legendSize*lead
		if e.band {
			s.printf(`<rect x="%s" y="%s" width="%s" height="5" fill="%s" fill-opacity=".18"/>`,
				num(x), num(mid-2.5), num(sampleLen), e.look.colour())
		}
		s.printf(`<path d="M%s %sh%s" fill="none"%s/>`, num(x), num(mid), num(sampleLen), e.look.stroke())
		if e.mark {
			s.printf(`<g fill="%s" stroke="#fff" stroke-width=".4">`, e.look.colour())
			s.mark(e.look, x+sampleLen/2, mid)
			s.printf("</g>")
		}
		s.printf("\n")
		for j, line := range l.names[i] {
			s.text(x+sampleLen+sampleGap, mid+0.36*legendSize+float64(j)*legendSize*lead, 0, font{size: legendSize},
				line)
		}
		if i%l.cols == l.cols-1 {
			y += l.rows[i/l.cols]
		}
	}
}
