package auto

// Variables returns the number of cut variables of the last record of p.
func Variables(p *Problem) int { return p.tape.variables }
