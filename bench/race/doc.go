// Package race compares methods under equal budgets of samples: the commands [Compare], [Figure2],
// [IJCNN1], [Survive], [Limit] and [Untuned] of bench. A program of your own may call them for a
// method that it has registered; they promise no interface.
//
// An experiment runs every entrant (a method with its grid of settings) in every arena (a problem
// whose least F is known): first each setting on separate seeds, then the trials with the best one.
package race
