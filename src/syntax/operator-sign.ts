import type { TokenKind } from "./token.ts"

const BANG = 33
const AMPERSAND = 38
const MINUS = 45
const LESS = 60
const EQUALS = 61
const GREATER = 62
const BAR = 124

/** The operator at a place; undefined for what only other languages have: `=`, `===`, `!==`, `<>`, `<!--`, `&`. */
export function operatorAt(text: string, at: number, unit: number): TokenKind | undefined {
  const next = text.charCodeAt(at + 1)
  const third = text.charCodeAt(at + 2)
  switch (unit) {
    case EQUALS:
      return next === EQUALS && third !== EQUALS ? "==" : undefined
    case BANG:
      if (next !== EQUALS) return "!"
      return third === EQUALS ? undefined : "!="
    case LESS:
      if (next === EQUALS) return third === GREATER ? undefined : "<="
      return next === LESS || next === GREATER || (next === BANG && third === MINUS) ? undefined : "<"
    case GREATER:
      if (next === EQUALS) return ">="
      return next === GREATER ? undefined : ">"
    case AMPERSAND:
      return next === AMPERSAND ? "&&" : undefined
    default:
      return next === BAR ? "||" : "|"
  }
}
