package method

import (
	"slices"
	"strings"
	"sync"

	"stable/bilevel"
	"stable/bilevel/compose"
	"stable/bilevel/option"
	"stable/bilevel/saa"
)

// Entry is a method in the registry.
type Entry struct {
	Name string // that of bilevel.Method

	// Base is the Name of the entry of which this is a variant, which races include on request.
	Base string

	// New returns the method, with defaults where t has no parameter.
	New func(t Tuning) bilevel.Method

	Needs Needs

	// Orders are a and b of α_k ~ (k+1)^(−a), β_k ~ (k+1)^(−b) in the theory for a nonconvex F.
	Orders [2]float64

	// Lengths says of Alpha and Beta which are lengths, as in Adam, and not factors of a gradient.
	Lengths [2]bool

	Untuned  bool       // it ignores Alpha and Beta
	Variants [2]Variant // to choose from, besides the step sizes; a second one without a Name is none
}

// Needs are parameters, and traits of problems, that a method cannot do without.
type Needs struct {
	Alpha, Beta bool
	MuG         bool // with a Neumann series where Terms is 0
	LG          bool
	FiniteSums  bool // of both streams
	MetricSet   bool // the set projects in a metric
	Bounds      bool // the set is a bilevel.BoundedSet
	Composition bool // the problem is a *compose.Problem

	UpperGradient bool // g_x
}

// Tuning holds parameters. A method ignores those it does not have.
type Tuning struct {
	Alpha, Beta bilevel.Schedule // step sizes of x and y
	MuG, LG     float64          // g(x, ·; φ) has curvature between μ_g and L_g
	CGxy        float64          // bound on ‖H_xy‖_F
	Terms       int              // N of the Neumann series
	Tau         bilevel.Schedule // weight of the new sample in H
	Gamma       bilevel.Schedule // step size of v
	Lambda      bilevel.Schedule // weight of g over f, in F2SA
	Nu          float64          // weight of f over g, in F2SA-p
}

// Variant is a setting of Tuning with a name.
type Variant struct {
	Name string
	Set  func(t *Tuning)
}

var mu sync.RWMutex // guards registry

var registry = []Entry{
	{Name: "STABLE", Needs: Needs{MuG: true}, Orders: [2]float64{0.5, 0.5}, Variants: stableTau,
		New: func(t Tuning) bilevel.Method {
			return bilevel.STABLE{Alpha: t.Alpha, Beta: t.Beta, Tau: t.Tau, MuG: t.MuG, CGxy: t.CGxy}
		}},
	{Name: "SAA-Newton", Untuned: true, Variants: noVariants,
		New: func(t Tuning) bilevel.Method { return saa.Newton{} }},
	{Name: "BSA", Needs: needsSeries, Orders: [2]float64{0.5, 1}, Variants: lengthOfSeries,
		New: func(t Tuning) bilevel.Method { return BSA{Alpha: t.Alpha, Beta: t.Beta, Neumann: t.neumann()} }},
	{Name: "TTSA", Needs: needsSeries, Orders: [2]float64{0.6, 0.4}, Variants: lengthOfSeries,
		New: func(t Tuning) bilevel.Method { return TTSA{Alpha: t.Alpha, Beta: t.Beta, Neumann: t.neumann()} }},
	{Name: "stocBiO", Needs: needsSeries, Orders: [2]float64{0, 0}, Variants: lengthOfSeries,
		New: func(t Tuning) bilevel.Method { return StocBiO{Alpha: t.Alpha, Beta: t.Beta, Neumann: t.neumann()} }},
	{Name: "ALSET", Needs: needsSeries, Orders: [2]float64{0.5, 0.5}, Variants: lengthOfSeries,
		New: func(t Tuning) bilevel.Method { return ALSET{Alpha: t.Alpha, Beta: t.Beta, Neumann: t.neumann()} }},
	{Name: "SUSTAIN", Needs: needsSeries, Orders: [2]float64{1. / 3, 1. / 3}, Variants: lengthOfSeries,
		New: func(t Tuning) bilevel.Method { return SUSTAIN{Alpha: t.Alpha, Beta: t.Beta, Neumann: t.neumann()} }},
	{Name: "MSTSA", Needs: needsSeries, Orders: [2]float64{1. / 3, 1. / 3}, Variants: lengthOfSeries,
		New: func(t Tuning) bilevel.Method { return MSTSA{Alpha: t.Alpha, Beta: t.Beta, Neumann: t.neumann()} }},
	{Name: "MRBO", Needs: needsSeries, Orders: [2]float64{1. / 3, 1. / 3}, Variants: lengthOfSeries,
		New: func(t Tuning) bilevel.Method { return MRBO{Alpha: t.Alpha, Beta: t.Beta, Neumann: t.neumann()} }},
	{Name: "VRBO", Needs: needsSeries, Orders: [2]float64{0, 0}, Variants: lengthOfSeries,
		New: func(t Tuning) bilevel.Method { return VRBO{Alpha: t.Alpha, Beta: t.Beta, Neumann: t.neumann()} }},
	{Name: "RSVRB", Needs: Needs{Alpha: true, Beta: true, MuG: true}, Orders: [2]float64{1. / 3, 1. / 3},
		Variants: [2]Variant{{Name: "τ = (k+1)^(−2/3)", Set: func(*Tuning) {}}, tauTenth},
		New: func(t Tuning) bilevel.Method {
			return RSVRB{Alpha: t.Alpha, Beta: t.Beta, Tau: t.Tau, MuG: t.MuG, CGxy: t.CGxy}
		}},
	{Name: "BiAdam", Needs: needsMetric, Orders: [2]float64{0.5, 0.5}, Lengths: [2]bool{true, true},
		Variants: lengthOfSeries,
		New:      func(t Tuning) bilevel.Method { return BiAdam{Alpha: t.Alpha, Beta: t.Beta, Neumann: t.neumann()} }},
	{Name: "VR-BiAdam", Needs: needsMetric, Orders: [2]float64{1. / 3, 1. / 3}, Lengths: [2]bool{true, true},
		Variants: lengthOfSeries,
		New:      func(t Tuning) bilevel.Method { return VRBiAdam{Alpha: t.Alpha, Beta: t.Beta, Neumann: t.neumann()} }},
	{Name: "SOBA", Needs: needsSteps, Orders: [2]float64{0.5, 0.5}, Variants: stepOfSystem,
		New: func(t Tuning) bilevel.Method { return SOBA{Alpha: t.Alpha, Beta: t.Beta, Gamma: t.Gamma} }},
	{Name: "SABA", Needs: Needs{Alpha: true, Beta: true, FiniteSums: true}, Orders: [2]float64{0.5, 0.5},
		Variants: stepOfSystem,
		New:      func(t Tuning) bilevel.Method { return SABA{Alpha: t.Alpha, Beta: t.Beta, Gamma: t.Gamma} }},
	{Name: "MA-SOBA", Needs: needsSteps, Orders: [2]float64{0.5, 0.5}, Variants: stepOfSystem,
		New: func(t Tuning) bilevel.Method { return MASOBA{Alpha: t.Alpha, Beta: t.Beta, Gamma: t.Gamma} }},
	{Name: "SRBA", Needs: needsSteps, Orders: [2]float64{0, 0}, Variants: stepOfSystem,
		New: func(t Tuning) bilevel.Method { return SRBA{Alpha: t.Alpha, Beta: t.Beta, Gamma: t.Gamma} }},
	{Name: "SPABA", Needs: needsSteps, Orders: [2]float64{0, 0}, Variants: stepOfSystem,
		New: func(t Tuning) bilevel.Method { return SPABA{Alpha: t.Alpha, Beta: t.Beta, Gamma: t.Gamma} }},
	{Name: "FSLA", Needs: needsSteps, Orders: [2]float64{0.5, 0.5}, Variants: stepOfSystem,
		New: func(t Tuning) bilevel.Method { return FSLA{Alpha: t.Alpha, Beta: t.Beta, Gamma: t.Gamma} }},
	{Name: "AmIGO", Needs: needsSteps, Orders: [2]float64{0, 0}, Variants: stepOfSystem,
		New: func(t Tuning) bilevel.Method { return AmIGO{Alpha: t.Alpha, Beta: t.Beta, Gamma: t.Gamma} }},
	{Name: "F2SA", Needs: needsGX, Orders: [2]float64{5. / 7, 4. / 7}, Variants: penalties,
		New: func(t Tuning) bilevel.Method { return F2SA{Alpha: t.Alpha, Beta: t.Beta, Lambda: t.Lambda} }},
	{Name: "F2SA-p", Needs: needsGX, Orders: [2]float64{0.5, 0.5}, Variants: differences,
		New: func(t Tuning) bilevel.Method { return F2SAp{Alpha: t.Alpha, Beta: t.Beta, Nu: t.Nu} }},
	{Name: "BOME", Needs: needsGX, Orders: [2]float64{0, 0}, Variants: stepOfSystem,
		New: func(t Tuning) bilevel.Method { return BOME{Alpha: t.Alpha, Beta: t.Beta, Gamma: t.Gamma} }},
	{Name: "S-TFBO", Untuned: true, Variants: noVariants,
		New: func(t Tuning) bilevel.Method { return STFBO{} }},
	{Name: "HOAG", Untuned: true, Needs: Needs{FiniteSums: true, Bounds: true}, Variants: noVariants,
		New: func(t Tuning) bilevel.Method { return HOAG{} }},
	{Name: "STABLE-CG", Needs: needsSteps, Orders: [2]float64{0.5, 0.5}, Variants: stableTau,
		New: func(t Tuning) bilevel.Method { return STABLECG{Alpha: t.Alpha, Beta: t.Beta, Tau: t.Tau, CGxy: t.CGxy} }},
	{Name: "SCGD", Needs: Needs{Alpha: true, Beta: true, Composition: true}, Orders: [2]float64{0.75, 0.5},
		Variants: noVariants,
		New:      func(t Tuning) bilevel.Method { return compose.SCGD{Alpha: t.Alpha, Beta: t.Beta} }},
	{Name: "SCSC", Needs: Needs{Alpha: true, Beta: true, Composition: true}, Orders: [2]float64{0.5, 0.5},
		Variants: noVariants,
		New:      func(t Tuning) bilevel.Method { return compose.SCSC{Alpha: t.Alpha, Beta: t.Beta} }},
}

var (
	needsSeries = Needs{Alpha: true, Beta: true, MuG: true, LG: true}
	needsSteps  = Needs{Alpha: true, Beta: true}
	needsGX     = Needs{Alpha: true, Beta: true, UpperGradient: true}
	needsMetric = Needs{Alpha: true, Beta: true, MuG: true, LG: true, MetricSet: true}

	lengthOfSeries = [2]Variant{
		{Name: "N = 10", Set: func(t *Tuning) { t.Terms = 10 }},
		{Name: "N = 40", Set: func(t *Tuning) { t.Terms = 40 }},
	}
	stepOfSystem = [2]Variant{
		{Name: "γ = β", Set: func(*Tuning) {}},
		{Name: "γ = β/5", Set: func(t *Tuning) { t.Gamma = fifth(t.Beta) }},
	}
	penalties = [2]Variant{
		{Name: "λ₀ = 10", Set: func(*Tuning) {}},
		{Name: "λ₀ = 100", Set: func(t *Tuning) { t.Lambda = bilevel.Power{C: 100, P: -1. / 7} }},
	}
	differences = [2]Variant{
		{Name: "ν = 0.1", Set: func(*Tuning) {}},
		{Name: "ν = 0.01", Set: func(t *Tuning) { t.Nu = 0.01 }},
	}
	tauTenth  = Variant{Name: "τ = 0.1", Set: func(t *Tuning) { t.Tau = bilevel.Constant(0.1) }}
	stableTau = [2]Variant{
		{Name: "τ = 1/√(k+1)", Set: func(t *Tuning) { t.Tau = bilevel.Power{C: 1, P: 0.5} }},
		tauTenth,
	}
	noVariants = [2]Variant{{Name: "", Set: func(*Tuning) {}}, {Name: "", Set: func(*Tuning) {}}}
)

func fifth(s bilevel.Schedule) bilevel.Schedule {
	switch s := s.(type) {
	case bilevel.Constant:
		return s / 5
	case bilevel.Power:
		s.C /= 5
		return s
	}
	return scaled{s}
}

type scaled struct{ bilevel.Schedule }

func (s scaled) At(k int) float64 { return s.Schedule.At(k) / 5 }

func (t Tuning) neumann() Neumann { return Neumann{MuG: t.MuG, LG: t.LG, Terms: t.Terms} }

// Registry returns the entries of all methods. SAA-Newton, Newton's on samples, is not the paper's.
func Registry() []Entry {
	mu.RLock()
	defer mu.RUnlock()
	return slices.Clone(registry)
}

// Names returns the names of all methods.
func Names() (names []string) {
	for _, e := range Registry() {
		names = append(names, e.Name)
	}
	return names
}

// Register adds a method of your own to this program's registry, from which the commands of
// stable/bench/race take it. e needs Name and New; a race that chooses Alpha and Beta also wants
// Needs. Variants without Set change nothing. Errors wrap bilevel.ErrOption: a missing field, New of
// another name, a name that is taken (in upper or lower case), an unknown Base.
func Register(e Entry) error {
	if e.Name == "" || e.New == nil {
		return option.Bad("an Entry needs a Name and New")
	}
	if m := e.New(Tuning{}); m == nil || m.Name() != e.Name {
		return option.Bad("New of %s returns a method of another name, or none", e.Name)
	}
	for i := range e.Variants {
		if e.Variants[i].Set == nil {
			e.Variants[i].Set = func(*Tuning) {}
		}
	}
	if _, err := Lookup(e.Base); e.Base != "" && err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	for _, other := range registry {
		if strings.EqualFold(other.Name, e.Name) {
			return option.Bad("there is a method called %s already", other.Name)
		}
	}
	registry = append(registry, e)
	return nil
}

// Lookup returns the entry of that name, in upper or lower case. Its error wraps bilevel.ErrOption and lists the names.
func Lookup(name string) (Entry, error) {
	for _, e := range Registry() {
		if strings.EqualFold(e.Name, name) {
			return e, nil
		}
	}
	names := slices.Sorted(slices.Values(Names()))
	return Entry{}, option.Bad("no method is called %q; there are %s", name, strings.Join(names, ", "))
}
