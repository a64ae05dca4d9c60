import type { JsonValue } from "../../base/json-value.ts"
import { callingAgent } from "../../plan/call-scope.ts"
import { ConsumptionSum } from "../consumption.ts"
import type { EventType, LogEvent } from "../events.ts"
import type { EventHandlers } from "../event-handlers.ts"
import type { ReplayData } from "../replay-data.ts"
import {
  emptyPastInside,
  emptyReplayState,
  placeKey,
  type AgentReplayState,
  type CallReplayState,
  type ReplayState,
} from "../replay-state.ts"
import { addSpent, spentBy, type PriceOf, type Spent } from "../usage.ts"
import type { EndedWork } from "../usage-after.ts"

export type ReplayHandlers = EventHandlers<ReplayScope, LogEvent>

/** A call that has no outcome yet, and what it counts for. */
export interface OpenCall {
  readonly call: CallReplayState
  readonly tool: string
  readonly site: string | null
  readonly agent: string | undefined
}

/** A called workflow, and the one that calls it. */
interface CalledScope {
  readonly caller: ReplayScope
  readonly scope: string
}

/** One workflow of a run while the log is read: that of the run, or one that is called. */
export class ReplayScope {
  readonly state: ReplayState
  readonly consumption: ConsumptionSum
  readonly openCalls = new Map<string, OpenCall>()
  readonly #priceOf: PriceOf
  readonly #called: CalledScope | null

  constructor(priceOf: PriceOf, called: CalledScope | null) {
    this.#priceOf = priceOf
    this.#called = called
    this.state = called === null ? emptyReplayState() : emptyPastInside(called.caller.state)
    this.consumption = new ConsumptionSum(
      priceOf,
      called && { sum: called.caller.consumption, scope: called.scope, agent: callingAgent(called.scope) },
    )
  }

  spend(work: EndedWork): void {
    this.#addSpent(spentBy(work.calls, this.#priceOf, this.#called?.scope))
    this.consumption.modelCallsEnded(work, work.calls)
  }

  /** A called workflow and all around it use the same calls. */
  #addSpent(spent: Spent): void {
    this.state.spent = addSpent(this.state.spent, spent)
    if (this.#called !== null) this.#called.caller.#addSpent(spent)
  }

  agent(about: { readonly agent: string; readonly iteration?: number | undefined }): AgentReplayState {
    const key = placeKey(about.agent, about.iteration)
    let agent = this.state.agents.get(key)
    if (agent === undefined) {
      agent = {
        startedAt: null,
        completed: null,
        failed: null,
        begun: new Map(),
        summary: null,
        turns: new Map(),
        fallbacks: [],
      }
      this.state.agents.set(key, agent)
    }
    return agent
  }
}

/** The part of an event that only a continuation reads. The writer of a log types it, and nobody else writes there. */
export function replayData<T extends EventType>(event: {
  readonly type: T
  readonly kept?: JsonValue
}): ReplayData<T> | undefined {
  return event.kept as ReplayData<T> | undefined
}
