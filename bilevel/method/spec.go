package method

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"stable/bilevel"
	"stable/bilevel/option"
)

// Spec is a method of the registry as text, for configuration files. In JSON it is an object of the
// method's name and those of its parameters that differ from what Entry.New gives by itself, under
// the names of their fields:
//
//	{"method": "SOBA", "Alpha": {"C": 0.1, "P": 0.5}, "Beta": 0.02}
//
// A schedule is a number, bilevel.Constant, or an object of C, K0 and P, bilevel.Power. Decoding
// takes names in upper or lower case, and checks nothing but that they exist: bilevel.New checks the
// parameters. Errors wrap bilevel.ErrOption: a method that is not in the registry, a parameter that
// it does not have or that is of another kind; and, encoding, a schedule of another type, a number
// that JSON does not have.
type Spec struct{ Method bilevel.Method }

var (
	scheduleType = reflect.TypeFor[bilevel.Schedule]()
	constantType = reflect.TypeFor[bilevel.Constant]()
	powerType    = reflect.TypeFor[bilevel.Power]()
)

// String is the JSON text, or the error about it.
func (s Spec) String() string {
	text, err := s.MarshalJSON()
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// MarshalJSON writes what UnmarshalJSON reads.
func (s Spec) MarshalJSON() ([]byte, error) {
	if s.Method == nil {
		return nil, option.Bad("there is no method to write")
	}
	e, err := Lookup(s.Method.Name())
	if err != nil {
		return nil, err
	}
	m, plain := reflect.Indirect(reflect.ValueOf(s.Method)), reflect.ValueOf(e.New(Tuning{}))
	if m.Type() != plain.Type() {
		return nil, option.Bad("%s is a %v, and of the registry a %v", e.Name, m.Type(), plain.Type())
	}
	var b bytes.Buffer
	name, _ := json.Marshal(e.Name)
	fmt.Fprintf(&b, `{"method":%s`, name)
	if err := writeFields(&b, ",", m, plain); err != nil {
		return nil, option.Bad("%s: %v", e.Name, err)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// writeFields writes the fields of a struct that differ from plain's, each after a separator, which
// is a comma from the second on.
func writeFields(b *bytes.Buffer, separator string, v, plain reflect.Value) error {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() || reflect.DeepEqual(v.Field(i).Interface(), plain.Field(i).Interface()) {
			continue
		}
		fmt.Fprintf(b, "%s%q:", separator, field.Name)
		separator = ","
		if err := writeValue(b, v.Field(i), plain.Field(i)); err != nil {
			return fmt.Errorf("%s: %w", field.Name, err)
		}
	}
	return nil
}

func writeValue(b *bytes.Buffer, v, plain reflect.Value) error {
	if v.Kind() == reflect.Interface {
		e := v.Elem()
		switch {
		case !e.IsValid():
			b.WriteString("null")
			return nil
		case v.Type() == scheduleType && e.Type() != constantType && e.Type() != powerType:
			return fmt.Errorf("a %v has no text, only bilevel.Constant and bilevel.Power have", e.Type())
		case plain.Elem().IsValid() && plain.Elem().Type() == e.Type():
			plain = plain.Elem()
		default:
			plain = reflect.Zero(e.Type())
		}
		v = e
	}
	if v.Kind() == reflect.Struct {
		b.WriteByte('{')
		err := writeFields(b, "", v, plain)
		b.WriteByte('}')
		return err
	}
	text, err := json.Marshal(v.Interface())
	b.Write(text)
	return err
}

// UnmarshalJSON reads a method. On an error s stays as it is.
func (s *Spec) UnmarshalJSON(text []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return option.Bad("a method is a JSON object: %v", err)
	}
	var name string
	for key, value := range fields {
		if strings.EqualFold(key, "method") {
			delete(fields, key)
			if err := json.Unmarshal(value, &name); err != nil {
				return option.Bad("method: %v", err)
			}
		}
	}
	e, err := Lookup(name)
	if err != nil {
		return err
	}
	plain := reflect.ValueOf(e.New(Tuning{}))
	m := reflect.New(plain.Type()).Elem()
	m.Set(plain)
	if err := readFields(m, fields); err != nil {
		return option.Bad("%s: %v", e.Name, err)
	}
	s.Method = m.Interface().(bilevel.Method)
	return nil
}

// readFields sets fields of a struct.
func readFields(v reflect.Value, fields map[string]json.RawMessage) error {
	var names []string
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.IsExported() && len(f.Index) == 1 {
			names = append(names, f.Name)
		}
	}
	for key, text := range fields {
		i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, key) })
		if i < 0 {
			return fmt.Errorf("no parameter is called %q; there are %s", key, strings.Join(names, ", "))
		}
		if err := readValue(v.FieldByName(names[i]), text); err != nil {
			return fmt.Errorf("%s: %w", names[i], err)
		}
	}
	return nil
}

func readValue(v reflect.Value, text json.RawMessage) error {
	if v.Kind() != reflect.Interface && v.Kind() != reflect.Struct {
		return json.Unmarshal(text, v.Addr().Interface())
	}
	text = bytes.TrimSpace(text)
	if v.Kind() == reflect.Interface && string(text) == "null" {
		v.SetZero()
		return nil
	}
	var fields map[string]json.RawMessage
	object := json.Unmarshal(text, &fields) == nil && fields != nil
	t := v.Type()
	switch {
	case t == scheduleType && object:
		t = powerType
	case t == scheduleType:
		var c bilevel.Constant
		if err := json.Unmarshal(text, &c); err != nil {
			return fmt.Errorf("%s is no schedule: want a number, or an object of C, K0 and P", text)
		}
		v.Set(reflect.ValueOf(c))
		return nil
	case !object:
		return fmt.Errorf("%s is no object", text)
	case v.Kind() == reflect.Interface && v.IsNil():
		return fmt.Errorf("there is none: the name of the method says which one it has")
	case v.Kind() == reflect.Interface:
		t = v.Elem().Type()
	}
	part := reflect.New(t).Elem()
	if v.Type() != scheduleType {
		part.Set(reflect.Indirect(reflect.ValueOf(v.Interface())))
	}
	if err := readFields(part, fields); err != nil {
		return err
	}
	v.Set(part)
	return nil
}
