// Package kit, which makes no promise to others, holds what the experiments of bench share.
//
// Long runs are [Task]s of a [Campaign], on all cores, in parts, with a ledger of results that an
// [Identity] ties to options, data and build.
package kit
