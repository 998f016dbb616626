package kernel

// The ends of the messages of panics besides sizes; the function's name comes first.
const (
	MsgTorn   = ": rows overlap, Stride is too small"
	MsgShared = ": dst overlaps an operand"
)

// Torn tells whether rows overlap, as in a literal without Stride.
func Torn(rows, cols, stride int) bool { return stride < cols && rows > 1 }

// SameStart tells whether x and y have entries and begin at the same one.
func SameStart(x, y []float64) bool { return len(x) > 0 && len(y) > 0 && &x[0] == &y[0] }
