//go:build goexperiment.simd && go1.27 && !go1.28 && !purego && amd64

package kernel

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// most are the instructions a multiplication that the tiles' loops take at most. A tile of one
// vector loads five for four products, and 256 bits have 15 registers.
var most = map[string]map[string]float64{
	"amd64": {"tile1Vector": 2.6, "tile1AVX512": 2.8, "tile2AVX512": 2.5, "tile3AVX512": 2.4, "subtract3AVX512": 3.8},
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
