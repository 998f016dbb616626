package chol
import ("testing";"fmt";"stable/mat")
func BenchmarkLoadUpper(b *testing.B) {
	for _, n := range []int{14,64,128,256,512} {
	b.Run(fmt.Sprintf("n=%d",n), func(b *testing.B){
	a := mat.NewSym(n); for i := range n { a.Set(i,i,1)}
	var c Cholesky; c.reset(n)
	for b.Loop() { loadUpper(c.f.Data, c.f.Stride, a, 0) }
	})}
}
