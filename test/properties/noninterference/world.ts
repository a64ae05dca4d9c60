import type { JsonObject, JsonValue } from "../../../src/base/json-value.ts"
import type { Question } from "../../../src/log/events.ts"
import type { AssistantPart, Message } from "../../../src/log/messages.ts"
import type { ModelClient, ModelRequest, ModelTurn } from "../../../src/ports/model.ts"
import { failure } from "../../../src/ports/run-failure.ts"
import type { HostedTool, HostRequest, HostSession, HostWatch, ToolAnswer, ToolHost } from "../../../src/ports/tools.ts"
import { callsTools, answers, says } from "../../support/scripted-model.ts"
import type { RemoteFacts, Settled } from "./program.ts"
import { choicesIn, hashOf, makeValue, randomOf, type Maker, type Mark, type WireType } from "./wire-type.ts"

// The world around a run: what callers send, what models, tools and people say. Everything in it is a function of what it reads, and
// of the variation: two runs in worlds that differ in their variation alone differ in what strangers wrote, or in what is private.

export interface Variation {
  readonly seed: number
  /** What strangers wrote is other than in the world without it. */
  readonly untrusted: boolean
  /** Private data of the input, or of what a server gives, is other than in the world without it. */
  readonly private: "none" | "input" | { readonly server: string }
  /** Models also choose otherwise where the author wrote down what there is to choose from. */
  readonly choices: boolean
}

/** What somebody outside got to see, in the order in which it came. */
export interface Seen {
  /** `tool t1`, `model m0`, `ask a0`: who. */
  readonly who: string
  readonly what: JsonValue
}

/** Strangers' words and private words show in every text that was made from them, in either case. Base64 and digests never have them. */
const tokens: Readonly<Record<Mark, string>> = { untrusted: "¤¤", private: "§§" }

/** Choices beyond this many are words (trust.md, closed types). */
const maxChoices = 1_000_000

export class World implements ModelClient, ToolHost {
  readonly seen: Seen[] = []
  readonly #settled: Settled
  readonly #variation: Variation

  constructor(settled: Settled, variation: Variation) {
    this.#settled = settled
    this.#variation = variation
  }

  #varies(marks: ReadonlySet<Mark>, from: string): boolean {
    const { untrusted, private: secret } = this.#variation
    if (untrusted && marks.has("untrusted")) return true
    if (!marks.has("private") || secret === "none") return false
    return secret === "input" ? from === "input" : secret.server === from
  }

  /** Parts with labels that vary are made from another seed. */
  #maker(about: string, from: string, said: string): Maker {
    const seed = `${this.#variation.seed} ${about}`
    return {
      seedAt: (path, marks) => `${seed} ${path}${this.#varies(marks, from) ? " other" : ""}`,
      text: (at, marks) => `${word(at)}${tokensOf(marks)}${said}`,
    }
  }

  // ------------------------------------------------------------------------------------------------------------ input

  input(): JsonObject {
    const { input, filled } = this.#settled.program
    return Object.fromEntries(
      input.map(([name, type]) => {
        const isFixed = name === "vouched" || name === "released"
        if (isFixed) return [name, word(`${this.#variation.seed} ${name}`)]
        const above = new Set<Mark>(filled.has(name) ? ["untrusted"] : [])
        return [name, makeValue(type, this.#maker("input", "input", ""), name, above)]
      }),
    )
  }

  // ----------------------------------------------------------------------------------------------------------- models

  async turn(request: ModelRequest): Promise<ModelTurn> {
    const { program } = this.#settled
    const model = nameIn(request.name)
    const view = viewOf(request)
    const said = JSON.stringify(view)
    this.seen.push({ who: `model ${model} ${program.models.get(model) ?? ""}`, what: view })
    this.seen.push({ who: `address ${model}`, what: addressOf(request) })
    for (const url of urlsIn(request.input)) this.seen.push({ who: "asset", what: url })
    const random = randomOf(`${this.#variation.seed} ${said}`)
    const words = tokensIn(said)
    const { contract } = request
    if (contract === null) return says(`${word(said)}${words}`, request)
    const agent = program.agents.get(nameIn(contract.name))
    if (agent === undefined) throw new Error(`No agent is called ${contract.name}`)
    const hasNext = agent.models.length > 1 && model === agent.models[0]
    if ((agent.skips || hasNext) && random.chance(0.25)) throw failure("provider_error", "", `It refuses ${word(said)}`)
    const thought: AssistantPart = {
      type: "provider",
      provider: {
        api: request.backend.api,
        origin: originOf(request),
        data: { thought: `${word(`${said} thought`)}${words}` },
      },
    }
    const turns = request.input.filter(({ role }) => role === "assistant").length
    if (request.tools.length > 0 && turns < 8 && request.turn < 3 && random.chance(0.65)) {
      const used = request.tools.filter(() => random.chance(0.6))
      if (used.length > 0) {
        const turn = callsTools(
          used.map(({ name, parameters }, index) => ({
            name,
            call_id: `call_${request.turn}_${index}`,
            arguments: fromSchema(parameters, `${said} ${name}`, words) as JsonObject,
          })),
          request,
        )
        return { ...turn, message: { ...turn.message, parts: [thought, ...turn.message.parts] } }
      }
    }
    const output = await this.#output(request, agent.output, said)
    const turn = answers(output, request)
    return { ...turn, message: { ...turn.message, parts: [thought, ...turn.message.parts] } }
  }

  /** What a model answers: choices are the same in both worlds as long as they are choices; words follow from what it read. */
  async #output(request: ModelRequest, type: WireType, said: string, attempt = 0): Promise<JsonObject> {
    const { seed, choices } = this.#variation
    const isChoice = !choices && choicesIn(type) <= maxChoices
    const words = tokensIn(said)
    const maker: Maker = {
      seedAt: (path, _, isOpen) =>
        isOpen || !isChoice ? `${seed} ${said} ${path}` : `${seed} ${request.step ?? request.path} ${path}`,
      text: (at) => `${word(at)}${words}`,
    }
    const output = makeValue(type, maker) as JsonObject
    const rejections = (await request.contract?.requirements?.rejections(output)) ?? []
    if (rejections.length === 0) return output
    if (attempt === 3) throw failure("output_error", "", "It does not fulfil its requirements")
    return this.#output(request, type, `${said} ${JSON.stringify(rejections)}`, attempt + 1)
  }

  // ------------------------------------------------------------------------------------------------------------ tools

  async open(request: HostRequest, watch: HostWatch): Promise<HostSession> {
    const { program } = this.#settled
    for (const { name, endpoint, headers } of [...request.servers, ...request.apis]) {
      this.seen.push({
        who: `address ${nameIn(name)}`,
        what: { endpoint, headers: { ...headers } },
      })
      if (request.servers.some((one) => one.name === name))
        this.seen.push({ who: `server ${nameIn(name)}`, what: null })
      watch.connected(name, "scripted", [], 1)
    }
    const facts = <T>(table: ReadonlyMap<string, T>, name: string): T => {
      const found = table.get(nameIn(name))
      if (found === undefined) throw new Error(`Nothing is called ${name}`)
      return found
    }
    return {
      problems: [],
      tools: new Map(request.tools.map(({ name }) => [name, hosted(facts(program.tools, name).args)])),
      resources: new Map(
        request.resources.map(({ name }) => {
          const { variables } = facts(program.resources, name)
          return [name, { description: "", variables, required: variables }]
        }),
      ),
      prompts: new Map(
        request.prompts.map(({ name }) => {
          const { variables } = facts(program.prompts, name)
          return [name, { arguments: variables.map((one) => ({ name: one, required: true })) }]
        }),
      ),
      published: async (tool) => hosted(facts(program.tools, tool).args).definition,
      call: async (tool, values) => this.#call(nameIn(tool), values),
      read: async (resource, values) => {
        const one = facts(program.resources, resource)
        const text = this.#given("resource", one, values)
        return one.isText
          ? { text, media_type: "text/plain" }
          : { text: JSON.stringify({ a: text }), media_type: "application/json" }
      },
      render: async (prompt, values) => {
        return [
          {
            role: "user",
            text: this.#given("prompt", facts(program.prompts, prompt), values),
            images: [],
          },
        ]
      },
      close: async () => undefined,
    }
  }

  #call(tool: string, values: JsonObject): ToolAnswer {
    const facts = this.#settled.program.tools.get(tool)
    if (facts === undefined) throw new Error(`No tool is called ${tool}`)
    this.seen.push({ who: `tool ${tool}`, what: values })
    const said = JSON.stringify(values)
    const about = `tool ${tool} ${said}`
    if (randomOf(`${this.#variation.seed} fails ${about}`).chance(0.06)) {
      return { text: `It fails ${word(about)}${tokensIn(said)}`, is_error: true }
    }
    const marks = this.#givenMarks(facts.gives, facts.server, this.#settled.text(tool, "requires"), "tool")
    const result = makeValue(facts.result, this.#maker(about, facts.server, tokensIn(said)), "", marks)
    return { structured: result, text: JSON.stringify(result), is_error: false }
  }

  #given(kind: "resource" | "prompt", { name, server, gives }: RemoteFacts, values: JsonObject): string {
    this.seen.push({ who: `${kind} ${name}`, what: values })
    const said = JSON.stringify(values)
    const marks = this.#givenMarks(gives, server, "", kind)
    return makeValue(
      { kind: "string" },
      this.#maker(`${kind} ${name} ${said}`, server, tokensIn(said)),
      "",
      marks,
    ) as string
  }

  /** The words of a tool replace what its server says; where trust is left out, it depends on what it is. */
  #givenMarks(own: string, server: string, requires: string, kind: "tool" | "resource" | "prompt"): Set<Mark> {
    const gives = own === "" ? (this.#settled.program.servers.get(server)?.gives ?? "") : own
    const marks = new Set<Mark>(gives.includes("private") ? ["private"] : [])
    const isTrusted = /\btrusted/.test(gives) || kind === "prompt" || /trusted|strict|\[/.test(requires)
    if (gives.includes("untrusted") || !isTrusted) marks.add("untrusted")
    return marks
  }

  // ----------------------------------------------------------------------------------------------------------- people

  /** What a person answers, who is asked the same in both worlds; undefined for a question that nobody answers. */
  answer(question: Question): JsonValue | undefined {
    const { kind, name, iteration } = question
    this.seen.push({ who: `group ${kind} ${name}`, what: question.to ?? null })
    const { question: text, show, arguments: sent, prefill, asked_at, expires_at } = question
    this.seen.push({
      who: `${kind} ${name}`,
      what: {
        text,
        show: show ?? null,
        to: question.to ?? null,
        sent: sent ?? null,
        prefill: prefill ?? null,
        seconds: (Date.parse(expires_at) - Date.parse(asked_at)) / 1000,
      },
    })
    if (kind === "approval") return { approve: true, note: null }
    const facts = this.#settled.program.asks.get(name)
    if (facts === undefined) throw new Error(`No question is called ${name}`)
    if (facts.expires && hashOf(`${this.#variation.seed} ${name}`) % 2 === 0) return undefined
    const scope = JSON.stringify((question as { scope?: string }).scope ?? "")
    const person = this.#maker(`ask ${name} ${iteration ?? ""} ${scope}`, "person", "")
    // Markers in the type of an answer are ignored.
    const marks = new Set<Mark>()
    const made = makeValue(facts.output, {
      seedAt: (path, _, isOpen) => person.seedAt(path, marks, isOpen),
      text: (at) => person.text(at, marks),
    })
    // Whoever leaves a field out takes what it begins with.
    const left = Object.entries(prefill ?? {}).filter(
      ([field]) => hashOf(`${this.#variation.seed} ${name} ${field}`) % 2 === 0,
    )
    return left.length === 0 ? made : { ...(made as JsonObject), ...Object.fromEntries(left) }
  }
}

// --------------------------------------------------------------------------------------------------------- what is read

/** What a model can read: what another provider's model thought is not sent to it. */
function viewOf(request: ModelRequest): JsonObject {
  const { system, input, tools, contract, response_format } = request
  const origin = originOf(request)
  const read = input.map((message) => {
    if (message.role !== "assistant") return message
    return {
      ...message,
      parts: message.parts.filter((part) => part.type !== "provider" || part.provider.origin === origin),
    }
  })
  return {
    system,
    input: readable(read as unknown as JsonValue),
    tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
    contract: contract === null ? null : contract.name,
    format: response_format,
  }
}

/** The text of a file in place of its Base64: a model reads the text. */
function readable(value: JsonValue): JsonValue {
  if (typeof value === "string") {
    const [, data] = /^data:text\/[^,]*;base64,(.*)$/s.exec(value) ?? []
    return data === undefined ? value : Buffer.from(data, "base64").toString()
  }
  if (Array.isArray(value)) return value.map(readable)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, readable(one)]))
}

function originOf({ backend, model }: ModelRequest): string {
  return `${backend.endpoint} ${model}`
}

function addressOf({ backend, model }: ModelRequest): JsonObject {
  return { endpoint: backend.endpoint, headers: { ...backend.headers }, id: model }
}

function urlsIn(messages: readonly Message[]): string[] {
  return messages.flatMap((message) => {
    return message.role === "user"
      ? message.parts.flatMap((part) => (part.type === "text" || part.url.startsWith("data:") ? [] : [part.url]))
      : []
  })
}

/** `lib.wire#m0` → `m0` */
function nameIn(name: string): string {
  return /[a-z]\d+(?=(?:\(\d+\))?$)/.exec(name)?.[0] ?? name
}

/** A word of three to eight letters that the seed decides. */
function word(seed: string): string {
  const letters = hashOf(seed).toString(16).padStart(14, "0")
  return `w${letters.slice(-(3 + (hashOf(`${seed} length`) % 6)))}`
}

function tokensOf(marks: ReadonlySet<Mark>): string {
  return [...marks]
    .map((mark) => tokens[mark])
    .sort()
    .join("")
}

function tokensIn(text: string): string {
  return Object.values(tokens)
    .filter((token) => text.includes(token))
    .sort()
    .join("")
}

export function holds(mark: Mark, value: JsonValue): boolean {
  return JSON.stringify(value).includes(tokens[mark])
}

function hosted(args: readonly (readonly [string, WireType])[]): HostedTool {
  const parameters: JsonObject = {
    type: "object",
    properties: Object.fromEntries(args.map(([name, type]) => [name, schemaOf(type)])),
    required: args.map(([name]) => name),
    additionalProperties: false,
  }
  return {
    definition: { description: "A tool of the test", inputSchema: parameters },
    description: "A tool of the test",
    parameters,
    typed: false,
    idempotent: false,
    fit: (values) => values,
    checkArguments: () => [],
    checkResult: () => [],
  }
}

function schemaOf(type: WireType): JsonObject {
  return type.kind === "string" ? { type: "string" } : {}
}

/** A value that fits a JSON Schema, as a model would make it up. */
function fromSchema(schema: JsonObject, seed: string, words: string): JsonValue {
  const random = randomOf(seed)
  const { type, properties, items, enum: choices, const: only, anyOf, prefixItems } = schema
  const part = (one: JsonValue | undefined, name: string): JsonValue =>
    fromSchema((one ?? {}) as JsonObject, `${seed}.${name}`, words)
  if (only !== undefined) return only
  if (Array.isArray(choices)) return random.pick(choices)
  if (Array.isArray(anyOf)) return part(random.pick(anyOf), "any")
  if (Array.isArray(prefixItems)) return prefixItems.map((one, index) => part(one, String(index)))
  const [kind] = Array.isArray(type) ? type : [type]
  switch (kind) {
    case "string":
      return `${word(seed)}${words}`
    case "integer":
    case "number":
      return random.below(9)
    case "boolean":
      return random.chance(0.5)
    case "null":
      return null
    case "array": {
      const length = typeof schema["minItems"] === "number" ? schema["minItems"] : random.below(3)
      return Array.from({ length }, (_, index) => part(items, String(index)))
    }
    case "object":
      return Object.fromEntries(
        Object.entries((properties ?? {}) as JsonObject).map(([name, one]) => [name, part(one, name)]),
      )
    default:
      return `${word(seed)}${words}`
  }
}
