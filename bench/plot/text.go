package plot

import (
	"strings"
	"unicode"
)

// span is a piece of text on the base line (level 0), raised (1) or lowered (-1).
type span struct {
	text  string
	level int
}

// small is the size of raised and lowered text relative to the base text.
const small = 0.72

// spans splits marked-up text: ^{…} is raised, _{…} lowered; anything else stands for itself.
func spans(s string) []span {
	var out []span
	plain := 0
	for i := 0; i+1 < len(s); i++ {
		level := 0
		switch s[i : i+2] {
		case "^{":
			level = 1
		case "_{":
			level = -1
		default:
			continue
		}
		n := strings.IndexByte(s[i+2:], '}')
		if n < 0 {
			break
		}
		if i > plain {
			out = append(out, span{s[plain:i], 0})
		}
		out = append(out, span{s[i+2 : i+2+n], level})
		plain = i + 2 + n + 1
		i = plain - 1
	}
	if plain < len(s) {
		out = append(out, span{s[plain:], 0})
	}
	return out
}

// advance holds the widths of the characters from space to tilde in thousandths of the font size:
// the 'hmtx' table of DejaVu Sans. It is the widest of the usual sans-serif fonts, so a layout made
// for it holds for Helvetica and Arial.
var advance = [95]uint16{
	318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, // space to /
	636, 636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, // 0 to ?
	1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787, // @ to O
	603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, // P to _
	500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, // ` to o
	635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838, // p to ~
}

// textWidth is the width of marked-up text set in the given size, a little too large for most fonts.
func textWidth(s string, size float64) float64 {
	w := 0.0
	for _, sp := range spans(s) {
		scale := size
		if sp.level != 0 {
			scale *= small
		}
		for _, r := range sp.text {
			switch {
			case r >= ' ' && r <= '~':
				w += scale * float64(advance[r-' ']) / 1000
			case unicode.Is(unicode.Mn, r): // combining marks
			case r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana):
				w += scale
			default:
				w += scale * 0.75
			}
		}
	}
	return w
}

// widest is the largest width of the lines.
func widest(lines []string, size float64) float64 {
	w := 0.0
	for _, l := range lines {
		w = max(w, textWidth(l, size))
	}
	return w
}

// wrap breaks text at spaces outside of braces into lines of at most width, and words that are longer anywhere.
// Empty text has no lines.
func wrap(s string, width, size float64) []string {
	var lines []string
	line := ""
	for _, word := range words(s) {
		if line != "" && textWidth(line+" "+word, size) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		line = word
		for textWidth(line, size) > width && !strings.Contains(line, "{") {
			head, tail := split(line, width, size)
			if tail == "" {
				break
			}
			lines = append(lines, head)
			line = tail
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// words splits at spaces; a space between braces does not count.
func words(s string) []string {
	open := false
	return strings.FieldsFunc(s, func(r rune) bool {
		switch r {
		case '{':
			open = true
		case '}':
			open = false
		}
		return unicode.IsSpace(r) && !open
	})
}

// split cuts a word after the last mark in it, or else the last character, that fits into width, at
// least after the first character.
func split(word string, width, size float64) (head, tail string) {
	w := 0.0
	for i, r := range word {
		w += textWidth(string(r), size)
		if i > 0 && w > width {
			if mark := strings.LastIndexAny(word[:i], "._-/"); mark > 0 {
				i = mark + 1
			}
			return word[:i], word[i:]
		}
	}
	return word, ""
}
