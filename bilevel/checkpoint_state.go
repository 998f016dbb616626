package bilevel

import (
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"

	"stable/mat"
)

// state visits what a run holds between two steps, number by number and always in the same order:
// to count it, to write it, or to read it. One visit method per type serves all three, so that what
// is written is what is read. Every number is one word of 8 bytes, little-endian.
type state struct {
	w     io.Writer // writing, if not nil
	r     io.Reader // reading, if not nil; with neither, the words are only counted
	words uint64
	buf   [8]byte
	err   error // the first one; then nothing more is written or read
	k     int   // steps done, for those who have nothing before the first

	// verified are to be called after a read, once all of it is known to be good.
	verified []func() error
}

// word writes v and returns it, or returns what it reads.
func (t *state) word(v uint64) uint64 {
	t.words++
	switch {
	case t.err != nil:
	case t.w != nil:
		binary.LittleEndian.PutUint64(t.buf[:], v)
		_, t.err = t.w.Write(t.buf[:])
	case t.r != nil:
		if _, t.err = io.ReadFull(t.r, t.buf[:]); t.err == nil {
			v = binary.LittleEndian.Uint64(t.buf[:])
		}
	}
	return v
}

func (t *state) uint(v *uint64) { *v = t.word(*v) }

// int visits a count, which is not negative.
func (t *state) int(v *int) {
	u := t.word(uint64(*v))
	if u >= math.MaxInt {
		t.fail("a count is %d", u)
		return
	}
	*v = int(u)
}

func (t *state) float(v *float64) { *v = math.Float64frombits(t.word(math.Float64bits(*v))) }

// floats visits each of the vectors in turn.
func (t *state) floats(vectors ...[]float64) {
	for _, v := range vectors {
		for i := range v {
			t.float(&v[i])
		}
	}
}

func (t *state) dense(a *mat.Dense) {
	for i := range a.Rows {
		t.floats(a.Row(i))
	}
}

// sym visits the lower triangle.
func (t *state) sym(a *mat.Sym) {
	for i := range a.N {
		t.floats(a.Row(i))
	}
}

// pcg visits a generator in the form of its MarshalBinary: "pcg:" and the 16 bytes of its state.
func (t *state) pcg(p *rand.PCG) {
	const tag = "pcg:"
	b, err := p.MarshalBinary()
	if err != nil || len(b) != len(tag)+16 || string(b[:len(tag)]) != tag {
		t.fail("math/rand/v2 stores a PCG in another form, %q", b)
		return
	}
	for at := len(tag); at < len(b); at += 8 {
		binary.LittleEndian.PutUint64(b[at:], t.word(binary.LittleEndian.Uint64(b[at:])))
	}
	if t.r != nil && t.err == nil {
		t.err = p.UnmarshalBinary(b)
	}
}

// after has f called once a read is known to be good.
func (t *state) after(f func() error) {
	if t.r != nil {
		t.verified = append(t.verified, f)
	}
}

func (t *state) fail(format string, args ...any) {
	if t.err == nil {
		t.err = damaged(format, args...)
	}
}

// persist visits the run. Nothing else of a Solver outlives a step, but the problem, the method and
// the options.
func (s *Solver) persist(t *state) {
	t.int(&s.k)
	t.k = s.k
	t.floats(s.x, s.y)
	t.float(&s.sumAlpha)
	t.float(&s.sumBeta)
	a, c := &s.activity, &s.oracle.counts
	for _, v := range []*int{&a.Truncated, &a.Shrunk, &a.Cut, &a.Slowed} {
		t.int(v)
	}
	for _, v := range []*uint64{&c.Xi, &c.Phi, &c.GradF, &c.GradG, &c.CrossG, &c.HessG, &c.HessVecG, &c.CrossVecG} {
		t.uint(v)
	}
	for _, p := range []*rand.PCG{&s.xi.pcg, &s.phi.pcg, &s.coin} {
		t.pcg(p)
	}
	s.stepper.persist(t)
}
