// Command kernelgen writes the assembly of package engine/vector/kernel and its Go declarations. It knows instructions
// and loop shapes only: which kernel runs when, and every remainder of rows, is the Go code's, and it must never need to
// know why a kernel is asked for.
//
// Each function does whole blocks of rows, counted by its caller, who proves that they lie within the slices. AVX2 means
// AVX2 with BMI1, BMI2 and POPCNT; AVX512 means F, BW, DQ, VL, VBMI and VBMI2 on top.
//
//	go run ./kernelgen -out asm_amd64.s -stubs asm_amd64.go -pkg kernel
package main

import (
	"flag"
	"os"

	. "github.com/mmcloughlin/avo/build"
)

func main() {
	flag.Parse()
	os.Args = os.Args[:1] // avo quotes them in what it writes, and where that goes must not change it
	genCompare()
	genUnpack()
	genLookup()
	genGather()
	genSelection()
	genArith()
	genSum()
	genGroup()
	genHash()
	genFilter()
	genSearch()
	Generate()
}
