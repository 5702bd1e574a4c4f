package main

func genUnpack()    {}
func genLookup()    {}
func genSelection() {}
func genArith()     {}
func genSum()       {}
func genHash()      {}
func genFilter()    {}
