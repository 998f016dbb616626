// Package tune tunes regularisation weights with STABLE. Its commands are [Main], on one data set,
// compared with the least F there is, and [Tune], on a user's own files, which writes a model.
//
// Both run an engine: STABLE on a problem of hyperopt, with exact values of F along the way.
package tune
