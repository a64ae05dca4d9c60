import { withoutTrailing } from "../base/without-trailing.ts"
import { write } from "../source/hint.ts"
import { environmentHint, missing } from "./chain-parser.ts"
import { endsBracket } from "./close-bracket.ts"
import { ifHint } from "./field-colon.ts"
import { textInQuotes } from "./foreign-text.ts"
import { startsOperation } from "./operator-parser.ts"
import type { Token } from "./token.ts"
import type { TokenReader } from "./token-reader.ts"
import type { Chain, Expression, Name, PropertyValue } from "./tree.ts"

// Values as other languages write them. Each is reported with what to write instead.

const roots: ReadonlySet<string> = new Set([
  "input",
  "agent",
  "ask",
  "wait",
  "dynamic",
  "run",
  "secrets",
  "output",
  "result",
])

/** `$KEY` and `${KEY}`: explained, and read over. `$input.name`: a value with a sign too many. */
export function refuseShellVariable(reader: TokenReader, first: Token): boolean {
  const next = reader.peek()
  if (reader.textOf(first) !== "$" || next.start !== first.end || (next.kind !== "name" && next.kind !== "{"))
    return false
  reader.take()
  if (roots.has(reader.textOf(next))) {
    const written = /^[\w.]*/.exec(reader.text.slice(next.start, next.start + 80))?.[0] ?? ""
    reader.report(first, "A value has no `$`", `Write \`${written}\`.`)
    reader.skipToNextItem()
    return true
  }
  reader.skipBalanced()
  reader.report(
    { start: first.start, end: reader.previous.end },
    "There are no variables of the environment",
    environmentHint,
  )
  return true
}

/** `{{ value }}`, and a text that begins so, without quotes: explained, and read over. */
export function refuseBraces(reader: TokenReader): boolean {
  const next = reader.peek()
  if (next.kind !== "{" || next.start !== reader.token.end) return false
  const { start } = reader.token
  reader.skipBalanced()
  const isText = reader.is("name") && !reader.token.afterBreak && !reader.atKey
  if (isText) reader.skipToNextItem()
  const span = { start, end: reader.previous.end }
  const written = withoutTrailing(reader.quote(span).replace(/^[{ ]+/, ""), "} ")
  if (isText) reader.report(span, textInQuotes)
  else reader.report(span, "`{{ }}` is for values in a text", `Write \`${written}\`.`)
  return true
}

/** `if a then b else c`: explained, and read over. */
export function refuseIf(reader: TokenReader): Expression {
  reader.report(reader.token, "There is no `if`", ifHint)
  do reader.skipToNextItem()
  while (reader.isWord("else"))
  return missing(reader)
}

/** `switch a { case 1: … }`: explained, and read over. */
export function refuseSwitch(reader: TokenReader): Expression {
  const { token } = reader
  const [written] = /^[\w.]+/.exec(reader.text.slice(reader.peek().start, reader.peek().start + 80)) ?? ["value"]
  reader.report(token, "There is no `switch`", `Write \`match ${written} { … }\`.`)
  while (!reader.is("{") && !reader.is("end") && !reader.token.afterBreak) reader.skipBalanced()
  reader.skipToNextItem()
  return missing(reader)
}

/** `function(a) {` and `(a) =>`, which no value of this language begins with. */
export function isForeignFunction({ text, token }: TokenReader): boolean {
  return /^(?:function ?\([\w, ]{0,80}\) ?\{|\([\w, ]{0,80}\) ?=>)/.test(text.slice(token.start, token.start + 100))
}

/** `function(a) { return a }` and `(a) => a` as values: explained, and read over. */
export function refuseFunction(reader: TokenReader): Expression {
  const { start } = reader.token
  const isOver = (): boolean => reader.is(",") || reader.is(")") || reader.is("]") || endsBracket(reader.token)
  do reader.skipBalanced()
  while (!isOver() && !reader.token.afterBreak)
  const hint = "Write `function name(a: number) = …` beside the other declarations, and call it."
  reader.report({ start, end: reader.previous.end }, "Functions are not values", hint)
  return missing(reader)
}

const constants: ReadonlySet<string> = new Set(["true", "false", "null"])
const startsFollowing: ReadonlySet<string> = new Set(["string", "head", "number", "[", "{", "(", "!"])

/** `case => value`, `case "value"`: reported, and read as a colon. */
export function missingColon(reader: TokenReader, name: Name): Token | undefined {
  const hint = `Write \`${reader.show(name)}: value\`.`
  const { kind, afterBreak } = reader.token
  // `true "a"`: bare, these are values, and no cases with fields.
  if (!name.quoted && constants.has(name.text) && (startsFollowing.has(kind) || kind === "name") && !afterBreak) {
    // The other branches lack it, too: one mistake.
    if (!reader.mistakes.note("a branch without its colon")) reader.passOver()
    else reader.expected(`\`:\` after \`${name.text}\``, `Write \`${name.text}: …\`.`)
    return reader.previous
  }
  const [next, isLast] = [reader.peek().kind, reader.peek().afterBreak]
  const isText = kind === "head" || (kind === "string" && (isLast || next === "}" || next === ",")) || kind === "number"
  if (!reader.isCareful || !isText || afterBreak) return foreignArrow(reader, hint)
  if (!reader.mistakes.note("a branch without its colon")) reader.passOver()
  else reader.expected(`\`:\` after \`${reader.show(name)}\``, hint)
  return reader.previous
}

/** `case.path == 1`: the short form is a path and a default. */
export function refuseOperator(reader: TokenReader, name: Name): void {
  if (!startsOperation(reader)) return
  const hint = `Write \`${reader.show(name)}: …\` with the whole expression.`
  reader.report(reader.token, "Only `??` may follow `case.path`", hint)
  reader.skipToNextItem()
}

/** `case => value` and `case -> value` as other languages have them: the arrow is taken for a colon. */
export function foreignArrow(reader: TokenReader, hint: string): Token | undefined {
  const { token } = reader
  const next = reader.peek()
  const isThin = token.kind === "-" && next.kind === ">"
  if (!isThin && (token.kind !== "bad" || token.afterBreak)) return undefined
  if (!isThin && !reader.textOf(token).startsWith("=")) reader.expected("a value", undefined, "value")
  else {
    const span = { start: token.start, end: isThin ? next.end : token.end }
    if (!reader.mistakes.note(`a branch with ${reader.textOf(span)}`)) reader.passOver()
    else {
      const colon = write(":", { start: reader.previous.end, end: span.end }, hint)
      reader.report(span, `A branch has no \`${reader.textOf(span)}\``, colon)
    }
  }
  reader.take()
  if (isThin) reader.take()
  return token
}

/** Whether the block that follows is that of a call; the block of an agent may follow the list of its loop. */
export function startsInvokeBlock(reader: TokenReader): boolean {
  const [name, next] = [reader.peek(), reader.peek(2).kind]
  const words = ["input", "bindings", "max_calls", "approval", "on_failure", "concurrency"]
  const isKnown = words.some((word) => reader.isWord(word, name))
  return isKnown && (next === ":" || next === "{") && !reader.token.afterBreak
}

/** `openai("gpt-4.1")` as a model. */
export function refuseModelCall(reader: TokenReader, { start }: Chain): PropertyValue {
  const first = reader.peek()
  const id = first.kind === "string" ? reader.textOf(first) : '"…"'
  reader.skipBalanced()
  const hint = `Declare it, \`model name from provider_name { id: ${id} }\`, and write \`model: model.name\`.`
  reader.report({ start, end: reader.previous.end }, "A model is declared, not called", hint)
  return { kind: "missing" }
}
