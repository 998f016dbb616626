// Package tune tunes regularisation weights. Its commands are [Main], on one data set, compared
// with the least F there is, and [Tune], on a user's own files, which writes a model.
//
// Both run an engine: SAA-Newton, which is not the paper's method, on a problem of hyperopt,
// with exact values of F along the way.
package tune
