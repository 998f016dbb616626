// Package tune tunes regularisation weights with STABLE: the commands [Main], on one data set,
// beside the least F there is, and [Tune], on files of a user's own, which leaves a model.
//
// Both run an engine: STABLE on a problem of hyperopt, with F computed exactly along the way.
package tune
