package bilevel

import (
	"encoding/binary"
	"fmt"
	"hash/crc64"
	"math"
	"reflect"
	"strconv"
	"strings"
)

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
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			d.line(name, "nil")
			return
		}
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
	case reflect.Struct:
		if kind != "" {
			d.line(name, strings.TrimSpace(kind))
		}
		for i := range v.NumField() {
			d.value(name+"."+v.Type().Field(i).Name, "", v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		d.sequence(name, kind, v)
	case reflect.Bool:
		d.line(name, kind+strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		d.line(name, kind+strconv.FormatInt(v.Int(), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		d.line(name, kind+strconv.FormatUint(v.Uint(), 10))
	case reflect.Float32, reflect.Float64:
		d.line(name, kind+strconv.FormatFloat(v.Float(), 'g', -1, 64))
	case reflect.String:
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

// difference describes the first line that differs, empty if none does.
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
	if len(a) != len(b) {
		return fmt.Sprintf("the checkpoint has %d settings, and there are %d here", len(a), len(b))
	}
	return ""
}
