// Package plot draws line figures for papers and reports as SVG, and writes their numbers as CSV.
//
// A [Figure] is a grid of panels; a [Panel] has two axes, linear or logarithmic, curves with
// optional bands, and reference lines. Lengths are millimetres of the printed page: a figure of the
// default width fits a journal column (85 mm) without scaling.
//
//	fig := plot.Figure{Panels: []plot.Panel{{
//		X:      plot.Axis{Label: "iteration k"},
//		Y:      plot.Axis{Label: "F(x_{k}) − F*", Log: true},
//		Series: []plot.Series{{Name: "STABLE", X: k, Y: median, Lo: q10, Hi: q90}},
//	}}}
//	err := atomicfile.Write("gap.svg", fig.WriteSVG)
//
// # How it works
//
// Curves differ in colour and dash pattern. The colours are those of Okabe and Ito, "Color universal
// design" (2008), without the yellow, which is too light for a line on white. Long curves are
// thinned as M4 does (Jugel, Jerzak, Hackenbroich, Markl, VLDB 2014), so peaks survive.
//
// The same figure gives the same bytes. Calls on different figures may run at the same time; none
// modifies its figure.
package plot
