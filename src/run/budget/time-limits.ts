import { timeHad, type AgentTime, type TimeRange } from "../../log/replay-state.ts"
import type { Clock } from "../../ports/clock.ts"
import { RunEnding, wireError } from "../../ports/run-failure.ts"
import type { Deadlines } from "./deadlines.ts"
import type { Limit, RunLimitSet } from "./limit-scopes.ts"

export interface TimeParts {
  readonly limits: RunLimitSet
  readonly clock: Clock
  readonly deadlines: Deadlines
  readonly startedAt: number
  /** When no process had the run: that time does not count. */
  readonly idle: readonly TimeRange[]
  /** Times of agents from the log of an interrupted run. */
  readonly agents: ReadonlyMap<string, AgentTime>
  readonly fail: (error: RunEnding) => void
}

/** Ends a run, or the call of a workflow, when it or one of its agents has used up its `time_seconds`. */
export class TimeLimits {
  readonly #parts: TimeParts
  readonly #agents = new Map<string, AgentTime>()
  readonly #watched = new Map<string, () => void>()

  constructor(parts: TimeParts) {
    this.#parts = parts
    for (const [name, time] of parts.agents) this.#agents.set(name, { ...time })
  }

  /** Time limits of a called workflow. */
  within(
    limits: RunLimitSet,
    startedAt: number,
    agents: ReadonlyMap<string, AgentTime>,
    fail: (error: RunEnding) => void,
  ): TimeLimits {
    return new TimeLimits({ ...this.#parts, limits, startedAt, agents, fail })
  }

  /** Watches the time of the run; the result stops all watching. */
  watch(): () => void {
    const stopRun = this.#deadline(this.#parts.limits.run.time_seconds, this.#parts.startedAt)
    return () => {
      stopRun()
      for (const stop of this.#watched.values()) stop()
    }
  }

  /** A step of the agent begins. The time counts from the first. */
  agentStarted(name: string): void {
    const limit = this.#parts.limits.agents.get(name)?.time_seconds
    if (limit === undefined) return
    let time = this.#agents.get(name)
    if (time === undefined) {
      time = { startedAt: this.#parts.clock.now(), endedAt: null }
      this.#agents.set(name, time)
    }
    time.endedAt = null
    if (!this.#watched.has(name)) this.#watched.set(name, this.#deadline(limit, time.startedAt))
  }

  /** All steps of the agent have ended. */
  agentEnded(name: string): void {
    this.#watched.get(name)?.()
    const time = this.#agents.get(name)
    if (time !== undefined) time.endedAt ??= this.#parts.clock.now()
  }

  /** Seconds that count, of the run or of an agent. */
  elapsed(agent: string | null): number {
    const { startedAt, clock } = this.#parts
    if (agent === null) return this.#counted(startedAt, clock.now()) / 1000
    const time = this.#agents.get(agent)
    return time === undefined ? 0 : this.#counted(time.startedAt, time.endedAt ?? clock.now()) / 1000
  }

  #counted(from: number, to: number): number {
    return timeHad(this.#parts.idle, from, to)
  }

  #deadline(limit: Limit | undefined, from: number): () => void {
    if (limit === undefined) return () => undefined
    const { clock, deadlines, fail } = this.#parts
    return deadlines.add(limit.most * 1000 - this.#counted(from, clock.now()), () => {
      const [agent] = /(?<=^|\/)agent\.\w+/.exec(limit.path) ?? []
      const what = agent ?? (limit.path.includes("/") ? "The call of the workflow" : "The run")
      const message = `${what} took longer than ${limit.most} s (${limit.path})`
      fail(new RunEnding(wireError("timeout", [{ path: limit.path, message }])))
    })
  }
}
