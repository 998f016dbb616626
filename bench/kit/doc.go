// Package kit, which makes no promise to others, holds what the experiments of bench share.
//
// [Run] finds and runs a [Command]; [Parse] reads flags, [Terminal] and [Progress] show output.
// Long runs are [Task]s of a [Campaign], on all cores, in parts, with a ledger of results that an
// [Identity] ties to options, data and build. The rest is [Table]s, fits
// ([Exponent], [MeanOf]), data sets ([OpenData]) and figures ([WriteFigure]).
package kit
