// Package plot draws line figures for papers and reports as SVG, and writes their numbers as CSV.
//
// A [Figure] is a grid of panels; a [Panel] has two axes, linear or logarithmic, curves with
// optional bands, and reference lines. Sizes are those of the printed page: lengths in millimetres,
// text of 7 to 9 points, so a figure of the default width fits a journal column (85 mm) without
// scaling.
//
//	fig := plot.Figure{Panels: []plot.Panel{{
//		X:      plot.Axis{Label: "iteration k"},
//		Y:      plot.Axis{Label: "F(x_{k}) − F*", Log: true},
//		Series: []plot.Series{{Name: "STABLE", X: k, Y: median, Lo: q10, Hi: q90}},
//	}}}
//	err := atomicfile.Write("gap.svg", fig.WriteSVG)
//
// Curves differ in colour, dash pattern and mark at the same time, so that they can be told apart
// in black-and-white print. The colours are those of Okabe and Ito, "Color universal design"
// (2008), recommended by Wong, "Points of view: color blindness", Nature Methods 8 (2011), without
// the yellow, which is too light for a line on white.
//
// Curves are thinned as M4 does (Jugel, Jerzak, Hackenbroich, Markl: "M4: a visualization-oriented
// time series data aggregation", VLDB 2014): of the points that fall in one narrow column of the
// picture the first, the last, the lowest and the highest stay, so peaks survive.
//
// The same figure and binary give the same bytes. Nothing is kept between calls; calls on different
// figures may run at the same time, and no call modifies its figure.
package plot
