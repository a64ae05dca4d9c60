import { wordLists } from "../../../src/syntax/property-table.ts"
import type { Random } from "../../support/random.ts"
import { Expressions, failure, quiet, type Callables, type Scope, type Value } from "./random-expression.ts"
import type { AgentFacts, AskFacts, Program, RemoteFacts, ServerFacts, ToolFacts, Toggle } from "./program.ts"
import {
  arrayOf,
  boolean,
  integer,
  mapOf,
  maybe,
  number,
  record,
  string,
  untyped,
  written,
  writtenFields,
  type Fields,
  type Mark,
  type WireType,
} from "./wire-type.ts"

// Random whole programs: files that call, repeat and import each other. What a checker may refuse in them is written as toggles, the
// strictest level first: `accepted-program.ts` looks for the strictest program that the checker accepts.

interface CalledFile {
  readonly path: string
  readonly input: Fields
  readonly output: Fields
  /** `input.shop` fills an address of the file. */
  readonly name: string
}

/** What all files of a program share. */
class Whole {
  readonly toggles: Toggle[] = []
  readonly tools = new Map<string, ToolFacts>()
  readonly servers = new Map<string, ServerFacts>()
  readonly resources = new Map<string, RemoteFacts>()
  readonly prompts = new Map<string, RemoteFacts>()
  readonly agents = new Map<string, AgentFacts>()
  readonly asks = new Map<string, AskFacts>()
  readonly models = new Map<string, string>()
  readonly workflows = new Map<string, { readonly requires: string; readonly approval: string }>()
  /** How much of what comes in is marked: where little is, a label that is lost is not hidden by others. */
  readonly marks: number
  /** Few declarations, and steps that lead from one to the next. */
  readonly isChain: boolean
  /** What the program has more of than others: what belongs together stands together more often. */
  readonly emphasis: Emphasis
  readonly #counts = new Map<string, number>()

  /** Imports say that there is one call of each. */
  counts = false

  constructor(marks: number, isChain: boolean, emphasis: Emphasis) {
    this.marks = marks
    this.isChain = isChain
    this.emphasis = emphasis
  }

  /** A probability that is higher in programs with this emphasis. */
  more(emphasis: Emphasis, probability: number, there: number): number {
    return this.emphasis === emphasis ? there : probability
  }

  name(letter: string): string {
    const count = this.#counts.get(letter) ?? 0
    this.#counts.set(letter, count + 1)
    return `${letter}${count}`
  }

  /** Whether agents repeat, and are told what was said before: programs with another emphasis have enough to do. */
  get hasRounds(): boolean {
    return this.emphasis === "none" || this.emphasis === "repeats"
  }

  /** Only programs with this emphasis have it: the others stay what they were. */
  only(emphasis: Emphasis, random: Random, probability: number): boolean {
    return this.emphasis === emphasis && random.chance(probability)
  }

  /** A program without words of trust: a webhook makes its input a stranger's. */
  get isBare(): boolean {
    return this.emphasis === "bare"
  }

  /** A place that has one of several texts, the strictest first. */
  toggle(about: string, what: Toggle["what"], levels: readonly string[]): string {
    if (this.isBare && what !== "address" && what !== "header") return what === "approval" ? (levels.at(-1) ?? "") : ""
    const id = `${about}.${what}`
    if (!this.toggles.some((one) => one.id === id)) this.toggles.push({ id, about, what, levels })
    return `⟦${id}⟧`
  }
}

export const emphases = [
  "none",
  "none",
  "variants",
  "rounds",
  "conversations",
  "schemas",
  "skips",
  "choices",
  "remotes",
  "wide",
  "assets",
  "repeats",
  "failing",
  "failing",
  "lists",
  "names",
  "bare",
  "waits",
] as const
export const allEmphases = [...emphases, "many"] as const
/** `many`: more calls of files than the checker follows, which takes it a while. */
export type Emphasis = (typeof allEmphases)[number]

export function randomProgram(random: Random, emphasis: Emphasis = random.pick(emphases)): Program {
  const isChain = random.chance(0.7)
  const marks = isChain ? random.pick([0.1, 0.25]) : random.pick([0.04, 0.1, 0.35])
  const whole = new Whole(emphasis === "bare" ? 0 : marks, isChain, emphasis)
  whole.counts = whole.only("failing", random, 0.4)
  const modules: Record<string, string> = {}
  const library = random.chance(isChain ? 0.05 : 0.25) ? new FileWriter(random, whole, "lib.wire", []) : undefined
  if (library !== undefined) modules["lib.wire"] = library.library()
  const files: CalledFile[] = []
  const count = needsFile.has(whole.emphasis) ? 1 : random.pick([0, 0, 1, 1, 2])
  for (let index = 0; index < count; index++) {
    const path = `f${index}.wire`
    const writer = new FileWriter(random, whole, path, [...files])
    modules[path] = writer.called()
    files.push(writer.callable())
  }
  if (whole.emphasis === "many") modules["many.wire"] = manyFile
  const main = new FileWriter(random, whole, "main.wire", files, library)
  return {
    source: main.main(),
    modules,
    input: main.input,
    filled: main.filled,
    isDeliveredWhen: main.isDeliveredWhen,
    toggles: whole.toggles,
    tools: whole.tools,
    servers: whole.servers,
    resources: whole.resources,
    prompts: whole.prompts,
    agents: whole.agents,
    asks: whole.asks,
    models: whole.models,
    workflows: whole.workflows,
  }
}

/** A file whose own input is a stranger's, and more calls of it than the checker follows, which no run makes. */
const manyFile = "input { s: untrusted string }\noutput { s: input.s }\n"
const callOfMany = 'call workflow.many { input { s: "x" } }'
const manyCalls = `workflow many from "./many.wire"
dynamic { many: match input.shop == "never" { true: length([${Array.from({ length: 2001 }, () => callOfMany).join(", ")}]) false: 0 } }
dynamic { echo: ${callOfMany} }`

const oftenCallsFiles: ReadonlySet<Emphasis> = new Set(["rounds", "failing", "lists"])
const needsFile: ReadonlySet<Emphasis> = new Set(["rounds", "failing", "lists", "many"])

const fixedFields: Fields = [
  ["vouched", { kind: "string", mark: "untrusted" }],
  ["released", { kind: "string", mark: "private" }],
]

const said = (text: "text" | "content", mark: { readonly mark?: Mark }): WireType =>
  arrayOf(record(["role", { kind: "enum", values: ["user", "assistant"] }], [text, { ...string, ...mark }]))

const knowsStrict = (wordLists.requires.words as readonly string[]).includes("strict")

interface ToolInFile {
  readonly facts: ToolFacts
  /** Arguments that the import binds. */
  readonly bound: ReadonlySet<string>
}

class FileWriter implements Callables {
  input: Fields = []
  /** Input fields that a webhook fills. */
  filled: ReadonlySet<string> = new Set()
  /** A webhook decides by what it is sent. */
  isDeliveredWhen = false
  readonly #random: Random
  readonly #whole: Whole
  readonly #path: string
  readonly #files: readonly CalledFile[]
  readonly #expressions: Expressions
  readonly #library: FileWriter | undefined
  readonly #lines: string[] = []
  readonly #schemas: { readonly name: string; readonly type: WireType }[] = []
  readonly #providers: string[] = []
  readonly #models: string[] = []
  readonly #servers: { readonly name: string; readonly word: "mcp" | "api" }[] = []
  readonly #tools: ToolInFile[] = []
  readonly #resources: RemoteFacts[] = []
  readonly #prompts: RemoteFacts[] = []
  readonly #workflows: { readonly name: string; readonly file: CalledFile }[] = []
  readonly #roots: Value[] = []
  /** Agents that another one may continue. */
  readonly #continued: string[] = []
  #output: Fields = []
  #calls = 0

  constructor(random: Random, whole: Whole, path: string, files: readonly CalledFile[], library?: FileWriter) {
    this.#random = random
    this.#whole = whole
    this.#path = path
    this.#files = files
    this.#library = library
    this.#expressions = new Expressions(random, this, {
      trusted: whole.isBare ? [] : ["input.vouched"],
      released: ["input.released"],
    })
  }

  // ------------------------------------------------------------------------------------------------------ whole files

  main(): string {
    const random = this.#random
    this.#imports()
    this.#declareSchemas(this.#whole.emphasis === "schemas" ? 2 : random.below(3))
    const fixed: Fields = [
      ["mail", { kind: "string", mark: "untrusted" }],
      ["iban", { kind: "string", mark: "private" }],
      ["shop", string],
      ...fixedFields,
    ]
    this.input = [
      ...(this.#whole.isBare ? fixed.map(([name]) => [name, string] as const) : fixed),
      ...random.list(
        1 + random.below(this.#whole.isChain ? 2 : 4),
        (index) => [`x${index}`, this.#inputType()] as const,
      ),
      ...(random.chance(this.#whole.more("wide", 0.1, 1)) ? [["wide", this.#wide()] as const] : []),
    ]
    if (this.#whole.hasRounds && random.chance(0.3)) {
      const mark = this.#mark(0.5)
      this.input = [...this.input, ["past", said("text", mark)]]
      this.#roots.push({ text: "chat.history", type: said("content", {}) })
    }
    if (this.#whole.emphasis === "many") this.#add(manyCalls)
    // What else may fail in a program hides what these do.
    this.#body(this.#whole.emphasis === "failing" ? random.below(2) : 1 + random.below(5))
    this.#triggers()
    this.#close(1 + random.below(3))
    return this.#written()
  }

  called(): string {
    const random = this.#random
    this.#declareSchemas(random.below(2))
    this.input = [
      ["shop", string],
      ...fixedFields,
      ...random.list(
        (this.#whole.emphasis === "rounds" ? 2 : 1) + random.below(3),
        (index) => [`y${index}`, this.#carried(index)] as const,
      ),
    ]
    // What else may fail in a file hides what decides whether this does.
    const isSmall = this.#whole.only("failing", random, 0.6)
    this.#body(isSmall ? 0 : random.below(4))
    if (isSmall) {
      this.#output = [["o0", string]]
      this.#add('output { o0: "x" }')
    } else this.#close(1 + random.below(3))
    return this.#written()
  }

  callable(): CalledFile {
    return {
      path: this.#path,
      input: this.input,
      output: this.#output,
      name: this.#path.replace(".wire", ""),
    }
  }

  library(): string {
    this.#add("secrets { key: string }")
    this.#declareSchemas(1)
    this.#declareBackends(1, false)
    this.#declareServer("mcp", false)
    this.#declareTool(false)
    return this.#lines.join("\n\n")
  }

  #inputType(): WireType {
    const random = this.#random
    const reference = random.chance(this.#whole.more("schemas", 0.3, 0.8)) ? this.#reference() : undefined
    if (random.chance(this.#whole.more("variants", 0, 0.5))) {
      const one = { ...this.#variant(1, this.#whole.marks), ...this.#mark(this.#whole.marks) }
      return random.chance(0.5) ? maybe(one) : one
    }
    return reference ?? this.#type(3, this.#whole.marks)
  }

  /** Values that go round between files: few types, so that results fit inputs. */
  #carried(index: number): WireType {
    const random = this.#random
    const mark = this.#mark(this.#whole.marks / 2)
    const plain: WireType = random.pick<WireType>([
      string,
      { kind: "tuple", of: [string, string, string] },
      record(["a", string], ["b", string]),
      { kind: "object" },
      arrayOf(string),
      {
        kind: "variant",
        tag: "kind",
        cases: [
          [
            "one",
            [
              ["a", string],
              ["b", string],
            ],
          ],
          ["two", [["c", string]]],
        ],
      },
      this.#type(2, this.#whole.marks / 2),
    ])
    if (index > 0 && this.#whole.emphasis === "rounds") return { kind: "tuple", of: [string, string, string] }
    return index === 0 ? string : { ...plain, ...mark }
  }

  #imports(): void {
    const library = this.#library
    if (library === undefined) return
    const names = [
      ...library.#schemas.map(({ name }) => `schema.${name}`),
      ...library.#models.map((name) => `model.${name}`),
      ...library.#tools.map(({ facts }) => `tool.${facts.name}`),
    ]
    this.#add(`import { ${names.join(", ")} } from "./lib.wire" { secrets { key: secrets.key } }`)
    this.#schemas.push(...library.#schemas)
    this.#models.push(...library.#models)
    this.#tools.push(...library.#tools)
  }

  #body(steps: number): void {
    const random = this.#random
    for (const [name, type] of this.input) {
      const isRare = name === "mail" || name === "iban" || isFixed(name)
      if (!isRare || random.chance(this.#whole.marks * 2)) this.#roots.push({ text: `input.${name}`, type })
    }
    const [[required] = [""]] = this.input
    const isFulfilled = random.chance(0.3) ? `, require input.${required} == input.${required} else "No."` : ""
    const isAsked = this.#path !== "main.wire" && this.#whole.only("failing", random, 0.4)
    const requirement = isAsked ? `, require ${this.#half("input.y0")}` : isFulfilled
    this.#add(`input { ${writtenFields(this.input)}${requirement} }`)
    this.#add(`secrets { key: string${this.#path === "main.wire" ? ", hook: string" : ""} }`)
    for (let functions = random.pick([0, 0, 1, 2]); functions > 0; functions--) this.#declareFunction()
    const { isChain } = this.#whole
    const often = isChain ? 0.3 : 1
    this.#declareBackends(isChain ? 1 : 2, true)
    this.#declareServer("mcp", true)
    if (random.chance(0.6 * often)) this.#declareServer(random.pick(["mcp", "api"]), true)
    for (let count = isChain ? 2 : 2 + random.below(3); count > 0; count--) this.#declareTool(true)
    if (random.chance(this.#whole.more("remotes", 0.4 * often, 0.9))) this.#declareRemote("resource")
    if (random.chance(this.#whole.more("remotes", 0.3 * often, 0.6))) this.#declareRemote("prompt")
    if (random.chance(0.2 * often)) this.#declareBatch()
    this.#files.forEach((file) => {
      if (random.chance(this.#whole.more("failing", 0.85, 1))) this.#declareWorkflow(file)
    })
    if (this.#whole.emphasis === "many" && this.#path === "main.wire") {
      for (const tool of this.#tools) this.#add1(this.#plainCall(tool, "dynamic.echo.s"))
    }
    if (this.#whole.only("failing", random, 0.8)) {
      if (this.#path === "main.wire") this.#mayMiss()
      else this.#mayEnd()
    }
    for (let count = steps; count > 0; count--) this.#step()
    if (random.chance(0.1))
      this.#add(`limits { ${random.pick(["model_calls", "tool_calls", "tokens", "time_seconds"])}: 100_000 }`)
  }

  /** Half of all texts fulfil it. */
  #half(path: string): string {
    return `length(json(${path})) % 2 == 0`
  }

  #plainCall(tool: ToolInFile, to = '"x"'): string {
    return this.#callTool(tool, { roots: [{ text: to, type: string }], mayCall: false, loops: 0 }, 0).text
  }

  #add1(value: string): string {
    const name = this.#whole.name("d")
    this.#add(`dynamic { ${name}: ${value} }`)
    return `dynamic.${name}`
  }

  /** A step that fails where something else decides so, and calls that are not made then. */
  #mayEnd(): void {
    const random = this.#random
    const condition = this.#half("input.y0")
    const failing = 'text(1 / length(""))'
    const ends = [
      `match (${condition}) { true: text(${failing}) false: "" }`,
      `text((${condition}) && ${failing} == "1")`,
      `json([${failing} for v_ in ["a"] when (${condition})])`,
    ]
    if (random.chance(0.6)) this.#add1(random.pick(ends))
    let before = '"x"'
    for (const tool of this.#tools) {
      before = this.#add1(calledWhen(this.#plainCall(tool), `length(json(${before})) >= 0`))
    }
  }

  /** A file that may fail, and two calls that share a count. */
  #mayMiss(): void {
    const random = this.#random
    const path = random.pick(["input.mail", "input.iban"])
    for (const { name, file } of this.#whole.counts ? [] : this.#workflows.slice(0, 1)) {
      const first: Scope = { roots: [{ text: path, type: string }], mayCall: false, loops: 0 }
      this.#add1(`(call workflow.${name} { input { ${this.#fileInput(name, file.input, first)} } on_failure: skip })`)
    }
    const [counted, other] = this.#tools
    if (counted === undefined || other === undefined || !this.#whole.counts) return
    this.#add1(calledWhen(this.#plainCall(counted), this.#half(path)))
    const left = this.#plainCall(counted).replace(/( on_failure: skip)? \}\)$/, " on_failure: skip })")
    this.#add1(this.#plainCall(other, `text(${this.#add1(left)} == null)`))
  }

  #declareFunction(): void {
    const random = this.#random
    const name = this.#whole.name("fn")
    const plain = [string, integer, boolean, arrayOf(string), record(["a", string], ["b", string]), maybe(string)]
    const takes = random.list(1 + random.below(2), () => random.pick(plain))
    const gives = random.pick(plain)
    const roots = takes.map((type, at) => ({ text: `p${at}`, type }))
    const body = new Expressions(random, { call: () => undefined }, { trusted: ['("x")'], released: ['("x")'] })
    body.functions.push(...this.#expressions.functions)
    const value = body.of(gives, { roots, mayCall: false, loops: 1, isEarly: true }, 3)
    const parameters = roots.map(({ text, type }) => `${text}: ${written(type)}`)
    const result = random.chance(0.5) ? `: ${written(gives)}` : ""
    this.#add(`function ${name}(${parameters.join(", ")})${result} = ${value}`)
    this.#expressions.functions.push({ name, takes, gives })
  }

  #close(count: number): void {
    const hasHistory = this.input.some(([name]) => name === "past")
    const fields = this.#random.list(count, (index) => {
      return [`o${index}`, index === 0 && hasHistory ? string : this.#pickType()] as const
    })
    const values = fields.map(([name, type]) => `${name}: ${this.#of(type)}`)
    this.#output = fields
    // The last values of a chain go to a tool that acts.
    if (this.#whole.isChain && this.#path === "main.wire" && !this.#whole.counts) {
      values.push(
        ...this.#tools.map((tool, index) => `last${index}: ${this.#callTool(tool, this.#scope(false), 1).text}`),
      )
    }
    this.#add(`output { ${values.join("\n    ")} }`)
    const [text] = fields.find(([, type]) => type.kind === "string") ?? []
    if (hasHistory) this.#add(`chat { message: input.mail history: input.past reply: output.${text} }`)
    else if (this.#path === "main.wire" && text !== undefined && this.#random.chance(0.05)) {
      this.#add(`chat { message: input.mail reply: output.${text} }`)
    }
  }

  /** A type that something in the file has, or a plain one. */
  #pickType(): WireType {
    const random = this.#random
    const own = this.input.flatMap(([, type]) => (type.kind === "any" ? [] : [bare(type)]))
    return random.chance(0.6) ? random.pick(own) : random.pick([string, arrayOf(string), integer, boolean])
  }

  #add(text: string): void {
    this.#lines.push(text)
  }

  #written(): string {
    return `${this.#lines.join("\n\n")}\n`
  }

  #of(type: WireType, scope: Scope = this.#scope(), depth = 3): string {
    return this.#expressions.of(type, scope, depth)
  }

  #scope(mayCall = true): Scope {
    return { roots: [...this.#roots], mayCall, loops: 0 }
  }

  // ----------------------------------------------------------------------------------------------------------- types

  #mark(probability: number): { readonly mark?: Mark } {
    const random = this.#random
    return random.chance(probability) ? { mark: random.pick(["untrusted", "private"] as const) } : {}
  }

  #type(depth: number, marks: number): WireType {
    const random = this.#random
    const inner = (): WireType => this.#type(depth - 1, marks)
    const plain = (): WireType => {
      switch (depth <= 0 ? random.below(6) : random.below(16)) {
        case 0:
        case 1:
          return string
        case 2:
          return random.pick([integer, number])
        case 3:
          return boolean
        case 4:
          return {
            kind: "enum",
            values: ["a", "b"].slice(0, 1 + random.below(2)).concat(random.chance(0.5) ? ["c"] : []),
          }
        case 5:
          return random.pick<WireType>([{ kind: "literal", value: "only" }, { kind: "object" }, mapOf(inner()), string])
        case 6:
        case 7:
          return { kind: "record", fields: this.#fields(1 + random.below(3), depth - 1, marks) }
        case 8:
        case 9:
          return { kind: "array", of: inner(), ...(random.chance(0.2) && { length: 2 }) }
        case 10:
          return { kind: "tuple", of: random.list(2 + random.below(2), inner) }
        case 11:
        case 12:
          return maybe(noMaybe(inner()))
        case 13:
          return random.chance(0.5)
            ? { kind: "union", of: [string, integer] }
            : { kind: "union", of: [string, { kind: "null" }] }
        case 14:
          return this.#variant(depth - 1, marks)
        default:
          return this.#reference() ?? string
      }
    }
    const made = plain()
    return made.kind === "maybe" && made.of.mark !== undefined ? made : { ...made, ...this.#mark(marks) }
  }

  #fields(count: number, depth: number, marks: number): Fields {
    return this.#random.list(
      count,
      (index) => [["a", "b", "c", "d"][index] ?? `e${index}`, this.#type(depth, marks)] as const,
    )
  }

  #variant(depth: number, marks: number): WireType {
    return {
      kind: "variant",
      tag: "kind",
      cases: [
        [
          "one",
          [
            ["a", this.#type(depth, marks)],
            ["b", string],
          ],
        ],
        ["two", this.#random.chance(0.5) ? [["c", this.#type(depth, marks)]] : []],
      ],
    }
  }

  /** Ten fields, each with a marker of its own. */
  #wide(): WireType {
    const last: Mark = this.#random.pick(["private", "untrusted"])
    const other: Mark = last === "private" ? "untrusted" : "private"
    return record(
      ...this.#random.list(10, (index) => [`w${index}`, { kind: "string", mark: index === 9 ? last : other }] as const),
    )
  }

  #declareSchemas(count: number): void {
    for (let made = 0; made < count; made++) {
      const name = this.#whole.name("k")
      const kind = this.#random.below(4)
      if (kind === 0) {
        const variant = this.#variant(1, this.#whole.marks)
        this.#add(`schema ${name} { ${written(variant)} }`)
        this.#schemas.push({ name, type: variant })
      } else if (kind === 1) {
        const path = `schema.${name}`
        const type: WireType = {
          kind: "record",
          fields: [
            ["a", { kind: "string", ...this.#mark(this.#whole.marks * 2) }],
            ["kids", arrayOf({ kind: "ref", path, to: () => type })],
          ],
        }
        this.#add(`schema ${name} { ${type.kind === "record" ? writtenFields(type.fields) : ""} }`)
        this.#schemas.push({ name, type })
      } else {
        const nested: WireType = {
          ...record(["c", { kind: "string", ...this.#mark(0.3) }], ["d", this.#type(1, this.#whole.marks)]),
          ...this.#mark(this.#whole.marks),
        }
        const fields: Fields = [
          ...this.#fields(2, 2, this.#whole.marks).map(([field, one]) => [`${field}1`, one] as const),
          ["b", nested],
        ]
        this.#add(`schema ${name} { ${writtenFields(fields)} }`)
        this.#schemas.push({ name, type: { kind: "record", fields } })
      }
    }
  }

  /** A named schema, or the type of a field in one, or of a field in that. */
  #reference(): WireType | undefined {
    const random = this.#random
    if (this.#schemas.length === 0) return undefined
    const { name, type } = random.pick(this.#schemas)
    let at: WireType = type
    let path = `schema.${name}`
    while (at.kind === "record" && random.chance(0.6)) {
      const [field, one] = random.pick(at.fields)
      at = one
      path = `${path}.${field}`
      if (one.kind === "ref") break
    }
    const end = at
    return end.kind === "ref" ? end : { kind: "ref", path, to: () => end }
  }

  // -------------------------------------------------------------------------------------------------- backends, servers

  #declareBackends(models: number, hasInput: boolean): void {
    const random = this.#random
    const whole = this.#whole
    const provider = whole.name("p")
    this.#providers.push(provider)
    const key = random.chance(0.8) || !hasInput ? "api_key: secrets.key" : ""
    this.#add(
      `provider ${provider} from ${random.pick(["openai", "openai_compatible", "anthropic"])} { endpoint: ${this.#address(provider, hasInput)} ${key} ${this.#headers(provider, hasInput)} ${random.chance(0.2) ? "inference { max_retries: 0, output_retries: 1 }" : ""} ${whole.toggle(provider, "cleared", ["", "cleared: private"])} }`,
    )
    for (let count = 0; count < models; count++) {
      const model = whole.name("m")
      const id =
        hasInput && random.chance(0.15) ? whole.toggle(model, "address", this.#addresses("", '"demo"')) : '"demo"'
      const system =
        hasInput && random.chance(0.2)
          ? `system: ${this.#expressions.of(string, { roots: this.#inputRoots(), mayCall: false, loops: 0, isEarly: true }, 1)}`
          : ""
      this.#add(
        `model ${model} from ${provider} { id: ${id} assets: ["image", "document", "video"] ${system} ${random.chance(0.15) ? "price { input: 1, output: 1 }" : ""} ${random.chance(0.15) ? "response_format: json_object" : ""} ${whole.toggle(model, "cleared", ["", "cleared: private"])} }`,
      )
      this.#models.push(model)
      whole.models.set(model, provider)
    }
  }

  #inputRoots(): readonly Value[] {
    return this.input.map(([name, type]) => ({ text: `input.${name}`, type }))
  }

  /** Where an address may come from, the worst first. */
  #addresses(before: string, literal: string): readonly string[] {
    const fields = this.#path === "main.wire" ? ["mail", "iban", "shop"] : ["shop"]
    return [...this.#random.list(1, () => `"${before}{{ input.${this.#random.pick(fields)} }}"`), literal]
  }

  #address(name: string, hasInput: boolean): string {
    const literal = `"https://${name}.example.com/v1"`
    if (!hasInput || !this.#random.chance(0.2)) return literal
    return this.#whole.toggle(name, "address", this.#addresses(`https://${name}.example.com/`, literal))
  }

  #headers(name: string, hasInput: boolean): string {
    if (!hasInput || !this.#random.chance(0.15)) return ""
    return `headers { X-Shop: ${this.#whole.toggle(name, "header", this.#addresses("", '"plain"'))} }`
  }

  #declareServer(word: "mcp" | "api", hasInput: boolean): void {
    const random = this.#random
    const name = this.#whole.name(word === "mcp" ? "s" : "c")
    const said = ["", "", "", "gives: trusted", "gives: trusted", "gives: private", "gives: [trusted, private]"]
    const gives = this.#whole.isBare ? "" : random.pick(said)
    const cleared = this.#whole.toggle(name, "cleared", ["", "cleared: private"])
    const auth = random.chance(0.1)
      ? `auth { token_endpoint: "https://id.example.com/token" client_id: secrets.key client_secret: secrets.key }`
      : ""
    const more =
      word === "api" && random.chance(0.3)
        ? "timeout_seconds: 5 max_retries: 0"
        : word === "mcp" && !this.#whole.isBare && random.chance(0.1)
          ? random.pick(["elicitation: ask", 'elicitation { to: "desk" expires_seconds: 60 cleared: private }'])
          : ""
    this.#add(
      `${word} ${name} { endpoint: ${this.#address(name, hasInput)} ${this.#headers(name, hasInput)} ${auth} ${more} ${gives} ${cleared} }`,
    )
    this.#servers.push({ name, word })
    this.#whole.servers.set(name, { name, gives })
  }

  /** What something gives: trusted, as a rule, and nothing private. */
  #gives(others: readonly string[]): string {
    if (this.#whole.isBare) return ""
    return this.#random.chance(Math.min(0.6, this.#whole.marks * 3)) ? this.#random.pick(others) : "gives: trusted"
  }

  #declareTool(hasInput: boolean): void {
    const random = this.#random
    const { name: server, word } = random.pick(this.#servers)
    const name = this.#whole.name("t")
    const isUntyped = word === "mcp" && random.chance(0.2)
    const extra: Fields = random.chance(0.4) ? [["more", bare(this.#type(1, 0))]] : []
    const args: Fields = [["to", string], ["body", string], ...extra]
    const result = random.chance(0.25)
      ? untyped
      : ({
          kind: "record",
          fields: this.#fields(1 + random.below(2), 2, this.#whole.marks / 2),
        } as const)
    const facts: ToolFacts = {
      name,
      server,
      args,
      result,
      gives: this.#gives([
        "",
        "gives: untrusted",
        "gives: private",
        "gives: [trusted, private]",
        "gives: [untrusted, private]",
      ]),
      approvesAt: random.pick(["import", "sites"] as const),
    }
    const bound = hasInput && !isUntyped && random.chance(0.3) ? ["to"] : []
    this.#whole.tools.set(name, facts)
    this.#tools.push({ facts, bound: new Set(bound) })
    const remote =
      word === "mcp"
        ? `mcp.${server}.tool.${name}`
        : `api.${server}."${random.pick(["POST", "PUT", "GET"])} /${name}/{to}"`
    const levels = [
      ...(!isUntyped && this.#whole.only("names", random, 0.7) ? ["requires: [trusted]"] : []),
      ...(knowsStrict ? ["requires: strict"] : []),
      "requires: trusted",
      "requires: [to, body]",
      "requires: [to]",
      "requires: none",
      "",
    ]
    const parts = [
      isUntyped ? "" : `input { ${writtenFields(args)} }`,
      result.kind === "record" ? `output { ${writtenFields(result.fields)} }` : "",
      bound.length === 0 ? "" : `bindings { to: ${this.#importBinding()} }`,
      this.#whole.counts ? "max_calls: 1" : random.chance(0.1) ? "max_calls: 50" : "",
      random.chance(0.1) ? 'description: "Does it."' : "",
      random.chance(0.1) ? "idempotent: true" : "",
      facts.gives,
      this.#whole.toggle(name, "requires", levels),
      this.#whole.toggle(name, "cleared", ["", "cleared: private"]),
      facts.approvesAt === "import" ? this.#approval(name) : "",
      word === "api" && random.chance(0.2) ? "nulls: send" : "",
      word === "api" && random.chance(0.2) ? 'send { body: header "X-Body" }' : "",
    ]
    this.#add(`tool ${name} from ${remote} { ${parts.filter((one) => one !== "").join("\n    ")} }`)
  }

  /** A binding of an import refers to `input` and `secrets` alone. */
  #importBinding(): string {
    return this.#random.pick([
      "input.shop",
      '"desk"',
      ...(this.#path === "main.wire" ? ["input.mail", "input.iban"] : []),
    ])
  }

  /** What people are asked before a call refers to the step that makes it; before each call of an import, to `input` alone. */
  #approval(name: string, scope?: Scope): string {
    const random = this.#random
    const word = (): string => (scope === undefined ? this.#importBinding() : this.#of(string, scope, 1))
    const question = random.chance(0.4) ? `question: ${word()}` : ""
    const show = random.chance(0.4) ? `show: ${word()}` : ""
    const detailed = `approval { ${question} ${show} to: "desk" expires_seconds: 60 ${this.#whole.toggle(name, "group", ["", "cleared: private"])} }`
    if (this.#whole.isChain && !random.chance(0.2)) return ""
    return this.#whole.toggle(name, "approval", ["", random.chance(0.7) ? "approval: required" : detailed])
  }

  #declareRemote(kind: "resource" | "prompt"): void {
    const random = this.#random
    const servers = this.#servers.filter(({ word }) => word === "mcp")
    const { name: server } = random.pick(servers)
    const name = this.#whole.name(kind === "resource" ? "r" : "q")
    const form = kind === "prompt" ? "named" : random.pick(["fixed", "named", "written"] as const)
    const remote = form === "written" ? `"memo://${name}/{who}"` : name
    const isBound = form !== "fixed" && random.chance(0.25)
    const gives = this.#gives(["", "gives: untrusted", "gives: private", "gives: [trusted, private]"])
    const facts: RemoteFacts = {
      name,
      server,
      variables: form === "fixed" ? [] : ["who"],
      gives,
      isBound,
      isText: random.chance(0.7),
    }
    const binding = isBound ? `bindings { who: ${this.#importBinding()} }` : ""
    this.#add(
      `${kind} ${name} from mcp.${server}.${kind}.${remote} { ${binding} ${gives} ${this.#whole.toggle(name, "cleared", ["", "cleared: private"])} }`,
    )
    if (kind === "resource") {
      this.#whole.resources.set(name, facts)
      this.#resources.push(facts)
    } else {
      this.#whole.prompts.set(name, facts)
      this.#prompts.push(facts)
    }
  }

  #declareBatch(): void {
    const random = this.#random
    const { name: server } = random.pick(this.#servers.filter(({ word }) => word === "mcp"))
    const name = this.#whole.name("t")
    const facts: ToolFacts = {
      name,
      server,
      args: [
        ["to", string],
        ["body", string],
      ],
      result: record(["a", string]),
      gives: this.#whole.isBare ? "" : random.pick(["gives: trusted", "gives: untrusted"]),
      approvesAt: "import",
    }
    this.#whole.tools.set(name, facts)
    this.#tools.push({ facts, bound: new Set() })
    const levels = ["requires: trusted", "requires: [to]", "requires: none"]
    this.#add(
      `from mcp.${server} { tool ${name} { input { ${writtenFields(facts.args)} } output { a: string } ${facts.gives} ${this.#whole.toggle(name, "requires", levels)} ${this.#whole.toggle(name, "cleared", ["", "cleared: private"])} ${this.#approval(name)} } max_calls: 50 }`,
    )
  }

  #declareWorkflow(file: CalledFile): void {
    const random = this.#random
    const name = this.#whole.name("w")
    const gives = random.chance(this.#whole.marks) ? random.pick(["gives: untrusted", "gives: private"]) : ""
    const requires = this.#whole.toggle(name, "requires", ["requires: trusted", ""])
    this.#add(`workflow ${name} from "./${file.path}" { secrets { key: secrets.key } ${gives} ${requires} }`)
    this.#workflows.push({ name, file })
    this.#whole.workflows.set(name, { requires: `${name}.requires`, approval: `${name}.approval` })
  }

  #triggers(): void {
    const random = this.#random
    const literal = (type: WireType): string => this.#of(type, { roots: [], mayCall: false, loops: 0 }, 0)
    if (random.chance(this.#whole.more("bare", 0.15, 1))) {
      const filled = this.input.filter(
        ([name, type]) =>
          !isFixed(name) && type.kind !== "variant" && random.chance(this.#whole.more("bare", 0.3, 0.8)),
      )
      this.filled = new Set(filled.map(([name]) => name))
      const values = this.input.map(([name, type]) => {
        if (!this.filled.has(name)) return `${name}: ${literal(type)}`
        return type.kind === "string" && random.chance(0.3)
          ? `${name}: header."X-Name" ?? query.name ?? ""`
          : `${name}: body.${name}`
      })
      this.isDeliveredWhen = !this.#whole.isBare && random.chance(0.5)
      const when = this.isDeliveredWhen ? 'when: body.ref == "main"' : ""
      this.#add(
        `webhook hook { verify: ${random.pick(["github", "stripe", 'hmac { header: "X-Sign" }'])} secret: secrets.hook ${when} input { ${values.join("\n    ")} } }`,
      )
    }
    if (random.chance(0.08)) {
      const values = this.input.map(([name, type]) => `${name}: ${name === "shop" ? "due.date" : literal(type)}`)
      this.#add(
        `schedule nightly { cron: "@daily" timezone: "UTC" catch_up: none overlap: allow input { ${values.join("\n    ")} } }`,
      )
    }
  }

  // ----------------------------------------------------------------------------------------------------------- steps

  #step(): void {
    if (this.#whole.only("waits", this.#random, 0.4)) return this.#wait()
    const kind = this.#random.pick(["agent", "agent", "agent", "ask", "dynamic", "dynamic"] as const)
    if (kind === "agent") this.#agent()
    else if (kind === "ask") this.#ask()
    else this.#dynamic()
  }

  #dynamic(): void {
    const name = this.#whole.name("d")
    const type = this.#random.chance(0.5) ? this.#pickType() : bare(this.#type(2, 0))
    const often = this.#whole.emphasis === "failing" || this.#whole.emphasis === "lists" ? 0.8 : 0.45
    const call = this.#random.chance(this.#whole.more("rounds", often, 0.8)) ? this.call(this.#scope(), 2) : undefined
    const value: Value = call ?? { text: this.#of(type), type }
    this.#add(`dynamic { ${name}: ${value.text} }`)
    this.#roots.push({ text: `dynamic.${name}`, type: bare(value.type) })
    if (value.skips === true) this.#roots.push({ text: `failure(dynamic.${name})`, type: failure })
  }

  /** `for`, `when`, and what they do to the scope and to the type of the step. */
  #head(): {
    readonly head: string
    readonly scope: Scope
    readonly isLooped: boolean
    readonly mayMiss: boolean
  } {
    const random = this.#random
    let scope = this.#scope()
    let head = ""
    const isLooped = random.chance(this.#whole.more("conversations", 0.25, 0.05))
    if (isLooped) {
      const { text, element } = this.#expressions.list(quiet(scope), 2)
      const { pattern, variables } = this.#expressions.pattern(element)
      scope = {
        ...scope,
        roots: [...scope.roots, ...variables, ...variables, ...variables],
        loops: 1,
      }
      head = ` for ${pattern} in ${text}`
    }
    const mayMiss = random.chance(this.#whole.more("conversations", 0.25, 0.05))
    if (mayMiss) head = `${head} when (${this.#of(boolean, quiet(scope), 2)})`
    return { head, scope, isLooped, mayMiss }
  }

  #agent(): void {
    const random = this.#random
    const name = this.#whole.name("n")
    const { head: written, scope: around, isLooped: isOverValues, mayMiss } = this.#head()
    const voters = !isOverValues && this.#models.length > 1 && random.chance(0.08) ? this.#models.slice(0, 2) : []
    const isLooped = isOverValues || voters.length > 0
    const voter = this.#whole.name("m_")
    const head =
      voters.length === 0 ? written : ` for ${voter} in [${voters.map((one) => `model.${one}`).join(", ")}]${written}`
    const skips = random.chance(this.#whole.emphasis === "conversations" ? 0.05 : this.#whole.more("skips", 0.2, 0.8))
    const output = this.#outputType()
    const locals: Value[] = []
    const parts: string[] = []
    const repeats = !isLooped && this.#whole.hasRounds && random.chance(this.#whole.more("repeats", 0.1, 0.6))
    const previous = repeats ? [{ text: "previous", type: maybe(record(...output)) }] : []
    const outer: Scope = { ...around, roots: [...around.roots, ...previous, ...previous] }
    if (repeats) parts.push(this.#repeat(record(...output), quiet(outer)))
    if (random.chance(skips ? 0.5 : 0.15)) {
      const local = this.#whole.name("l")
      const isFragile = skips && random.chance(0.7)
      const value = isFragile
        ? this.#expressions.fragile(this.#risky("skips", quiet(outer)), 2)
        : this.#of(string, outer, 2)
      parts.push(`dynamic { ${local}: ${value} }`)
      locals.push({
        text: `dynamic.${local}`,
        type: isFragile ? { kind: "any", like: string } : string,
      })
    }
    const scope = { ...outer, roots: [...outer.roots, ...locals] }
    // The model is chosen before the first round.
    const unrepeated = { ...around, roots: [...around.roots, ...locals] }
    const isChosen = voters.length > 0 || (this.#models.length > 1 && random.chance(0.12))
    const models =
      (isChosen || random.chance(0.2)) && this.#models.length > 1
        ? this.#models.slice(0, 2)
        : [random.pick(this.#models)]
    const configured = random.chance(0.1) ? " { inference { temperature: 0 } }" : ""
    if (voters.length > 0) parts.push(`model: ${voter}`)
    else if (isChosen) {
      const condition = this.#whole.toggle(name, "address", [this.#of(boolean, quiet(unrepeated), 1), "(1 == 1)"])
      parts.push(`model: match ${condition} { true: model.${models[0]} false: model.${models[1]} }`)
    } else
      parts.push(
        `model: ${models.length === 1 ? `model.${models[0]}${configured}` : `[${models.map((one) => `model.${one}`).join(", ")}]`}`,
      )
    parts.push(`instruction: ${this.#instruction(scope)}`)
    parts.push(`output { ${writtenFields(output)} }`)
    if (random.chance(this.#whole.more("conversations", 0.3, 0.6)))
      parts.push(`system: ${this.#of(string, quiet(scope), 1)}`)
    if (this.#whole.hasRounds && random.chance(this.#whole.more("repeats", 0.1, 0.3)))
      parts.push(`messages: ${this.#of(said("content", {}), quiet(scope), 2)}`)
    if (random.chance(0.2)) parts.push(this.#file(quiet(scope)))
    const text = output.find(([, type]) => type.kind === "string")
    if (random.chance(0.2)) {
      const condition =
        text === undefined
          ? this.#of(boolean, quiet(scope), 1)
          : `length(result.${text[0]}) % 3 != length(${this.#of(string, quiet(scope), 1)}) % 3`
      parts.push(`require ${condition}${random.chance(0.6) ? ` else ${this.#quoted(quiet(scope))}` : ""}`)
    }
    const continued =
      this.#continued.length > 0 && random.chance(this.#whole.more("conversations", 0.4, 0.9))
        ? random.pick(this.#continued)
        : undefined
    if (continued !== undefined) {
      const compact = `compact agent.${continued} { model: model.${random.pick(this.#models)} instruction: ${this.#of(string, quiet(scope), 1)} }`
      parts.push(`context: ${random.chance(0.35) ? compact : `agent.${continued}`}`)
    }
    const uses = this.#uses(quiet(scope))
    if (uses !== "") parts.push(`uses: [${uses}]`)
    if (skips) parts.push("on_failure: skip")
    if (random.chance(0.1)) parts.push("max_steps: 6")
    if (random.chance(0.05)) parts.push("response_format: instruction_only")
    if (isLooped && random.chance(0.2)) parts.push("concurrency: 1")
    // Without chance, so that seeds make the programs that they made before.
    const mayBatch = isLooped && models.length === 1 && voters.length === 0 && continued === undefined && uses === ""
    if (mayBatch && this.#whole.agents.size % 3 === 1) parts.push("batch { within_hours: 24 }")
    if (random.chance(0.05)) parts.push("limits { model_calls: 1_000 }")
    this.#add(`agent ${name}${head} {\n    ${parts.join("\n    ")}\n}`)
    this.#whole.agents.set(name, { output: record(...output), skips, models })
    const value = mayMiss || skips ? maybe(record(...output)) : record(...output)
    this.#roots.push({ text: `agent.${name}`, type: isLooped ? arrayOf(value) : value })
    if (skips) this.#roots.push({ text: `failure(agent.${name})`, type: isLooped ? arrayOf(failure) : failure })
    if (repeats) this.#roots.push({ text: `(rounds(agent.${name}))`, type: arrayOf(record(...output)) })
    if (!isLooped && !mayMiss && !skips) this.#continued.push(name)
  }

  /** `until` is decided from what the round gave, and from what is known outside. */
  #repeat(output: WireType, scope: Scope): string {
    const own = [
      { text: "result", type: output },
      { text: "round", type: integer },
    ]
    const until = this.#of(boolean, { ...scope, roots: [...scope.roots, ...own, ...own] }, 2)
    return `repeat { until: ${until} at_most: ${1 + this.#random.below(4)} }`
  }

  /** What a model may be asked for: some choices and some words, or so many choices that they are words. */
  #outputType(): Fields {
    const random = this.#random
    const letters: WireType = { kind: "enum", values: "abcdefghijklmnopqrstuvwxyz".split("") }
    if (random.chance(this.#whole.more("choices", 0.04, 0.25)))
      return random.list(20, (index) => [`z${index}`, letters] as const)
    if (random.chance(this.#whole.more("choices", 0.03, 0.2)))
      return [["z", { kind: "array", of: letters, length: 30 }]]
    const fields: [string, WireType][] = random.list(1 + random.below(3), (index) => [`f${index}`, this.#outputField()])
    return fields
  }

  #outputField(): WireType {
    const random = this.#random
    if (random.chance(this.#whole.more("variants", 0, 0.4))) return this.#twoCases()
    if (random.chance(this.#whole.more("conversations", 0, 0.6))) return boolean
    switch (random.below(9)) {
      case 0:
      case 1:
        return string
      case 2:
      case 3:
        return boolean
      case 4:
        return { kind: "enum", values: ["a", "b"] }
      case 5:
        return maybe(record(["ok", boolean], ["why", string]))
      case 6:
        return this.#twoCases()
      case 7:
        return bare(this.#type(1, 0))
      default:
        return random.pick<WireType>([
          arrayOf(boolean),
          arrayOf(string),
          { kind: "tuple", of: [boolean, string] },
          { kind: "maybe", of: { kind: "enum", values: ["a", "b"] } },
        ])
    }
  }

  /** The same in every file, so that values of it fit everywhere. */
  #twoCases(): WireType {
    const one: Fields = [
      ["a", string],
      ["b", string],
    ]
    return {
      kind: "variant",
      tag: "kind",
      cases: [
        ["one", one],
        ["two", [["c", string]]],
      ],
    }
  }

  #instruction(scope: Scope): string {
    const random = this.#random
    if (!random.chance(this.#whole.more("assets", 0.1, 0.7))) return this.#of(string, scope, 2)
    const more = random.chance(0.3)
      ? ` media_type: "image/png" title: ${this.#quoted(quiet(scope))} context: ${this.#quoted(quiet(scope))} citations: ${random.chance(0.5)}`
      : ""
    const path = this.#whole.toggle(this.#whole.name("i"), "address", [
      `{{ ${this.#of(string, quiet(scope), 1)} }}`,
      "plain",
    ])
    const asset = `asset "https://files.example.com/${path}.png" { type: "image"${more} }`
    const chosen = random.chance(0.5)
      ? `match ${this.#of(boolean, quiet(scope), 1)} { true: ${asset} false: ${asset.replace("files", "other")} }`
      : asset
    return `"Look: {{ ${chosen} }} {{ ${this.#of(string, quiet(scope), 1)} }}"`
  }

  #quoted(scope: Scope): string {
    return `"Say {{ ${this.#of(string, scope, 1)} }}"`
  }

  #file(scope: Scope): string {
    const content = this.#of(string, scope, 1)
    return this.#random.chance(0.5)
      ? `file { content: ${content} name: ${this.#quoted(scope)} media_type: "text/plain" }`
      : `file (${content}) { name: "a.txt" }`
  }

  #uses(scope: Scope): string {
    const random = this.#random
    const entries: string[] = []
    for (const { facts, bound } of this.#tools) {
      if (!random.chance(0.2)) continue
      const bindings = facts.args.filter(([name]) => !bound.has(name) && random.chance(0.35))
      const parts = [
        bindings.length === 0 ? "" : `bindings { ${this.#values(bindings, scope, 1)} }`,
        facts.approvesAt === "sites" ? this.#approval(facts.name, scope) : "",
        random.chance(0.2) ? "max_calls: 3" : "",
        random.chance(0.1) ? 'description: "Use it."' : "",
      ].filter((one) => one !== "")
      entries.push(parts.length === 0 ? `tool.${facts.name}` : `tool.${facts.name} { ${parts.join(" ")} }`)
    }
    for (const [kind, remotes] of [
      ["resource", this.#resources],
      ["prompt", this.#prompts],
    ] as const) {
      for (const { name, variables, isBound } of remotes) {
        if (!random.chance(0.3)) continue
        const isSet = variables.length > 0 && !isBound && (kind === "prompt" || random.chance(0.3))
        entries.push(`${kind}.${name}${isSet ? ` { bindings { who: ${this.#of(string, scope, 1)} } }` : ""}`)
      }
    }
    for (const { name, file } of this.#workflows) {
      if (!random.chance(0.2)) continue
      const bindings = file.input.filter(([field]) => isGiven(field) || random.chance(0.3))
      const approval = this.#whole.toggle(name, "approval", ["", "approval: required"])
      entries.push(
        `workflow.${name} { bindings { ${this.#fileInput(name, bindings, scope)} } ${approval} max_calls: 2 }`,
      )
    }
    return entries.join(", ")
  }

  #ask(): void {
    const random = this.#random
    const name = this.#whole.name("a")
    const { head, scope: open, isLooped, mayMiss } = this.#head()
    const scope = quiet(open)
    const output = this.#outputFields()
    const expires = random.chance(0.5)
    const parts = [`question: ${this.#of(string, scope, 2)}`, `output { ${writtenFields(output)} }`]
    if (random.chance(0.4)) parts.push(`show: ${this.#expressions.any(scope, 2).text}`)
    const hasGroup = random.chance(0.6)
    if (hasGroup) {
      const risky = this.#of(string, scope, 1)
      parts.push(`to: ${this.#whole.toggle(name, "address", [random.chance(0.3) ? risky : '"desk"', '"desk"'])}`)
    }
    parts.push(this.#whole.toggle(name, "cleared", ["", "cleared: private"]))
    if (expires) {
      const seconds = random.chance(0.3) ? `60 + length(${this.#of(string, scope, 1)}) % 10` : "60"
      parts.push(`expires_seconds: ${seconds} on_expiry: ${this.#of(record(...output), scope, 2)}`)
    }
    const begun = output.filter(() => random.chance(0.3))
    if (begun.length > 0) parts.push(`prefill: ${this.#of(record(...begun), scope, 2)}`)
    if (isLooped && random.chance(0.2)) parts.push("concurrency: 2")
    if (random.chance(0.15))
      parts.push(
        `require length(json(result)) + length(${this.#of(string, scope, 1)}) >= 0 else ${this.#quoted(scope)}`,
      )
    this.#add(`ask ${name}${head} {\n    ${parts.join("\n    ")}\n}`)
    this.#whole.asks.set(name, { name, output: record(...output), expires, hasGroup })
    const value = mayMiss ? maybe(record(...output)) : record(...output)
    this.#roots.push({ text: `ask.${name}`, type: isLooped ? arrayOf(value) : value })
  }

  /** A time, or an event that nobody sends here: the evaluator of labels makes some up. */
  #wait(): void {
    const random = this.#random
    const name = this.#whole.name("h")
    const { head, scope: open, isLooped, mayMiss } = this.#head()
    const scope = quiet(open)
    const last = this.#continued.at(-1)
    const after = last !== undefined && random.chance(0.3) ? `after: agent.${last}` : ""
    const output = this.#outputFields()
    const isEvent = random.chance(0.5)
    const key = this.#whole.toggle(name, "address", [this.#of(string, scope, 1), '"plain"'])
    const event = `event: "paid" key: ${key} output { ${writtenFields(output)} } expires_seconds: 60 on_expiry: ${this.#of(record(...output), scope, 2)} ${random.pick(["gives: trusted", ""])}`
    const seconds = `1 + length(${this.#of(string, scope, 1)}) % 10`
    const time = random.pick([`seconds: ${seconds}`, `until: add_seconds(run.started_at, ${seconds})`])
    this.#add(`wait ${name}${head} {\n    ${isEvent ? event : time} ${after}\n}`)
    const one = isEvent ? record(...output) : string
    const value = mayMiss ? maybe(one) : one
    this.#roots.push({ text: `wait.${name}`, type: isLooped ? arrayOf(value) : value })
    if (isEvent) this.#whole.asks.set(name, { name, output: record(...output), expires: true, hasGroup: false })
  }

  #outputFields(): Fields {
    return this.#random.list(1 + this.#random.below(2), (index) => [`g${index}`, this.#outputField()] as const)
  }

  // ----------------------------------------------------------------------------------------------------------- calls

  call(scope: Scope, depth: number): Value | undefined {
    const random = this.#random
    // Calls in arguments of calls make programs that nobody can read.
    if (this.#calls >= 12) return undefined
    this.#calls++
    const makers: (() => Value)[] = this.#tools.map((tool) => () => this.#callTool(tool, scope, depth))
    makers.push(...this.#resources.map((one) => () => this.#callRemote("read", one, scope, depth)))
    makers.push(...this.#prompts.map((one) => () => this.#callRemote("render", one, scope, depth)))
    if (scope.loops === 0 || (scope.loops === 1 && this.#whole.emphasis === "lists")) {
      for (const one of this.#workflows) {
        const times = oftenCallsFiles.has(this.#whole.emphasis) ? 8 : 2
        makers.push(...random.list(times, () => () => this.#callFile(one.name, one.file, scope, depth)))
      }
    }
    return makers.length === 0 ? undefined : this.#perhaps(random.pick(makers)(), scope)
  }

  /** A call that a condition may leave out. */
  #perhaps(call: Value, scope: Scope): Value {
    if (!this.#random.chance(0.15)) return call
    const condition = `when (${this.#of(boolean, quiet(scope), 1)})`
    return {
      ...call,
      text: call.text.replace(/^\(\w+ \w+\.\w+/, (head) => `${head} ${condition}`),
      type: call.type.kind === "maybe" ? call.type : maybe(call.type),
    }
  }

  #callTool({ facts, bound }: ToolInFile, scope: Scope, depth: number): Value {
    const given = facts.args.filter(([name]) => !bound.has(name))
    const inBindings = this.#random.chance(0.2) ? given.slice(0, 1) : []
    const inInput = given.filter((one) => !inBindings.includes(one))
    const skips = this.#random.chance(0.25)
    const parts = [
      inInput.length === 0 ? "" : `input { ${this.#values(inInput, scope, depth)} }`,
      inBindings.length === 0 ? "" : `bindings { ${this.#values(inBindings, scope, depth)} }`,
      facts.approvesAt === "sites" ? this.#approval(facts.name, scope) : "",
      skips ? "on_failure: skip" : "",
      this.#random.chance(0.05) ? "max_calls: 20" : "",
      this.#concurrency(scope),
    ]
    return {
      text: `(call tool.${facts.name} { ${parts.filter((one) => one !== "").join(" ")} })`,
      type: skips ? maybe(bare(facts.result)) : bare(facts.result),
      skips,
    }
  }

  #concurrency(scope: Scope): string {
    return scope.loops > 0 && this.#random.chance(0.6) ? "concurrency: 2" : ""
  }

  #callRemote(
    word: "read" | "render",
    { name, variables, isBound, isText }: RemoteFacts,
    scope: Scope,
    depth: number,
  ): Value {
    const skips = this.#random.chance(0.2)
    const bindings =
      variables.length > 0 && !isBound ? `bindings { who: ${this.#of(string, quiet(scope), depth)} }` : ""
    const type: WireType = word === "render" ? string : { kind: "any", like: isText ? string : record(["a", string]) }
    return {
      text: `(${word} ${word === "read" ? "resource" : "prompt"}.${name} { ${bindings} ${skips ? "on_failure: skip" : ""} ${this.#concurrency(scope)} })`,
      type: skips ? maybe(type) : type,
      skips,
    }
  }

  #callFile(name: string, file: CalledFile, scope: Scope, depth: number): Value {
    const random = this.#random
    const approval = this.#whole.toggle(name, "approval", ["", "approval: required"])
    const input = `input { ${this.#fileInput(name, file.input, this.#risky("rounds", quiet(scope)))} }`
    const skips = random.chance(this.#whole.more("failing", 0.25, 0.9))
    const skip = `${skips ? "on_failure: skip" : ""} ${this.#whole.emphasis === "lists" ? this.#concurrency(scope) : ""}`
    const result = record(...file.output.map(([field, type]) => [field, bare(type)] as const))
    if (random.chance(this.#whole.more("rounds", 0.5, 0.1))) {
      return {
        text: `(call workflow.${name} { ${input} ${approval} ${skip} })`,
        type: skips ? maybe(result) : result,
        skips,
      }
    }
    const inner: Scope = {
      roots: [
        ...scope.roots,
        { text: "result", type: result },
        { text: "result", type: result },
        { text: "round", type: integer },
      ],
      mayCall: false,
      loops: scope.loops,
    }
    const fields = file.input.filter(([field]) => !isGiven(field))
    const replaced = fields.filter((_, index) => index === 0 || random.chance(0.7))
    const text = `(repeat workflow.${name} { ${input} until: ${this.#of(boolean, inner, depth)} next { ${this.#values(replaced, inner, Math.max(depth, 1))} } at_most: ${1 + random.below(4)} ${approval} ${skip} })`
    const rounds = record(["result", result], ["rounds", integer], ["done", boolean])
    return { text, type: skips ? maybe(rounds) : rounds, skips }
  }

  /** Programs with an emphasis take what strangers wrote where it matters. */
  #risky(emphasis: Emphasis, scope: Scope): Scope {
    if (this.#path !== "main.wire" || !this.#random.chance(this.#whole.more(emphasis, 0, 0.7))) return scope
    return { ...scope, roots: [...scope.roots, { text: "input.mail", type: string }] }
  }

  #fileInput(workflow: string, fields: Fields, scope: Scope): string {
    return fields
      .map(([name, type]) => {
        if (isFixed(name)) return `${name}: input.${name}`
        if (name === "shop") return `shop: ${this.#whole.toggle(workflow, "address", this.#shops())}`
        if (name === "y0" && scope.roots.length === 1) return `${name}: ${scope.roots[0]?.text}`
        return `${name}: ${this.#of(bare(type), scope, 1)}`
      })
      .join(", ")
  }

  /** An address of the called file takes literals and the caller's own input alone. */
  #shops(): readonly string[] {
    const first =
      this.#path === "main.wire" ? this.#random.pick(["input.mail", "input.iban", "input.shop"]) : "input.shop"
    return [first, '"plain"']
  }

  #values(fields: Fields, scope: Scope, depth: number): string {
    return fields.map(([name, type]) => `${name}: ${this.#of(bare(type), scope, depth)}`).join(", ")
  }
}

function calledWhen(call: string, condition: string): string {
  return call.replace(/^\((call \S+)/, `($1 when (${condition})`)
}

function isFixed(name: string): boolean {
  return name === "vouched" || name === "released"
}

function isGiven(name: string): boolean {
  return isFixed(name) || name === "shop"
}

function noMaybe(type: WireType): WireType {
  return type.kind === "maybe" || type.kind === "union" || type.kind === "null" ? string : type
}

/** The type without its markers at the outside: what is made of it has its own labels. */
function bare(type: WireType): WireType {
  const { mark: _, ...rest } = type
  return rest
}
