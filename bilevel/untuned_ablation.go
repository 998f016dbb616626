package bilevel

// Ablation is a set of pieces of Untuned, joined by |.
type Ablation uint

// The pieces. Tables are left out by TableBytes.
const (
	AblateUpper     Ablation = 1 << iota // f_x and f_y are those of the newest batch: τ = 1
	AblateLower                          // so is g_y
	AblateBends                          // so are g_xy and g_yy
	AblateGain                           // τ = 1/N for N samples, in place of the measured one
	AblateScatter                        // ω = 1: all change counts as noise
	AblateWorth                          // c = 1: a table is worth all of itself
	AblateFloor                          // H_yy is raised to μ_g, in place of a floor of its noise
	AblateCurvature                      // x moves by the gradient alone
	AblateDrift                          // y is not corrected by the drift
	AblateBlind                          // entries of x that g does not know move by the gradient alone
	AblateClip                           // innovations count in full, however long
	AblatePasses                         // terms are drawn uniformly, in place of in passes
	AblateCarry                          // tables stay as they were at their terms' last visits
	AblateHeld                           // they follow all that an estimate is corrected by
	AblateRecall                         // no past sample is asked again
	ablations       = 1<<iota - 1
)
