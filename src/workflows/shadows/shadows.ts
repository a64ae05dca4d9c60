import type { JsonObject } from "../../base/json-value.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { SourceToPlan } from "../../compiler/compiler.ts"
import type { Planned } from "../../compiler/source-jobs.ts"
import type { LogEvent } from "../../log/events.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import { instant } from "../../ports/clock.ts"
import { nano } from "../../ports/ledger.ts"
import { dayMs, shadowAccount } from "../../ports/scores.ts"
import { Damaged, isStoreTrouble, NoSuchRun, StoreFailure, type Lease, type RunRequest } from "../../ports/store.ts"
import { filesOf } from "../../source/source-files.ts"
import { Deadlines } from "../../run/budget/deadlines.ts"
import type { RunLimits, RunPorts } from "../../run/context/run-context.ts"
import { announceTaken, type TakenRun } from "../../run/context/taken-run.ts"
import { endWithoutRunning } from "../../run/end-without-running.ts"
import { LeaseKeeper } from "../../run/log/lease-keeper.ts"
import { run } from "../../run/run.ts"
import { redactor } from "../../run/secrets/redact.ts"
import { exposedByRequest, secretsOfRun } from "../../run/secrets/secrets-of-run.ts"
import { unpriced, validateRequest } from "../../run/validate-request.ts"
import { agreementScore, betweenPaths, skippedScore, type ShadowOutcome } from "../releases/agreement-of.ts"
import { notJudged } from "../releases/figures.ts"
import type { Candidate } from "../load-workflow.ts"
import type { NamedWorkflow, WorkflowFolder } from "../workflow-folder.ts"
import { differences } from "./agreement.ts"
import { RecordedRun } from "./recorded-run.ts"
import { ShadowCourse, shadowPorts } from "./shadow-ports.ts"

/** Shadows that run side by side, and those that wait: what completes meanwhile has none. */
const together = 2
const mostWaiting = 100
/** How often a shadow looks whether runs wait for their turn. */
const politeStepMs = 250
/** Open calls of one shadow. */
const callsAtOnce = 4

export interface ShadowParts {
  readonly folder: Pick<WorkflowFolder, "get">
  readonly ports: RunPorts
  readonly limits: RunLimits
  readonly planOf: (source: SourceToPlan, share: string) => Promise<Planned>
  readonly owner: string
  readonly leaseMs: number
  /** Most that shadows may cost on a day (UTC), in billionths. */
  readonly costPerDay: number
  /** Runs wait for their turn: shadows let them go first. */
  readonly isBusy: () => boolean
  readonly isStopped: (name: string, candidate: Candidate) => Promise<boolean>
  /** A shadow of the workflow has ended, and is compared. */
  readonly compared: (name: string) => void
}

interface Shadowed {
  readonly run_id: string
  readonly name: string
}

/** Runs the candidate once more after completed runs of the current version, without effects. Nothing that happens here reaches those runs. */
export class Shadows {
  readonly #parts: ShadowParts
  readonly #keeper: LeaseKeeper
  readonly #deadlines: Deadlines
  readonly #stop = new AbortController()
  /** Runs of the current version that this process works on. */
  readonly #current = new Map<string, Shadowed>()
  readonly #waiting: Shadowed[] = []
  readonly #working = new Set<Promise<void>>()
  readonly #courses = new Set<ShadowCourse>()

  constructor(parts: ShadowParts) {
    const { ports, leaseMs } = parts
    this.#parts = parts
    this.#keeper = new LeaseKeeper(ports.store, ports.clock, leaseMs)
    this.#deadlines = new Deadlines(ports.clock)
  }

  taken({ run_id, workflow, bringsSecrets }: TakenRun): void {
    // What has moved was begun by another version, and a run with secrets of its own can be repeated with nobody's.
    if (workflow?.release !== "current" || workflow.moved_from !== undefined || bringsSecrets === true) return
    if (this.#candidateOf(workflow.name) !== null) this.#current.set(run_id, { run_id, name: workflow.name })
  }

  left(run_id: string): void {
    this.#current.delete(run_id)
  }

  appended(run_id: string, events: readonly LogEvent[]): void {
    const last = events.at(-1)?.type
    const found = this.#current.get(run_id)
    if (found === undefined || last === undefined) return
    if (last === "run_waiting" || last === "workflow_failed" || last === "workflow_cancelled") this.left(run_id)
    if (last !== "workflow_completed") return
    this.left(run_id)
    if (this.#waiting.length < mostWaiting) this.#waiting.push(found)
    this.#next()
  }

  /** Resolves when no shadow runs or waits. */
  async idle(): Promise<void> {
    while (this.#working.size > 0) await Promise.all(this.#working)
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error("The service stops"))
    this.#waiting.length = 0
    for (const course of this.#courses) course.give("The service stopped")
    await this.idle()
    this.#deadlines.close()
    await this.#keeper.close()
  }

  #next(): void {
    while (this.#working.size < together && !this.#stop.signal.aborted) {
      const shadowed = this.#waiting.shift()
      if (shadowed === undefined) return
      const work = this.#shadow(shadowed)
        .catch((error: unknown) => {
          if (error instanceof NoSuchRun || error instanceof Damaged || isStoreTrouble(error)) return
          this.#parts.ports.bug(error)
        })
        .finally(() => {
          this.#working.delete(work)
          this.#next()
        })
      this.#working.add(work)
    }
  }

  /** Null where there is none that gets shadows. */
  #candidateOf(name: string): { readonly workflow: NamedWorkflow; readonly candidate: Candidate } | null {
    const workflow = this.#parts.folder.get(name)
    const candidate = workflow?.candidate
    if (workflow === undefined || candidate === undefined || candidate.loaded === null) return null
    return candidate.release.shadow > 0 && this.#parts.costPerDay > 0 ? { workflow, candidate } : null
  }

  async #shadow({ run_id, name }: Shadowed): Promise<void> {
    const { store } = this.#parts.ports
    const found = this.#candidateOf(name)
    if (found === null) return
    const { candidate, workflow } = found
    if ((await store.keyedHash(["shadow", name, run_id])) >= candidate.release.shadow) return
    if (await this.#parts.isStopped(name, candidate)) return
    await this.#letOthersGo()
    if (this.#stop.signal.aborted) return
    const row = await store.lookup(run_id)
    const asked = await store.request(run_id)
    if (row.found !== "run" || asked.rerun !== undefined) return
    if (asked.workflow?.version !== workflow.serving?.version) return
    const { caller, last_event_id } = row.run
    const end = await this.#endOf(run_id, last_event_id)
    const made = end === null ? null : await this.#requestOf(run_id, name, candidate, asked)
    if (end === null || made === null) return
    await this.#within(run_id, end.cost, made, async (request) => {
      const course = new ShadowCourse()
      const shadow = await this.#run(request, made.plan, caller, await RecordedRun.read(store, run_id), course)
      if (shadow === null) return null
      await this.#compare(shadow.run_id, shadow.end, end.output, candidate, course)
      this.#parts.compared(name)
      return shadow.cost
    })
  }

  async #endOf(run_id: string, last: number): Promise<{ readonly output: JsonObject; readonly cost: number } | null> {
    const [end] = await this.#parts.ports.store.read(run_id, last - 1, 1)
    if (end?.type !== "workflow_completed") return null
    const { output, usage } = end.data
    return { output: isJsonObject(output.result) ? output.result : {}, cost: usage.cost ?? 0 }
  }

  /** The request of the shadow; null where it cannot have one: its secrets are not all the server's, or its cost cannot be bounded. */
  async #requestOf(
    run_id: string,
    name: string,
    { loaded, release, version }: Candidate,
    { input }: RunRequest,
  ): Promise<{ readonly plan: Plan; readonly request: RunRequest } | null> {
    const { ports, planOf } = this.#parts
    if (loaded === null || version === null || release.shadow === 0) return null
    const request: RunRequest = {
      source: loaded.source,
      ...filesOf(loaded),
      input,
      secrets: {},
      options: { cache_key: null, use_cache: false, max_concurrency: callsAtOnce, timeout_ms: null, deltas: false },
      workflow: { name, version, release: "shadow", shadow_of: run_id },
    }
    const compiled = await planOf({ ...loaded, workflow: { name } }, "")
    if ("error" in compiled) return null
    const { plan } = compiled
    const { serverSecrets, prices } = ports
    if (exposedByRequest(plan, request, serverSecrets) !== null || unpriced(plan, "", prices).length > 0) return null
    const refused = validateRequest(plan, input, secretsOfRun(plan, request, serverSecrets), null, prices)
    return refused === null ? { plan, request } : null
  }

  /** Sets the most that it can cost apart, on this day, and gives back what it has not used. `make` resolves to what it has used; null where nobody knows. */
  async #within(
    run_id: string,
    shadowedCost: number,
    { request }: { readonly request: RunRequest },
    make: (request: RunRequest) => Promise<number | null>,
  ): Promise<void> {
    const { ports, costPerDay } = this.#parts
    const { scores } = ports.store
    const at = ports.clock.now()
    // Room for a candidate that costs more, so that this is seen.
    const most = Math.min(costPerDay, Math.max(Math.floor(costPerDay / 10), Math.ceil(4 * shadowedCost * nano)))
    const day = Math.floor(at / dayMs)
    if (!(await scores.reserve(run_id, shadowAccount, day, most, costPerDay))) return
    const used = await make({ ...request, options: { ...request.options, limits: { cost: most / nano } } })
    const cost = used === null ? most : Math.min(most, Math.ceil(used * nano))
    await scores.put(run_id, { score: null, name: shadowAccount, by: null, counted: null, at, cost })
  }

  async #run(
    request: RunRequest,
    plan: Plan,
    caller: string,
    recorded: RecordedRun,
    course: ShadowCourse,
  ): Promise<{ readonly run_id: string; readonly end: LogEvent; readonly cost: number | null } | null> {
    const { ports, owner, leaseMs, limits } = this.#parts
    const { clock, random, store, serverSecrets } = ports
    const run_id = random.id()
    const askedAt = instant(clock)
    const created_at = clock.now()
    const created = await store.create({ run_id, caller, request, created_at, idempotency: null }, owner, leaseMs)
    if (created.outcome !== "created") return null
    announceTaken(ports, run_id, caller, request, false)
    const held = this.#keeper.hold(created.lease, askedAt)
    const hides = redactor(secretsOfRun(plan, request, serverSecrets))
    const own = shadowPorts(ports, plan, recorded, hides, course)
    const job = { held, plan, request, caller, created_at, resumed: null, deadlines: this.#deadlines }
    this.#courses.add(course)
    if (this.#stop.signal.aborted) course.give("The service stopped")
    try {
      const end = (await this.#toEnd(() => run(job, own, limits))) ?? (await endWithoutRunning(job, cancelled, ports))
      if (end === null) return null
      return { run_id, end, cost: "usage" in end.data ? (end.cost ?? end.data.usage.cost ?? null) : null }
    } finally {
      hides.close()
      this.#courses.delete(course)
      this.#keeper.drop(held)
      await this.#giveBack(created.lease)
    }
  }

  /** Null where it was stopped before its end. */
  async #toEnd(work: () => Promise<LogEvent | null>): Promise<LogEvent | null> {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error
      return null
    }
  }

  /** Harmless where it has ended. */
  async #giveBack(lease: Lease): Promise<void> {
    await this.#parts.ports.store.release(lease).catch(() => undefined)
  }

  /** The result is a score of the shadow: it is found, counted and deleted as others are. */
  async #compare(
    run_id: string,
    end: LogEvent,
    output: JsonObject,
    { release }: Candidate,
    course: ShadowCourse,
  ): Promise<void> {
    const { store, clock } = this.#parts.ports
    const { value, comment } = judged(end, output, release.agree_on, course)
    const now = clock.now()
    const score = { name: agreementScore, value, at: new Date(now).toISOString(), ...(comment !== "" && { comment }) }
    const counted = (one: string | number): { readonly value: string | number; readonly model: null } => ({
      value: one,
      model: null,
    })
    await store.scores.put(run_id, { score, name: agreementScore, by: null, counted: counted(value), at: now, cost: 0 })
    if (course.skipped === 0) return
    const skipped = { name: skippedScore, value: course.skipped, at: score.at }
    await store.scores.put(run_id, {
      score: skipped,
      name: skippedScore,
      by: null,
      counted: counted(course.skipped),
      at: now,
      cost: 0,
    })
  }

  async #letOthersGo(): Promise<void> {
    const { isBusy, ports } = this.#parts
    const { signal } = this.#stop
    while (isBusy() && !signal.aborted) await ports.clock.sleep(politeStepMs, signal).catch(() => undefined)
  }
}

const cancelled = { why: "cancelled" } as const

/** `comment`: where the outputs differ, or why nothing can be said. */
function judged(
  end: LogEvent,
  output: JsonObject,
  on: readonly (readonly string[])[],
  { inconclusive, skipped }: ShadowCourse,
): { readonly value: ShadowOutcome; readonly comment: string } {
  const nothing = (comment: string): { readonly value: ShadowOutcome; readonly comment: string } => ({
    value: "inconclusive",
    comment,
  })
  if (inconclusive !== null) return nothing(inconclusive)
  if (end.type === "workflow_failed") {
    const { error } = end.data
    if (notJudged.has(error.kind)) return nothing(error.message)
    if (error.issues.some(({ path }) => path === "options.limits.cost"))
      return nothing("It costs more than was set apart")
    if (skipped > 0) return nothing("It failed after a call was not made")
    return { value: "disagrees", comment: "output" }
  }
  if (end.type !== "workflow_completed") return nothing("It was cancelled")
  const { result } = end.data.output
  const paths = differences(output, isJsonObject(result) ? result : {}, on)
  return paths.length === 0
    ? { value: "agrees", comment: "" }
    : { value: "disagrees", comment: paths.join(betweenPaths) }
}
