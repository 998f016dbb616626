package auto

func Variables(p *Problem) int { return p.tape.variables }
