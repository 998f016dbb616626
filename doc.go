// Package stable is the root of a module for stochastic bilevel optimisation; see package stable/bilevel.
package stable
