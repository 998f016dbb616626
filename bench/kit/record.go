package kit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// The errors of [ReadRecord] wrap ErrDamaged.
var ErrDamaged = errors.New("damaged record")

// WriteRecord writes v in one write as a line: the CRC-32 of its JSON in eight hexadecimal digits,
// a blank, the JSON.
func WriteRecord(w io.Writer, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(fmt.Appendf(nil, "%08x %s\n", crc32.ChecksumIEEE(body), body))
	return err
}

// ReadRecord reads one line into v and returns its length; io.EOF where no whole line is left (one
// without a newline is torn). A line that WriteRecord did not write gives an error that wraps
// ErrDamaged; other errors are r's.
func ReadRecord(r *bufio.Reader, v any) (n int, err error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return 0, err
	}
	sum, body, ok := bytes.Cut(line[:len(line)-1], []byte(" "))
	if !ok || string(sum) != fmt.Sprintf("%08x", crc32.ChecksumIEEE(body)) {
		return 0, fmt.Errorf("%w: its checksum is wrong", ErrDamaged)
	}
	if err := json.Unmarshal(body, v); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return len(line), nil
}
