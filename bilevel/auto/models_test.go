package auto_test

import (
	"math"
	"math/rand/v2"

	"stable/bilevel"
	"stable/bilevel/auto"
)

// recurrent is a network of tanh units on sequences: a loop whose length the data decides.
func recurrent(rng *rand.Rand) (*auto.Problem, error) {
	var sequences [][]float64
	for i := range 10 {
		s := make([]float64, 1+i%4)
		for j := range s {
			s[j] = rng.NormFloat64()
		}
		sequences = append(sequences, s)
	}
	start := make([]float64, 3)
	fit := func(y auto.Vec, s []float64) auto.Num {
		h, sum := auto.Data(start), 0.0
		for _, v := range s {
			h = y.Slice(0, 9).Mat(3, 3).MulVec(h).Add(y.Slice(9, 12).Scale(v)).Tanh()
			sum += v
		}
		return h.Dot(y.Slice(12, 15)).Shift(-math.Tanh(sum)).Square()
	}
	return auto.New(auto.Losses{Dx: 15, Dy: 15, Upper: 10, Lower: 10,
		F: func(x, y auto.Vec, i bilevel.Sample) auto.Num { return fit(y, sequences[i]) },
		G: func(x, y auto.Vec, i bilevel.Sample) auto.Num {
			return fit(y, sequences[i]).Add(y.Sub(x).SquaredNorm().Scale(4))
		},
	})
}

// robust is Huber's loss with the width exp(x_0): a branch that the point decides.
func robust(rng *rand.Rand) (*auto.Problem, error) {
	a, b := rowsOf(rng, 20, 3, 12)
	huber := func(v float64) (value, first, second float64) {
		if math.Abs(v) < 1 {
			return v * v / 2, v, 1
		}
		return math.Abs(v) - 0.5, math.Copysign(1, v), 0
	}
	return auto.New(auto.Losses{Dx: 2, Dy: 3, Upper: 20, Lower: 20,
		F: func(x, y auto.Vec, i bilevel.Sample) auto.Num {
			return auto.Data(a[i]).Mul(y).Shift(-b[i]).Apply(huber).Sum()
		},
		G: func(x, y auto.Vec, i bilevel.Sample) auto.Num {
			width, miss := x.At(0).Exp(), y.Dot(auto.Data(a[i])).Shift(-b[i])
			loss := miss.Square().Scale(0.5)
			if v := miss.Value(); math.Abs(v) > width.Value() {
				loss = width.Mul(miss.Scale(math.Copysign(1, v)).Sub(width.Scale(0.5)))
			}
			return loss.Add(x.At(1).Exp().Mul(y.SquaredNorm()))
		},
		Modulus: func(x []float64) float64 { return 2 * math.Exp(x[1]) },
	})
}
