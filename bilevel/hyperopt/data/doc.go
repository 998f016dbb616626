// Package data reads labelled sparse rows from files and prepares them: [Open], [ReadLIBSVM] and
// [ReadCSV] give [Data], or a [*SyntaxError] with file and line; [Data.Split], [Standardise],
// [MaxAbs] and [FitScaler] prepare it. Nothing changes a Data once made.
//
// Reading takes memory in proportion to what is stored: no number in a file sizes an allocation,
// and endless lines are refused.
package data
