// Package kit, which makes no promise to others, holds what the experiments of bench share.
//
// A command is a [Command]; [Run] finds it, runs it and turns its error into an exit status.
// [Parse] reads its flags, its output goes to a [Terminal], and long work shows a [Progress].
//
// An experiment with long runs does them as [Task]s of a [Campaign], on all cores, in parts, and
// keeps the results in a ledger. An [Identity] says what results on disk were made from: they are
// reused only for the same options, on the same data, by the same build. Everything that can resume
// is written as records: see [WriteRecord].
//
// The rest is arithmetic and files: fits of exponents ([Exponent], [MeanOf]), data sets
// ([OpenData], [Halves]), figures ([WriteFigure]).
package kit
