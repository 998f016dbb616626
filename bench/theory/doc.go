// Package theory measures what the STABLE paper proves, on problems of known solution: bench's
// commands [Table1] and [Theorems]. A walk is one measured run; a row of Table 1, or a variant of
// step sizes, has walks in groups, and each group gives one fit of an exponent.
package theory
