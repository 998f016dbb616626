package method_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/method"
)

// fill sets every exported field below v to something other than its zero value.
func fill(t *testing.T, v reflect.Value, n *int) {
	for i := range v.NumField() {
		f := v.Field(i)
		if !v.Type().Field(i).IsExported() {
			t.Fatalf("%v has a field that is not exported", v.Type())
		}
		*n++
		switch {
		case f.Type() == reflect.TypeFor[bilevel.Schedule]() && *n%2 == 0:
			f.Set(reflect.ValueOf(bilevel.Constant(float64(*n) / 3)))
		case f.Type() == reflect.TypeFor[bilevel.Schedule]():
			f.Set(reflect.ValueOf(bilevel.Power{C: float64(*n) / 7, K0: 3, P: 1. / 3}))
		case f.Kind() == reflect.Interface && f.IsNil():
		case f.Kind() == reflect.Interface:
			part := reflect.New(f.Elem().Type()).Elem()
			fill(t, part, n)
			f.Set(part)
		case f.Kind() == reflect.Struct:
			fill(t, f, n)
		case f.CanInt():
			f.SetInt(int64(*n))
		case f.CanUint():
			f.SetUint(uint64(*n))
		case f.CanFloat():
			f.SetFloat(1 / float64(*n))
		case f.Kind() == reflect.Bool:
			f.SetBool(true)
		default:
			t.Fatalf("%v has a field of kind %v: give Spec a text for it", v.Type(), f.Kind())
		}
	}
}

// Every method of the registry survives JSON, as it comes and with every parameter set.
func TestSpecRoundTrip(t *testing.T) {
	n := 0
	for _, e := range method.Registry() {
		plain := e.New(method.Tuning{})
		assert.Equal(t, `{"method":"`+e.Name+`"}`, method.Spec{Method: plain}.String())
		full := reflect.New(reflect.TypeOf(plain)).Elem()
		full.Set(reflect.ValueOf(plain))
		fill(t, full, &n)
		for _, m := range []bilevel.Method{plain, full.Interface().(bilevel.Method)} {
			text, err := json.Marshal(map[string]any{"solver": method.Spec{Method: m}})
			require.NoError(t, err, e.Name)
			var config struct{ Solver method.Spec }
			require.NoError(t, json.Unmarshal(text, &config), "%s", text)
			require.Equal(t, m, config.Solver.Method, "%s", text)
		}
	}
}

func TestSpecRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`7`:                                       "a JSON object",
		`{}`:                                      `no method is called ""`,
		`{"method":3}`:                            "method: ",
		`{"method":"SOBBA"}`:                      `no method is called "SOBBA"; there are ALSET`,
		`{"method":"SOBA","Aplha":1}`:             `SOBA: no parameter is called "Aplha"; there are Alpha, Beta, Gamma`,
		`{"method":"SOBA","Alpha":"x"}`:           `SOBA: Alpha: "x" is no schedule`,
		`{"method":"SOBA","Alpha":[1]}`:           `SOBA: Alpha: [1] is no schedule`,
		`{"method":"BSA","Neumann":1}`:            "BSA: Neumann: 1 is no object",
		`{"method":"F2SA","Inner":1.5}`:           "F2SA: Inner: ",
		`{"method":"STABLE","Upper":{}}`:          "STABLE: Upper: there is none",
		`{"method":"SOBA","Alpha":{"C":1,"Q":2}}`: `SOBA: Alpha: no parameter is called "Q"; there are C, K0, P`,
	} {
		s := method.Spec{Method: method.STFBO{}}
		err := json.Unmarshal([]byte(text), &s)
		require.ErrorContains(t, err, want, text)
		assert.ErrorIs(t, err, bilevel.ErrOption, text)
		assert.Equal(t, method.STFBO{}, s.Method, "an error changed it")
	}
	for want, m := range map[string]bilevel.Method{
		"there is no method":        nil,
		"Beta: a method_test.falls": method.SOBA{Beta: falls{}},
		"Alpha: json":               method.SOBA{Alpha: bilevel.Constant(math.NaN())},
	} {
		_, err := json.Marshal(method.Spec{Method: m})
		assert.ErrorContains(t, err, want)
	}
	var lower method.Spec
	require.NoError(t, json.Unmarshal([]byte(` {"Method": "soba", "alpha": {"c": 1, "p": 0.5}, "BETA": null} `),
		&lower))
	assert.Equal(t, method.SOBA{Alpha: bilevel.Power{C: 1, P: 0.5}}, lower.Method)
}

// falls is a schedule of a stranger's.
type falls struct{}

func (falls) At(int) float64 { return 1 }
