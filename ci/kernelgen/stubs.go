package main

func genArith()  {}
func genSum()    {}
func genHash()   {}
func genFilter() {}
