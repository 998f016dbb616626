// Package theory measures what the STABLE paper proves, on problems with known solutions: the
// commands [Table1] and [Theorems] of bench.
//
// A walk is one run of a method, measured against the known solution. A row of Table 1, or a
// variant of a theorem's step sizes, consists of many walks in groups; each group gives one fit of
// an exponent.
package theory
