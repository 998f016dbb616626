// Package mat holds dense and symmetric matrices and the kernels on them.
package mat
