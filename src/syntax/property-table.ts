import type { ConstantRule } from "./constant-rule.ts"
import { numberFrom, wholeFrom } from "./constant-rule.ts"
import { sourceRetries } from "../base/limits.ts"

// The properties of every block. A row is what the parser, the checker, the planner and the editor know about a property; its
// sentence of documentation is in editor/explanations.ts, which a page that only compiles does not load. A property without
// one does not compile, and docs/language.md is generated from both.

/** What the grammar reads after a property's name. Keywords are contextual, so only the place can tell. */
export type PropertyForm =
  | "expression"
  /** A block of fields with types. */
  | "types"
  /** A block of fields with values. */
  | "values"
  /** The same; its names may contain `-`. */
  | "headers"
  | "uses"
  /** A reference with an optional block, or a list of them. */
  | "model"
  | "context"
  | "file"
  /** A word, or a block with details. */
  | "approval"
  | BlockForm

/** A block of properties, and what it looks like. */
export const blockForms = {
  inference: "inference { temperature: 0.2 }",
  price: "price { input: 0.40 output: 1.60 }",
  limits: "limits { tokens: 200_000 }",
} as const

export type BlockForm = keyof typeof blockForms

export function isBlockForm(form: PropertyForm): form is BlockForm {
  return Object.hasOwn(blockForms, form)
}

/** Whether `name { … }` is how the property is written. */
export function takesBlock(form: PropertyForm): boolean {
  return isBlockForm(form) || ["types", "values", "headers", "file", "approval"].includes(form)
}

export interface PropertyRow {
  readonly form: PropertyForm
  /** The text to add where the property is missing (`name: "…"` for an empty text); undefined for what may be left out. */
  readonly required?: string
  /** May stand more than once. */
  readonly repeated?: true
  /** The value is written out, and this is what it may be. */
  readonly constant?: ConstantRule
  /** The value is one of these words; where it is `constant`, these are suggestions. */
  readonly words?: WordList | undefined
  /** The value is an array of `words`. */
  readonly isList?: true
  /** The type of a computed value. */
  readonly type?: "string" | "boolean"
}

interface Words {
  /** What a wrong one is called: "Unknown response format: …". */
  readonly what?: string
  readonly words: readonly string[]
  /** Written without quotes, though strings are read as well. */
  readonly isBare?: true
  /** What words of elsewhere stand for. */
  readonly meant?: Readonly<Record<string, string>>
  /** What to write instead of a wrong one; the words where this is left out. */
  readonly hint?: string
}

/** Words that a property may be set to. */
export const wordLists = {
  response_format: {
    what: "response format",
    words: ["auto", "json_schema", "json_object", "instruction_only"],
    isBare: true,
  },
  on_failure: {
    what: "way to go on",
    words: ["fail", "skip"],
    isBare: true,
  },
  approval: {
    what: "approval",
    words: ["required", "none"],
    isBare: true,
    meant: { true: "required", false: "none" },
    hint: 'Write `approval: required`, `none`, or `approval { to: "group" }`.',
  },
  asset: { what: "kind of asset", words: ["image", "document", "video"] },
  wire_api: { words: ["responses", "chat/completion"] },
  boolean: { words: ["true", "false"], isBare: true },
  level: { words: ["low", "medium", "high"] },
} as const satisfies Readonly<Record<string, Words>>

export type WordList = keyof typeof wordLists
export type WordOf<List extends WordList> = (typeof wordLists)[List]["words"][number]

const value = { form: "expression" } as const
const text = { form: "expression", type: "string" } as const
const types = { form: "types" } as const
const values = { form: "values" } as const
const headers = { form: "headers" } as const
const inference = { form: "inference" } as const
const approval = { form: "approval", words: "approval" } as const
const constant = (rule: ConstantRule, words?: WordList) => ({ form: "expression", constant: rule, words }) as const
const word = (words: WordList) => ({ form: "expression", words }) as const
const required = <Row extends PropertyRow>(row: Row, example = "") => ({ ...row, required: example }) as const

const whole = constant(wholeFrom(1))
const string: ConstantRule = { expected: "a string", type: "string" }
const notEmpty: ConstantRule = { expected: "a string that is not empty", type: "string", fits: (one) => one !== "" }
const aboveZero: ConstantRule = { expected: "a number above 0", type: "number", fits: (one) => Number(one) > 0 }
/** Each try writes an event and costs a call: more would fill the log of a run that cannot succeed. */
const tries = constant(wholeFrom(0, sourceRetries))
const penalty = constant(numberFrom(-2, 2))
const limit = constant({ ...aboveZero, code: "type-mismatch" })
/** The bound is enough for every currency; costs stay numbers that way. */
const price = constant({ ...numberFrom(0, 1_000_000_000), code: "type-mismatch" })
const pin: ConstantRule = {
  expected: "`sha256:` and 64 hex digits",
  type: "string",
  fits: (one) => typeof one === "string" && /^sha256:[0-9a-f]{64}$/.test(one),
}
const expiry = constant({
  expected: "a number of seconds from 1 to 7,776,000 (90 days)",
  type: "number",
  fits: (one) => Number(one) >= 1 && Number(one) <= 7_776_000,
  code: "type-mismatch",
})
const wireApi = (...more: readonly string[]) =>
  constant(
    {
      expected: '"responses" or "chat/completion"',
      type: "string",
      fits: (one) => [...wordLists.wire_api.words, ...more].some((known) => known === one),
      code: "type-mismatch",
    },
    "wire_api",
  )

const shortFile = { name: text, media_type: text }
const shared = { bindings: values, max_calls: whole, approval }
const bound = { bindings: values }

/** Each block with its properties, those that are required first. */
export const propertyTable = {
  provider: { endpoint: text, api_key: value, headers, inference, wire_api: wireApi() },
  model: {
    id: required(text),
    inference,
    assets: { ...word("asset"), isList: true },
    response_format: word("response_format"),
    system: text,
    price: { form: "price" },
    // Files from elsewhere have either spelling.
    wire_api: wireApi("chat/completions"),
  },
  mcp: { endpoint: required(text), headers },
  tool: {
    input: types,
    output: types,
    bindings: values,
    max_calls: whole,
    description: constant(string),
    idempotent: constant({ expected: "`true` or `false`", type: "boolean" }, "boolean"),
    pin: constant(pin),
    approval,
  },
  resource: bound,
  prompt: bound,
  batch: shared,
  agent: {
    model: required({ form: "model" }, "model: model.name"),
    instruction: required(text),
    output: required(types, "output { … }"),
    uses: { form: "uses" },
    context: { form: "context" },
    file: { form: "file", repeated: true },
    dynamic: { ...values, repeated: true },
    response_format: word("response_format"),
    max_steps: whole,
    on_failure: word("on_failure"),
    system: text,
    limits: { form: "limits" },
  },
  ask: {
    question: required(text),
    output: required(types, "output { … }"),
    show: value,
    to: text,
    expires_seconds: expiry,
    on_expiry: value,
  },
  approval: { to: text, expires_seconds: expiry },
  inference: {
    temperature: constant(numberFrom(0)),
    top_p: constant(numberFrom(0, 1)),
    top_k: whole,
    frequency_penalty: penalty,
    presence_penalty: penalty,
    repeat_penalty: constant(numberFrom(0)),
    max_tokens: whole,
    reasoning_effort: constant(notEmpty, "level"),
    verbosity: constant(notEmpty, "level"),
    seed: constant({ expected: "a whole number", type: "number", fits: Number.isSafeInteger }),
    stop: constant({ expected: "a string or an array of strings", type: "strings", fits: (one) => one !== "" }),
    timeout_seconds: constant(aboveZero),
    max_retries: tries,
    retry_base_delay_ms: constant(wholeFrom(0)),
    output_retries: tries,
    extra: { form: "values", constant: { expected: "an object", type: "object" } },
  },
  price: { input: required(price, "input: 0.40"), output: required(price, "output: 1.60"), cached: price },
  limits: { cost: limit, tokens: limit, model_calls: limit, tool_calls: limit, time_seconds: limit },
  file: { content: required(value), ...shortFile },
  /** The block after the content of a file: `file input.report { … }`. */
  "short-file": shortFile,
  use: shared,
  "configured-model": { inference },
  compact: { model: { form: "model" }, instruction: text },
  call: { input: values, ...shared },
  read: bound,
  render: bound,
  test: { samples: whole, pass_rate: constant(numberFrom(0, 1)) },
  asset: {
    type: word("asset"),
    media_type: text,
    title: text,
    context: text,
    citations: { ...word("boolean"), type: "boolean" },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, PropertyRow>>>>

type Table = typeof propertyTable

/** A block with properties, by what it belongs to. `unknown` takes none. */
export type PropertyPlace = keyof Table | "unknown"
export type PropertyNames = { readonly [Place in keyof Table]: keyof Table[Place] }

/** What becomes of a name that is not a property here. */
export interface ForeignName {
  /** The property that it stands for: an old spelling, or one of elsewhere. */
  readonly means?: string
  /** It is read as that, with a warning; else it is an error. */
  readonly isRead?: true
  /** It means nothing in any API: a warning. */
  readonly isIgnored?: true
  /** The property that is probably meant. */
  readonly like?: string
  /** What to write instead. */
  readonly hint?: string
  /** It says no more than this one, where both are written. */
  readonly beside?: string
}

const loop = { hint: "A loop follows the name: `agent name for item in input.list { … }`." }
const condition = { hint: "A condition follows the name: `agent name when input.ready { … }`." }
const fallback = { hint: "Write a list: `model: [model.first, model.second]`." }
const ignored = { isIgnored: true } as const
const address = { like: "endpoint" }
const cost = { hint: "Write `limits { cost: … }`." }
const program = { like: "endpoint", hint: 'Programs are not started: write `endpoint: "https://…"`.' }

const foreignNames: Partial<Record<PropertyPlace, Readonly<Record<string, ForeignName>>>> = {
  provider: {
    driver: { means: "from" },
    models: { hint: 'Declare each of them: `model name from provider_name { id: "…" }`.' },
    base_url: address,
  },
  model: { name: { like: "id" }, model: { like: "id" } },
  mcp: { url: address, command: program, args: { ...program, beside: "command" } },
  tool: { require_approval: { like: "approval", hint: "Write `approval: required`." } },
  agent: {
    prompt: { means: "instruction" },
    tools: { means: "uses" },
    models: { means: "model" },
    fallback,
    max_cost: cost,
    for: loop,
    for_each: loop,
    if: condition,
    when: condition,
    condition,
    concurrency: { hint: "Remove it: the request sets `max_concurrency`." },
    depends_on: { hint: "Remove it: the order comes from the references." },
    messages: { hint: "Write `system:` and `instruction:`." },
    system_prompt: { like: "system" },
  },
  limits: { max_cost: { like: "cost" }, max_tokens: { like: "tokens" } },
  inference: {
    provider_retry_base_delay_ms: { means: "retry_base_delay_ms" },
    provider_max_retries: { means: "max_retries", isRead: true },
    retries: { like: "max_retries" },
    stuck_threshold: ignored,
  },
  file: { purpose: ignored },
  "short-file": { purpose: ignored },
}

function byName<Row>(rows: Readonly<Record<string, Row>> = {}): ReadonlyMap<string, Row> {
  return new Map(Object.entries(rows))
}

function byPlace<Row>(
  tables: Readonly<Record<string, Readonly<Record<string, Row>>>>,
): Map<string, ReadonlyMap<string, Row>> {
  return new Map(Object.entries(tables).map(([place, rows]) => [place, byName(rows)]))
}

const tables = byPlace<PropertyRow>(propertyTable)
const foreign = byPlace<ForeignName>(foreignNames)
const none = byName<never>()

/** The properties of a block, in the order of the table. */
export function rowsOf(place: PropertyPlace): ReadonlyMap<string, PropertyRow> {
  return tables.get(place) ?? none
}

export function foreignNamesOf(place: PropertyPlace): ReadonlyMap<string, ForeignName> {
  return foreign.get(place) ?? none
}

/** How a property is read; an old name reads as what it stands for. */
export function formOf(place: PropertyPlace, name: string): PropertyForm {
  const rows = rowsOf(place)
  const row = rows.get(name) ?? rows.get(foreign.get(place)?.get(name)?.means ?? "")
  return row?.form ?? "expression"
}

export function isWordList(name: string): name is WordList {
  return Object.hasOwn(wordLists, name)
}

export function wordsIn(list: WordList): Words {
  return wordLists[list]
}

export function isWordOf<List extends WordList>(list: List, text: string | undefined): text is WordOf<List> {
  return text !== undefined && wordsIn(list).words.includes(text)
}

/** The names of a block's properties. */
export function namesIn<Place extends keyof Table>(place: Place): readonly (keyof Table[Place] & string)[] {
  return Object.keys(propertyTable[place]) as (keyof Table[Place] & string)[]
}

export const inferenceKeys = namesIn("inference")
export const limitKeys = namesIn("limits")
