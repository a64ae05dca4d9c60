import { isJsonObject } from "../../base/is-json-object.ts"
import { isoTime } from "../../base/iso-time.ts"
import type { JsonValue } from "../../base/json-value.ts"
import type { SourceToPlan } from "../../compiler/compiler.ts"
import type { Planned } from "../../compiler/source-jobs.ts"
import type { LogEvent } from "../../log/events.ts"
import { pricesOf } from "../../log/usage.ts"
import type { Plan, ScorePlan } from "../../plan/plan-shape.ts"
import { RunFailure } from "../../ports/run-failure.ts"
import { dayMs, type CountedScore, type Score, type ScoreValue } from "../../ports/scores.ts"
import { Damaged, isStoreTrouble, NoSuchRun, type RunRequest, type RunStore } from "../../ports/store.ts"
import { readReplayState } from "../../run/log/read-past.ts"
import { evaluate } from "../../run/values/evaluate.ts"
import type { Scope } from "../../run/values/scope.ts"
import { askJudge, judging, type JudgePorts, type Verdict } from "./ask-judge.ts"
import { storedValues, type RunEnd } from "./stored-values.ts"

/** Runs that are judged side by side. */
const together = 4
/** Whoever takes a run has this long for it; then another process may. */
const leaseMs = 300_000
/** Runs that complete together are looked for once. */
const soonMs = 100
/** What another process has left is found after this. */
const lookAgainMs = 10_000
/** So long a judge lets runs that wait for their turn go first, at most. */
const politeMs = 30_000
const politeStepMs = 250

export interface ScorerParts {
  readonly store: RunStore
  readonly planOf: (source: SourceToPlan, share: string) => Promise<Planned>
  readonly judge: JudgePorts
  /** Most that judges may cost on a day (UTC), in billionths. */
  readonly costPerDay: number
  /** Runs wait for their turn: judges let them go first. */
  readonly isBusy: () => boolean
  /** Hears of each result that is counted, and of the calls of judges. */
  readonly scored: (workflow: string, name: string, value: ScoreValue) => void
  readonly asked: (workflow: string, calls: Verdict["calls"]) => void
  readonly bug: (error: unknown) => void
}

/** Judges runs after they have completed, in the background: nothing that happens here reaches the run. */
export class Scorer {
  readonly #parts: ScorerParts
  readonly #stop = new AbortController()
  #timer: NodeJS.Timeout | null = null
  #due = Number.POSITIVE_INFINITY
  #working: Promise<void> | null = null
  #again = false

  constructor(parts: ScorerParts) {
    this.#parts = parts
  }

  start(): void {
    this.#lookIn(0)
  }

  async close(): Promise<void> {
    this.#stop.abort()
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#working
  }

  appended(events: readonly LogEvent[]): void {
    if (events.at(-1)?.type === "workflow_completed") this.#lookIn(soonMs)
  }

  #lookIn(ms: number): void {
    if (this.#stop.signal.aborted) return
    if (this.#working !== null) {
      this.#again = true
      return
    }
    const due = performance.now() + ms
    if (due >= this.#due) return
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#due = due
    this.#timer = setTimeout(() => this.#look(), ms).unref()
  }

  #look(): void {
    this.#timer = null
    this.#due = Number.POSITIVE_INFINITY
    this.#again = false
    this.#working = this.#all()
      .catch((error: unknown) => {
        if (!isStoreTrouble(error)) this.#parts.bug(error)
      })
      .finally(() => {
        this.#working = null
        this.#lookIn(this.#again ? soonMs : lookAgainMs)
      })
  }

  async #all(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      const runs = await this.#parts.store.scores.take(together, leaseMs)
      if (runs.length === 0) return
      await Promise.all(runs.map((run_id) => this.#run(run_id)))
    }
  }

  async #run(run_id: string): Promise<void> {
    const { store, bug } = this.#parts
    try {
      await this.#judge(run_id)
      if (!this.#stop.signal.aborted) await store.scores.done(run_id)
    } catch (error) {
      if (error instanceof NoSuchRun || error instanceof Damaged) return store.scores.done(run_id)
      // It is taken again later.
      if (!isStoreTrouble(error)) bug(error)
    }
  }

  async #judge(run_id: string): Promise<void> {
    const { store, planOf } = this.#parts
    const found = await store.lookup(run_id)
    if (found.found !== "run") return
    const request = await store.request(run_id)
    const compiled = await planOf(request, "")
    if ("error" in compiled) return
    const { plan } = compiled
    const sampled = await this.#sampled(plan, run_id)
    if (sampled.length === 0) return
    const end = await this.#endOf(run_id, found.run.last_event_id)
    if (end === null) return
    const past = await readReplayState(store, run_id, pricesOf(plan))
    const scope = storedValues(plan, run_id, request.input, past, end)
    // What costs nothing comes first.
    for (const score of sampled) if (score.value !== null) await this.#compute(run_id, request, score, scope)
    for (const score of sampled) if (score.judge !== null) await this.#ask(run_id, request, plan, score, scope)
  }

  /** The scores that look at this run, and have no result yet. */
  async #sampled({ scores = [] }: Plan, run_id: string): Promise<ScorePlan[]> {
    const { store } = this.#parts
    const known = new Set((await store.scores.of(run_id)).flatMap(({ name, by }) => (by === undefined ? [name] : [])))
    const open: ScorePlan[] = []
    for (const score of scores) {
      if (known.has(score.name)) continue
      if (score.sample === 1 || (await store.keyedHash(["score", score.name, run_id])) < score.sample) open.push(score)
    }
    return open
  }

  async #endOf(run_id: string, last: number): Promise<RunEnd | null> {
    const [end] = await this.#parts.store.read(run_id, last - 1, 1)
    if (end?.type !== "workflow_completed") return null
    const { output, usage, duration_ms } = end.data
    return { output: isJsonObject(output.result) ? output.result : {}, usage, duration_ms }
  }

  async #compute(run_id: string, request: RunRequest, score: ScorePlan, scope: Scope): Promise<void> {
    const value = valueOf(score, scope)
    if (value === null) return
    await this.#put(run_id, request, score, { value }, { value, model: null }, 0)
  }

  async #ask(run_id: string, request: RunRequest, plan: Plan, score: ScorePlan, scope: Scope): Promise<void> {
    const { store, judge, costPerDay, asked } = this.#parts
    const { workflow } = request
    if (score.judge === null || workflow === undefined || costPerDay === 0 || !holds(score, scope)) return
    const ready = attempt(() =>
      judging(plan, score.judge as NonNullable<typeof score.judge>, scope, `score.${score.name}`, judge.prices),
    )
    if (ready === null) return
    await this.#letOthersGo()
    const { signal } = this.#stop
    if (signal.aborted) return
    const day = Math.floor(judge.clock.now() / dayMs)
    if (!(await store.scores.reserve(run_id, score.name, day, ready.cost, costPerDay))) return
    const verdict = await askJudge(ready, request, judge, signal)
    // Another process asks again.
    if (signal.aborted && verdict.output === null) return
    asked(workflow.name, verdict.calls)
    const { output, model, usage, cost } = verdict
    const value = output?.[score.judge.counted]
    if (output === null) return this.#put(run_id, request, score, null, null, cost)
    const counted = isCounted(value) ? { value, model } : null
    await this.#put(run_id, request, score, { output, model, usage }, counted, cost)
  }

  async #put(
    run_id: string,
    { workflow }: RunRequest,
    { name, private: isPrivate }: ScorePlan,
    result: Omit<Score, "name" | "at"> | null,
    counted: CountedScore | null,
    cost: number,
  ): Promise<void> {
    const { store, judge, scored } = this.#parts
    const at = judge.clock.now()
    const score = result === null ? null : { name, ...result, at: isoTime(at) }
    const shown = isPrivate === true ? null : counted
    const outcome = await store.scores.put(run_id, { score, name, by: null, counted: shown, at, cost })
    if (outcome === "stored" && shown !== null) scored(workflow?.name ?? "", name, shown.value)
  }

  async #letOthersGo(): Promise<void> {
    const { isBusy, judge } = this.#parts
    const began = judge.clock.monotonic()
    while (isBusy() && judge.clock.monotonic() - began < politeMs) {
      await judge.clock.sleep(politeStepMs, this.#stop.signal).catch(() => undefined)
      if (this.#stop.signal.aborted) return
    }
  }
}

function holds({ name, when }: ScorePlan, scope: Scope): boolean {
  return when === null || attempt(() => evaluate(when, { ...scope, path: `score.${name}.when` })) === true
}

/** Null where there is nothing to say about the run, or the expression fails. */
export function valueOf(score: ScorePlan, scope: Scope): ScoreValue | null {
  const { name, value } = score
  if (value === null || !holds(score, scope)) return null
  const found = attempt(() => evaluate(value, { ...scope, path: `score.${name}.value` }))
  return isCounted(found) ? found : null
}

function isCounted(value: JsonValue | undefined): value is ScoreValue {
  return typeof value === "boolean" || typeof value === "number" || typeof value === "string"
}

function attempt<T>(make: () => T): T | null {
  try {
    return make()
  } catch (error) {
    // Such as a division by zero.
    if (error instanceof RunFailure) return null
    throw error
  }
}
