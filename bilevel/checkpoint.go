package bilevel

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc64"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"

	"stable/bilevel/atomicfile"
	"stable/mat"
)

// A checkpoint is, in this order, all numbers little-endian on every machine:
//
//	 8 bytes   "bilevel" and a zero byte
//	 4 bytes   version
//	 4 bytes   n, length of the description, at most maxDescription
//	 8 bytes   m, number of words of the state
//	 n bytes   description: sizes, method, its parameters and the options, lines "name = value"
//	 8 bytes   CRC-64 (ECMA) of all bytes before
//	8m bytes   the state: integers, float64 bits and random states, a word each
//	 8 bytes   CRC-64 (ECMA) of all bytes before
//
// The version changes with the layout, what a method keeps, and all that moves an iterate.
const (
	magic          = "bilevel\x00"
	version        = 5
	fixedHeader    = len(magic) + 4 + 4 + 8
	maxDescription = 1 << 20
)

// Save writes a checkpoint to w: all that later steps depend on except the problem and the options.
// After Load, the same binary takes the steps that it would have taken here, bit for bit. Call it
// between steps, for example from Run.Progress. The next Run counts steps, time and window from
// zero. Errors: those of w, and that of a failed step.
func (s *Solver) Save(w io.Writer) error {
	if s.err != nil {
		return fmt.Errorf("bilevel: Save: the run has failed: %w", s.err)
	}
	text, words := s.describe(), s.words()
	if len(text) > maxDescription {
		return fmt.Errorf("bilevel: Save: the parameters of the method take %d bytes to describe, "+
			"and a checkpoint has room for %d", len(text), maxDescription)
	}
	file := append(make([]byte, 0, fixedHeader+len(text)+8+8*words+8), magic...)
	file = binary.LittleEndian.AppendUint32(file, version)
	file = binary.LittleEndian.AppendUint32(file, uint32(len(text)))
	file = binary.LittleEndian.AppendUint64(file, uint64(words))
	file = seal(append(file, text...))
	t := &State{writing: true, bytes: file}
	s.persist(t)
	if n := (len(t.bytes) - len(file)) / 8; t.err == nil && n != words {
		t.err = fmt.Errorf("the State of %s visited %d numbers the first time and %d the second", s.it.name, words, n)
	}
	if t.err == nil {
		_, t.err = bytes.NewReader(seal(t.bytes)).WriteTo(w)
	}
	if t.err != nil {
		return fmt.Errorf("bilevel: Save: %w", t.err)
	}
	return nil
}

func (s *Solver) words() int {
	var t State
	s.persist(&t)
	return t.words
}

func seal(b []byte) []byte { return binary.LittleEndian.AppendUint64(b, crc64.Checksum(b, crcTable)) }

func sealed(b []byte) bool {
	n := len(b) - 8
	return binary.LittleEndian.Uint64(b[n:]) == crc64.Checksum(b[:n], crcTable)
}

// Load reads a checkpoint from r, to its end, and s continues the run that was saved. s must come
// from New with the same problem, method and options; it may have done steps, and failed. What X,
// Y and Stepper returned before is no longer valid.
//
// Sizes, method, parameters and options are compared with those that were saved; the problem's
// data, functions, maps, what packages sync and sync/atomic hold and what pointers in the caller's own
// types refer to are not. No oracle is called. Errors wrap ErrDamaged or ErrForeign, or are those of r; s is then unchanged. Memory:
// that of another Solver and its checkpoint, whatever r holds.
func (s *Solver) Load(r io.Reader) error {
	fresh, err := New(s.it.Problem(), s.method, s.it.opt)
	if err != nil {
		return err
	}
	fresh.it.opt = s.it.opt // New has projected x⁰ once more
	words := fresh.words()
	var file bytes.Buffer
	file.Grow(8*words + 1<<12) // longer only where the description is
	if _, err := file.ReadFrom(io.LimitReader(r, int64(fixedHeader+maxDescription+8+8*words+8)+1)); err != nil {
		return err
	}
	if err := fresh.read(file.Bytes(), words); err != nil {
		return err
	}
	*s = *fresh
	return nil
}

// read reads a checkpoint of so many words into s, which an error leaves unusable.
func (s *Solver) read(file []byte, words int) error {
	if len(file) < fixedHeader {
		return errShort
	}
	const at = len(magic)
	v, n := binary.LittleEndian.Uint32(file[at:]), binary.LittleEndian.Uint32(file[at+4:])
	m, body := binary.LittleEndian.Uint64(file[at+8:]), fixedHeader+int(n)+8
	switch {
	case string(file[:at]) != magic:
		return damaged("this is no checkpoint: it begins with %q", file[:at])
	case v != version:
		return fmt.Errorf("%w: its version is %d, and this package reads version %d", ErrForeign, v, version)
	case n > maxDescription:
		return damaged("its header wants to be %d bytes long", n)
	case len(file) < body:
		return errShort
	case !sealed(file[:body]):
		return damaged("the checksum of the header is wrong")
	}
	if d := difference(string(file[fixedHeader:body-8]), s.describe()); d != "" {
		return fmt.Errorf("%w: %s", ErrForeign, d)
	}
	switch left := len(file) - body - 8*words - 8; {
	case m != uint64(words):
		return fmt.Errorf("%w: its state has %d words, and this one %d", ErrForeign, m, words)
	case left < 0:
		return errShort
	case left > 0:
		return damaged("there is more after its end")
	case !sealed(file):
		return damaged("the checksum of the state is wrong")
	}
	t := &State{reading: true, bytes: file[body : len(file)-8]}
	if s.persist(t); len(t.bytes) > 0 {
		t.fail("the State of %s does not visit all of it", s.it.name)
	}
	if t.err != nil {
		return t.err
	}
	for _, v := range [][]float64{s.it.x, s.it.y, s.mean} {
		if i := mat.NotFinite(v); i >= 0 {
			return damaged("an iterate is %v at index %d", v[i], i)
		}
	}
	for _, f := range t.verified {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// SaveFile saves to the file at path, in one step: whenever the process or the machine stops, it holds the
// previous checkpoint or this one. The previous one stays beside it as path + ".old". Errors leave the file
// unchanged. A process killed meanwhile leaves a hidden file of path's name and .tmp, which nobody reads.
func (s *Solver) SaveFile(path string) error { return atomicfile.Replace(path, path+".old", s.Save) }

// LoadFile is Load from the file at path.
func (s *Solver) LoadFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := s.Load(f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// persist visits all of a Solver that outlives a step, but problem, method and options.
func (s *Solver) persist(t *State) {
	it := s.it
	t.Count(&it.k)
	t.k = it.k
	t.Floats(it.x, it.y, s.mean)
	a, c := &it.activity, &it.oracle.counts
	for _, v := range []*int{&a.Truncated, &a.Shrunk, &a.Cut, &a.Slowed} {
		t.Count(v)
	}
	for _, v := range []*uint64{
		&c.Xi, &c.Phi, &c.GradF, &c.GradG, &c.CrossG, &c.HessG, &c.HessVecG, &c.CrossVecG, &c.GradXG,
	} {
		t.Uint(v)
	}
	t.Flag(&s.cut)
	for _, p := range []*rand.PCG{&it.xi.pcg, &it.phi.pcg, &it.pcg} {
		t.Rand(p)
	}
	s.stepper.State(t)
}

var crcTable = crc64.MakeTable(crc64.ECMA)

// describe writes lines "name = value", the same on every machine.
func (s *Solver) describe() string {
	var d description
	upper, lower := s.it.oracle.Streams()
	d.line("dx", len(s.it.x))
	d.line("dy", len(s.it.y))
	d.line("samples ξ", upper)
	d.line("samples φ", lower)
	d.line("method", s.it.name)
	m := reflect.Indirect(reflect.ValueOf(s.method))
	d.line("type", m.Type().PkgPath()+"."+m.Type().Name())
	d.value(m.Type().Name(), "", m)
	d.value("Options", "", reflect.ValueOf(s.it.opt))
	return d.String()
}

// description writes values as text, but only types of functions, maps, pointers inside a caller's
// own type, and anything deeper than maxDepth.
type description struct {
	strings.Builder
	depth int // of interfaces
}

const maxDepth = 8

func (d *description) line(name string, value any) { fmt.Fprintf(d, "%s = %v\n", name, value) }

// value adds v. kind is its type if an interface holds it, and empty otherwise.
func (d *description) value(name, kind string, v reflect.Value) {
	switch k := v.Kind(); {
	case k == reflect.Interface && v.IsNil():
		d.line(name, "nil")
	case k == reflect.Interface:
		e := v.Elem()
		kind = e.Type().String()
		if d.depth == maxDepth {
			d.line(name, kind)
			return
		}
		if e.Kind() == reflect.Pointer && !e.IsNil() {
			e = e.Elem()
		}
		d.depth++
		d.value(name, kind+" ", e)
		d.depth--
	case strings.HasPrefix(v.Type().PkgPath(), "sync"): // its state is of this process
		d.line(name, kind+"a "+v.Type().String())
	case k == reflect.Struct:
		if kind != "" {
			d.line(name, strings.TrimSpace(kind))
		}
		for i := range v.NumField() {
			d.value(name+"."+v.Type().Field(i).Name, "", v.Field(i))
		}
	case k == reflect.Slice || k == reflect.Array:
		d.sequence(name, kind, v)
	case k == reflect.Bool:
		d.line(name, fmt.Sprint(kind, v.Bool()))
	case v.CanInt():
		d.line(name, fmt.Sprint(kind, v.Int()))
	case v.CanUint():
		d.line(name, fmt.Sprint(kind, v.Uint()))
	case v.CanFloat():
		d.line(name, fmt.Sprint(kind, v.Float()))
	case k == reflect.String:
		d.line(name, kind+strconv.Quote(v.String()))
	default:
		d.line(name, kind+"a "+v.Type().String())
	}
}

// sequence adds a slice or an array: its length and a checksum of its entries.
func (d *description) sequence(name, kind string, v reflect.Value) {
	var b []byte
	if v.Type().Elem().Kind() == reflect.Float64 {
		for i := range v.Len() {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v.Index(i).Float()))
		}
	} else {
		entries := description{depth: d.depth}
		for i := range v.Len() {
			entries.value("", "", v.Index(i))
		}
		b = []byte(entries.String())
	}
	d.line(name, fmt.Sprintf("%s%d entries with checksum %016x", kind, v.Len(), crc64.Checksum(b, crcTable)))
}

func difference(file, here string) string {
	a, b := strings.Split(file, "\n"), strings.Split(here, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			continue
		}
		name, there, _ := strings.Cut(a[i], " = ")
		name2, value, _ := strings.Cut(b[i], " = ")
		if name == name2 {
			return fmt.Sprintf("%s is %.200s in the checkpoint, and %.200s here", name, there, value)
		}
		return fmt.Sprintf("the checkpoint has %q where there is %q here", a[i], b[i])
	}
	return "" // a text that is part of another has "" where that goes on
}
