import { missing, parseSteps, startsMethod, startsStep } from "./chain-parser.ts"
import { closeBracket, endsBracket } from "./close-bracket.ts"
import type { Token } from "./token.ts"
import type { TokenReader } from "./token-reader.ts"
import type { Expression, FunctionNode, Name } from "./tree.ts"

/** `parseExpression` of value-parser.ts, which needs this file. */
type Parse = (reader: TokenReader) => Expression

/** Whether a name is called like a function: `name(…)`, with the bracket right after it. */
export function startsFunction(reader: TokenReader): boolean {
  const next = reader.peek()
  return reader.is("name") && next.kind === "(" && next.start === reader.token.end
}

/** Function = name "(" (expression ("," expression)* ","?)? ")" */
export function parseFunction(reader: TokenReader, parseExpression: Parse): FunctionNode {
  const name = reader.identifier(reader.take())
  return parseCall(reader, name, undefined, name.start, parseExpression)
}

/** `trim (input.s)`, in one line: a bracket after a name can be nothing else. */
export function isLooselyCalled(reader: TokenReader): boolean {
  const next = reader.peek()
  return reader.is("name") && next.kind === "(" && !next.afterBreak
}

/** Reports the blank, and reads the function. */
export function parseLooseFunction(reader: TokenReader, parseExpression: Parse): FunctionNode {
  const name = reader.textOf(reader.token)
  reader.report(reader.peek(), "The `(` of a function stands right after its name", `Write \`${name}(…)\`.`)
  return parseFunction(reader, parseExpression)
}

/** `input.s.trim().length`: read as functions, which the checker reports; each is one level deeper. */
export function parseMethods(reader: TokenReader, first: Expression, parseExpression: Parse): Expression {
  let value = first
  let levels = 0
  while (startsMethod(reader) && reader.enter()) {
    levels++
    reader.take()
    const name = reader.identifier(reader.take())
    value = parseCall(reader, name, value, first.start, parseExpression)
    if (!startsStep(reader.token)) continue
    const steps = parseSteps(reader, true)
    if (steps.length > 0) value = { kind: "chain", base: value, steps, start: first.start, end: reader.previous.end }
  }
  for (; levels > 0; levels--) reader.leave()
  return value
}

function parseCall(
  reader: TokenReader,
  name: Name,
  receiver: Expression | undefined,
  start: number,
  parseExpression: Parse,
): FunctionNode {
  const open = reader.token
  const items: Expression[] = []
  const list = receiver === undefined ? items : [receiver]
  reader.bracketed(() => {
    while (!reader.is(")") && !reader.is("]") && !endsBracket(reader.token)) {
      const before = reader.token
      const arrow = arrowAt(reader)
      const item = arrow === undefined ? parseExpression(reader) : refuseArrow(reader, arrow, name, list[0])
      if (reader.token === before) break
      items.push(item)
      if (reader.accept(",") === undefined) break
    }
  }, true)
  closeBracket(reader, open, ")", "`,` or `)` after an argument of the function")
  return { kind: "function", name, receiver, items, start, end: reader.endFrom(open) }
}

/** The name in `x => …` and `(x) => …`, and how many tokens come before what the arrow leads to. */
interface Arrow {
  readonly variable: Token
  readonly tokens: number
}

function arrowAt(reader: TokenReader): Arrow | undefined {
  const isArrow = (ahead: number): boolean => reader.textOf(reader.peek(ahead)) === "=>"
  if (reader.is("name") && isArrow(1)) return { variable: reader.token, tokens: 2 }
  const variable = reader.peek()
  const isGroup = reader.is("(") && variable.kind === "name" && reader.peek(2).kind === ")" && isArrow(3)
  return isGroup ? { variable, tokens: 4 } : undefined
}

const maps: ReadonlySet<string> = new Set(["map", "flatMap", "flat_map", "forEach", "for_each", "collect", "select"])
const filters: ReadonlySet<string> = new Set([
  "filter",
  "find",
  "some",
  "every",
  "any",
  "all",
  "count",
  "reject",
  "where",
])
const sorts: ReadonlySet<string> = new Set(["sort", "sorted", "sortBy", "sort_by", "orderBy", "order_by"])

/** Whether other languages have a function of this name that takes a function. `any` and `all` are ours. */
function isForeign(name: string): boolean {
  return maps.has(name) || sorts.has(name) || (filters.has(name) && name !== "any" && name !== "all")
}

/** `map(list, x => x.y)`: explained with the list from a list, and read over. */
function refuseArrow(reader: TokenReader, arrow: Arrow, name: Name, list: Expression | undefined): Expression {
  const { start } = reader.token
  for (let taken = 0; taken < arrow.tokens; taken++) reader.take()
  const from = reader.token.start
  while (!reader.is(",") && !reader.is(")") && !endsBracket(reader.token)) reader.skipBalanced()
  const variable = reader.textOf(arrow.variable)
  const body = reader.quote({ start: from, end: reader.previous.end })
  const items = list === undefined ? "list" : reader.quote(list)
  const meant = filters.has(name.text)
    ? `[${variable} for ${variable} in ${items} when ${body}]`
    : sorts.has(name.text)
      ? `[${variable} for ${variable} in ${items} by ${body}]`
      : `[${body} for ${variable} in ${items}]`
  const hint = `Write a list from a list: \`${meant}\`.`
  // In a row of methods the first is reported.
  if (list?.kind === "function" && list.items.some(({ kind }) => kind === "missing-expression")) reader.passOver()
  else if (isForeign(name.text)) reader.report(name, `Unknown function: ${name.text}`, hint, "unknown-function")
  else reader.report({ start, end: reader.previous.end }, "Functions are not values", hint)
  return missing(reader)
}
