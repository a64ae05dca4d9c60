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
      const hex = /^\{([0-9A-Fa-f]{1,6})\}/.exec(text.slice(at + 2, at + 10))?.[1]
      if (hex === undefined) return 0
      const point = Number.parseInt(hex, 16)
      return point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff) ? 0 : hex.length + 4
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
  const pieces = raws.map((raw) => (raw.includes("\r") ? raw.replace(/\r\n?/g, "\n") : raw))
  const last = pieces.length - 1
  const first = pieces[0] ?? ""
  const text = blanksFrom(first, 0)
  const startsLine = text < first.length && first.charCodeAt(text) === LF
  if (startsLine) pieces[0] = first.slice(text + 1)
  pieces[last] = withoutLastLine(pieces[last] ?? "", startsLine && last === 0)

  const indentation = commonIndentation(pieces, startsLine)
  if (indentation === "") return pieces
  return pieces.map((piece, index) => withoutIndentation(piece, indentation, index === 0 && startsLine))
}

const TAB = 9
const LF = 10
const SPACE = 32

/** Where the blanks end that begin at `at`. */
function blanksFrom(text: string, at: number): number {
  while (at < text.length && isBlank(text.charCodeAt(at))) at++
  return at
}

function isBlank(unit: number): boolean {
  return unit === SPACE || unit === TAB
}

/** Drops the last line break if nothing but blanks follows it. It may be gone already: as the first one. */
function withoutLastLine(piece: string, firstIsGone: boolean): string {
  const lastBreak = piece.lastIndexOf("\n")
  if (lastBreak < 0 && !firstIsGone) return piece
  return blanksFrom(piece, lastBreak + 1) === piece.length ? piece.slice(0, Math.max(0, lastBreak)) : piece
}

function commonIndentation(pieces: readonly string[], startsLine: boolean): string {
  let common: string | undefined
  for (let index = 0; index < pieces.length; index++) {
    const piece = pieces[index] ?? ""
    let at = index === 0 && startsLine ? 0 : nextLine(piece, 0)
    for (; at >= 0; at = nextLine(piece, at)) {
      const text = blanksFrom(piece, at)
      // A line that an interpolation follows is not blank, however little stands before it.
      const isEmpty = text === piece.length ? index === pieces.length - 1 : piece.charCodeAt(text) === LF
      if (isEmpty) continue
      if (common === undefined) common = piece.slice(at, text)
      else if (!piece.startsWith(common, at)) common = common.slice(0, sharedLength(common, piece, at))
      if (common === "") return ""
    }
  }
  return common ?? ""
}

/** Where the line after this place begins; -1 on the last. */
function nextLine(piece: string, at: number): number {
  const lineBreak = piece.indexOf("\n", at)
  return lineBreak < 0 ? -1 : lineBreak + 1
}

/** How much of the indentation the line at `at` has. */
function sharedLength(indentation: string, piece: string, at: number): number {
  if (piece.startsWith(indentation, at)) return indentation.length
  let length = 0
  while (at + length < piece.length && indentation[length] === piece[at + length]) length++
  return length
}

/** Removes the indentation, or as much of it as is there, from every line that begins in this piece. */
function withoutIndentation(piece: string, indentation: string, startsLine: boolean): string {
  let at = startsLine ? 0 : nextLine(piece, 0)
  if (at < 0) return piece
  let result = piece.slice(0, at)
  while (at >= 0) {
    const next = nextLine(piece, at)
    result += piece.slice(at + sharedLength(indentation, piece, at), next < 0 ? piece.length : next)
    at = next
  }
  return result
}
