import type { JsonObject } from "../../src/base/json-value.ts"
import type { Limits } from "../../src/plan/plan-shape.ts"
import type { Notify } from "../../src/ports/notices.ts"
import type { RerunOf, RunOptions } from "../../src/ports/store.ts"
import type { LogEvent } from "../../src/log/events.ts"
import { isTerminal } from "../../src/log/events.ts"
import { answerQuestion } from "../../src/run/questions/answer-question.ts"
import type { SourceText } from "../../src/source/source-files.ts"
import { defaultOptions } from "../support/run-plan.ts"
import { digest } from "./simulated-model.ts"
import { isInnermost, sentSource, sentStep } from "./nested.ts"
import { planned, serverSecret, type SimulatedService } from "./simulated-service.ts"
import { isRefusedAnswer, judgedQuestions } from "./workflows.ts"
import type { World } from "./world.ts"

type Asked = Extract<LogEvent, { type: "question_asked" }>["data"]

export interface Job {
  readonly label: string
  /** What its instructions begin with: that of the earlier run, in a re-run. */
  readonly id: string
  readonly source: string
  readonly items: readonly string[]
  readonly key: string | null
  readonly timeout_ms: number | null
  readonly limits: Limits | null
  readonly notify: Notify | null
  readonly rerun: RerunOf | null
  /** A re-run whose last agent is asked something else than in the run before. */
  readonly edited: boolean
  /** Its client waits for JSON, without a key: when it leaves, the run is cancelled. */
  readonly isJson: boolean
  /** Where a workflow with secrets gets them from: the request, or the server, for a workflow of its folder. */
  readonly named: boolean
  readonly options: Pick<RunOptions, "cache_key" | "max_concurrency" | "deltas">
}

/** What nobody may see. */
export function secretOf({ id, named }: Pick<Job, "id" | "named">): string {
  return named ? serverSecret : `tk_${id}_8f3a6c91`
}

const answered_by = { caller: null, by: null }

const left = new Error("The client has left")

/** Asks for a run and follows it to its end, over whatever process answers, as often as it takes. */
export class Client {
  readonly job: Job
  readonly events: LogEvent[] = []
  /** All run ids that it was ever given: with a key there is one. */
  readonly ids = new Set<string>()
  /** Problems of what it saw. */
  readonly problems: string[] = []
  readonly #world: World
  readonly #service: () => SimulatedService | null
  #connection = 0
  #asked = false
  done = false
  /** It asked for a run, without a key, and the connection broke: whether there is one is unknown. */
  lost = false

  /** It asked for a cancel, or left a run that it had to wait for. */
  cancelled = false

  constructor(world: World, job: Job, service: () => SimulatedService | null) {
    this.#world = world
    this.job = job
    this.#service = service
  }

  get run_id(): string | null {
    return this.ids.values().next().value ?? null
  }

  start(): void {
    this.#connect(this.run_id === null ? (service) => this.#ask(service) : (service) => this.#follow(service))
  }

  cancel(): void {
    const { run_id } = this
    const service = this.#service()
    if (run_id === null || service === null) return
    this.#world.note(`cancel of ${this.job.label}`)
    this.#world.count("client: cancels")
    this.cancelled = true
    service.runs.cancel(run_id).catch(() => undefined)
  }

  #connect(conversation: (service: SimulatedService) => Promise<void>): void {
    const service = this.#service()
    const connection = ++this.#connection
    if (service === null) return this.#later()
    service.onDeath(() => {
      if (connection === this.#connection) this.#later()
    })
    conversation(service).catch(() => {
      if (connection === this.#connection) this.#later()
    })
  }

  #later(): void {
    if (this.done) return
    if (this.run_id === null && this.job.key === null) {
      this.lost = true
      this.done = true
      return
    }
    const connection = ++this.#connection
    this.#world.after(this.#world.random.next() * 2_000, null, () => {
      if (connection === this.#connection) this.start()
    })
  }

  async #ask(service: SimulatedService): Promise<void> {
    const { id, source, items, key, timeout_ms, limits, notify, rerun, named, options } = this.job
    if (this.#asked) this.#world.count("client: repeats the request with the same key")
    this.#asked = true
    const sent = sentSource(source)
    const compiled = planned(sent)
    if (!("plan" in compiled)) throw new Error("The workflow is not valid")
    const admission = await service.runs.admit(compiled.plan, {
      caller: "ann",
      request: {
        ...sent,
        input: { id, items: [...items] },
        secrets: !named && source.includes("secrets {") ? { token: secretOf(this.job) } : {},
        options: { ...defaultOptions, ...options, timeout_ms, limits, ...(notify === null ? {} : { notify }) },
        ...(named ? { workflow: { name: "folder/workflow", version: "0123456789ab" } } : {}),
        ...(rerun === null ? {} : { rerun: { ...rerun, from: rerun.from.map((step) => sentStep(source, step)) } }),
      },
      idempotency: key === null ? null : { key, fingerprint: key },
    })
    if (admission.outcome === "refused") {
      this.#world.count("client: is refused")
      if (key === null) this.done = true
      return this.#later()
    }
    if (admission.outcome === "exists") this.#world.count("client: is given the run of its key")
    if (admission.outcome === "conflict") this.problems.push("The same request with the same key is a conflict")
    this.ids.add(admission.run_id)
    await this.#follow(service)
  }

  /** A person reads the question, thinks, and answers over whatever process there is then. */
  #answerLater({ id, kind, name, scope, question }: Asked): void {
    const { random } = this.#world
    const { run_id } = this
    const { source } = this.job
    // Two people do not always agree.
    const yes = (digest(question) + random.below(2)) % 3 !== 0
    const answer: JsonObject = {
      // Where workflows call each other, the note tells whose answer it is.
      ask: { go: yes, note: sentSource(source).modules === undefined ? null : question },
      approval: { approve: yes, note: null },
      elicitation: yes ? { action: "accept", content: {} } : { action: "decline" },
    }[kind]
    const isJudged = kind === "ask" && isInnermost(source, scope ?? null) && judgedQuestions(source).has(name)
    const say = (): void => {
      const service = this.#service()
      if (service === null || run_id === null) return
      this.#world.note(`answer to ${id} of ${this.job.label}: ${JSON.stringify(answer)}`)
      this.#world.count("client: answers")
      const told = isJudged
        ? this.#answerJudged(service, { run_id, id }, answer)
        : service.store.questions.answer(run_id, id, { answer, answered_by })
      told.catch(() => undefined)
    }
    const thinks = random.next() * 30_000
    this.#world.after(thinks, null, say)
    if (!random.chance(0.2)) return
    this.#world.count("client: answers twice")
    this.#world.after(thinks + random.next() * 1_000, null, say)
  }
  /** The service judges an answer before it stores it. One that is refused can be given otherwise at once. */
  async #answerJudged(
    service: SimulatedService,
    { run_id, id }: { readonly run_id: string; readonly id: string },
    answer: JsonObject,
  ): Promise<void> {
    const question = await service.store.questions.one(run_id, id)
    if (question === null) return
    const parts = { store: service.store, planOf: (source: SourceText) => Promise.resolve(planned(source)) }
    const { outcome } = await answerQuestion(parts, question, { answer, digest: null, answered_by })
    const isRefused = isRefusedAnswer(answer, this.job.items)
    if (outcome === "answered" && isRefused) this.problems.push(`The answer to ${id} was not refused`)
    if (outcome !== "misfit") return
    this.#world.note(`the answer to ${id} is refused`)
    this.#world.count("client: an answer is refused")
    if (!isRefused) this.problems.push(`The answer to ${id} was refused`)
    else await this.#answerJudged(service, { run_id, id }, { ...answer, go: true })
  }

  async #follow(service: SimulatedService): Promise<void> {
    const { run_id } = this
    const connection = this.#connection
    const signal = new AbortController()
    if (run_id === null) return
    for await (const event of service.store.follow(run_id, this.events.length, signal.signal)) {
      if (connection !== this.#connection) return
      if (event.id !== this.events.length + 1) {
        this.problems.push(`Event ${event.id} came after event ${this.events.length}`)
      }
      this.events.push(event)
      if (event.type === "question_asked" && this.#world.random.chance(0.8)) this.#answerLater(event.data)
      if (isTerminal(event.type)) this.done = true
      // Now and then the client leaves, and comes back.
      if (!this.done && this.#world.random.chance(0.05)) {
        this.#world.count("client: leaves, and comes back")
        if (this.job.isJson) {
          this.#world.count("client: leaves while it waits for JSON")
          this.cancelled = true
          service.runs.clientLeft(run_id).catch(() => undefined)
        }
        signal.abort(left)
        return this.#later()
      }
    }
    if (!this.done) this.#later()
  }
}
