import { isJsonObject } from "../base/is-json-object.ts"
import { removeIt, type DataOf, type Hint } from "../source/hint.ts"
import { numberFrom, wholeFrom, type ConstantRule } from "./constant-rule.ts"
import { runOpenQuestions, sourceRetries, sourceRounds } from "../base/limits.ts"

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
  /** Values whose names may contain `-`. */
  | "headers"
  /** A block of fields with places in an HTTP request. */
  | "send"
  | "uses"
  /** A reference with an optional block, or a list of them. */
  | "model"
  | "context"
  | "file"
  /** A word, or a block with details. */
  | "approval"
  | "elicitation"
  /** A condition, and maybe `else` and a text; without a colon. */
  | "requirement"
  /** A block of properties that are computed before the run. */
  | "auth"
  /** A word, or `hmac` and a block with details. */
  | "verify"
  /** A block that says when an agent that repeats is done. */
  | "repeat"
  /** A block that says how an agent's calls are batched. */
  | "batch"
  /** A block that says which event a delivery is. */
  | "event"
  | BlockForm

/** A block of properties, and what it looks like. */
export const blockForms = {
  inference: "inference { temperature: 0.2 }",
  price: "price { input: 0.40 output: 1.60 }",
  limits: "limits { tokens: 200_000 }",
  rate: "rate { requests_per_minute: 500 }",
} as const

export type BlockForm = keyof typeof blockForms

export function isBlockForm(form: PropertyForm): form is BlockForm {
  return Object.hasOwn(blockForms, form)
}

/** Whether `name { … }` is how the property is written. */
export function takesBlock(form: PropertyForm): boolean {
  return (
    isBlockForm(form) ||
    [
      "types",
      "values",
      "headers",
      "send",
      "file",
      "approval",
      "elicitation",
      "auth",
      "repeat",
      "batch",
      "event",
    ].includes(form)
  )
}

export interface PropertyRow {
  readonly form: PropertyForm
  /** The text to add where the property is missing (`name: "…"` for an empty text); undefined for what may be left out. */
  readonly required?: string
  /** May stand more than once. */
  readonly repeated?: true
  /** The value is written out, and this is what it may be. */
  readonly constant?: ConstantRule
  /** A value that is not written out is computed. */
  readonly orComputed?: true
  /** The value is one of these words; where it is `constant`, these are suggestions. */
  readonly words?: WordList | undefined
  /** The value is an array of `words`, or may be one. */
  readonly isList?: true | "maybe"
  /** The value may also be an array of names of arguments. */
  readonly takesNames?: true
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
  /** Words that contradict each other. */
  readonly apart?: { readonly words: readonly string[]; readonly message: string }
  /** The code for a wrong word; `invalid-value` by default. */
  readonly code?: "type-mismatch" | "unknown-property"
}

/** Words that a property may be set to. */
export const wordLists = {
  response_format: {
    what: "response format",
    words: ["auto", "json_schema", "json_object", "instruction_only"],
    isBare: true,
  },
  prompt_cache: {
    what: "prompt cache",
    words: ["auto", "none", "1h"],
    isBare: true,
    meant: { true: "auto", false: "none" },
    hint: 'Write `prompt_cache: auto`, `none`, or `"1h"`.',
    code: "type-mismatch",
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
  elicitation: {
    what: "elicitation",
    words: ["ask"],
    isBare: true,
    hint: 'Write `elicitation: ask`, or `elicitation { to: "group" }`.',
  },
  client_auth: {
    what: "way to send the client's secret",
    words: ["basic", "post"],
    isBare: true,
    code: "type-mismatch",
  },
  nulls: { what: "way to handle nulls", words: ["send"], isBare: true },
  gives: {
    what: "label",
    words: ["untrusted", "trusted", "private"],
    isBare: true,
    code: "unknown-property",
    apart: { words: ["trusted", "untrusted"], message: "What it gives is either trusted or untrusted" },
  },
  requires: {
    what: "demand",
    words: ["trusted", "strict", "none"],
    isBare: true,
    code: "unknown-property",
    hint: "Write `requires: trusted`, `strict`, `none`, or the arguments that must be trusted: `requires: [to]`.",
  },
  /** Labels of a workflow add to what the checker finds. */
  adds: { what: "label", words: ["untrusted", "private"], isBare: true, code: "unknown-property" },
  demands: { what: "demand", words: ["trusted"], isBare: true, code: "unknown-property" },
  cleared: { what: "label", words: ["private"], isBare: true },
  catch_up: { what: "way to catch up", words: ["last", "none"], isBare: true, meant: { all: "last", false: "none" } },
  overlap: { what: "way to handle overlap", words: ["skip", "allow", "cancel"], isBare: true },
  verify: {
    what: "way to sign",
    words: ["standard", "github", "stripe", "slack", "gitlab", "hmac"],
    isBare: true,
    hint: 'Known are `standard`, `github`, `stripe`, `slack`, `gitlab` and `hmac { header: "X-Signature" }`.',
  },
  event_to: { what: "receiver", words: ["all_callers"], isBare: true, code: "type-mismatch" },
  encoding: { what: "encoding", words: ["hex", "base64"], isBare: true },
  algorithm: { what: "algorithm", words: ["sha256", "sha512"], isBare: true },
  asset: { what: "kind of asset", words: ["image", "document", "video", "audio"] },
  media: { what: "kind of output", words: ["image", "audio"] },
  wire_api: { words: ["responses", "chat/completion", "speech", "transcription"] },
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
const elicitation = { form: "elicitation", words: "elicitation" } as const
const requirement = { form: "requirement", repeated: true } as const
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
const hostedPrices: ConstantRule = {
  expected: "prices by type, such as `{ web_search: 0.01 }`",
  type: "object",
  fits: (one) =>
    isJsonObject(one) &&
    Object.entries(one).every(
      ([type, each]) => hostedTypes.includes(type) && typeof each === "number" && each >= 0 && each <= 1_000_000_000,
    ),
  code: "type-mismatch",
}
const pin: ConstantRule = {
  expected: "`sha256:` and 64 hex digits",
  type: "string",
  fits: (one) => typeof one === "string" && /^sha256:[0-9a-f]{64}$/.test(one),
}
/** No more than the questions of a run that may be open at a time. */
const concurrency = constant(wholeFrom(1, runOpenQuestions))
/** 90 days. */
export const longestExpirySeconds = 7_776_000

const expiry = constant({
  expected: "a number of seconds from 1 to 7,776,000 (90 days)",
  type: "number",
  fits: (one) => Number(one) >= 1 && Number(one) <= longestExpirySeconds,
  code: "type-mismatch",
})
const waitSeconds = constant({
  ...numberFrom(0, longestExpirySeconds),
  expected: "a number of seconds from 0 to 7,776,000 (90 days)",
  code: "type-mismatch",
})
/** A name of events. */
export const eventName = /^[A-Za-z0-9._-]{1,100}$/
const event = constant({
  expected: "the name of an event, written out: letters, digits, `.`, `_` and `-`, at most 100 of them",
  type: "string",
  fits: (one) => typeof one === "string" && eventName.test(one),
  code: "type-mismatch",
})
/** Files from elsewhere have either spelling of the second. */
const wireApi = constant(
  {
    expected: '"responses", "chat/completion", "speech" or "transcription"',
    type: "string",
    fits: (one) => [...wordLists.wire_api.words, "chat/completions"].some((known) => known === one),
    code: "type-mismatch",
  },
  "wire_api",
)

const gives = { ...word("gives"), isList: "maybe" } as const
const cleared = { ...word("cleared"), isList: "maybe" } as const

/** A week. */
const longestBatchHours = 168

const rounds = {
  until: required(value, "until: result.…"),
  at_most: required(constant(wholeFrom(1, sourceRounds)), "at_most: 3"),
}

const shortFile = { name: text, media_type: text }
const shared = { bindings: values, max_calls: whole, approval }
/** `concurrency` only where the call stands in a list. */
const called = { on_failure: word("on_failure"), concurrency }
const workflowCall = { input: values, approval, ...called }
const bound = { bindings: values }
const tool = {
  input: types,
  output: types,
  bindings: values,
  max_calls: whole,
  description: constant(string),
  idempotent: constant({ expected: "`true` or `false`", type: "boolean" }, "boolean"),
  approval,
  gives,
  requires: { form: "expression", words: "requires", takesNames: true },
  cleared,
} as const
const remote = { ...bound, gives, cleared }

/** How a client may sign that it has its key. */
export const signingAlgorithms: readonly string[] = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA".split(
  " ",
)

/** Types of tools that a provider hosts, without their date. */
export const hostedTypes: readonly string[] = [
  "web_search",
  "web_fetch",
  "code_interpreter",
  "code_execution",
  "file_search",
  "google_search",
  "url_context",
  "image_generation",
]

/** The known type that a type begins with: types of a vendor end with a date or a version. */
export function hostedType(type: string): string | undefined {
  return hostedTypes.find((known) => type.startsWith(known))
}

/** Each block with its properties, those that are required first. */
export const propertyTable = {
  /** The block after the path of another file. */
  "file-import": { secrets: values },
  workflow: { secrets: values, gives: { ...word("adds"), isList: "maybe" }, requires: word("demands") },
  provider: { endpoint: text, api_key: value, headers, inference, wire_api: wireApi, rate: { form: "rate" }, cleared },
  model: {
    id: required(text),
    inference,
    assets: { ...word("asset"), isList: true },
    outputs: { ...word("media"), isList: true },
    response_format: word("response_format"),
    system: text,
    prompt_cache: word("prompt_cache"),
    hosted_tools: value,
    price: { form: "price" },
    wire_api: wireApi,
    cleared,
  },
  mcp: { endpoint: required(text), headers, auth: { form: "auth" }, elicitation, gives, cleared },
  api: {
    endpoint: required(text),
    headers,
    auth: { form: "auth" },
    timeout_seconds: constant(aboveZero),
    max_retries: tries,
    gives,
    cleared,
  },
  tool: { ...tool, pin: constant(pin) },
  /** A tool of an `api`. */
  "http-tool": { ...tool, send: { form: "send" }, nulls: word("nulls") },
  resource: remote,
  prompt: remote,
  batch: shared,
  agent: {
    model: required({ form: "model" }, "model: model.name"),
    instruction: required(text),
    output: required(types, "output { … }"),
    uses: { form: "uses" },
    hosted_tools: value,
    context: { form: "context" },
    messages: value,
    repeat: { form: "repeat" },
    batch: { form: "batch" },
    file: { form: "file", repeated: true },
    require: requirement,
    dynamic: { ...values, repeated: true },
    response_format: word("response_format"),
    max_steps: whole,
    on_failure: word("on_failure"),
    concurrency,
    system: text,
    prompt_cache: word("prompt_cache"),
    limits: { form: "limits" },
  },
  /** The block of an agent's `repeat`. */
  "agent-repeat": rounds,
  /** The block of an agent's `batch`. */
  "agent-batch": { within_hours: constant({ ...numberFrom(2, longestBatchHours), code: "type-mismatch" }) },
  input: { require: requirement },
  ask: {
    question: required(text),
    output: required(types, "output { … }"),
    show: value,
    prefill: value,
    to: text,
    expires_seconds: { ...expiry, orComputed: true },
    on_expiry: value,
    concurrency,
    cleared,
    require: requirement,
  },
  /** Exactly one of `seconds`, `until` and `event`. */
  wait: {
    seconds: { ...waitSeconds, orComputed: true },
    until: text,
    event,
    key: text,
    output: types,
    after: value,
    expires_seconds: { ...expiry, orComputed: true },
    on_expiry: value,
    gives,
  },
  approval: { question: text, show: value, to: text, expires_seconds: expiry, cleared },
  elicitation: { to: text, expires_seconds: expiry, cleared },
  auth: {
    client_id: required(text, "client_id: secrets.client_id"),
    issuer: text,
    token_endpoint: text,
    client_secret: text,
    private_key: text,
    key_id: text,
    algorithm: text,
    scopes: value,
    audience: text,
    resource: text,
    client_auth: word("client_auth"),
  },
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
  price: {
    input: required(price, "input: 0.40"),
    output: required(price, "output: 1.60"),
    cached: price,
    written: price,
    batch: constant({ ...numberFrom(0, 1), code: "type-mismatch" }),
    hosted: { form: "values", constant: hostedPrices },
  },
  rate: { requests_per_minute: limit, tokens_per_minute: limit, concurrency: limit },
  limits: { cost: limit, tokens: limit, model_calls: limit, tool_calls: limit, time_seconds: limit },
  chat: {
    message: required(value, "message: input.name"),
    reply: required(value, "reply: output.name"),
    history: value,
    system: value,
    files: value,
  },
  release: {
    share: constant({ ...numberFrom(0, 1), code: "type-mismatch" }),
    by: value,
    shadow: constant({ ...numberFrom(0, 1), code: "type-mismatch" }),
    agree_on: value,
    stop_when: value,
  },
  /** Either `value`, or `judge` with `of`, `model` and `output`. */
  score: {
    sample: constant({ ...numberFrom(0, 1), code: "type-mismatch" }),
    value,
    of: value,
    judge: text,
    model: { form: "model" },
    output: types,
  },
  schedule: {
    cron: required(constant({ ...string, code: "type-mismatch" }), 'cron: "0 9 * * *"'),
    timezone: constant({ ...string, code: "type-mismatch" }),
    catch_up: word("catch_up"),
    overlap: word("overlap"),
    input: values,
  },
  webhook: {
    verify: { form: "verify", words: "verify" },
    secret: value,
    when: value,
    input: values,
    event: { form: "event" },
    reply_within_seconds: constant({ ...wholeFrom(1, 30), code: "type-mismatch" }),
  },
  /** The block of a webhook's `event`. */
  "webhook-event": {
    name: required(event, 'name: "…"'),
    key: text,
    data: values,
    keep_seconds: constant({ ...wholeFrom(0, 604_800), code: "type-mismatch" }),
    to: word("event_to"),
  },
  /** The block after `hmac`. */
  hmac: {
    header: required(constant({ ...notEmpty, code: "type-mismatch" }), 'header: "X-Signature"'),
    prefix: constant(string),
    encoding: word("encoding"),
    algorithm: word("algorithm"),
  },
  file: { content: required(value), ...shortFile },
  /** The block after the content of a file: `file input.report { … }`. */
  "short-file": shortFile,
  use: { ...shared, description: constant(string) },
  "configured-model": { inference },
  compact: { model: { form: "model" }, instruction: text },
  call: { input: values, ...shared, ...called },
  /** The block of `call workflow.name`. */
  "workflow-call": workflowCall,
  repeat: {
    ...rounds,
    next: values,
    ...workflowCall,
  },
  read: { ...bound, ...called },
  render: { ...bound, ...called },
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
  readonly hint?: Hint<DataOf<"unknown-property">>
  /** An old spelling: what stands in it is declared by itself now. */
  readonly declares?: string
  /** Its value is one more of the list that this property takes. */
  readonly joins?: string
  /** It says no more than this one, where both are written. */
  readonly beside?: string
}

const loop = { hint: "A loop follows the name: `agent name for item in input.list { … }`." }
const condition = { hint: "A condition follows the name: `agent name when input.ready { … }`." }
const fallback = { joins: "model" }
const ignored = { isIgnored: true } as const
const address = { like: "endpoint" }
const timeout = { hint: "Write it at the model: `model: model.name { inference { timeout_seconds: … } }`." }
const retries = { hint: "Write it at the model: `model: model.name { inference { max_retries: … } }`." }
const cost = { hint: "Write `limits { cost: … }`." }
const requireApproval = { like: "approval", hint: "Write `approval: required`." }
const program = { like: "endpoint", hint: 'Programs are not started: write `endpoint: "https://…"`.' }

const foreignNames: Partial<Record<PropertyPlace, Readonly<Record<string, ForeignName>>>> = {
  provider: {
    driver: { means: "from" },
    models: { declares: "model", hint: 'Declare each of them: `model name from provider_name { id: "…" }`.' },
    base_url: address,
  },
  model: { name: { like: "id" }, model: { like: "id" } },
  mcp: {
    url: address,
    command: program,
    args: { ...program, beside: "command" },
    env: { ...program, beside: "command" },
  },
  api: { url: address, base_url: address, timeout: { like: "timeout_seconds" }, retries: { like: "max_retries" } },
  tool: { require_approval: requireApproval },
  "http-tool": {
    require_approval: requireApproval,
    pin: { hint: removeIt("an api publishes no definition that could change") },
  },
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
    unless: { hint: "A condition follows the name: `agent name when !(input.ready) { … }`." },
    extends: { hint: "Nothing is inherited: write here what the other agent has, too." },
    retry: retries,
    tool: { like: "uses" },
    depends_on: { hint: removeIt("the order comes from the references") },
    history: { like: "messages" },
    system_prompt: { like: "system" },
    timeout,
    timeout_ms: timeout,
  },
  schedule: {
    expression: { like: "cron" },
    tz: { like: "timezone" },
    time_zone: { like: "timezone" },
    zone: { like: "timezone" },
    every: { hint: 'Write it as a cron expression: `cron: "*/15 * * * *"`, or `"@hourly"`.' },
    inputs: { like: "input" },
  },
  webhook: {
    path: { hint: removeIt("the path is /hooks/ with the names of the workflow and of the webhook") },
    secrets: { like: "secret" },
    signature: { like: "verify" },
    if: { like: "when" },
    inputs: { like: "input" },
  },
  limits: {
    max_cost: { like: "cost" },
    max_tokens: { like: "tokens" },
    time: { like: "time_seconds" },
    timeout: { like: "time_seconds" },
  },
  inference: {
    timeout: { like: "timeout_seconds" },
    timeout_ms: { like: "timeout_seconds" },
    provider_retry_base_delay_ms: { means: "retry_base_delay_ms", isRead: true },
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
