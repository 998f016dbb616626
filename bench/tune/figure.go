package tune

import (
	"fmt"
	"path/filepath"
	"slices"

	"stable/bench/plot"
)

const mostNames = 40 // features that the figure shows

// figure draws the held-out loss of every result, and the weights of the lightest features: of the
// model, and where it has one for all, of the best of the others, too.
func (t *search) figure() *plot.Figure {
	left := plot.Panel{Title: fmt.Sprintf("Tuning on %s", filepath.Base(t.files[0].Path)),
		Y: plot.Axis{Label: "held-out loss", Log: true}, X: plot.Axis{Label: "weights, rung by rung"}}
	all := plot.Series{Name: "held-out loss ± standard error", Markers: true, Style: 1}
	shown := t.chosen()
	for i, r := range t.results {
		all.X, all.Y = append(all.X, float64(i+1)), append(all.Y, r.HeldOut)
		all.Lo, all.Hi = append(all.Lo, r.HeldOut-r.Error), append(all.Hi, r.HeldOut+r.Error)
		left.X.Names = append(left.X.Names, []string{"none", "one", fmt.Sprint(i)}[min(i, 2)])
		if i > 1 && t.choice.index < 2 && (shown == t.chosen() || r.HeldOut < shown.HeldOut) {
			shown = r
		}
	}
	out := plot.Series{Name: "handed out", Markers: true, Style: 2,
		X: []float64{float64(t.choice.index + 1)}, Y: []float64{t.chosen().HeldOut}}
	left.Series = []plot.Series{out, all}

	order := ascending(shown.weights[:len(t.used)])
	order = order[:min(len(order), mostNames)]
	slices.Reverse(order)
	right := plot.Panel{Title: "Weights", X: plot.Axis{Label: fmt.Sprintf("weight; %g: dropped", 2*t.Hi), Log: true}}
	weights := func(r *result) (x, y []float64) {
		for k, j := range order {
			x, y = append(x, min(r.weights[j], 2*t.Hi)), append(y, float64(k+1))
		}
		return x, y
	}
	out.X, out.Y = weights(t.chosen())
	right.Series = []plot.Series{out}
	if shown != t.chosen() {
		other := plot.Series{Name: "not handed out: " + shown.Name, Markers: true, Style: 1}
		other.X, other.Y = weights(shown)
		right.Series = append(right.Series, other)
	}
	for _, j := range order {
		right.Y.Names = append(right.Y.Names, t.featureName(t.used[j]))
	}
	return &plot.Figure{Panels: []plot.Panel{left, right}, Height: max(50, 3.2*float64(len(order)))}
}
