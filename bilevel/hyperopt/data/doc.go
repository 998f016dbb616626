// Package data reads data sets from files, and prepares their rows.
//
// [Data] holds sparse rows with labels. [Open], [ReadLIBSVM] and [ReadCSV] read them; a malformed
// file gives a [*SyntaxError] with file and line. [Data.Split], [Data.SplitStratified],
// [Standardise], [MaxAbs] and [FitScaler] prepare the rows. Nothing changes a Data after it is made.
//
// # How it works
//
// Reading takes memory in proportion to what is stored: no number in a file sizes an allocation,
// and endless records and tokens are refused. Zeros are not stored, even if the file writes them;
// they only count for the dimension.
package data
