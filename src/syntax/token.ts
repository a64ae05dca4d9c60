import type { Span } from "../source/span.ts"

/**
 * Punctuation is its own kind. A string without interpolation is one `string`; one with interpolations is a `head`
 * (`"…{{`), `middle`s (`}}…{{`) and a `tail` (`}}…"`) with the tokens of the expressions between them.
 */
export type TokenKind =
  | "name"
  | "number"
  | "string"
  | "head"
  | "middle"
  | "tail"
  | "{"
  | "}"
  | "["
  | "]"
  | "("
  | ")"
  | ":"
  | ";"
  | ","
  | "."
  | "?."
  | "??"
  | "*"
  | "**"
  | "***"
  | "#"
  | "|"
  | "||"
  | "&&"
  | "=="
  | "!="
  | "<"
  | "<="
  | ">"
  | ">="
  | "!"
  | "+"
  | "-"
  | "%"
  | "/"
  /** Characters that begin nothing: `explainBad` says what is wrong. Only NULs and the like are reported already. */
  | "bad"
  | "end"

export interface Comment extends Span {
  /** `///` is `doc`; a comment between slash and star is `block`, already reported. */
  readonly style: "line" | "doc" | "block"
}

/** What lies between the previous token and this one is blanks and `comments`, so that the tokens are the whole text. */
export interface Token extends Span {
  readonly kind: TokenKind
  readonly comments: readonly Comment[]
  /** A line break lies somewhere between the previous token and this one. */
  readonly afterBreak: boolean
  /**
   * Made up (`tail`), cut short (`string`, `tail`, `end`) or without its `}}` (`middle`, `tail`) where something was never
   * closed: already reported.
   */
  readonly unclosed: boolean
}

/** Whether a `string` or `head` opens with three quotes. */
export function isBlockString(text: string, token: Span): boolean {
  return text.startsWith('"""', token.start)
}
