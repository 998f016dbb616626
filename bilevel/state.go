package bilevel

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"stable/mat"
)

// State visits what a run holds between two steps, number by number and always in the same order,
// to count, write or read it. Every number is a word of 8 bytes, little-endian. The first error
// ends the visit; the Solver reports it.
type State struct {
	writing  bool
	reading  bool
	words    int    // counted
	bytes    []byte // written so far, or still to be read
	err      error
	k        int            // steps done
	verified []func() error // of After
}

var errShort = damaged("it ends too early")

func (t *State) word(v uint64) uint64 {
	switch {
	case t.err != nil:
	case t.writing:
		t.bytes = binary.LittleEndian.AppendUint64(t.bytes, v)
	case !t.reading:
		t.words++
	case len(t.bytes) < 8:
		t.err = errShort
	default:
		v, t.bytes = binary.LittleEndian.Uint64(t.bytes), t.bytes[8:]
	}
	return v
}

// Uint visits *v.
func (t *State) Uint(v *uint64) { *v = t.word(*v) }

// Count visits an int ≥ 0; Load refuses any other.
func (t *State) Count(v *int) {
	switch u := t.word(uint64(*v)); {
	case u < math.MaxInt:
		*v = int(u)
	case t.writing && t.err == nil:
		t.err = fmt.Errorf("the State has a count of %d, want ≥ 0", *v)
	default:
		t.fail("a count is %d", u)
	}
}

// Flag visits *v as 0 or 1; Load refuses any other number.
func (t *State) Flag(v *bool) {
	u := 0
	if *v {
		u = 1
	}
	if t.Count(&u); u > 1 {
		t.fail("a flag is %d", u)
	}
	*v = u == 1
}

// Float visits all bits of *v.
func (t *State) Float(v *float64) { *v = math.Float64frombits(t.word(math.Float64bits(*v))) }

// Floats visits the entries of each vector, not its length.
func (t *State) Floats(vectors ...[]float64) {
	for _, v := range vectors {
		for i := range v {
			t.Float(&v[i])
		}
	}
}

// Dense visits the entries, row by row.
func (t *State) Dense(a *mat.Dense) {
	for i := range a.Rows {
		t.Floats(a.Row(i))
	}
}

// Sym visits the lower triangle.
func (t *State) Sym(a *mat.Sym) {
	for i := range a.N {
		t.Floats(a.Row(i))
	}
}

// Rand visits a generator: "pcg:" and the 16 bytes of its state, as MarshalBinary has them.
func (t *State) Rand(p *rand.PCG) {
	const tag = "pcg:"
	b, err := p.MarshalBinary()
	if err != nil || len(b) != len(tag)+16 || string(b[:len(tag)]) != tag {
		t.fail("math/rand/v2 stores a PCG in another form, %q", b)
		return
	}
	for at := len(tag); at < len(b); at += 8 {
		binary.LittleEndian.PutUint64(b[at:], t.word(binary.LittleEndian.Uint64(b[at:])))
	}
	if t.reading && t.err == nil {
		t.err = p.UnmarshalBinary(b)
	}
}

// Steps returns the number of steps done by the run that is saved or loaded.
func (t *State) Steps() int { return t.k }

// After makes Load call f, whose error it returns, once all of the checkpoint is known to be
// undamaged, to recompute what follows from it.
func (t *State) After(f func() error) {
	if t.reading {
		t.verified = append(t.verified, f)
	}
}

func (t *State) fail(format string, args ...any) {
	if t.err == nil {
		t.err = damaged(format, args...)
	}
}
