import type { Span } from "../source/span.ts"
import { missing } from "./chain-parser.ts"
import { closeBracket } from "./close-bracket.ts"
import { leavesBlock, startsPattern } from "./declaration-start.ts"
import { valueIsAbsent } from "./field-colon.ts"
import { parseListRest, type ListRest } from "./list-parser.ts"
import { parseValueField } from "./property-parser.ts"
import type { ParseExpression } from "./string-parser.ts"
import type { TokenReader } from "./token-reader.ts"
import type { Block, Expression, FunctionNode, Name, ValueField } from "./tree.ts"

// Objects, and what is written as one: `{ ...a, y: 1 }` is `merge(a, { y: 1 })`, `{ [key]: value }` is
// `from_entries([{ key: key, value: value }])`. After the parser they are calls of these functions.

/** `...value` */
interface Spread {
  readonly kind: "spread"
  readonly value: Expression
}

/** `[key]: value`, with what follows it where it is made from a list. */
interface Keyed {
  readonly kind: "keyed"
  readonly start: number
  readonly pair: Expression
  readonly rest: ListRest | undefined
}

type Item = ValueField | Spread | Keyed

/** Object = "{" (key ":" expression | "..." expression | "[" expression "]" ":" expression ListRest?)* "}" */
export function parseObject(reader: TokenReader, parse: ParseExpression): Expression | undefined {
  const block = reader.block((inner) => parseItem(inner, parse), leavesBlock, "a field name", "field")
  if (block === undefined) return undefined
  const fields = block.items.filter((item) => item.kind === "value-field")
  if (fields.length === block.items.length) return objectOf(block, fields, block)
  const keyed = block.items.filter((item) => item.kind === "keyed")
  const [first] = keyed
  if (first === undefined) {
    const parts = block.items.filter((item) => item.kind !== "keyed")
    return spread(
      reader,
      "merge",
      block,
      inRuns(parts, block, (run: readonly ValueField[], span) => objectOf(block, run, span)),
    )
  }
  const looped = keyed.find(({ rest }) => rest !== undefined)
  if (block.items.some((item) => item.kind === "spread")) {
    reader.report(first.pair, "`...` and computed keys are not mixed in one object", mixedHint, undefined, "mixed-keys")
    return missing(reader)
  }
  if (looped !== undefined && block.items.length > 1) {
    reader.report(looped.pair, "One `[key]: value` stands before `for`", "Make two maps.")
    return missing(reader)
  }
  const { start, end } = block
  if (looped?.rest === undefined) {
    const items = block.items.flatMap((item) => (item.kind === "spread" ? [] : [pairOf(item)]))
    const made = called("from_entries", "map", block, [{ kind: "array", items, start, end }])
    // The checker reports it.
    return fields.length === 0 ? made : { ...made, mixed: first.pair }
  }
  const { loop, when, by } = looped.rest
  if (loop === undefined) return missing(reader)
  return called("from_entries", "map", block, [{ kind: "list", value: looped.pair, loop, when, by, start, end }])
}

export const mixedHint = 'Write every key in brackets: `{ ["name"]: 1, [key]: 2 }`.'

/** The text of a name that stands among computed keys. */
function pairOf(item: ValueField | Keyed): Expression {
  if (item.kind === "keyed") return item.pair
  const { name, value, start, end } = item
  const key: Expression = {
    kind: "string",
    block: false,
    texts: [name.text],
    interpolations: [],
    start: name.start,
    end: name.end,
  }
  const open = { kind: "{", start, end: start, afterBreak: false, comments: [], unclosed: false } as const
  const body = { open, close: open, items: [made("key", key), made("value", value)], start, end }
  return { kind: "object", body, start, end }
}

function parseItem(reader: TokenReader, parse: ParseExpression): Item | undefined {
  if (startsSpread(reader)) return parseSpread(reader, parse)
  return reader.is("[") ? parseKeyed(reader, parse) : parseValueField(reader, parse)
}

/** Three dots, nothing between them. */
export function startsSpread(reader: TokenReader): boolean {
  const [second, third] = [reader.peek(), reader.peek(2)]
  const isRow = reader.is(".") && second.kind === "." && third.kind === "."
  return isRow && second.start === reader.token.end && third.start === second.end
}

/** Spread = "..." expression */
export function parseSpread(reader: TokenReader, parse: ParseExpression): Spread {
  for (let dots = 0; dots < 3; dots++) reader.take()
  return { kind: "spread", value: valueIsAbsent(reader, "a value after `...`") ? missing(reader) : parse(reader) }
}

function parseKeyed(reader: TokenReader, parse: ParseExpression): Keyed {
  const first = reader.token
  const key = reader.bracketed(parse)
  closeBracket(reader, first, "]", "`]` after the key")
  const colon = reader.accept(":")
  if (colon === undefined) reader.expected("`:` after the key")
  const isAbsent = colon === undefined || valueIsAbsent(reader, "a value")
  const value = isAbsent ? missing(reader) : parse(reader)
  const end = reader.endFrom(first)
  const pair: Block<ValueField> = {
    open: first,
    close: reader.previous,
    items: [made("key", key), made("value", value)],
    start: first.start,
    end,
  }
  const isLooped = reader.isWord("for") && startsPattern(reader, 1)
  const rest = isLooped ? parseListRest(reader, [value], parse) : undefined
  return { kind: "keyed", start: first.start, pair: { kind: "object", body: pair, start: first.start, end }, rest }
}

/** A field that no source names. */
function made(text: string, value: Expression): ValueField {
  const { start } = value
  return {
    kind: "value-field",
    name: madeName(text, start),
    colon: undefined,
    value,
    doc: undefined,
    start,
    end: value.end,
  }
}

function madeName(text: string, start: number): Name {
  return { kind: "name", text, quoted: false, start, end: start }
}

function objectOf({ open, close }: Block<Item>, items: readonly ValueField[], { start, end }: Span): Expression {
  return { kind: "object", body: { open, close, items, start, end }, start, end }
}

/** The arguments: what is spread, and what stands between in one value. */
export function inRuns<One extends Span>(
  items: readonly (One | Spread)[],
  around: Span,
  whole: (run: readonly One[], span: Span) => Expression,
): Expression[] {
  const found: Expression[] = []
  let run: One[] = []
  const endRun = (): void => {
    const [first, last] = [run[0], run.at(-1)]
    if (first !== undefined && last !== undefined) found.push(whole(run, { start: first.start, end: last.end }))
    run = []
  }
  for (const item of items) {
    if (!isSpread(item)) run.push(item)
    else {
      endRun()
      found.push(item.value)
    }
  }
  endRun()
  // Both functions take two.
  return found.length === 1 ? [...found, whole([], { start: around.end, end: around.end })] : found
}

function isSpread(item: object): item is Spread {
  return "kind" in item && item.kind === "spread"
}

/** `[...a, b]` is `concat(a, [b])`. */
export function spread(
  reader: TokenReader,
  name: "merge" | "concat",
  span: Span,
  items: readonly Expression[],
): Expression {
  return items.some(({ kind }) => kind === "missing-expression") ? missing(reader) : called(name, "spread", span, items)
}

function called(
  name: string,
  form: NonNullable<FunctionNode["form"]>,
  { start, end }: Span,
  items: readonly Expression[],
): FunctionNode {
  return { kind: "function", name: madeName(name, start), form, receiver: undefined, items, start, end }
}
