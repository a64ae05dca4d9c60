import { elementType } from "../types/element-type.ts"
import { fieldType } from "../types/field-type.ts"
import { membersOf } from "../types/members-of.ts"
import {
  anyType,
  booleanType,
  fileType,
  integerType,
  noElementType,
  numberType,
  objectType,
  stringType,
} from "../types/primitives.ts"
import { isAssignable, isLenient, maybe, nullable, recordsOf, resolve, union, withoutNull } from "../types/relations.ts"
import type { Field, RecordType, Type, TypeTable } from "../types/types.ts"

// The functions of the language, each once. Checker, editor, documentation and grammars are made from this table. Two others have the
// same names: what each function does (src/run/values/functions/apply-function.ts), and its sentence and example (src/editor/function-texts.ts).

/** A function: how it is written, what it takes and gives. */
export interface FunctionRow {
  /** The ways to write a call, the fullest first: `slice(x, from, to)`, `slice(x, from)`. */
  readonly forms: readonly string[]
  /** What each parameter takes, in the order of the fullest form. The last one of `concat` is that of all others. */
  readonly takes: readonly Taken[]
  /** The type of the result, of arguments that fit: plain types, no unions, no `ref`. */
  readonly gives: (given: Given) => Type
  /** Its result tells no more of its arguments than this (src/trust/function-labels.ts). Without it, the result may tell all of them. */
  readonly moves?: "length" | "some" | "first" | "last" | "lists" | "append" | "either" | "pair"
}

export interface Given {
  readonly items: readonly Type[]
  readonly types: TypeTable
}

/** What a parameter takes. */
export interface Taken {
  /** In words, for messages. */
  readonly words: string
  /** Whether a value of the type fits: one that is not null, no union and no `ref`. */
  readonly fits: (type: Type, types: TypeTable) => Fit
  /** What a value that may be null can be replaced with: `""`. Undefined where that depends. */
  readonly fallback?: string
  /** No union, however well its members fit. */
  readonly single?: true
  /** The same where the first argument is known. */
  readonly after?: (first: Type, types: TypeTable) => Taken
  /** Takes null and everything else. */
  readonly anything?: true
  /** The type whose numbers may be rounded where they are written out. */
  readonly numbers?: Type
  /** It is written out, and is known before the run. */
  readonly written?: "field" | "pattern" | "timezone"
}

/** `nulls`: it would fit, but for the nulls among its elements. */
export type Fit = boolean | "nulls"

// ------------------------------------------------------------------------------------------------------ parameters

/* @__NO_SIDE_EFFECTS__ */
function plain(words: string, wanted: Type, fallback?: string): Taken {
  const fits = (type: Type, types: TypeTable): boolean => isAssignable(type, wanted, types)
  return { words, fits, numbers: wanted, ...(fallback === undefined ? {} : { fallback }) }
}

/** An array whose elements are assignable to one of the types; of any array where there are none. */
/* @__NO_SIDE_EFFECTS__ */
function list(words: string, wanted: readonly Type[] = []): Taken {
  const fits = (type: Type, types: TypeTable): Fit => {
    const element = elementType(type, types)
    if (element === undefined) return false
    if (wanted.length === 0 || isLenient(element)) return true
    const value = withoutNull(element, types)
    if (!wanted.some((one) => isAssignable(value, one, types))) return false
    return nullable(element, types) ? "nulls" : true
  }
  const [only] = wanted
  return { words, fits, fallback: "[]", ...(only === undefined ? {} : { numbers: { kind: "array", element: only } }) }
}

export const text = plain("a string", stringType, '""')
const file = plain("a file", fileType)
const date = plain("a date", stringType)
const number = plain("a number", numberType, "0")
const integer = plain("an integer", integerType, "0")
const anyList = list("an array")
const numbers = list("an array of numbers", [numberType])
const booleans = list("an array of booleans", [booleanType])
const writable = list("an array of strings, numbers or booleans", [union([stringType, numberType, booleanType])])
const ordered = list("an array of numbers or of strings", [numberType, stringType])
const lists = list("an array of arrays", [{ kind: "array", element: anyType }])
const textOrList: Taken = {
  words: "a string or an array",
  fits: (type, types) => isAssignable(type, stringType, types) || anyList.fits(type, types),
}
const sized: Taken = {
  words: "a string, an array or a map",
  fits: (type, types) => type.kind === "map" || textOrList.fits(type, types),
}
const object: Taken = { words: "an object", fits: isObject, fallback: "{}" }
const arrayOrObject: Taken = {
  words: "an array or an object",
  fits: (type, types) => isObject(type, types) || anyList.fits(type, types),
}
const record: Taken = {
  words: "an object with known fields",
  fits: ({ kind }) => kind === "record" || kind === "any",
  single: true,
}
const noKey: Taken = {
  words: "an integer for an array, and a string for an object",
  fits: ({ kind }) => kind === "any",
}
const key: Taken = {
  ...plain("an integer or a string", union([integerType, stringType])),
  after: (first, types) => {
    if (isLenient(first)) return key
    const members = membersOf(first, types)
    if (members.every((member) => isObject(member, types))) return text
    return members.some((member) => isObject(member, types)) ? noKey : integer
  },
}
const overlap: Taken = {
  ...integer,
  after: (first, types) => (elementType(first, types) === undefined || isLenient(first) ? integer : noOverlap),
}
const noOverlap: Taken = { words: "no overlap for an array", fits: ({ kind }) => kind === "any" }
/** `{ key, value }`, as `entries` gives them. */
const pairs: Taken = {
  words: "an array of objects with `key` and `value`",
  fits: (type, types) => {
    const element = elementType(type, types)
    if (element === undefined || isLenient(element)) return element !== undefined
    const key = fieldType(element, "key", types)
    return key !== undefined && isAssignable(key, stringType, types) && fieldType(element, "value", types) !== undefined
  },
  fallback: "[]",
}
const objects = list("an array of objects", [objectType])
const field: Taken = { ...plain("the name of a field", stringType), written: "field" }
const pattern: Taken = { ...plain("a pattern", stringType), written: "pattern" }
const timezone: Taken = { ...plain("a timezone", stringType), written: "timezone" }
const step: Taken = {
  words: "a step or a call with `on_failure: skip`",
  fits: () => true,
  anything: true,
}
const anything: Taken = { words: "a value", fits: () => true, anything: true }

function isObject(type: Type, types: TypeTable): boolean {
  return isAssignable(type, objectType, types)
}

// --------------------------------------------------------------------------------------------------------- results

/** A result whose type depends on that of the first argument, or of all of them: untyped where that is. */
/* @__NO_SIDE_EFFECTS__ */
function generic(gives: (given: Given) => Type, of: "first" | "all" = "first"): (given: Given) => Type {
  return (given) => {
    const items = of === "first" ? given.items.slice(0, 1) : given.items
    return items.some(({ kind }) => kind === "any") ? anyType : gives(given)
  }
}

/* @__NO_SIDE_EFFECTS__ */
function always(type: Type): () => Type {
  return () => type
}

function listOf(element: Type): Type {
  return { kind: "array", element }
}

function elementOf({ items, types }: Given, at = 0): Type {
  return elementType(items[at] ?? anyType, types) ?? anyType
}

/** One of the elements, null where there may be none. */
function oneOf(given: Given, type: Type): Type {
  const [items = anyType] = given.items
  const length = items.kind === "tuple" ? items.elements.length : items.kind === "array" ? items.length : undefined
  return length !== undefined && length > 0 ? type : maybe(type)
}

/** `[]` */
function isEmpty(type: Type | undefined): boolean {
  return type?.kind === "tuple" && type.elements.length === 0
}

/** The first or the last element; of a tuple that member. */
/* @__NO_SIDE_EFFECTS__ */
function memberAt(at: 0 | -1): (given: Given) => Type {
  return generic((given) => {
    const [type] = given.items
    return oneOf(given, (type?.kind === "tuple" ? type.elements.at(at) : undefined) ?? elementOf(given))
  })
}

function isInteger(type: Type, types: TypeTable): boolean {
  return !isLenient(type) && isAssignable(type, integerType, types)
}

/** The fields of an object, of a variant those of each case. */
function fieldsOf(type: Type): readonly (readonly Field[])[] {
  if (type.kind === "record") return [type.fields]
  return type.kind === "variant" ? [...recordsOf(type).values()].map(({ fields }) => fields) : []
}

/** What a field of the object may be; untyped where no field is known. */
function valueOf(type: Type): Type {
  if (type.kind === "map") return type.value
  return union(fieldsOf(type).flatMap((fields) => fields.map((field) => field.type)))
}

function merged({ items }: Given): Type {
  const fields = new Map<string, Field>()
  for (const item of items) {
    if (item.kind !== "record") return anyType
    for (const field of item.fields) fields.set(field.name, field)
  }
  return { kind: "record", fields: [...fields.values()] } satisfies RecordType
}

/** `[{ key: K, items: [T] }]`, of a field of the elements that the second argument names. */
/* @__NO_SIDE_EFFECTS__ */
function grouped(name: string, gives: (given: Given) => Type): (given: Given) => Type {
  return (given) => {
    const [, named] = given.items
    const element = elementOf(given)
    const key = (named?.kind === "literal" ? fieldType(element, named.value, given.types) : undefined) ?? anyType
    const fields = [
      { name: "key", type: key },
      { name, type: gives(given) },
    ]
    return listOf({ kind: "record", fields })
  }
}

const days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] as const
const weekdayType: Type = { kind: "enum", values: days }

/** The kind and the message of a failure that a run went on after. */
export const failureType: Type = maybe({
  kind: "record",
  fields: [
    { name: "kind", type: stringType },
    { name: "message", type: stringType },
  ],
})

const sameList = generic((given) => listOf(elementOf(given)))
const anElement = generic((given) => oneOf(given, elementOf(given)))
const aText = always(stringType)
const anInteger = always(integerType)
const aBoolean = always(booleanType)
const texts = always(listOf(stringType))

// ----------------------------------------------------------------------------------------------------------- table

/* @__NO_SIDE_EFFECTS__ */
function row(
  forms: string,
  takes: readonly Taken[],
  gives: FunctionRow["gives"],
  moves?: FunctionRow["moves"],
): FunctionRow {
  return { forms: forms.split(" or "), takes, gives, ...(moves && { moves }) }
}

const functionTable = {
  length: row("length(x)", [sized], anInteger, "length"),
  lower: row("lower(s)", [text], aText),
  upper: row("upper(s)", [text], aText),
  trim: row("trim(s)", [text], aText),
  split: row("split(s, separator)", [text, text], texts),
  lines: row("lines(s)", [text], texts),
  join: row("join(list, separator)", [writable, text], aText),
  replace: row("replace(s, from, to)", [text, text, text], aText),
  starts_with: row("starts_with(s, t)", [text, text], aBoolean),
  ends_with: row("ends_with(s, t)", [text, text], aBoolean),
  slice: row(
    "slice(x, from, to) or slice(x, from)",
    [textOrList, integer, integer],
    generic((given) =>
      isAssignable(given.items[0] ?? anyType, stringType, given.types) ? stringType : listOf(elementOf(given)),
    ),
    "some",
  ),
  at: row(
    "at(x, key)",
    [arrayOrObject, key],
    generic((given) => {
      const [type = anyType] = given.items
      return maybe(isObject(type, given.types) ? valueOf(type) : elementOf(given))
    }),
  ),
  text: row("text(x)", [anything], aText),
  json: row("json(x)", [anything], aText),
  parse_json: row("parse_json(s)", [text], always(anyType)),
  csv: row("csv(rows)", [objects], aText),
  parse_csv: row("parse_csv(s)", [text], always(listOf(objectType))),
  number: row("number(s)", [text], always(maybe(numberType))),
  fixed: row("fixed(n, digits)", [number, integer], aText),
  abs: row("abs(n)", [number], ({ items: [type = anyType], types }) =>
    isInteger(type, types) ? integerType : numberType,
  ),
  round: row("round(n, digits) or round(n)", [number, integer], ({ items }) =>
    items.length > 1 ? numberType : integerType,
  ),
  floor: row("floor(n)", [number], anInteger),
  ceil: row("ceil(n)", [number], anInteger),
  sum: row("sum(list)", [numbers], (given) => (isInteger(elementOf(given), given.types) ? integerType : numberType)),
  min: row("min(list)", [ordered], anElement),
  max: row("max(list)", [ordered], anElement),
  average: row("average(list)", [numbers], (given) => oneOf(given, numberType)),
  first: row("first(list)", [anyList], memberAt(0), "first"),
  last: row("last(list)", [anyList], memberAt(-1), "last"),
  reverse: row("reverse(list)", [anyList], sameList, "some"),
  unique: row("unique(list)", [anyList], sameList),
  flatten: row(
    "flatten(list)",
    [lists],
    generic((given) => listOf(elementType(elementOf(given), given.types) ?? anyType)),
  ),
  concat: row(
    "concat(a, b, …)",
    [anyList, anyList],
    generic((given) => {
      const elements = given.items.map((_, at) => elementOf(given, at))
      return listOf(union(elements.filter((_, at) => !isEmpty(given.items[at]))))
    }, "all"),
    "append",
  ),
  chunks: row(
    "chunks(x, size) or chunks(s, size, overlap)",
    [textOrList, integer, overlap],
    generic((given) => {
      const [first = anyType] = given.items
      return listOf(isAssignable(first, stringType, given.types) ? stringType : listOf(elementOf(given)))
    }),
    "lists",
  ),
  pieces: row("pieces(s, size)", [text, integer], texts),
  group_by: row(
    "group_by(list, field)",
    [objects, field],
    grouped("items", (given) => listOf(elementOf(given))),
  ),
  count_by: row("count_by(list, field)", [objects, field], grouped("count", anInteger)),
  zip: row(
    "zip(a, b)",
    [anyList, anyList],
    generic((given) => listOf({ kind: "tuple", elements: [elementOf(given), elementOf(given, 1)] }), "all"),
    "pair",
  ),
  range: row("range(from, to) or range(to)", [integer, integer], always(listOf(integerType))),
  any: row("any(list)", [booleans], aBoolean),
  all: row("all(list)", [booleans], aBoolean),
  keys: row("keys(o)", [object], texts),
  values: row(
    "values(o)",
    [object],
    generic(({ items: [type = anyType] }) => listOf(valueOf(type))),
  ),
  entries: row(
    "entries(o)",
    [object],
    generic(({ items: [type = anyType] }) => {
      const fields = [
        { name: "key", type: stringType },
        { name: "value", type: valueOf(type) },
      ]
      return listOf({ kind: "record", fields })
    }),
  ),
  from_entries: row(
    "from_entries(list)",
    [pairs],
    generic((given) => {
      const [list] = given.items
      const value = isEmpty(list) ? noElementType : fieldType(elementOf(given), "value", given.types)
      return { kind: "map", value: value ?? anyType }
    }),
  ),
  merge: row("merge(a, b, …)", [record, record], generic(merged, "all"), "either"),
  add_days: row("add_days(date, n)", [date, integer], aText),
  days_between: row("days_between(a, b)", [date, date], anInteger),
  weekday: row("weekday(date)", [date], always(weekdayType)),
  add_seconds: row("add_seconds(date, n)", [date, number], aText),
  seconds_between: row("seconds_between(a, b)", [date, date], always(numberType)),
  format_date: row("format_date(date, format, zone) or format_date(date, format)", [date, text, timezone], aText),
  date_of: row("date_of(date, zone) or date_of(date)", [date, timezone], aText),
  matches: row("matches(s, pattern)", [text, pattern], aBoolean),
  find: row("find(s, pattern)", [text, pattern], always(maybe(stringType))),
  find_all: row("find_all(s, pattern)", [text, pattern], texts),
  replace_all: row("replace_all(s, pattern, to)", [text, pattern, text], aText),
  sha256: row("sha256(s)", [text], aText),
  base64: row("base64(s)", [text], aText),
  from_base64: row("from_base64(s)", [text], always(maybe(stringType))),
  url_encode: row("url_encode(s)", [text], aText),
  // They store and read contents (src/run/files/file-work.ts).
  make_file: row("make_file(name, text, media_type) or make_file(name, text)", [text, text, text], always(fileType)),
  text_of: row("text_of(file)", [file], aText),
  // It reads how a step ended, not a value (infer-failure.ts).
  failure: row("failure(step)", [step], always(failureType)),
} as const satisfies Record<string, FunctionRow>

export type FunctionName = keyof typeof functionTable

/** Functions that store and read the contents of files: they take a while, and only a step of a run may call them. */
export type FileFunctionName = "make_file" | "text_of"

export function isFileFunction(name: string): name is FileFunctionName {
  return name === "make_file" || name === "text_of"
}

/** Functions of values. */
export type ValueFunctionName = Exclude<FunctionName, "failure">

export const functionNames: readonly FunctionName[] = Object.keys(functionTable) as FunctionName[]

export function isFunction(name: string): name is FunctionName {
  return Object.hasOwn(functionTable, name)
}

const total: ReadonlySet<string> = new Set<FunctionName>([
  ...([
    "length",
    "lower",
    "upper",
    "trim",
    "split",
    "lines",
    "join",
    "starts_with",
    "ends_with",
    "slice",
    "at",
  ] as const),
  ...([
    "text",
    "json",
    "number",
    "min",
    "max",
    "first",
    "last",
    "reverse",
    "unique",
    "flatten",
    "concat",
    "zip",
  ] as const),
  ...(["any", "all", "keys", "values", "entries", "merge", "failure"] as const),
])

/** Whether the function has a result for all arguments of the types that it takes. */
export function neverFails(name: string): boolean {
  return total.has(name)
}

export function functionRow(name: FunctionName): FunctionRow {
  return functionTable[name]
}

/** The names of the parameters of a form; `…` for any number of further ones. */
export function parametersOf(form: string): string[] {
  return form.slice(form.indexOf("(") + 1, -1).split(", ")
}

export function isValueFunction(name: string): name is ValueFunctionName {
  return isFunction(name) && name !== "failure"
}

/** Whether the function takes so many arguments. */
export function takesCount({ forms }: FunctionRow, count: number): boolean {
  return forms.some((form) => {
    const parameters = parametersOf(form)
    return parameters.at(-1) === "…" ? count >= parameters.length - 1 : count === parameters.length
  })
}

/** What the argument at a position has to be. */
export function takenAt({ takes }: FunctionRow, at: number, first: Type, types: TypeTable): Taken {
  const taken = takes[Math.min(at, takes.length - 1)] ?? anything
  return taken.after?.(first, types) ?? taken
}

const maxCombinations = 64

/** The type of a result: of arguments that are unions, the union of what their members give. */
export function resultType(row: FunctionRow, items: readonly Type[], types: TypeTable): Type {
  let combinations: Type[][] = [[]]
  for (const item of items) {
    const members = membersOf(item, types).map((member) => resolve(member, types))
    const some = combinations.length * members.length > maxCombinations ? [joined(members, types)] : members
    combinations = combinations.flatMap((before) => some.map((member) => [...before, member]))
  }
  return union(combinations.map((combination) => row.gives({ items: combination, types })))
}

/** One type for many: arrays as one of all their elements, everything else untyped. */
function joined(members: readonly Type[], types: TypeTable): Type {
  const elements = members.map((member) => elementType(member, types))
  return elements.every((element) => element !== undefined) ? listOf(union(elements)) : anyType
}
