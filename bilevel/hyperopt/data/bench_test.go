package data

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkReadLIBSVM reads text of the shape of covtype: twelve six-digit values a row.
func BenchmarkReadLIBSVM(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	var text bytes.Buffer
	for range 20_000 {
		fmt.Fprintf(&text, "%d", 1+rng.IntN(2))
		for j := range 12 {
			fmt.Fprintf(&text, " %d:%.6g", 4*j+1, rng.Float64())
		}
		text.WriteString(" \n")
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadLIBSVM(bytes.NewReader(text.Bytes()), "bench", ReadOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
