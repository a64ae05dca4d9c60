import { scopeAround } from "../plan/call-scope.ts"
import { eventBytes } from "./event-bytes.ts"
import { eventTaker, scopeOf } from "./event-handlers.ts"
import { roleOf } from "./event-schemas.ts"
import type { LogEvent } from "./events.ts"
import type { LogWriter } from "./log-version.ts"
import { callHandlers } from "./replay/calls.ts"
import { replayData, ReplayScope, type ReplayHandlers } from "./replay/replay-scope.ts"
import { batchHandlers } from "./replay/batches.ts"
import { stepHandlers } from "./replay/steps.ts"
import { placeKey, type ReplayState } from "./replay-state.ts"
import type { PriceOf } from "./usage.ts"
import { endedWork } from "./usage-after.ts"

/** Whether a run that writes such an event got further. */
export function isProgress({ type }: LogEvent): boolean {
  return roleOf(type) !== "repeated"
}

/** The run as a whole: who wrote its log, when it waited, and whether it has ended. */
const runHandlers: ReplayHandlers = {
  workflow_started: ({ state }, event) => writtenBy(state, replayData(event)),
  workflow_planned({ state }) {
    state.planned = true
  },
  mcp_server_connected({ state }, { data }) {
    state.servers.add(data.server)
  },
  dynamic_resolved({ state }, { data: { agent, name, iteration } }) {
    state.dynamics.add(placeKey(agent === undefined ? name : `${agent}.${name}`, iteration))
  },
  run_resumed({ state }, event) {
    const writer = replayData(event)
    writtenBy(state, writer)
    if (writer?.given_back !== true) {
      state.vainResumes++
      if (state.runsAlone) state.deathsAlone++
    }
    state.runsAlone = writer?.alone === true
  },
  run_waiting({ state }, event, at) {
    state.parked = { event, alarms: replayData(event)?.alarms ?? [] }
    // A run that moves goes on waiting.
    if (state.idle.at(-1)?.to !== null) state.idle.push({ from: at, to: null })
  },
  run_moved({ state }, { data }) {
    for (const step of data.outdated) state.outdated.add(step)
    state.hasMoved = true
  },
  run_continued({ state }, _event, at) {
    state.parked = null
    state.hasMoved = false
    const wait = state.idle.at(-1)
    if (wait !== undefined) wait.to ??= at
  },
  workflow_completed: ended,
  workflow_failed: ended,
  workflow_cancelled: ended,
}

function ended({ state }: ReplayScope): void {
  state.ended = true
}

/** The newest form counts: the last writer may have used a newer one. */
function writtenBy(state: ReplayState, writer: LogWriter = { log: 0, engine: "of unknown version" }): void {
  if (writer.log >= (state.writer?.log ?? 0)) state.writer = writer
}

const takeEvent = eventTaker<ReplayScope, LogEvent>(runHandlers, stepHandlers, batchHandlers, callHandlers)

/** Takes the events of a log one after the other into the state that a run goes on from. */
export class LogFold {
  readonly #run: ReplayScope
  readonly #priceOf: PriceOf
  /** All workflows that the run calls, by scope. */
  readonly #called = new Map<string, ReplayScope>()

  constructor(priceOf: PriceOf = () => null) {
    this.#priceOf = priceOf
    this.#run = new ReplayScope(priceOf, null)
  }

  get past(): ReplayState {
    return this.#run.state
  }

  /** The log is at its end. */
  finished(): ReplayState {
    for (const { state, consumption } of [this.#run, ...this.#called.values()]) state.used = consumption.total()
    return this.past
  }

  take(event: LogEvent): void {
    const { past } = this
    past.lastId = event.id
    past.logBytes += eventBytes(event)
    const at = Date.parse(event.at)
    past.startedAt ??= at
    if (event.type === "run_resumed") past.idle.push({ from: past.lastAt ?? at, to: at })
    past.lastAt = Math.max(past.lastAt ?? at, at)
    if (isProgress(event)) {
      past.vainResumes = 0
      past.deathsAlone = 0
      past.runsAlone = false
    }
    // The state inside a call is there from the call's first event on.
    if (event.data.scope !== undefined) this.#in(event.data.scope)
    const scope = this.#in(scopeOf(event))
    takeEvent(scope, event, at)
    const work = endedWork(event)
    if (work !== null) scope.spend(work)
  }

  #in(scope: string | null): ReplayScope {
    if (scope === null) return this.#run
    let found = this.#called.get(scope)
    if (found === undefined) {
      found = new ReplayScope(this.#priceOf, { caller: this.#in(scopeAround(scope)), scope })
      this.#called.set(scope, found)
      this.past.inside.set(scope, found.state)
    }
    return found
  }
}
