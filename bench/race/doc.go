// Package race compares methods under equal budgets of samples: the commands [Compare], [Figure2],
// [IJCNN1] and [Survive] of bench.
//
// An experiment runs every entrant (a method with its grid of settings) in every arena (a problem
// whose least F is known): first each setting on separate seeds, then the trials with the best one.
package race
