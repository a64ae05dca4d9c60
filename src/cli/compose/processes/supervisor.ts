import cluster, { type Worker } from "node:cluster"
import { once } from "node:events"
import { getHeapStatistics } from "node:v8"
import type { ServerLog } from "../../../server/route-dependencies.ts"
import { LogLines } from "../log-lines.ts"
import { runsPerCaller } from "../runs-per-caller.ts"
import type { Settings } from "../settings.ts"
import { numberVariable } from "./link.ts"
import type { Listening, ToChild, ToParent } from "./messages.ts"
import { RunSlotBroker, type RunSlotAccount } from "./run-slot-broker.ts"
import { countersOf, sumMetrics } from "./sum-metrics.ts"
import { wholeLines } from "./whole-lines.ts"

/** A process that dies is started again after this pause, which doubles with each death up to the longest one. */
const shortestPauseMs = 100
const longestPauseMs = 30_000
/** One that has served so long begins with the shortest pause again. */
const soundMs = 60_000
/** A process that does not say its metrics within this time is counted with those that it said last. */
const metricsMs = 2_000
/** All processes together have the heap that one would have, but none has less than this. */
const leastHeapMb = 256

/** One process of the service, and those that take its place. */
interface Slot {
  readonly number: number
  worker: Worker | null
  account: RunSlotAccount | null
  startedAt: number
  /** In a row, without having served for long. */
  deaths: number
  isUp: boolean
  restart: NodeJS.Timeout | null
  /** What it said of its metrics last. */
  metrics: string
  /** Called when it has said its metrics, or is gone. */
  readonly awaitMetrics: Set<() => void>
}

type Start = { readonly listening: Listening } | { readonly code: number }

/** Starts the processes of a service, starts those again that die, and has for all of them what must be one: places of runs, metrics, log, audit trail. */
export class Supervisor {
  readonly #settings: Settings
  readonly #log: ServerLog
  readonly #audit: (fields: object) => void
  readonly #desk: RunSlotBroker
  readonly #slots: readonly Slot[]
  readonly #lines = new LogLines(2)
  readonly #ends = new Set<Promise<unknown>>()
  /** What they ask for. With port 0 all that live have the same one; when none is left, the next one asks for that. */
  #port: number
  #listensOn = 0
  #stopping = false
  #restarts = 0
  /** Counters of processes that are gone. */
  #left = ""
  #gathering: Promise<string> | null = null

  constructor(settings: Settings, log: ServerLog, audit: (fields: object) => void) {
    const { maxRuns, maxQueued, processes } = settings
    this.#settings = settings
    this.#log = log
    this.#audit = audit
    this.#port = settings.port
    const perTenant = Math.min(maxRuns, runsPerCaller(settings))
    this.#desk = new RunSlotBroker({ maxRuns: maxRuns, maxQueued: maxQueued, perTenant })
    this.#slots = Array.from({ length: processes }, (_, number) => ({
      number,
      worker: null,
      account: null,
      startedAt: 0,
      deaths: 0,
      isUp: false,
      restart: null,
      metrics: "",
      awaitMetrics: new Set(),
    }))
  }

  get isStopping(): boolean {
    return this.#stopping
  }

  /** The first process alone: where it refuses to start, the others would, too, and it has said why. */
  async start(): Promise<Start> {
    const [first, ...others] = this.#slots
    if (first === undefined) return { code: 0 }
    const start = await this.#run(first, false)
    if ("code" in start || this.#stopping) return start
    await Promise.all(others.map((slot) => this.#run(slot, true)))
    return start
  }

  /** Resolves when all have stopped. */
  async stop(reason: string): Promise<void> {
    this.#stopping = true
    for (const { restart, worker, isUp } of this.#slots) {
      if (restart !== null) clearTimeout(restart)
      // One that does not serve yet has nothing to finish, and may not hear.
      if (isUp) worker?.send({ stop: reason } satisfies ToChild)
      else worker?.process.kill("SIGTERM")
    }
    while (this.#ends.size > 0) await Promise.all(this.#ends)
  }

  /** Resolves when it listens, or has ended without having. `again`: whether another takes its place then. */
  #run(slot: Slot, again: boolean): Promise<Start> {
    const { promise, resolve } = Promise.withResolvers<Start>()
    cluster.setupPrimary(this.#command())
    const worker = cluster.fork({ [numberVariable]: String(slot.number) })
    slot.worker = worker
    slot.startedAt = performance.now()
    slot.account = this.#desk.open((places) => tell(worker, { places }))
    worker.on("message", (message: ToParent) => {
      if ("listening" in message) {
        this.#isUp(slot, message.listening)
        resolve(message)
      } else this.#hear(slot, message)
    })
    // A message that does not reach it needs no answer: its end is reported by "exit".
    worker.on("error", () => undefined)
    const end = Promise.all([once(worker, "exit"), this.#copyLog(worker)]).then(([exit]) => {
      const [code, signal] = exit as [number | null, string | null]
      const hasServed = slot.isUp
      this.#gone(slot)
      this.#ends.delete(end)
      if ((hasServed || again) && !this.#stopping) this.#runAgain(slot, worker.process.pid, code, signal)
      resolve({ code: code ?? 1 })
    })
    this.#ends.add(end)
    return promise
  }

  #command(): NonNullable<Parameters<typeof cluster.setupPrimary>[0]> {
    const { processes } = this.#settings
    const heapMb = Math.floor(getHeapStatistics().heap_size_limit / processes / 1024 / 1024)
    const [, exec = "", ...args] = process.argv
    return {
      exec,
      args: [...args, "--processes", String(processes), "--port", String(this.#port)],
      execArgv: [...process.execArgv, `--max-old-space-size=${Math.max(leastHeapMb, heapMb)}`],
      stdio: ["ignore", "inherit", "pipe", "ipc"],
    }
  }

  /** Its lines go to our standard error one after the other: in a pipe, long writes of several processes would run into each other. */
  async #copyLog({ process: { stderr } }: Worker): Promise<void> {
    if (stderr === null) return
    stderr.setEncoding("utf8")
    for await (const lines of wholeLines(stderr)) {
      this.#lines.write(lines)
      this.#lines.flush()
    }
  }

  #isUp(slot: Slot, { listens }: Listening): void {
    slot.isUp = true
    this.#listensOn = Number(URL.parse(listens)?.port ?? 0)
    this.#tellAll({ up: this.#up.length, died: false })
  }

  get #up(): readonly Slot[] {
    return this.#slots.filter(({ isUp }) => isUp)
  }

  #gone(slot: Slot): void {
    slot.isUp = false
    slot.worker = null
    slot.account?.close()
    slot.account = null
    this.#left = sumMetrics([this.#left, countersOf(slot.metrics)])
    slot.metrics = ""
    for (const goOn of slot.awaitMetrics) goOn()
    if (this.#listensOn > 0 && this.#slots.every(({ worker }) => worker === null)) this.#port = this.#listensOn
    this.#tellAll({ up: this.#up.length, died: true })
  }

  #runAgain(slot: Slot, child: number | undefined, code: number | null, signal: string | null): void {
    if (performance.now() - slot.startedAt > soundMs) slot.deaths = 0
    const pause_ms = Math.min(longestPauseMs, shortestPauseMs * 2 ** slot.deaths)
    slot.deaths++
    this.#restarts++
    this.#log.error({ process: slot.number, child, code, signal, pause_ms }, "a process ended and is started again")
    slot.restart = setTimeout(() => {
      slot.restart = null
      void this.#run(slot, true)
    }, pause_ms)
  }

  #hear(slot: Slot, message: Exclude<ToParent, { readonly listening: Listening }>): void {
    if ("places" in message) slot.account?.hear(message.places)
    else if ("spent" in message) this.#tellAll(message, slot)
    else if ("audit" in message) this.#audit(message.audit)
    else if ("metrics" in message) {
      slot.metrics = message.metrics
      for (const goOn of slot.awaitMetrics) goOn()
    } else void this.#answer(slot, message.ask)
  }

  async #answer({ worker }: Slot, answer: number): Promise<void> {
    // Requests at the same time share one sum.
    this.#gathering ??= this.#gather().finally(() => (this.#gathering = null))
    const text = await this.#gathering
    if (worker !== null) tell(worker, { answer, text })
  }

  async #gather(): Promise<string> {
    await Promise.all(this.#up.map((slot) => this.#askMetrics(slot)))
    return sumMetrics([...this.#up.map(({ metrics }) => metrics), this.#left, this.#ownMetrics()])
  }

  #askMetrics(slot: Slot): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const goOn = (): void => {
      clearTimeout(timer)
      slot.awaitMetrics.delete(goOn)
      resolve()
    }
    const timer = setTimeout(goOn, metricsMs)
    slot.awaitMetrics.add(goOn)
    if (slot.worker !== null) tell(slot.worker, { metrics: true })
    return promise
  }

  #ownMetrics(): string {
    return [
      "# HELP wire_processes Processes that serve",
      "# TYPE wire_processes gauge",
      `wire_processes ${this.#up.length}`,
      "# HELP wire_process_restarts_total Processes that ended and were started again",
      "# TYPE wire_process_restarts_total counter",
      `wire_process_restarts_total ${this.#restarts}`,
    ].join("\n")
  }

  #tellAll(message: ToChild, except: Slot | null = null): void {
    for (const slot of this.#slots) {
      if (slot.isUp && slot.worker !== null && slot !== except) tell(slot.worker, message)
    }
  }
}

function tell(worker: Worker, message: ToChild): void {
  if (worker.isConnected()) worker.send(message, () => undefined)
}
