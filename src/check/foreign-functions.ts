import { type Hint, meantWord, write } from "../source/hint.ts"
import { environmentHint } from "../syntax/chain-parser.ts"
import type * as Syntax from "../syntax/tree.ts"
import { elementType } from "../types/element-type.ts"
import { errorType, numberType } from "../types/primitives.ts"
import { isAssignable, nullable, withoutNull } from "../types/relations.ts"
import type { Type, TypeTable } from "../types/types.ts"
import { inOperand } from "./allowance.ts"
import type { CheckContext } from "./check-context.ts"
import { functionNames, functionRow, isFunction, takesCount } from "./function-table.ts"
import { stepFunctionNames } from "./step-functions.ts"
import type { Infer, Scope } from "./scope.ts"
import { typeOfText } from "./type-of-text.ts"

// Functions and methods as other languages have them. Each is one message that shows what to write.

/**
 * What to write for functions of other languages, and their names without case and `_`. `$1` stands for the first argument; of
 * several forms the first that has all arguments and passes the checker. What a form with `…` leaves open is the author's.
 */
const habits: Readonly<Record<string, string>> = {
  "length($1) or length(keys($1))": "len size strlen",
  "length($1) or length(keys($1)) or length([item for item in $1 when item == $2]) or length(split($1, $2)) - 1":
    "count",
  "lower($1)": "tolowercase tolower lowercase downcase casefold",
  "upper($1)": "touppercase toupper uppercase upcase",
  "trim($1)": "strip",
  "text($1)": "str string tostring",
  "json($1)": "stringify tojson dumps",
  "parse_json($1)": "parse fromjson loads",
  "csv($1)": "tocsv csvstringify writecsv",
  "parse_csv($1)": "fromcsv csvparse readcsv",
  "number($1) or floor($1)": "parseint int",
  "number($1) or $1": "parsefloat tonumber float",
  "average($1)": "avg mean",
  "concat($1, [$2])": "push append",
  "concat($1, $2)": "extend",
  "slice($1, $2, $3) or slice($1, $2)": "substring",
  "slice($1, $2, $2 + $3) or slice($1, $2)": "substr",
  "fixed($1, $2) or fixed($1, 0)": "tofixed",
  "$1 contains $2": "includes contains",
  "$1 contains $2 or at($1, $2) != null": "has",
  "starts_with($1, $2)": "startswith hasprefix",
  "ends_with($1, $2)": "endswith hassuffix",
  "replace($1, $2, $3)": "replaceall",
  "lines($1)": "splitlines",
  "split($2, $1)": "explode",
  "join($2, $1)": "implode",
  "at($1, $2) ?? $3 or at($1, $2)": "get nth",
  "first($1) or slice($1, 0, 1)": "head",
  "slice($1, 1)": "tail",
  "reverse($1)": "reversed",
  "unique($1)": "uniq distinct set",
  "flatten($1)": "flat",
  "{ ...$1, ...$2 }": "assign",
  "entries($1)": "items",
  "from_entries($1)": "fromentries dict",
  "ceil($1)": "ceiling",
  "$1 % $2": "mod",
  "length($1) == 0": "isempty",
  "$1 == null": "isnull",
  "$1 ?? $2": "coalesce ifnull",
  "zip(range(length($1)), $1)": "enumerate",
  "matches($1, $2)": "match test ismatch regex regexp regexmatch",
  "find($1, $2)": "search",
  "find_all($1, $2)": "matchall",
  "sha256($1)": "hash md5",
  "base64($1)": "btoa b64encode",
  "from_base64($1)": "atob b64decode",
  "url_encode($1)": "encodeuricomponent",
  "format_date($1, $2)": "dateformat",
  "seconds_between($1, $2)": "secondsdiff timediff",
  "weekday($1)": "dayofweek",
  "days_between($1, $2)": "datediff",
  "run.started_at": "now utcnow",
  "run.date": "today",
  "run.date or $1": "date",
  "[… for item in $1]": "map select",
  "[item for item in $1 when …]": "filter where",
  "[item for item in $1 by item.$2] or [item for item in $1 by item] or [item for item in $1 by …]":
    "sort sorted sortby orderby",
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

/** One sentence for several names. */
function sentenceOf(sentence: string, names: string): Record<string, string> {
  return Object.fromEntries(names.split(" ").map((name) => [name, sentence]))
}

/** What a name means for which nothing can be written. */
const sentences: Readonly<Record<string, string>> = {
  env: environmentHint,
  getenv: environmentHint,
  template: 'A text is a template by itself: write `"… {{ input.name }} …"`.',
  format: 'A text is a template by itself: write `"… {{ input.name }} …"`.',
  sprintf: 'A text is a template by itself: write `"… {{ input.name }} …"`.',
  ...sentenceOf(
    'Dates are texts such as `2026-11-18T09:30:00Z`: write `format_date(date, "yyyy-MM-dd")`.',
    "strftime toisostring",
  ),
  ...sentenceOf("There are no random values: `run.id` differs from run to run.", "random uuid uuid4 randomuuid rand"),
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
  if (sentence !== undefined && (node.receiver === undefined || name !== "format"))
    return checking.report("unknown-function", scope.path, node, `Unknown function: ${name}`, sentence)
  const { receiver } = node
  if (receiver?.kind === "chain" && receiver.base.kind === "name" && receiver.base.text === "tool") {
    if (checking.tools.has(name)) checking.refer(`tool.${name}`, node.name)
    const hint = `Write \`call tool.${name} { input { … } }\`.`
    checking.report("unknown-function", scope.path, node, `A tool is called with \`call\``, hint)
    return
  }
  const isWrong = inferParts(checking, node, { ...inOperand(scope, "computed"), assets: "value" }, infer)
  // The parser reported an argument that is no value: an arrow, for one.
  if (isWrong || lacksItems(node)) return
  const isMethod = receiver !== undefined && !isNamespace(receiver)
  const near = receiver === undefined ? checking.suggest(name, checking.functionNodes.keys()) : undefined
  const hint =
    near !== undefined
      ? meantWord(near)
      : meant(checking, node, isMethod, (text) => typeOfText(checking, text, scope, infer))
  const message = !isMethod
    ? `Unknown function: ${receiver === undefined ? name : `${checking.quote(receiver)}.${name}`}`
    : isFunction(name)
      ? `There are no methods: \`${name}\` is written as a function`
      : `There is no method \`${name}\``
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

/** What would be written in place of a call or an argument. */
interface Written {
  readonly text: string
  /** The same as the operand of an operator, which would tear another operation apart. */
  readonly operand: string
  /** An error where nothing is known of it. */
  readonly type: Type
}

/** The type of a text in the place of the call; undefined where the checker does not accept it. */
type Try = (text: string) => Type | undefined

/** The function of that name, or the one that was probably meant. */
function meant(checking: CheckContext, node: Syntax.FunctionNode, isMethod: boolean, attempt: Try): Hint | undefined {
  const name = node.name.text
  const written = rewritten(checking, node, attempt)
  if (written !== undefined) return write(written.text, node)
  if (isFunction(name)) {
    const { forms, takes } = functionRow(name)
    return `The form is \`${forms[0]}\`: it takes ${takes[0]?.words}.`
  }
  const [form] = formsOf(name, node.items.length + Number(isMethod))
  if (form !== undefined) return `The form is \`${form.replace(/\$\d/g, "…")}\`.`
  const near = checking.suggest(name, [...functionNames, ...stepFunctionNames])
  if (near === undefined) return undefined
  const called = isMethod ? rewritten(checking, node, attempt, near) : undefined
  return called === undefined ? meantWord(near) : write(called.text, node)
}

/** The forms of a function of that name, ours or a foreign one; those with so many arguments first. */
function formsOf(name: string, count: number): readonly string[] {
  const wanted = plain(name)
  const own = functionNames.find((one) => one.replace("_", "") === wanted)
  const [forms = ""] = Object.entries(habits).find(([, names]) => ` ${names} `.includes(` ${wanted} `)) ?? []
  if (own === undefined || (forms !== "" && own !== name)) {
    return forms
      .split(" or ")
      .filter(Boolean)
      .toSorted((a, b) => Number(placesIn(b) === count) - Number(placesIn(a) === count))
  }
  const row = functionRow(own)
  const places = Array.from({ length: count }, (_, at) => `$${at + 1}`).join(", ")
  if (takesCount(row, count)) return [`${own}(${places})`]
  return reduces.test(own) && count > 1 ? [`${own}([${places}])`, `${own}(concat(${places}))`] : row.forms
}

/** Functions that make one value of a list: elsewhere they take the elements one by one. */
const reduces = /^(?:sum|min|max|average|any|all)$/

function placesIn(form: string): number {
  return new Set(form.match(/\$\d/g)).size
}

/** The call as it is written here; undefined where its name means nothing, or what it means does not fit. */
function rewritten(
  checking: CheckContext,
  node: Syntax.FunctionNode,
  attempt: Try,
  name = node.name.text,
): Written | undefined {
  const items = checking.trials > 0 ? itemsOf(checking, node, attempt) : undefined
  return items && fitting(checking, formsOf(name, items.length), items, attempt)
}

/** `max(a, b)`, as other languages have it: all of them as one list. */
export function inOneList(checking: CheckContext, node: Syntax.FunctionNode, attempt: Try): string | undefined {
  return reduces.test(node.name.text) ? rewritten(checking, node, attempt)?.text : undefined
}

function fitting(
  { types }: CheckContext,
  forms: readonly string[],
  items: readonly Written[],
  attempt: Try,
): Written | undefined {
  // A mistake inside of the call has its own message: the rest is right.
  const isTried = items.every(({ type }) => type.kind !== "error")
  for (const form of forms) {
    const isOpen = form.includes("…")
    if (placesIn(form) !== items.length && !isOpen) continue
    for (const text of textsOf(form, items, types)) {
      const type = isOpen || !isTried ? errorType : attempt(text)
      if (type !== undefined) return { text, operand: isOperation.test(form) ? `(${text})` : text, type }
    }
  }
  return undefined
}

const isOperation = / (?:contains|[=!]=|[-%]|\?\?) /

/** A form with its arguments: as they are, with a default for the first, and for each element of the first. */
function* textsOf(form: string, items: readonly Written[], types: TypeTable): Generator<string> {
  if (form.includes("(concat(")) {
    const lists = items.map((item) => (isArray(item.type, types) ? withDefault(item, types) : `[${item.text}]`))
    return yield `${form.slice(0, form.indexOf("$"))}${lists.join(", ")}))`
  }
  const texts = items.map((item) => (isOperation.test(form) ? item.operand : item.text))
  const [first, ...others] = texts
  const [{ type } = { type: errorType }] = items
  if (first === undefined) return yield form
  const whole = withDefault({ text: first, type }, types)
  if (!form.includes("…")) yield filled(form, texts)
  yield filled(form, [whole, ...others])
  const element = elementType(withoutNull(type, types), types)
  if (element === undefined || /item|\(\[/.test(form)) return
  const item = withDefault({ text: "item", type: element }, types)
  yield `[${filled(form, [item, ...others])} for item in ${whole}]`
}

function filled(form: string, items: readonly string[]): string {
  // `substr(s, 1, 2)` has a length where `slice` has an end.
  const end = Number(items[1]) + Number(items[2])
  const isWhole = Number(items[1]) < 0 && end >= 0
  return (
    form
      .replace(", $2 + $3", (sum) => (Number.isNaN(end) ? sum : isWhole ? "" : `, ${end}`))
      .replace(/\$(\d)/g, (_, at: string) => items[Number(at) - 1] ?? "…")
      // The key of `sortBy(list, "k")` is a field here.
      .replace(/item\."(\w+)"/, "item.$1")
  )
}

function isArray(type: Type, types: TypeTable): boolean {
  return elementType(withoutNull(type, types), types) !== undefined
}

/** The value, with a default where it may be null. */
function withDefault({ text, type }: Omit<Written, "operand">, types: TypeTable): string {
  if (!nullable(type, types)) return text
  const value = withoutNull(type, types)
  if (isArray(value, types)) return `${text} ?? []`
  return `${text} ?? ${isAssignable(value, numberType, types) ? "0" : '""'}`
}

/** What the function would be given, as it is written: first what a method is called on. Undefined where that is nothing. */
function itemsOf(checking: CheckContext, node: Syntax.FunctionNode, attempt: Try): Written[] | undefined {
  const items = node.items.map((item) => writtenAs(checking, item))
  const { receiver } = node
  if (receiver === undefined || isNamespace(receiver)) return items
  const isCall = receiver.kind === "function" && receiver.receiver !== undefined
  const first = isCall ? rewritten(checking, receiver, attempt) : writtenAs(checking, receiver)
  return first && [first, ...items]
}

function writtenAs(checking: CheckContext, node: Syntax.Expression): Written {
  const text = checking.quote(node)
  const operand = node.kind === "binary" ? `(${text})` : text
  return { text, operand, type: checking.expressionTypes.get(node) ?? errorType }
}
