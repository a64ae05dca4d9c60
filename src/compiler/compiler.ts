import { parseInOrder } from "../base/ordered-object.ts"
import { filesOf, sourceLength, type SourceText } from "../source/source-files.ts"
import { Worker } from "node:worker_threads"
import type { Plan } from "../plan/plan-shape.ts"
import { joinPlans, plansIn, type SeparatePlan } from "../plan/plans-in.ts"
import { prepareInTurns } from "../plan/prepare.ts"
import { RunFailure, failure } from "../ports/run-failure.ts"
import type { WireError } from "../log/events.ts"
import { FairQueue } from "../base/fair-queue.ts"
import { Tally } from "../base/tally.ts"
import { stepsInTurns } from "../event-loop/in-turns.ts"
import { loopTurns } from "../event-loop/loop-turns.ts"
import { fromPieces } from "./json-pieces.ts"
import { followOrigins, type FollowedOrigins } from "./follow-origins.ts"
import type { Described, Formatted, OriginsJob, Planned, SourceJob, ValidateJob } from "./source-jobs.ts"
import { codeOf, describeSource, formatSource, planSource, validateSource } from "./source-jobs.ts"
import { checkAll } from "./check-code.ts"
import { isCodePath, type CheckedCode, type CodeFiles } from "../source/code-files.ts"
import type { CodeHost } from "../ports/code.ts"
import type { FromSourceThread } from "./source-thread.ts"
import {
  runCalledWorkflows,
  sourceCompileMegabytes,
  sourceCompileMs,
  sourceInOneTurn,
  sourcePairOfFiles,
  sourceWaiting,
  sourceWaitingOfOne,
} from "../base/limits.ts"

/** A character of a source takes as long as this many bytes of other large values. */
const bytesOfCharacter = 64

export interface CompilerOptions {
  /** How long one source may take. */
  readonly timeLimitMs?: number
  /** The thread's heap. */
  readonly heapMb?: number
  /** Workflows that a run may call, nested ones included. */
  readonly maxCalled?: number
  /** Which sources may have code: none, where it is absent. */
  readonly code?: {
    readonly allowed: "served" | "all" | "none"
    readonly host: () => Promise<CodeHost>
  }
}

/** A source, and the workflow of the server's folder that it is; absent for one that a caller sends. */
export interface SourceToPlan extends SourceText {
  readonly workflow?: { readonly name: string } | undefined
}

interface Waiting {
  readonly share: string
  readonly job: SourceJob
  readonly resolve: (answer: FromSourceThread) => void
  readonly reject: (error: Error) => void
}

interface SmallWaiting {
  readonly characters: number
  readonly go: () => void
}

/**
 * Works on sources for the service: small ones in turns of the event loop, large ones in a thread, one after the other, so that the event
 * loop goes on. The thread starts with the first large source. Callers take turns: the sources of one do not hold up those of
 * another (`share` says whose a source is; the service itself has a share, too). Rejects with a `RunFailure` for a source that
 * takes too long or too much memory, and when too many wait.
 */
export class Compiler {
  readonly #timeLimitMs: number
  readonly #heapMb: number
  readonly #maxCalled: number
  readonly #code: CompilerOptions["code"]
  #thread: Worker | null = null
  #current: (Waiting & { readonly timer: NodeJS.Timeout }) | null = null
  readonly #queue = new FairQueue<Waiting>()
  readonly #small = new FairQueue<SmallWaiting>()
  #givesTurns = false
  readonly #waitingOf = new Tally()
  #lastId = 0

  constructor(options: CompilerOptions = {}) {
    this.#timeLimitMs = options.timeLimitMs ?? sourceCompileMs
    this.#heapMb = options.heapMb ?? sourceCompileMegabytes
    this.#maxCalled = options.maxCalled ?? runCalledWorkflows
    this.#code = options.code
  }

  /** Whether a source may have code. */
  allowsCode(of: "served" | "sent"): boolean {
    const { allowed = "none" } = this.#code ?? {}
    return allowed === "all" || allowed === of
  }

  async plan(given: SourceToPlan | string, share = ""): Promise<Planned> {
    const { source, text, length } = readText(given)
    const maxCalled = this.#maxCalled
    const code = await this.#codeOf(text, text.workflow === undefined ? "sent" : "served", length, share)
    if (length <= sourceInOneTurn) return this.#inTurn(length, share, () => planSource({ ...text, maxCalled, code }))
    const answer = await this.#ask({ kind: "plan", source, ...filesOf(text), maxCalled, code }, share).catch(planError)
    if ("error" in answer) return answer
    if ("text" in answer) return parseInOrder(answer.text) as Planned
    if (!("pieces" in answer)) throw bug(answer)
    const plans = (await stepsInTurns(fromPieces(answer.pieces))) as unknown as readonly SeparatePlan[]
    const plan = withBareTables(joinPlans(plans))
    await stepsInTurns(prepareInTurns(plan))
    return { plan }
  }

  async format(source: string, share = ""): Promise<Formatted> {
    if (source.length <= sourceInOneTurn) return this.#inTurn(source.length, share, () => formatSource(source))
    const answer = await this.#ask({ kind: "format", source }, share)
    if ("text" in answer) return JSON.parse(answer.text) as Formatted
    throw bug(answer)
  }

  /** `current`: of a candidate the current file, or null where there is none. */
  async describe(given: SourceText | string, current?: SourceText | null): Promise<Described> {
    const { source, text, length: own } = readText(given)
    const length = own + (current ? compilingWork(current) : 0)
    const maxCalled = this.#maxCalled
    const code = await this.#codeOf(text, "served", length, "")
    if (length <= sourceInOneTurn)
      return this.#inTurn(length, "", () => describeSource({ ...text, maxCalled, code, current }))
    const answer = await this.#ask({ kind: "describe", source, ...filesOf(text), maxCalled, code, current }, "")
    if ("text" in answer) return JSON.parse(answer.text) as Described
    throw bug(answer)
  }

  /** `bytes`: the size of the run's state. */
  async origins(
    job: Omit<OriginsJob, "kind" | "maxCalled"> & SourceToPlan,
    bytes: number,
    share: string,
  ): Promise<FollowedOrigins> {
    const { workflow, ...given } = job
    const length = compilingWork(given)
    const code = await this.#codeOf(given, workflow === undefined ? "sent" : "served", length, share)
    const whole = { ...given, kind: "origins" as const, maxCalled: this.#maxCalled, code }
    const work = length + bytes / bytesOfCharacter
    if (work <= sourceInOneTurn) return this.#inTurn(work, share, () => followOrigins(whole))
    const answer = await this.#ask(whole, share)
    if ("text" in answer) return JSON.parse(answer.text) as FollowedOrigins
    throw bug(answer)
  }

  /** JSON of a `ValidateAnswer`. */
  async validate(given: Omit<ValidateJob, "maxCalled">, share = ""): Promise<string> {
    const code = await this.#codeOf(given, "sent", compilingWork(given), share)
    const job = { ...given, maxCalled: this.#maxCalled, code }
    const characters = compilingWork(job) + (job.earlier === undefined ? 0 : compilingWork(job.earlier))
    if (characters <= sourceInOneTurn) return this.#inTurn(characters, share, () => JSON.stringify(validateSource(job)))
    const answer = await this.#ask(job, share)
    if ("text" in answer) return answer.text
    throw bug(answer)
  }

  /** What the sandbox says of the code files of a source; undefined where it may have none. */
  async #codeOf(
    text: SourceText,
    of: "served" | "sent",
    length: number,
    share: string,
  ): Promise<Readonly<Record<string, CheckedCode>> | undefined> {
    if (this.#code === undefined || !this.allowsCode(of)) return undefined
    if (!Object.keys(text.modules ?? {}).some(isCodePath)) return {}
    const found = await this.#codeFiles(text, length, share)
    return found.length === 0 ? {} : checkAll(found, await this.#code.host(), share)
  }

  async #codeFiles(text: SourceText, length: number, share: string): Promise<readonly CodeFiles[]> {
    if (length <= sourceInOneTurn) return this.#inTurn(length, share, () => codeOf(text))
    const answer = await this.#ask({ kind: "code", source: text.source, ...filesOf(text) }, share)
    if ("text" in answer) return JSON.parse(answer.text) as readonly CodeFiles[]
    throw bug(answer)
  }

  async close(): Promise<void> {
    for (const id of this.#queue.ids())
      this.#leave(id)?.reject(failure("overloaded", "", "The service is shutting down"))
    this.#fail(failure("overloaded", "", "The service is shutting down"))
    await this.#stopThread()
  }

  async #inTurn<Done>(characters: number, share: string, work: () => Done): Promise<Done> {
    await new Promise<void>((go) => {
      this.#small.add(share, String(++this.#lastId), { characters, go })
      void this.#giveTurns()
    })
    return work()
  }

  async #giveTurns(): Promise<void> {
    if (this.#givesTurns) return
    this.#givesTurns = true
    for (let id = this.#small.next(() => true); id !== undefined; id = this.#small.next(() => true)) {
      const waiting = this.#small.remove(id)
      if (waiting === undefined) break
      await loopTurns.spend(waiting.characters * bytesOfCharacter)
      waiting.go()
    }
    this.#givesTurns = false
  }

  #ask(job: SourceJob, share: string): Promise<FromSourceThread> {
    if (this.#queue.size >= sourceWaiting) {
      return Promise.reject(failure("overloaded", "", "Too many large sources wait to be compiled; try again later"))
    }
    if (this.#waitingOf.of(share) >= sourceWaitingOfOne) {
      const message = `${sourceWaitingOfOne} of your large sources wait to be compiled; try again later`
      return Promise.reject(failure("overloaded", "", message))
    }
    return new Promise((resolve, reject) => {
      this.#waitingOf.add(share)
      this.#queue.add(share, String(++this.#lastId), { share, job, resolve, reject })
      this.#next()
    })
  }

  /** Takes a source out of the queue. */
  #leave(id: string): Waiting | undefined {
    const waiting = this.#queue.remove(id)
    if (waiting !== undefined) this.#waitingOf.remove(waiting.share)
    return waiting
  }

  #next(): void {
    if (this.#current !== null) return
    const id = this.#queue.next(() => true)
    const waiting = id === undefined ? undefined : this.#leave(id)
    if (waiting === undefined) return
    const timer = setTimeout(() => this.#tooMuch("time"), this.#timeLimitMs)
    this.#current = { ...waiting, timer }
    this.#thread ??= this.#startThread()
    // While a caller waits, the process stays alive.
    this.#thread.ref()
    this.#thread.postMessage(waiting.job)
  }

  #startThread(): Worker {
    const thread = new Worker(threadFile(), {
      name: "large sources",
      resourceLimits: { maxOldGenerationSizeMb: this.#heapMb },
    })
    thread.on("message", (answer: FromSourceThread) => {
      // One that was stopped meanwhile has nothing to say any more.
      if (thread !== this.#thread) return
      this.#take()?.resolve(answer)
      this.#next()
    })
    thread.on("error", (error: Error) => {
      if (thread !== this.#thread) return
      if ("code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY") this.#tooMuch("memory")
      else this.#stopWith(error)
    })
    return thread
  }

  #tooMuch(what: "time" | "memory"): void {
    this.#stopWith(failure("limit_exceeded", "", `The source takes too much ${what} to compile: make it smaller`))
  }

  #stopWith(error: Error): void {
    this.#fail(error)
    void this.#stopThread().then(() => this.#next())
  }

  #fail(error: Error): void {
    this.#take()?.reject(error)
  }

  #take(): Waiting | null {
    const current = this.#current
    this.#current = null
    clearTimeout(current?.timer)
    this.#thread?.unref()
    return current
  }

  async #stopThread(): Promise<void> {
    const thread = this.#thread
    this.#thread = null
    await thread?.terminate()
  }
}

/** The work that compiling takes, in characters. Each file may import the declarations of all others. */
function compilingWork(text: SourceText): number {
  return sourceLength(text) + sourcePairOfFiles * Object.keys(text.modules ?? {}).length ** 2
}

function readText(given: SourceToPlan | string): { source: string; text: SourceToPlan; length: number } {
  const text: SourceToPlan = typeof given === "string" ? { source: given } : given
  return { source: text.source, text, length: compilingWork(text) }
}

const tables = ["types", "providers", "models", "servers", "tools", "resources", "prompts"] as const

/** Tables by name have no prototype: a workflow may call its agent `constructor`. */
function withBareTables(plan: Plan): Plan {
  for (const one of plansIn(plan)) {
    for (const table of tables) Object.setPrototypeOf(one[table], null)
    if (one.apis !== undefined) Object.setPrototypeOf(one.apis, null)
    if (one.workflows !== undefined) Object.setPrototypeOf(one.workflows, null)
  }
  return plan
}

/** A source that is too much for the thread has no plan, now or later. */
function planError(error: unknown): { readonly error: WireError } {
  if (error instanceof RunFailure && error.error.kind === "limit_exceeded") return { error: error.error }
  throw error
}

function bug(answer: FromSourceThread): Error {
  const error = new Error("A large source met a bug")
  if ("bug" in answer) error.stack = `${error.message}${answer.bug}`
  return error
}

/** Beside this file in the sources, beside the bundle that this file has become a part of. */
function threadFile(): URL {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js"
  return new URL(`./source-thread.${extension}`, import.meta.url)
}
