package auto

// name is an operation as the caller knows it.
type name uint8

const (
	nameValue name = iota
	nameResult
	nameAdd
	nameSub
	nameMul
	nameDiv
	nameNeg
	nameScale
	nameShift
	nameInv
	nameSquare
	namePow
	nameSqrt
	nameExp
	nameLog
	nameTanh
	nameSigmoid
	nameSoftplus
	nameSin
	nameCos
	nameApply
	nameScaleBy
	nameSlice
	nameStack
	nameAt
	nameSum
	nameDot
	nameDotSparse
	nameSquaredNorm
	nameWeightedSquares
	nameLogSumExp
	nameMat
	nameMulVec
	nameMulVecTrans
	nameCut
)

var names = [...]string{
	nameValue: "Value", nameResult: "the result", nameAdd: "Add", nameSub: "Sub", nameMul: "Mul",
	nameDiv: "Div", nameNeg: "Neg", nameScale: "Scale", nameShift: "Shift", nameInv: "Inv",
	nameSquare: "Square", namePow: "Pow", nameSqrt: "Sqrt", nameExp: "Exp", nameLog: "Log",
	nameTanh: "Tanh", nameSigmoid: "Sigmoid", nameSoftplus: "Softplus", nameSin: "Sin",
	nameCos: "Cos", nameApply: "Apply", nameScaleBy: "ScaleBy", nameSlice: "Slice",
	nameStack: "Stack", nameAt: "At", nameSum: "Sum", nameDot: "Dot", nameDotSparse: "DotSparse",
	nameSquaredNorm: "SquaredNorm", nameWeightedSquares: "WeightedSquares",
	nameLogSumExp: "LogSumExp", nameMat: "Mat", nameMulVec: "MulVec",
	nameMulVecTrans: "MulVecTrans", nameCut: "a cut",
}

func (n name) String() string { return names[n] }

// functions are the functions of one number. Pow has a parameter, and Apply comes with its values.
var functions = [...]func(a float64) (v, p, q float64){
	nameDiv: invAll, nameInv: invAll, nameSquare: squareAll, nameSqrt: sqrtAll, nameExp: expAll,
	nameLog: logAll, nameTanh: tanhAll, nameSigmoid: sigmoidAll, nameSoftplus: softplusAll,
	nameSin: sinAll, nameCos: cosAll,
}

// constant is function for a number, or entry i of a vector, that is constant and must have a
// value.
func (n name) constant(at func(i int) string, i int, a, r float64) float64 {
	v, _, _ := n.function(a, r)
	if v-v != 0 {
		(*tape)(nil).badUnary(n, at(i), a, v, 0, 0)
	}
	return v
}

// function returns φ(a), φ′(a) and φ″(a) for the function n; r is the exponent of Pow.
func (n name) function(a, r float64) (v, p, q float64) {
	if n == namePow {
		return powAll(a, r)
	}
	return functions[n](a)
}
