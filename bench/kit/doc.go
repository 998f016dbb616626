// Package kit holds what the experiments of bench share. It is for this module's own use: no
// promise is made to others.
//
// A command is a [Command]; [Run] finds it, runs it and turns its error into an exit status. Its
// flags are read by [Parse], its output goes to a [Terminal], long work shows a [Progress].
//
// Experiments whose runs take long do them as [Task]s of a [Campaign], on all cores, in parts, and
// keep the results in a ledger. A [Identity] says what results on disk were made from: they serve
// again only for the same options, on the same data, by the same build. Everything that resumes is
// written as records: see [WriteRecord].
//
// The rest is arithmetic and files: fits of exponents ([Exponent], [MeanOf]), data sets
// ([OpenData], [Halves]), figures ([WriteFigure]).
package kit
