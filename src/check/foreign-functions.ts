import { environmentHint } from "../syntax/chain-parser.ts"
import type * as Syntax from "../syntax/tree.ts"
import { inOperand } from "./allowance.ts"
import type { CheckContext } from "./check-context.ts"
import type { FunctionName } from "./function-table.ts"
import { functionNames, functionRow, isFunction, parametersOf, takesCount } from "./function-table.ts"
import type { Infer, Scope } from "./scope.ts"

// Functions and methods as other languages have them. Each is one message that shows what to write.

/**
 * What to write for a function of another language, by its name without case and `_`. `$1` stands for the first argument; of
 * several forms the first whose arguments are all there.
 */
const habits: Readonly<Record<string, string | readonly string[]>> = {
  len: "length($1)",
  size: "length($1)",
  count: "length($1)",
  strlen: "length($1)",
  tolowercase: "lower($1)",
  tolower: "lower($1)",
  lowercase: "lower($1)",
  downcase: "lower($1)",
  casefold: "lower($1)",
  touppercase: "upper($1)",
  toupper: "upper($1)",
  uppercase: "upper($1)",
  upcase: "upper($1)",
  strip: "trim($1)",
  str: "text($1)",
  string: "text($1)",
  tostring: "text($1)",
  stringify: "json($1)",
  tojson: "json($1)",
  dumps: "json($1)",
  parse: "parse_json($1)",
  fromjson: "parse_json($1)",
  loads: "parse_json($1)",
  parseint: "number($1)",
  parsefloat: "number($1)",
  tonumber: "number($1)",
  int: "number($1)",
  float: "number($1)",
  avg: "average($1)",
  mean: "average($1)",
  push: "concat($1, [$2])",
  append: "concat($1, [$2])",
  extend: "concat($1, $2)",
  substring: ["slice($1, $2, $3)", "slice($1, $2)"],
  substr: ["slice($1, $2, $3)", "slice($1, $2)"],
  tofixed: ["fixed($1, $2)", "fixed($1, 0)"],
  includes: "$1 contains $2",
  contains: "$1 contains $2",
  has: "$1 contains $2",
  startswith: "starts_with($1, $2)",
  hasprefix: "starts_with($1, $2)",
  endswith: "ends_with($1, $2)",
  hassuffix: "ends_with($1, $2)",
  replaceall: "replace($1, $2, $3)",
  splitlines: "lines($1)",
  explode: "split($2, $1)",
  implode: "join($2, $1)",
  get: ["at($1, $2) ?? $3", "at($1, $2)"],
  nth: "at($1, $2)",
  head: "first($1)",
  tail: "slice($1, 1)",
  reversed: "reverse($1)",
  uniq: "unique($1)",
  distinct: "unique($1)",
  set: "unique($1)",
  flat: "flatten($1)",
  assign: "merge($1, $2)",
  items: "entries($1)",
  ceiling: "ceil($1)",
  mod: "$1 % $2",
  isempty: "length($1) == 0",
  isnull: "$1 == null",
  coalesce: "$1 ?? $2",
  ifnull: "$1 ?? $2",
  enumerate: "zip(range(length($1)), $1)",
  dayofweek: "weekday($1)",
  datediff: "days_between($1, $2)",
  now: "run.started_at",
  today: "run.date",
  utcnow: "run.started_at",
  date: "run.date",
  map: "[item for item in $1]",
  filter: "[item for item in $1 when …]",
  select: "[item for item in $1]",
  where: "[item for item in $1 when …]",
  find: "first([item for item in $1 when …])",
  sort: "[item for item in $1 by item]",
  sorted: "[item for item in $1 by item]",
  sortby: "[item for item in $1 by item]",
  orderby: "[item for item in $1 by item]",
}

/** Names before the dot that say nothing: `JSON.stringify(x)`, `Math.max(a, b)`. */
const namespaces: ReadonlySet<string> = new Set([
  "JSON",
  "Math",
  "Object",
  "Array",
  "String",
  "Number",
  "Date",
  "json",
  "math",
  "str",
])

/** What a name means for which nothing can be written. */
const sentences: Readonly<Record<string, string>> = {
  env: environmentHint,
  getenv: environmentHint,
  template: 'A text is a template by itself: write `"… {{ input.name }} …"`.',
  format: 'A text is a template by itself: write `"… {{ input.name }} …"`.',
  sprintf: 'A text is a template by itself: write `"… {{ input.name }} …"`.',
  pow: "There is no sign for powers: multiply.",
}

/** Reports a call of what is no function, a method included: one message for a whole row of methods. */
export function reportUnknownFunction(
  checking: CheckContext,
  node: Syntax.FunctionNode,
  scope: Scope,
  infer: Infer,
): void {
  const name = node.name.text
  const sentence = Object.hasOwn(sentences, plain(name)) ? sentences[plain(name)] : undefined
  // What they are given is part of the same mistake.
  if (sentence !== undefined && node.receiver === undefined) {
    checking.report("unknown-function", scope.path, node, `Unknown function: ${name}`, sentence)
    return
  }
  const { receiver } = node
  if (receiver?.kind === "chain" && receiver.base.kind === "name" && receiver.base.text === "tool") {
    if (checking.tools.has(name)) checking.refer(`tool.${name}`, node.name)
    const hint = `Write \`call tool.${name} { input { … } }\`.`
    checking.report("unknown-function", scope.path, node, `A tool is called with \`call\``, hint)
    return
  }
  const isWrong = inferParts(checking, node, { ...inOperand(scope), assets: "value" }, infer)
  // The parser reported an argument that is no value: an arrow, for one.
  if (isWrong || lacksItems(node)) return
  const isMethod = receiver !== undefined && !isNamespace(receiver)
  const hint = meant(checking, node)
  const message = isMethod
    ? `There are no methods: \`${name}\` is written as a function`
    : `Unknown function: ${receiver === undefined ? name : `${checking.quote(receiver)}.${name}`}`
  const span = isMethod ? { start: node.name.start, end: node.end } : { start: node.start, end: node.name.end }
  checking.report("unknown-function", scope.path, span, message, hint ?? known(isMethod))
}

function known(isMethod: boolean): string {
  const [example = ""] = functionRow("length").forms
  const shown = functionNames.slice(0, 8).map((name) => `\`${name}\``)
  return `${isMethod ? `Functions are written \`${example}\`. ` : ""}Known: ${shown.join(", ")}, …`
}

/** Reports what is wrong inside of the call; whether that is what a method is called on. */
function inferParts(checking: CheckContext, node: Syntax.FunctionNode, scope: Scope, infer: Infer): boolean {
  const { receiver } = node
  let isWrong = false
  if (receiver?.kind === "function" && receiver.receiver !== undefined) {
    isWrong = inferParts(checking, receiver, scope, infer)
  } else if (receiver !== undefined && !isNamespace(receiver)) {
    isWrong = infer(checking, receiver, scope).kind === "error"
  }
  for (const item of node.items) infer(checking, item, scope)
  return isWrong
}

function lacksItems({ receiver, items }: Syntax.FunctionNode): boolean {
  if (receiver?.kind === "function" && lacksItems(receiver)) return true
  return items.some(({ kind }) => kind === "missing-expression")
}

function isNamespace(node: Syntax.Expression): boolean {
  return node.kind === "chain" && node.base.kind === "name" && node.steps.length === 0 && namespaces.has(node.base.text)
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll("_", "")
}

/** The function of that name, or the one that was probably meant. */
function meant(checking: CheckContext, node: Syntax.FunctionNode): string | undefined {
  const written = rewritten(checking, node)
  if (written !== undefined) return `Write \`${written}\`.`
  const near = checking.suggest(node.name.text, functionNames)
  if (near === undefined || !isFunction(near)) return undefined
  const isMethod = node.receiver !== undefined && !isNamespace(node.receiver)
  return isMethod ? `Write \`${called(near, itemsOf(checking, node))}\`.` : `Did you mean \`${near}\`?`
}

/** The call as it is written here; undefined where its name means nothing. */
function rewritten(checking: CheckContext, node: Syntax.FunctionNode): string | undefined {
  const name = node.name.text
  const items = itemsOf(checking, node)
  if (node.receiver !== undefined && isFunction(name)) return called(name, items)
  const same = functionNames.find((one) => plain(one) === plain(name))
  if (same !== undefined) return called(same, items)
  const forms = Object.hasOwn(habits, plain(name)) ? habits[plain(name)] : undefined
  if (forms === undefined) return undefined
  for (const form of [forms].flat()) {
    const filled = form.replace(/\$(\d)/g, (sign, at: string) => items[Number(at) - 1] ?? sign)
    if (!filled.includes("$")) return filled
  }
  return [forms]
    .flat()
    .at(-1)
    ?.replace(/\$(\d)/g, "…")
}

/** A function with the arguments that it takes: `Math.max(a, b)` is `max([a, b])`. */
function called(name: FunctionName, items: readonly string[]): string {
  const row = functionRow(name)
  if (takesCount(row, items.length)) return `${name}(${items.join(", ")})`
  const [form = ""] = row.forms
  const isListed = parametersOf(form).join() === "list" && items.length > 1
  return isListed ? `${name}([${items.join(", ")}])` : form
}

/** What the function would be given, as it is written: first what a method is called on. */
function itemsOf(checking: CheckContext, node: Syntax.FunctionNode): string[] {
  const items = node.items.map((item) => checking.quote(item))
  const { receiver } = node
  if (receiver === undefined || isNamespace(receiver)) return items
  const inner =
    receiver.kind === "function" && receiver.receiver !== undefined ? rewritten(checking, receiver) : undefined
  return [inner ?? checking.quote(receiver), ...items]
}
