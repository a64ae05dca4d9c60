import type { Clock } from "../../ports/clock.ts"
import {
  dayMs,
  inOrderOfTime,
  mostByHand,
  scoreDays,
  shadowAccount,
  shownValue,
  textOfValue,
  type NewScore,
  type PutOutcome,
  type Score,
  type ScoreFilter,
  type ScoreStore,
  type ScoreSum,
  type SumsQuery,
} from "../../ports/scores.ts"
import type { StoredRun } from "./stored-run.ts"

interface Kept {
  /** Null while a judge is asked. */
  readonly score: Score | null
  readonly name: string
  readonly isByHand: boolean
  /** Of one that lists show. */
  readonly value: string | null
  readonly day: number
  readonly cost: number
  /** The sum that it counts in, and what for. */
  readonly counted: { readonly sum: string; readonly number: number } | null
}

interface Sum extends Omit<ScoreSum, "key"> {
  readonly caller: string
  readonly workflow: string
  readonly version: string
  readonly model: string
  readonly day: number
}

export class MemoryScores implements ScoreStore {
  readonly #clock: Clock
  readonly #runs: (run_id: string) => StoredRun | undefined
  /** By run, and in it by name and author. */
  readonly #scores = new Map<string, Map<string, Kept>>()
  /** Runs that are to be judged, with the time. */
  readonly #due = new Map<string, number>()
  readonly #sums = new Map<string, Sum>()
  /** Costs of judges, and of shadows, by day. */
  readonly #judges = new Map<number, number>()
  readonly #shadows = new Map<number, number>()

  constructor(clock: Clock, runs: (run_id: string) => StoredRun | undefined) {
    this.#clock = clock
    this.#runs = runs
  }

  completed(run_id: string): void {
    this.#due.set(run_id, 0)
  }

  forget(run_id: string): void {
    this.#due.delete(run_id)
    this.#scores.delete(run_id)
  }

  sweep(now: number): void {
    const first = Math.floor(now / dayMs) - scoreDays
    for (const [key, { day }] of this.#sums) if (day <= first) this.#sums.delete(key)
    for (const days of [this.#judges, this.#shadows]) for (const day of days.keys()) if (day <= first) days.delete(day)
  }

  async take(limit: number, leaseMs: number): Promise<readonly string[]> {
    const now = this.#clock.now()
    const due = [...this.#due].filter(([, at]) => at <= now).sort(([, a], [, b]) => a - b)
    const taken = due.slice(0, limit).map(([run_id]) => run_id)
    for (const run_id of taken) this.#due.set(run_id, now + leaseMs)
    return taken
  }

  async done(run_id: string): Promise<void> {
    this.#due.delete(run_id)
  }

  async reserve(run_id: string, name: string, day: number, cost: number, most: number): Promise<boolean> {
    if (this.#runs(run_id) === undefined) return false
    const scores = this.#ofRun(run_id)
    const before = scores.get(keyOf(name, null))
    if (before !== undefined && before.score !== null) return false
    if (before !== undefined) this.#spend(name, before.day, -before.cost)
    if ((this.#daysOf(name).get(day) ?? 0) + cost > most) {
      scores.delete(keyOf(name, null))
      return false
    }
    this.#spend(name, day, cost)
    scores.set(keyOf(name, null), { score: null, name, isByHand: false, value: null, day, cost, counted: null })
    return true
  }

  async put(run_id: string, given: NewScore): Promise<PutOutcome> {
    const { score, name, by, counted, at, cost } = given
    const run = this.#runs(run_id)
    if (run === undefined) return "gone"
    if (run.finished_at === null) return "open"
    const scores = this.#ofRun(run_id)
    const key = keyOf(name, by)
    const before = scores.get(key)
    if (by === null && before !== undefined && before.score !== null) return "there"
    const byHand = [...scores.values()].filter(({ isByHand }) => isByHand).length
    if (by !== null && before === undefined && byHand >= mostByHand) return "full"
    const day = Math.floor(at / dayMs)
    if (before?.score === null) this.#spend(name, before.day, cost - before.cost)
    else if (cost > 0) this.#spend(name, day, cost)
    if (before?.counted) this.#count(before.counted.sum, -1, before.counted.number)
    if (score === null) {
      scores.delete(key)
      return "stored"
    }
    const value = counted === null ? null : shownValue(counted.value)
    const one = counted === null ? null : this.#sumOf(run, name, day, counted.model ?? "", textOfValue(counted, by))
    const number = typeof counted?.value === "number" ? counted.value : 0
    if (one !== null) this.#count(one, 1, number)
    const sum = one === null ? null : { sum: one, number }
    scores.set(key, { score, name, isByHand: by !== null, value, day, cost, counted: sum })
    return "stored"
  }

  async of(run_id: string): Promise<readonly Score[]> {
    return inOrderOfTime([...(this.#scores.get(run_id)?.values() ?? [])].flatMap(({ score }) => score ?? []))
  }

  /** Those that lists show. */
  listed(run_id: string): readonly Score[] {
    const all = [...(this.#scores.get(run_id)?.values() ?? [])]
    return inOrderOfTime(all.flatMap(({ score, value }) => (value === null ? [] : (score ?? []))))
  }

  matches(run_id: string, { name, value }: ScoreFilter): boolean {
    return [...(this.#scores.get(run_id)?.values() ?? [])].some((one) => one.name === name && one.value === value)
  }

  async sums({ by, caller, workflow, name, from, to }: SumsQuery): Promise<readonly ScoreSum[]> {
    const found = new Map<string, ScoreSum>()
    for (const sum of this.#sums.values()) {
      if (sum.day < from || sum.day >= to || sum.count === 0) continue
      if (caller !== null && sum.caller !== caller) continue
      if (workflow !== null && sum.workflow !== workflow) continue
      if (name !== null && sum.name !== name) continue
      const key = String(sum[by])
      const place = JSON.stringify([sum.name, key, sum.value])
      const before = found.get(place) ?? { name: sum.name, key, value: sum.value, count: 0, sum: 0 }
      found.set(place, { ...before, count: before.count + sum.count, sum: before.sum + sum.sum })
    }
    return [...found.values()]
  }

  #ofRun(run_id: string): Map<string, Kept> {
    const known = this.#scores.get(run_id)
    if (known !== undefined) return known
    const made = new Map<string, Kept>()
    this.#scores.set(run_id, made)
    return made
  }

  #daysOf(name: string): Map<number, number> {
    return name === shadowAccount ? this.#shadows : this.#judges
  }

  #spend(name: string, day: number, cost: number): void {
    const days = this.#daysOf(name)
    days.set(day, (days.get(day) ?? 0) + cost)
  }

  #sumOf({ caller, request }: StoredRun, name: string, day: number, model: string, value: string): string {
    const [workflow, version] = [request.workflow?.name ?? "", request.workflow?.version ?? ""]
    const key = JSON.stringify([caller, workflow, name, day, version, model, value])
    const empty: Sum = { caller, workflow, name, day, version, model, value, count: 0, sum: 0 }
    if (!this.#sums.has(key)) this.#sums.set(key, empty)
    return key
  }

  #count(key: string, by: 1 | -1, number: number): void {
    const sum = this.#sums.get(key)
    if (sum !== undefined) this.#sums.set(key, { ...sum, count: sum.count + by, sum: sum.sum + by * number })
  }
}

function keyOf(name: string, by: string | null): string {
  return JSON.stringify([name, by])
}
