// Package data reads labelled sparse rows from files and prepares them.
//
// [Open], [ReadLIBSVM] and [ReadCSV] read [Data]; a malformed file gives a [*SyntaxError] with file
// and line. [Data.Split], [Data.SplitStratified], [Standardise], [MaxAbs] and [FitScaler] prepare
// rows. Nothing changes a Data once made.
//
// Reading takes memory in proportion to what is stored: no number in a file sizes an allocation,
// and endless records and tokens are refused. Zeros count for the dimension and are not stored.
package data
