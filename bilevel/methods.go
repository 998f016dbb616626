package bilevel

import (
	"slices"
	"strings"

	"stable/bilevel/option"
)

// Tuning is what most methods have in common. What a method does not take it ignores; what is left
// zero stands at the method's default.
type Tuning struct {
	Alpha, Beta Schedule // step sizes of x and y
	MuG, LG     float64  // g(x, ·; φ) has curvature between μ_g and L_g
	Terms       int      // N of the Neumann series, where there is one
}

// registry holds one line a method, in the order of the package's documentation.
var registry = []struct {
	name string
	make func(t Tuning) Method
}{
	{"STABLE", func(t Tuning) Method { return t.stable(nil) }},
	{"STABLE-Momentum", func(t Tuning) Method { return t.stable(Momentum{}) }},
	{"STABLE-STORM", func(t Tuning) Method { return t.stable(STORM{}) }},
	{"STABLE-Adam", func(t Tuning) Method { return t.stable(Adam{}) }},
	{"BSA", func(t Tuning) Method { return BSA{Alpha: t.Alpha, Beta: t.Beta, Neumann: t.neumann()} }},
	{"TTSA", func(t Tuning) Method { return TTSA{Alpha: t.Alpha, Beta: t.Beta, Neumann: t.neumann()} }},
	{"stocBiO", func(t Tuning) Method { return StocBiO{Alpha: t.Alpha, Beta: t.Beta, Neumann: t.neumann()} }},
	{"ALSET", func(t Tuning) Method { return ALSET{Alpha: t.Alpha, Beta: t.Beta, Neumann: t.neumann()} }},
	{"SUSTAIN", func(t Tuning) Method { return SUSTAIN{Alpha: t.Alpha, Beta: t.Beta, Neumann: t.neumann()} }},
	{"MSTSA", func(t Tuning) Method { return MSTSA{Alpha: t.Alpha, Beta: t.Beta, Neumann: t.neumann()} }},
	{"MRBO", func(t Tuning) Method { return MRBO{Alpha: t.Alpha, Beta: t.Beta, Neumann: t.neumann()} }},
	{"VRBO", func(t Tuning) Method { return VRBO{Alpha: t.Alpha, Beta: t.Beta, Neumann: t.neumann()} }},
	{"RSVRB", func(t Tuning) Method { return RSVRB{Alpha: t.Alpha, Beta: t.Beta, MuG: t.MuG} }},
	{"BiAdam", func(t Tuning) Method { return BiAdam{Alpha: t.Alpha, Beta: t.Beta, Neumann: t.neumann()} }},
	{"VR-BiAdam", func(t Tuning) Method { return VRBiAdam{Alpha: t.Alpha, Beta: t.Beta, Neumann: t.neumann()} }},
	{"SOBA", func(t Tuning) Method { return SOBA{Alpha: t.Alpha, Beta: t.Beta} }},
	{"SABA", func(t Tuning) Method { return SABA{Alpha: t.Alpha, Beta: t.Beta} }},
}

func (t Tuning) stable(u Upper) Method {
	return STABLE{Alpha: t.Alpha, Upper: u, Beta: t.Beta, MuG: t.MuG}
}

func (t Tuning) neumann() Neumann { return Neumann{MuG: t.MuG, LG: t.LG, Terms: t.Terms} }

// Methods returns the names of all methods, as Method.Name gives them.
func Methods() []string {
	names := make([]string, len(registry))
	for i, r := range registry {
		names[i] = r.name
	}
	return names
}

// Lookup returns the method of that name, in upper or lower case, with every parameter at its
// default: New refuses it until those that are required are set. An unknown name gives an error
// that wraps ErrOption and lists those that exist.
func Lookup(name string) (Method, error) { return Tune(name, Tuning{}) }

// Tune is Lookup with the parameters in t set.
func Tune(name string, t Tuning) (Method, error) {
	for _, r := range registry {
		if strings.EqualFold(r.name, name) {
			return r.make(t), nil
		}
	}
	names := Methods()
	slices.Sort(names)
	return nil, option.Bad("no method is called %q; there are %s", name, strings.Join(names, ", "))
}
