//go:build goexperiment.simd && go1.27 && !go1.28 && !purego && amd64

package kernel

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// No SSE write, call or return stands where upper halves of vector registers may be in use.
func TestUpperHalvesAreClean(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	out, err := exec.Command("go", "build", "-gcflags=-S", "stable/mat/kernel", "stable/chol", "stable/eig").CombinedOutput()
	require.NoError(t, err, string(out))
	all := listing(string(out))
	called, byVectors, inner := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, f := range all {
		for _, c := range f.code {
			if c.op == "CALL" {
				called[c.callee()] = true
				byVectors[c.callee()] = byVectors[c.callee()] || f.vectors
			}
		}
	}
	found := 0
	for _, f := range all {
		inner[f.name] = byVectors[f.name] && f.vectors && !f.clears
	}
	for _, f := range all {
		if !f.vectors || !called[f.name] {
			continue // the compiler has put it into its callers
		}
		found++
		if strings.Contains(f.name, ".tile") || strings.Contains(f.name, ".pick") {
			// A vector on the stack may cross two cache lines.
			require.LessOrEqual(t, f.onStack(), 2, "vectors on the stack of %s", f.name)
		}
		if bad := f.dirty(inner); bad != "" {
			t.Errorf("%s: with the upper halves in use: %s", f.name, bad)
		}
	}
	require.Greater(t, found, 20, "functions with vectors of 256 or 512 bits")
}

type function struct {
	name    string
	code    []instruction
	at      map[string]int // index of the instruction at an address
	vectors bool
	clears  bool // somewhere, so that it must on every path
}

type instruction struct{ op, args, text string }

func (c *instruction) callee() string { return strings.TrimSuffix(c.args, "(SB)") }

var (
	begins  = regexp.MustCompile(`^(\S+) STEXT `)
	line    = regexp.MustCompile(`^\t0x[0-9a-f]+ 0*(\d+) \(([^)]*)\)\t(\S+)(?:\t(.*))?$`)
	long    = regexp.MustCompile(`\b[YZ][0-9]+`)
	lastReg = regexp.MustCompile(`(?:^|, )X[0-9]+$`)
)

// listing reads the functions from the output of go build -gcflags=-S.
func listing(out string) []*function {
	var all []*function
	var f *function
	for _, text := range strings.Split(out, "\n") {
		if m := begins.FindStringSubmatch(text); m != nil {
			f = &function{name: m[1], at: map[string]int{}}
			all = append(all, f)
		} else if m := line.FindStringSubmatch(text); m != nil && f != nil {
			if m[3] == "PCDATA" || m[3] == "FUNCDATA" || m[3] == "TEXT" {
				continue
			}
			if _, ok := f.at[m[1]]; !ok {
				f.at[m[1]] = len(f.code)
			}
			f.code = append(f.code, instruction{m[3], m[4], m[2] + ": " + m[3] + " " + m[4]})
			f.clears = f.clears || m[3] == "VZEROUPPER"
			f.vectors = f.vectors || m[3] == "VZEROUPPER" || long.MatchString(m[4])
		}
	}
	return all
}

func (f *function) onStack() (n int) {
	for _, c := range f.code {
		if long.MatchString(c.args) && strings.Contains(c.args, "(SP)") {
			n++
		}
	}
	return n
}

func (f *function) dirty(inner map[string]bool) string {
	type state struct {
		i     int
		dirty bool
	}
	seen := map[state]bool{}
	work := []state{{0, inner[f.name]}}
	for len(work) > 0 {
		s := work[len(work)-1]
		work = work[:len(work)-1]
		if s.i >= len(f.code) || seen[s] {
			continue
		}
		seen[s] = true
		c := f.code[s.i]
		fails := c.op == "CALL" && (strings.HasPrefix(c.args, "runtime.panic") || strings.HasPrefix(c.args, "runtime.morestack"))
		switch {
		case c.op == "VZEROUPPER":
			s.dirty = false
		case long.MatchString(c.args):
			s.dirty = true
		case !s.dirty || fails:
		case c.op == "RET" && !inner[f.name],
			c.op == "CALL" && !inner[c.callee()],
			!strings.HasPrefix(c.op, "V") && lastReg.MatchString(c.args):
			return c.text
		}
		if c.op == "CALL" && inner[c.callee()] {
			s.dirty = true
		}
		if c.op[0] == 'J' {
			if to, ok := f.at[c.args]; ok {
				work = append(work, state{to, s.dirty})
			}
		}
		if c.op != "RET" && c.op != "JMP" && !fails {
			work = append(work, state{s.i + 1, s.dirty})
		}
	}
	return ""
}

// most are the instructions a multiplication that the tiles' loops take at most. A tile of one
// vector loads five for four products, and 256 bits have 15 registers.
var most = map[string]map[string]float64{
	"amd64": {"tile1Vector": 2.6, "tile1AVX512": 2.8, "tile2AVX512": 2.5, "tile3AVX512": 2.4, "pick3AVX512": 3, "pick6AVX512": 3},
	"arm64": {"tile1Vector": 1.7, "dots4": 1.7},
}

var multiplies = regexp.MustCompile(`^(VFN?MADD\d+PD|VFMLA|FMADDD)$`)

// No slot of a tile's loop is idle: what the compiler leaves there is products and their loads.
func TestInstructionsPerMultiplication(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	for arch, limits := range most {
		cmd := exec.Command("go", "build", "-gcflags=-S", "stable/mat/kernel")
		cmd.Env = append(os.Environ(), "GOARCH="+arch)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		got := map[string]float64{}
		for _, f := range listing(string(out)) {
			got[f.name] = f.loop()
		}
		for name, n := range limits {
			require.Greater(t, got["stable/mat/kernel."+name], 1.0, name)
			require.LessOrEqual(t, got["stable/mat/kernel."+name], n, name)
		}
	}
}

// loop returns the instructions a multiplication of f's innermost loop with the most of these.
func (f *function) loop() (ratio float64) {
	products := 0
	for i, c := range f.code {
		from, ok := f.at[c.args]
		if _, err := strconv.Atoi(c.args); err != nil || !ok || from > i {
			continue
		}
		n, m, inner := 0, 0, false
		for k := from; k <= i; k++ {
			if to, ok := f.at[f.code[k].args]; k < i && ok && to > from && to <= k {
				inner = true
			}
			if f.code[k].op != "NOP" { // of no length
				n++
			}
			if multiplies.MatchString(f.code[k].op) {
				m++
			}
		}
		if !inner && m > products {
			products, ratio = m, float64(n)/float64(m)
		}
	}
	return ratio
}
