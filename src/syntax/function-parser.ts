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
  closeBracket(reader, open, ")", "`,` or `)` after an argument of the function", "argument-end")
  return { kind: "function", name, receiver, items, start, end: reader.endFrom(open) }
}

/** The name in `x => …`, `(x) => …` and `function(x) { … }`, and how many tokens come before what the arrow leads to. */
interface Arrow {
  readonly variable: Token
  readonly tokens: number
}

function arrowAt(reader: TokenReader): Arrow | undefined {
  const isArrow = (ahead: number): boolean => reader.textOf(reader.peek(ahead)) === "=>"
  if (reader.is("name") && isArrow(1)) return { variable: reader.token, tokens: 2 }
  if (reader.textOf(reader.token) === "function") {
    const isForeign = reader.peek().kind === "(" && reader.peek(2).kind === "name" && reader.peek(3).kind === ")"
    return isForeign && reader.peek(4).kind === "{" ? { variable: reader.peek(2), tokens: 4 } : undefined
  }
  const variable = reader.peek()
  const isGroup = reader.is("(") && variable.kind === "name" && reader.peek(2).kind === ")" && isArrow(3)
  return isGroup ? { variable, tokens: 4 } : undefined
}

const mapped = "[$b for $x in $l]"
const chosen = "[$x for $x in $l when $b]"
const sorted = "[$x for $x in $l by $b]"

/** What to write for `name(l, x => b)`, by the name without case and `_`. */
const arrows: Readonly<Partial<Record<string, string>>> = Object.assign(Object.create(null), {
  map: mapped,
  foreach: mapped,
  collect: mapped,
  select: mapped,
  flatmap: `flatten(${mapped})`,
  filter: chosen,
  where: chosen,
  reject: "[$x for $x in $l when !($b)]",
  find: `first(${chosen})`,
  first: `first(${chosen})`,
  findlast: `last(${chosen})`,
  last: `last(${chosen})`,
  count: `length(${chosen})`,
  length: `length(${chosen})`,
  some: `any(${mapped})`,
  any: `any(${mapped})`,
  every: `all(${mapped})`,
  all: `all(${mapped})`,
  sum: `sum(${mapped})`,
  sort: sorted,
  sorted,
  sortby: sorted,
  orderby: sorted,
})

/** Functions of this language, which take a list alone. */
const own: ReadonlySet<string> = new Set(["first", "last", "length", "any", "all", "sum"])

/** `map(list, x => x.y)`: explained with the list from a list, and read over. */
function refuseArrow(reader: TokenReader, arrow: Arrow, name: Name, list: Expression | undefined): Expression {
  const { start } = reader.token
  for (let taken = 0; taken < arrow.tokens; taken++) reader.take()
  const from = reader.token.start
  while (!reader.is(",") && !reader.is(")") && !endsBracket(reader.token)) reader.skipBalanced()
  const variable = reader.textOf(arrow.variable)
  const body = resultOf(reader.quote({ start: from, end: reader.previous.end }))
  // `list?.map(…)`
  const isOptional = list !== undefined && reader.text.slice(list.end, name.start).includes("?")
  const items = list === undefined ? "list" : `${reader.quote(list)}${isOptional ? " ?? []" : ""}`
  const form = arrows[name.text.toLowerCase().replaceAll("_", "")]
  const parts: Record<string, string> = { $x: variable, $l: items, $b: body ?? "…" }
  const meant = (form ?? "[… for $x in $l when …]").replace(/\$[xlb]/g, (part) => parts[part] ?? part)
  const text = `Write ${meant.startsWith("[") ? "a list from a list: " : ""}\`${meant}\`.`
  const hint = meant.includes("…") ? text : ({ text, data: { kind: "call", text: meant } } as const)
  // In a row of methods the first is reported.
  if (list?.kind === "function" && list.items.some(({ kind }) => kind === "missing-expression")) reader.passOver()
  else if (form !== undefined && !own.has(name.text))
    reader.report(name, `Unknown function: ${name.text}`, hint, undefined, "unknown-function")
  else reader.report({ start, end: reader.previous.end }, "Functions are not values", hint)
  return missing(reader)
}

/** What a function gives: of `{ return x }` that is `x`. Undefined where more is done than can be written here. */
function resultOf(body: string): string | undefined {
  const [, result] = /^\{ ?return\b ?(.*?) ?;? ?\}$/.exec(body) ?? []
  const value = result ?? body
  return value.includes(";") ? undefined : foreignParts.reduce((text, [from, to]) => text.replaceAll(from, to), value)
}

/** What other languages write in such a function, and this one otherwise. */
const foreignParts: readonly (readonly [RegExp, string])[] = [
  [/\b([\w.]+)\.length\b(?!\()/g, "length($1)"],
  [/\b([\w.]+)\.(?:toUpperCase|upper)\(\)/g, "upper($1)"],
  [/\b([\w.]+)\.(?:toLowerCase|lower)\(\)/g, "lower($1)"],
  [/\b([\w.]+)\.(?:trim|strip)\(\)/g, "trim($1)"],
  [/\b([\w.]+)\.includes\(([^()]+)\)/g, "$1 contains $2"],
  [/([=!]=)=/g, "$1"],
]
