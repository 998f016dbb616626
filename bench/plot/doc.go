// Package plot draws line figures as SVG and writes their numbers as CSV. Lengths are millimetres.
//
// Curves differ in colour (Okabe, Ito, "Color universal design", 2008, without yellow) and dashes.
// Long ones are thinned as M4 does (Jugel, Jerzak, Hackenbroich, Markl, VLDB 2014), so peaks survive.
// A figure is only read, and always gives the same bytes.
package plot
