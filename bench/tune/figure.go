package tune

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"stable/bench/plot"
)

const mostNames = 40 // features that the figure shows

// figure draws the held-out loss of every result, and the weights of the lightest features.
func (t *search) figure() *plot.Figure {
	left := plot.Panel{Title: fmt.Sprintf("Tuning on %s", filepath.Base(t.files[0].Path)),
		Y: plot.Axis{Label: "held-out loss", Log: true}, X: plot.Axis{Label: "weights, rung by rung"}}
	all := plot.Series{Name: "held-out loss ± standard error", Markers: true, Style: 1}
	for i, r := range t.results {
		all.X, all.Y = append(all.X, float64(i+1)), append(all.Y, r.HeldOut)
		all.Lo, all.Hi = append(all.Lo, r.HeldOut-r.Error), append(all.Hi, r.HeldOut+r.Error)
		name := strings.NewReplacer(rungName(0), "none", rungName(1), "one", "ladder, rung ", "", "a weight each, by ", "").Replace(r.Name)
		left.X.Names = append(left.X.Names, name)
	}
	out := plot.Series{Name: "handed out", Markers: true, Style: 2,
		X: []float64{float64(t.choice.index + 1)}, Y: []float64{t.chosen().HeldOut}}
	left.Series = []plot.Series{out, all}

	order := ascending(t.chosen().weights[:len(t.used)])
	order = order[:min(len(order), mostNames)]
	slices.Reverse(order)
	right := plot.Panel{Title: "Weights", X: plot.Axis{Label: fmt.Sprintf("weight; %g: dropped", 2*t.Hi), Log: true}}
	out.X, out.Y = nil, nil
	for k, j := range order {
		out.X, out.Y = append(out.X, min(t.chosen().weights[j], 2*t.Hi)), append(out.Y, float64(k+1))
	}
	right.Series = []plot.Series{out}
	for _, j := range order {
		right.Y.Names = append(right.Y.Names, t.featureName(t.used[j]))
	}
	return &plot.Figure{Panels: []plot.Panel{left, right}, Height: max(50, 3.2*float64(len(order)))}
}
