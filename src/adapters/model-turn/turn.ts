import { cutText } from "../../base/cut-text.ts"
import type { JsonObject } from "../../base/json-value.ts"
import type { Egress, EgressLimits } from "../../ports/egress.ts"
import type { RandomSource } from "../../ports/random-source.ts"
import type { Clock } from "../../ports/clock.ts"
import type { Rejection } from "../../log/events.ts"
import type { ModelToolCall } from "../../log/messages.ts"
import type { JudgedRequirements, ModelRequest, ModelTurn, ModelWatch, OutputContract } from "../../ports/model.ts"
import { turnForAnswer } from "./turn-for.ts"
import type { BackendQuirks } from "./backend-memory.ts"
import { addDropped } from "./backend-memory.ts"
import type { NamedCall } from "./call-with-retries.ts"
import { RetriedCalls } from "./call-with-retries.ts"
import { fitOutput, rejectedFit } from "./fit-output.ts"
import type { Answer, ApiTurn, ModelApi } from "./model-api.ts"
import type { ContractForm, SchemaFormatLevel, FormatLevel } from "./output-format.ts"
import {
  between,
  contractForm,
  firstFormatLevel,
  formatName,
  looser,
  nextFormatLevel,
  formatLevelNamed,
  schemaInstruction,
  schemaInstructionWithTools,
} from "./output-format.ts"
import type { SentBeginnings } from "./sent-beginnings.ts"
import type { Refusal } from "./refused-field.ts"
import { mediaForm, type MediaForm } from "./media-form.ts"
import { modelMediaBytes } from "../../base/limits.ts"
import { AnswerRepairs, misfit, redactJson } from "./repair-answer.ts"
import {
  mergeOptions,
  optionBeside,
  optionNames,
  optionValue,
  optionWithValue,
  withoutOptions,
} from "./wire-options.ts"

/** Where a turn's calls go. */
export interface Target {
  readonly api: ModelApi
  readonly egress: Egress
  readonly endpoint: string
  readonly demo: boolean
}

export interface TurnParts {
  readonly request: ModelRequest
  readonly watch: ModelWatch
  readonly target: Target
  readonly quirks: BackendQuirks
  readonly beginnings: SentBeginnings
  readonly limits: EgressLimits
  readonly clock: Clock
  readonly random: RandomSource
}

/** Some contract, and how it is put to the backend at the moment. */
interface PendingContract {
  readonly contract: OutputContract
  readonly form: ContractForm
  formatLevel: FormatLevel
  /** Rungs that the backend refused, whatever the schema. */
  readonly refused: Set<FormatLevel>
}

/** The turn's result; null when another call has to be made. */
type Judged = ModelTurn | null

/** One turn with a model, from the request to an answer that holds. */
export class Turn {
  readonly #request: ModelRequest
  readonly #watch: ModelWatch
  /** Quirks of the backend that this turn knows, and those that later turns will know. */
  readonly #quirks: BackendQuirks
  readonly #knownQuirks: BackendQuirks
  /** Changes that only words of an error suggested: later turns know of them once the backend has accepted a request. */
  #unproven: ((quirks: BackendQuirks) => void)[] = []
  readonly #retried: RetriedCalls
  readonly #calls: ApiTurn
  readonly #pending: PendingContract | null
  /** Images or sound, and a text beside them, instead of an answer in JSON. */
  readonly #media: MediaForm | null
  /** Tools first, without a format; then one closing call for the structured output, without tools. */
  #apart: boolean
  #closing: boolean
  readonly #repairs: AnswerRepairs

  constructor(parts: TurnParts) {
    const { request, watch, target, quirks, beginnings, clock, random } = parts
    this.#request = request
    this.#watch = watch
    this.#knownQuirks = quirks
    this.#quirks = { ...quirks, dropped: new Set(quirks.dropped), refused: new Set(quirks.refused) }
    const { egress, endpoint } = target
    this.#calls = target.api.begin({ request, quirks: this.#quirks, beginnings, egress, endpoint })
    this.#apart = quirks.apart || (!target.demo && quirks.local)
    this.#closing = request.progress?.closing ?? false
    this.#media = request.contract === null || request.outputs === undefined ? null : mediaForm(request.contract)
    this.#pending = request.contract === null || this.#media !== null ? null : this.#pendingContract(request.contract)
    this.#retried = new RetriedCalls({
      request,
      watch,
      limits: limitsOf(parts),
      otherKind: target.api.otherKind,
      clock,
      random,
      standing: () => ({
        repairs: this.#repairs.made,
        added: this.#repairs.added,
        closing: this.#closing,
        format: this.#pending?.formatLevel ?? null,
      }),
    })
    this.#repairs = new AnswerRepairs(request, watch, this.#retried)
  }

  async run(): Promise<ModelTurn> {
    try {
      if (this.#request.progress !== null) await this.#retried.waitOn()
      while (true) {
        const answer = await this.#retried.call(
          (most) => this.#build(most),
          (refusal, call) => this.#adapt(refusal, call),
        )
        for (const change of this.#unproven.splice(0)) change(this.#knownQuirks)
        if (answer.isPaused === true) {
          await this.#repairs.goOn(answer)
          continue
        }
        if (answer.hidesReasoning) this.#learn((quirks) => (quirks.hidesReasoning = true))
        const judged = this.#judge(answer)
        // To await a value that is here already makes promises: test/run-cost counts them.
        const turn = judged instanceof Promise ? await judged : judged
        if (turn !== null) return turn
      }
    } finally {
      this.#watch.arrival?.close()
    }
  }

  #judge(answer: Answer): Judged | Promise<Judged> {
    const offered = this.#offersTools()
    if (offered && answer.tool_calls.length > 0) return this.#toolCalls(answer)
    if (offered && holdsToolMarkup(answer.text)) return this.#markup(answer)
    if (this.#media !== null) return this.#made(answer, this.#media)
    const pending = this.#pending
    if (pending === null) {
      if (answer.text !== "") return { kind: "text", text: answer.text, ...this.#result(answer, answer.text, []) }
      return this.#repairs.repair(answer, misfit(this.#request.path, "expected an answer, found nothing"))
    }
    const wait = turnForAnswer(answer.text, this.#watch)
    return wait === null ? this.#fitted(answer, pending) : wait.then(() => this.#fitted(answer, pending))
  }

  /** Whether the answer fits the contract. */
  #fitted(answer: Answer, pending: PendingContract): Judged | Promise<Judged> {
    const inWords = this.#formatName() === "instruction_only"
    const fit = fitOutput(answer.text, pending.contract, pending.form, this.#request.path, inWords)
    if (fit.fits) return this.#fulfilled(answer, fit.output, pending)
    if (this.#standsApart()) {
      this.#closing = true
      return this.#repairs.close(answer, fit)
    }
    // The backend ignored the format: it does not know it, so the schema goes into the instruction.
    if (fit.came === "loose" || (fit.came === "bare" && pending.formatLevel === "strict")) this.#fall(pending)
    return this.#repairs.repair(answer, fit)
  }

  /** Keeps what the model made, and puts it where the contract has files. */
  async #made(answer: Answer, form: MediaForm): Promise<ModelTurn | null> {
    const { contract, path } = this.#request
    if (contract === null) throw new Error("A turn without a contract has no place for files")
    const all = answer.media?.() ?? []
    const wanted = form.isList ? all : all.slice(0, 1)
    if (wanted.length === 0) {
      const [kind] = this.#request.outputs ?? []
      return this.#repairs.repair(
        answer,
        misfit(path, `expected ${kind === "audio" ? "sound" : "an image"}, found none`),
      )
    }
    const files: JsonObject[] = []
    for (const [at, media] of wanted.entries()) {
      const kept = await this.#watch.keep?.(media, at)
      if (kept === undefined) throw new Error("Nothing keeps what the model makes")
      files.push(kept)
    }
    const output: JsonObject = { [form.field]: form.isList ? files : (files[0] ?? null) }
    if (form.textField !== null) output[form.textField] = answer.text
    const { requirements } = contract
    return requirements === undefined
      ? this.#output(answer, output, null)
      : this.#required(requirements, answer, output, null)
  }

  // ------------------------------------------------------------------------------------------------------- results

  #toolCalls(answer: Answer): ModelTurn {
    const tool_calls = answer.tool_calls.map((call) => ({
      ...call,
      arguments: redactJson(this.#watch, call.arguments),
    }))
    return { kind: "tool_calls", tool_calls, ...this.#result(answer, answer.text, tool_calls) }
  }

  /** An output of the right type: whether it fulfils the requirements. */
  #fulfilled(answer: Answer, found: JsonObject, pending: PendingContract): Judged | Promise<Judged> {
    // The text was searched for secrets as it came; escapes in it may have hidden one.
    const output = this.#watch.redact(found)
    const { requirements } = pending.contract
    return requirements === undefined
      ? this.#output(answer, output, pending)
      : this.#required(requirements, answer, output, pending)
  }

  async #required(
    requirements: JudgedRequirements,
    answer: Answer,
    output: JsonObject,
    pending: PendingContract | null,
  ): Promise<Judged> {
    let rejections: readonly Rejection[]
    try {
      rejections = await requirements.rejections(output)
    } catch (error) {
      throw this.#retried.withCalls(error)
    }
    if (rejections.length === 0) return this.#output(answer, output, pending)
    return this.#repairs.repair(answer, rejectedFit(this.#request.path, rejections))
  }

  #output(answer: Answer, output: JsonObject, pending: PendingContract | null): ModelTurn {
    if (pending !== null) {
      for (const formatLevel of pending.refused) this.#knownQuirks.refused.add(formatLevel)
      this.#knownQuirks.honoursFormat = true
    }
    const kept = JSON.stringify(output)
    return { kind: "output", output, ...this.#result(answer, kept, []) }
  }

  #result(
    answer: Answer,
    text: string,
    tool_calls: readonly ModelToolCall[],
  ): Pick<ModelTurn, "message" | "calls" | "usage"> {
    const { calls, usage } = this.#retried
    const { role, parts } = answer.toMessage(text, tool_calls)
    return { message: { role, parts: [...this.#repairs.paused, ...parts] }, calls, usage }
  }

  // ------------------------------------------------------------------------------------------------- further calls

  /** A tool call that came as text: streams of some backends lose them, their plain answers do not. */
  async #markup(answer: Answer): Promise<null> {
    if (this.#streams()) {
      this.#learn((quirks) => (quirks.noStreamWithTools = true))
      await this.#retried.again("A tool call came as text: asked again without streaming")
      return null
    }
    const problem = "a tool call was written as text: call tools through the function calling interface"
    return this.#repairs.repair(answer, misfit(this.#request.path, problem))
  }

  // ------------------------------------------------------------------------------------------------- the request

  /** `most`: the output tokens that the run's limits leave, sent whatever the backend has refused. */
  #build(most: number | null): NamedCall {
    const tools = this.#offersTools()
    const options = withoutOptions(this.#calls.options(tools), this.#quirks.dropped)
    const built = this.#calls.build({
      input: this.#request.input,
      added: this.#repairs.added,
      instruction: this.#instruction(),
      options: most === null ? options : mergeOptions(withoutMost(options), this.#calls.maxTokens(most)),
      format: this.#format(),
      tools: tools ? this.#request.tools : [],
      hosted: tools ? (this.#request.hosted_tools ?? []) : [],
      stream: this.#streams(),
    })
    return { built, bounded: most !== null, format: this.#formatName() }
  }

  #offersTools(): boolean {
    const { tools, hosted_tools = [] } = this.#request
    return !this.#closing && tools.length + hosted_tools.length > 0
  }

  /** The tool loop goes first: its requests carry no format. */
  #standsApart(): boolean {
    const pending = this.#pending
    if (pending === null || !this.#offersTools() || pending.formatLevel === "instruction_only") return false
    return this.#apart || this.#calls.excludesTools(pending.formatLevel)
  }

  #format(): { readonly formatLevel: SchemaFormatLevel; readonly form: ContractForm } | null {
    const pending = this.#pending
    if (pending === null || this.#standsApart() || pending.formatLevel === "instruction_only") return null
    return { formatLevel: pending.formatLevel, form: pending.form }
  }

  #formatName(): string {
    if (this.#pending === null) return "text"
    return this.#standsApart() ? "instruction_only" : formatName(this.#pending.formatLevel)
  }

  /** The schema in words, where the request's format does not carry it. */
  #instruction(): string | null {
    const pending = this.#pending
    if (pending === null) return null
    if (!this.#standsApart() && (pending.formatLevel === "strict" || pending.formatLevel === "json_schema")) return null
    return this.#offersTools() ? schemaInstructionWithTools(pending.form) : schemaInstruction(pending.form)
  }

  #streams(): boolean {
    if (!(this.#request.deltas || this.#request.isAhead === true) || this.#quirks.noStream) return false
    // Of an image nothing is shown before it is whole.
    if (this.#media !== null) return false
    return !(this.#offersTools() && this.#quirks.noStreamWithTools)
  }

  #pendingContract(contract: OutputContract): PendingContract {
    const form = contractForm(contract)
    const tightest = looser(
      this.#calls.takesStrict(form) ? "strict" : "json_schema",
      form.refusedBy.get(this.#quirks.key) ?? null,
    )
    const first = firstFormatLevel(this.#request.response_format, tightest, this.#calls.ladder, this.#ladder())
    const formatLevel = looser(first, formatLevelNamed(this.#request.progress?.format ?? null))
    return { contract, form, formatLevel, refused: new Set(between(first, formatLevel, this.#calls.ladder)) }
  }

  /** The rungs that the backend is not known to refuse. */
  #ladder(): readonly FormatLevel[] {
    return this.#calls.ladder.filter((formatLevel) => !this.#quirks.refused.has(formatLevel))
  }

  /** To the next looser format, where the author leaves the choice. */
  #fall(pending: PendingContract): void {
    const asked = this.#request.response_format
    const ladder = this.#ladder()
    // A schema that is not enforced helps only where the schema itself was the trouble.
    const skips = asked === "auto" && pending.formatLevel === "strict" && ladder.includes("json_object")
    const next = skips ? "json_object" : nextFormatLevel(asked, pending.formatLevel, ladder)
    if (next === null) return
    for (const formatLevel of between(pending.formatLevel, next, this.#calls.ladder)) pending.refused.add(formatLevel)
    pending.formatLevel = next
  }

  // ------------------------------------------------------------------------------------------------- refusals

  #learn(change: (quirks: BackendQuirks) => void, proven = true): void {
    change(this.#quirks)
    if (proven) change(this.#knownQuirks)
    else this.#unproven.push(change)
  }

  /** Does without what the backend refused, now and later. */
  #adapt(refusal: Refusal, { built, bounded }: NamedCall): string | null {
    const named = refusal.by === "param"
    switch (refusal.about) {
      case "option": {
        const { name, beside } = refusal
        if (bounded && [...maxNames, ...optionNames(this.#calls.maxTokens(1))].includes(name)) return null
        const value = optionValue(this.#calls.options(built.sent.tools), name)
        const field =
          beside !== undefined ? optionBeside(name, beside) : refusal.unknown ? name : optionWithValue(name, value)
        this.#quirks.dropped.add(field)
        this.#learn((quirks) => addDropped(quirks, field), named)
        return `The backend does not take ${cutText(name, 100)}: asked again without it`
      }
      case "format":
        return this.#loosen(refusal.schema, named)
      case "both":
        this.#apart = true
        this.#learn((quirks) => (quirks.apart = true), named)
        return "The backend does not take tools and an output format together: asked again for one at a time"
      case "stream":
        this.#learn((quirks) => (quirks.noStream = true), named)
        return "The backend does not stream: asked again without streaming"
      case "tool_strict":
        this.#learn((quirks) => (quirks.noToolStrict = true), named)
        return "The backend does not take strict in tools: asked again without it"
      case "reasoning":
        this.#learn((quirks) => (quirks.noReasoningBack = true), named)
        return "The backend does not take its reasoning back: asked again without it"
    }
  }

  #loosen(schema: boolean, named: boolean): string | null {
    const pending = this.#pending
    if (pending === null) return null
    const before = pending.formatLevel
    if (schema) {
      const formatLevel = nextFormatLevel(this.#request.response_format, before, this.#ladder()) ?? before
      const { refusedBy } = pending.form
      const remember = ({ key }: BackendQuirks): void => {
        if (refusedBy.size >= 100) refusedBy.clear()
        refusedBy.set(key, formatLevel)
      }
      pending.formatLevel = formatLevel
      if (named) remember(this.#knownQuirks)
      else this.#unproven.push(remember)
    } else this.#fall(pending)
    if (pending.formatLevel === before) return null
    const format = pending.formatLevel === "json_schema" ? "json_schema, not strict" : pending.formatLevel
    return `The backend refused the output format: asked again with ${format}`
  }
}

const maxNames = ["max_tokens", "max_completion_tokens", "max_output_tokens"]

/** `extra` may hold the bound under another name, which some backends would obey. */
function withoutMost(options: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(options).filter(([name]) => !maxNames.includes(name)))
}

function limitsOf({ request, limits: given }: TurnParts): EgressLimits {
  const { timeout_seconds } = request.inference
  const limits = request.outputs === undefined ? given : { ...given, max_bytes: modelMediaBytes }
  if (timeout_seconds === undefined) return limits
  const totalMs = Math.max(1, timeout_seconds * 1000)
  // A timeout of an hour means that the model may think for an hour.
  return {
    ...limits,
    totalMs,
    firstByteMs: Math.max(limits.firstByteMs, totalMs),
    silenceMs: Math.max(limits.silenceMs, totalMs),
  }
}

/** How models write tool calls when their server did not recognise them. */
const toolMarkup =
  /<\|?tool_calls?\|?>|<\/?tool_call>|\[TOOL_CALLS\]|<\|python_tag\|>|<function=[\w.-]+>|<function_calls?>|<\|tool_calls_section_begin\|>|<\|tool\u2581calls\u2581begin\|>|<\uff5ctool\u2581calls\u2581begin\uff5c>|<\|channel\|>commentary to=functions\./

/** Whether a text holds a tool call that came out as text. */
function holdsToolMarkup(text: string): boolean {
  return toolMarkup.test(text)
}
