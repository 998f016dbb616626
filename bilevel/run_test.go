package bilevel

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every reason is its text in JSON, and comes back from it.
func TestReasonAsText(t *testing.T) {
	for r := Failed; r <= TimeLimit; r++ {
		b, err := json.Marshal(Result{Reason: r})
		require.NoError(t, err)
		assert.Contains(t, string(b), `"Reason":"`+r.String()+`"`)
		var back Result
		require.NoError(t, json.Unmarshal(b, &back))
		assert.Equal(t, r, back.Reason)
	}
	var r Reason
	assert.EqualError(t, r.UnmarshalText([]byte("tired")), `bilevel: "tired" is not the name of a Reason`)
}
