/** Length of the escape that begins at a backslash; 0 when there is no such escape. */
export function escapeLength(text: string, at: number): number {
  switch (text[at + 1]) {
    case "\\":
    case '"':
    case "n":
    case "r":
    case "t":
    case "{":
    case "}":
      return 2
    case "u": {
      const close = text.indexOf("}", at)
      if (text[at + 2] !== "{" || close < 0 || close > at + 9) return 0
      const hex = text.slice(at + 3, close)
      if (!/^[0-9A-Fa-f]{1,6}$/.test(hex)) return 0
      const point = Number.parseInt(hex, 16)
      return point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff) ? 0 : close + 1 - at
    }
    default:
      return 0
  }
}

/** Resolves the escapes of one stretch of a string. An unknown escape (already reported) stays as it is written. */
export function unescape(raw: string): string {
  let at = raw.indexOf("\\")
  if (at < 0) return raw
  let value = ""
  let from = 0
  while (at >= 0 && at < raw.length) {
    const length = escapeLength(raw, at)
    if (length > 0) {
      value += raw.slice(from, at) + escapeValue(raw, at, length)
      from = at + length
    }
    at = raw.indexOf("\\", length > 0 ? at + length : at + 1)
  }
  return value + raw.slice(from)
}

function escapeValue(raw: string, at: number, length: number): string {
  switch (raw[at + 1]) {
    case "n":
      return "\n"
    case "r":
      return "\r"
    case "t":
      return "\t"
    case "u":
      return String.fromCodePoint(Number.parseInt(raw.slice(at + 3, at + length - 1), 16))
    default:
      return raw[at + 1] ?? ""
  }
}

/**
 * The value of a block string. `raws` are the stretches of raw text around its interpolations: the line break after
 * the opening quotes and the one before the closing quotes (with the blanks after it) go, then the indentation that all
 * lines share; blank lines do not count for it. A first line that follows the quotes directly has no indentation.
 */
export function blockTexts(raws: readonly string[]): string[] {
  return dedentBlock(raws).map(unescape)
}

/** The same before escapes are resolved: what a formatter indents anew. */
export function dedentBlock(raws: readonly string[]): string[] {
  const pieces = raws.map((raw) => raw.replace(/\r\n?/g, "\n"))
  const last = pieces.length - 1
  let startsLine = false
  pieces[0] = (pieces[0] ?? "").replace(/^[ \t]*\n/, () => {
    startsLine = true
    return ""
  })
  // With nothing but one line break between the quotes, it is both the first and the last.
  if (last === 0 && startsLine && /^[ \t]*$/.test(pieces[0])) pieces[0] = ""
  else pieces[last] = (pieces[last] ?? "").replace(/\n[ \t]*$/, "")

  const indentation = commonIndentation(pieces, startsLine)
  if (indentation === "") return pieces
  return pieces.map((piece, index) => {
    const lines = piece.split("\n")
    return lines
      .map((line, number) =>
        number === 0 && !(index === 0 && startsLine) ? line : withoutIndentation(line, indentation),
      )
      .join("\n")
  })
}

function commonIndentation(pieces: readonly string[], startsLine: boolean): string {
  let common: string | undefined
  for (const [index, piece] of pieces.entries()) {
    const lines = piece.split("\n")
    for (const [number, line] of lines.entries()) {
      if (number === 0 && !(index === 0 && startsLine)) continue
      // A line that an interpolation follows is not blank, however little stands before it.
      const followed = number === lines.length - 1 && index < pieces.length - 1
      const blanks = /^[ \t]*/.exec(line)?.[0] ?? ""
      if (blanks.length === line.length && !followed) continue
      common = common === undefined ? blanks : commonPrefix(common, blanks)
    }
  }
  return common ?? ""
}

function commonPrefix(a: string, b: string): string {
  let length = 0
  while (length < a.length && length < b.length && a[length] === b[length]) length++
  return a.slice(0, length)
}

function withoutIndentation(line: string, indentation: string): string {
  return line.slice(commonPrefix(line, indentation).length)
}
