// Package race compares methods under equal budgets of samples. A program of your own may call its
// commands for a method that it has registered; they promise no interface.
//
// A tournament runs every entrant (a method with its grid of settings) on every problem of known F*:
// first each setting on separate seeds, then the trials with the best one.
package race
