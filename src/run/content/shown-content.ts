import { remembered } from "../../base/remembered.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { AssistantPart, FilePart, ImagePart, Message, UserPart } from "../../log/messages.ts"
import type { AgentContentPlan, ContentPlan, PathList } from "../../plan/content-plan.ts"
import type { ContentPort, ShownMessage, ShownPart, ShownPrompt, ShownStep } from "../../ports/content.ts"
import type { ModelTurn } from "../../ports/model.ts"
import { cutTexts } from "./cut-texts.ts"
import { sizeOfData } from "./size-of-data.ts"

/** The labels of a file that is shown whole. */
type Labels = ContentPlan | "whole"

/** An agent of a file that is shown whole. */
const wholeAgent: AgentContentPlan = {
  reads: false,
  instruction: [],
  system: null,
  messages: [],
  files: [],
  context: [],
  output: [],
}

interface ShownRun {
  readonly port: ContentPort
  readonly run_id: string
  /** Replaces secrets. */
  readonly redact: <T>(value: T) => T
}

/** `[private: input.mail]`: stands for a value, and says where it comes from. */
export function privateLabel(paths: PathList): string {
  return `[private: ${[...paths].toSorted().join(", ")}]`
}

/** What a run shows of itself to those who trace it: public values whole, private ones as the paths that they come from. */
export class ShownContent {
  readonly #run: ShownRun
  readonly #labels: Labels

  private constructor(run: ShownRun, labels: Labels) {
    this.#run = run
    this.#labels = labels
  }

  /** Null where nothing may be shown. */
  static open(
    run: Omit<ShownRun, "port"> & { readonly port: ContentPort | undefined },
    plan: ContentPlan | undefined,
  ): ShownContent | null {
    const { port } = run
    if (port === undefined) return null
    const isWhole = port.level === "all" || (plan === undefined && port.unmarked)
    const labels = isWhole ? "whole" : plan
    return labels === undefined ? null : new ShownContent({ ...run, port }, labels)
  }

  /** Of a file that this one calls. */
  within(name: string): ShownContent | null {
    if (this.#labels === "whole") return this
    const labels = this.#labels.workflows[name]
    return labels === undefined ? null : new ShownContent(this.#run, labels)
  }

  agent(name: string): ShownAgent {
    const path = [`agent.${name}`]
    const labels = this.#labels === "whole" ? wholeAgent : this.#labels.agents[name]
    const hidden = { ...wholeAgent, reads: true, messages: path, context: path }
    return new ShownAgent(this.#run, name, labels ?? hidden, this.#labels !== "whole")
  }

  /** The private paths of each part of a model's own system text that is no literal; null: it is shown whole. */
  systemOf(model: string): readonly PathList[] | null {
    return this.#labels === "whole" ? null : (this.#labels.systems[model] ?? [])
  }

  /** What a tool is given. `by`: the agent that fills the call, or the place of the expression that makes it. */
  calls(call_id: string, tool: string, by: CallBy, values: JsonObject): void {
    this.#called(call_id, "arguments", this.#argumentsOf(tool, by, values))
  }

  gave(call_id: string, tool: string, by: CallBy, value: JsonValue): void {
    const known = this.#callOf(tool, by)
    const isHidden = known !== "whole" && (known === undefined || known.isResultPrivate)
    this.#called(call_id, "result", isHidden ? privateLabel([`tool.${tool}`]) : value)
  }

  #argumentsOf(tool: string, by: CallBy, values: JsonObject): JsonValue {
    const known = this.#callOf(tool, by)
    if (known === "whole") return values
    // Names of arguments that the file does not state may be a model's words.
    if (known === undefined) return privateLabel(by.agent === undefined ? [`tool.${tool}`] : [`agent.${by.agent}`])
    return Object.fromEntries(
      Object.entries(values).map(([name, value]) => {
        const paths = known.arguments[name]
        return [
          name,
          paths === undefined ? privateLabel([`tool.${tool}`]) : paths.length > 0 ? privateLabel(paths) : value,
        ]
      }),
    )
  }

  #callOf(tool: string, { agent, site }: CallBy): ContentPlan["calls"][string] | "whole" | undefined {
    if (this.#labels === "whole") return "whole"
    if (site !== undefined) return this.#labels.calls[`${stepOfSite(site)} tool.${tool}`]
    return agent !== undefined && this.#labels.agents[agent]?.reads === false ? "whole" : undefined
  }

  #called(call_id: string, part: "arguments" | "result", value: JsonValue): void {
    const { port, run_id, redact } = this.#run
    port.called(run_id, call_id, part, cutTexts.value(redact(value)))
  }
}

export interface CallBy {
  readonly agent?: string | undefined
  /** Of a call in an expression. */
  readonly site?: string | undefined
}

/** `agent.a` of `agent.a.instruction/call find`. */
function stepOfSite(site: string): string {
  const place = site.slice(0, site.indexOf("/"))
  return place.startsWith("output") ? "output" : place.split(".").slice(0, 2).join(".")
}

/** The part of it that is about one agent. */
export class ShownAgent {
  readonly #run: ShownRun
  readonly #path: string
  readonly #labels: AgentContentPlan
  readonly #isLabelled: boolean
  readonly #numbers = new Map<string, number>()

  constructor(run: ShownRun, name: string, labels: AgentContentPlan, isLabelled: boolean) {
    this.#run = run
    this.#path = `agent.${name}`
    this.#labels = labels
    this.#isLabelled = isLabelled
  }

  /** What a part of a text that is no literal is shown as; null: as it is. */
  instruction(at: number): string | null {
    return this.#part(this.#labels.instruction, at)
  }

  /** `own`: the agent has a text of its own. */
  system(at: number, ofModel: readonly PathList[] | null): string | null {
    return this.#part(this.#labels.system ?? ofModel ?? [], at)
  }

  #part(parts: readonly PathList[], at: number): string | null {
    if (!this.#isLabelled) return null
    const paths = parts[at] ?? [this.#path]
    return paths.length === 0 ? null : privateLabel(paths)
  }

  /** What stands before the answers of the model: what it continues, what was said, prompts, and the instruction. */
  beginning(asked: {
    readonly continued: readonly Message[]
    readonly said: readonly Message[]
    readonly prompts: readonly Message[]
    readonly instruction: string
    readonly files: readonly FilePart[]
  }): ShownMessage[] {
    const { context, messages, files, reads } = this.#labels
    const parts: ShownPart[] = [{ type: "text", content: asked.instruction }]
    for (const [at, file] of asked.files.entries()) {
      const isPrivate = this.#isLabelled && (files[at] === undefined || files[at].length > 0)
      parts.push({ type: "text", content: fileLabel(file, isPrivate) })
    }
    return [
      ...asked.continued.map((message) => this.#message(message, context)),
      ...asked.said.map((message) => this.#message(message, messages)),
      ...asked.prompts.map((message) => this.#message(message, reads ? [this.#path] : [])),
      { role: "user", parts },
    ]
  }

  /** A model is asked. `later`: what was said since the beginning. */
  asked(step: ShownStep, system: string | null, beginning: readonly ShownMessage[], later: readonly Message[]): void {
    const { port, run_id } = this.#run
    const own = this.#labels.reads ? [this.#path] : []
    const all = [
      ...beginning.map((message) => () => message),
      ...later.map((message) => () => this.#message(message, own)),
    ]
    const prompt: ShownPrompt = {
      system: system === null ? null : cutTexts.parts([{ type: "text", content: this.#clean(system) }]),
      input: cutTexts.messages(all.map((make) => () => this.#clean(make()))),
    }
    port.asked(run_id, step, prompt)
  }

  answered(step: ShownStep, answer: ModelTurn): void {
    const { port, run_id } = this.#run
    const ended = { finish_reason: answer.kind === "tool_calls" ? "tool_call" : "stop" }
    const message = (): ShownMessage => ({ ...this.#answer(answer), ...(port.saysFinish && ended) })
    port.answered(run_id, step, cutTexts.messages([() => this.#clean(message())]))
  }

  #answer(answer: ModelTurn): ShownMessage {
    if (answer.kind !== "output") return this.#message(answer.message, this.#labels.reads ? [this.#path] : [])
    const shown = Object.entries(answer.output).map(([name, value]) => {
      return [name, this.#labels.output.includes(name) ? privateLabel([`${this.#path}.${name}`]) : value] as const
    })
    return { role: "assistant", parts: [{ type: "text", content: JSON.stringify(Object.fromEntries(shown)) }] }
  }

  /** A backend may make ids of what it was sent: those of private calls are numbers. */
  #numbered(call_id: string): string {
    return `call_${remembered(this.#numbers, call_id, () => this.#numbers.size + 1)}`
  }

  #clean<T>(value: T): T {
    return this.#run.redact(value)
  }

  /** A message with these private paths. */
  #message(message: Message, paths: PathList): ShownMessage {
    const hidden = paths.length === 0 ? null : privateLabel(paths)
    if (message.role === "tool") {
      const { call_id, output } = message
      const id = hidden === null ? call_id : this.#numbered(call_id)
      return { role: "tool", parts: [{ type: "tool_call_response", id, response: hidden ?? output }] }
    }
    const parts = message.parts.flatMap((part) => shownPart(part, hidden, (id) => this.#numbered(id)))
    // A message of several parts says no more than one where all are hidden.
    const isText = hidden !== null && parts.every(({ type }) => type === "text")
    return { role: message.role, parts: isText ? parts.slice(0, 1) : parts }
  }
}

function shownPart(
  part: UserPart | AssistantPart,
  hidden: string | null,
  numbered: (call_id: string) => string,
): ShownPart[] {
  switch (part.type) {
    case "text":
      return [{ type: "text", content: hidden ?? part.text }]
    case "tool_call":
      // A model may make a name up.
      return [
        {
          type: "tool_call",
          id: hidden === null ? part.call_id : numbered(part.call_id),
          name: hidden ?? part.name,
          arguments: hidden ?? jsonOf(part.arguments),
        },
      ]
    case "provider":
      return []
    default:
      return [{ type: "text", content: hidden ?? fileLabel(part, false) }]
  }
}

/** Type and size; of a private file the type alone. */
export function fileLabel({ type, url, stored }: FilePart | ImagePart, isPrivate: boolean): string {
  if (isPrivate) return `[private file: ${type}]`
  if (stored !== undefined) return `[file: ${stored.media_type}, ${stored.bytes} bytes]`
  return sizeOfData(url) ?? `[file: ${type}]`
}

/** What a model wrote as arguments: JSON, or a text where it is none. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}
