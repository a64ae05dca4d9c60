import { openGate, type Gate } from "../../src/ports/gate.ts"
import { systemRandom } from "../../src/adapters/system/system-random.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { MemoryStore } from "../../src/adapters/memory/memory-store.ts"
import type { Suspects } from "../../src/run/suspects.ts"
import type { JsonObject } from "../../src/base/json-value.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import { Deadlines } from "../../src/run/budget/deadlines.ts"
import { LightSignal } from "../../src/base/light-signal.ts"
import type { EventData, EventType, LogEvent } from "../../src/log/events.ts"
import type { Lease, RerunOf, RunOptions, RunStore } from "../../src/ports/store.ts"
import type { ModelClient } from "../../src/ports/model.ts"
import type { ToolHost } from "../../src/ports/tools.ts"
import { run } from "../../src/run/run.ts"
import type { RunLimits, RunPorts } from "../../src/run/context/run-context.ts"
import { defaultLimits } from "../../src/run/context/run-context.ts"
import { InProcessTools } from "./in-process-tools.ts"
import { within } from "./within.ts"

export interface Attempt {
  readonly model: ModelClient
  readonly tools?: ToolHost
  readonly store?: RunStore
  readonly input?: JsonObject
  readonly secrets?: JsonObject
  readonly options?: Partial<RunOptions>
  readonly limits?: Partial<RunLimits>
  readonly ports?: Partial<RunPorts>
  readonly leave?: LightSignal
  readonly gate?: Gate
  readonly run_id?: string
  /** The earlier run that it takes results over from, in the same store. */
  readonly rerun?: RerunOf
  /** Goes on from the log that is there. */
  readonly resumed?: string
  /** With `resumed`: the process before gave the run back by itself. */
  readonly given_back?: boolean
  readonly suspects?: Suspects
}

export interface Outcome {
  readonly run_id: string
  readonly end: LogEvent | null
  readonly events: readonly LogEvent[]
  readonly store: RunStore
  readonly bugs: readonly unknown[]
}

export const defaultOptions: RunOptions = {
  cache_key: null,
  use_cache: true,
  max_concurrency: null,
  timeout_ms: null,
  deltas: false,
}

let count = 0

export async function runPlan(plan: Plan, attempt: Attempt): Promise<Outcome> {
  const bugs: unknown[] = []
  const store = attempt.store ?? new MemoryStore(systemClock)
  const ports: RunPorts = {
    store,
    model: attempt.model,
    tools: attempt.tools ?? new InProcessTools({}),
    clock: systemClock,
    random: systemRandom,
    bug: (error) => bugs.push(error),
    ...attempt.ports,
  }
  const run_id = attempt.run_id ?? `run-${++count}`
  const request = {
    source: "",
    input: attempt.input ?? {},
    secrets: attempt.secrets ?? {},
    options: { ...defaultOptions, ...attempt.options },
    ...(attempt.rerun === undefined ? {} : { rerun: attempt.rerun }),
  }
  const lease = attempt.resumed === undefined ? await createRun(store, run_id, request) : await claimRun(store, run_id)
  const deadlines = new Deadlines(ports.clock)
  const end = await within(
    300_000,
    "the end of the run",
    run(
      {
        plan,
        request,
        caller: "",
        created_at: ports.clock.now(),
        held: { lease, leave: attempt.leave ?? new LightSignal(), gate: attempt.gate ?? openGate },
        resumed:
          attempt.resumed === undefined ? null : { reason: attempt.resumed, given_back: attempt.given_back ?? false },
        deadlines,
        ...(attempt.suspects && { suspects: attempt.suspects }),
      },
      ports,
      { ...defaultLimits, ...attempt.limits },
    ).finally(() => deadlines.close()),
  )
  const events: LogEvent[] = []
  for (;;) {
    const page = await store.read(run_id, events.length, 1000)
    if (page.length === 0) break
    events.push(...page)
  }
  return { run_id, end, events, store, bugs }
}

async function createRun(
  store: RunStore,
  run_id: string,
  request: Parameters<RunStore["create"]>[0]["request"],
): Promise<Lease> {
  const created = await store.create(
    { run_id, caller: "", request, created_at: Date.now(), idempotency: null },
    "test",
    60_000,
  )
  if (created.outcome !== "created") throw new Error(`The run was not created: ${created.outcome}`)
  return created.lease
}

async function claimRun(store: RunStore, run_id: string): Promise<Lease> {
  const leases = await store.claim("test", 100, 60_000)
  const lease = leases.find((candidate) => candidate.run_id === run_id)
  if (lease === undefined) throw new Error(`Run ${run_id} could not be claimed`)
  return lease
}

export const typesOf = (events: readonly LogEvent[]): EventType[] => events.map(({ type }) => type)

/** The data of all events of a type, without their times. */
export function dataOf<T extends EventType>(events: readonly LogEvent[], type: T): EventData[T][] {
  return events
    .filter((event) => event.type === type)
    .map(({ data }) => {
      const { at: _, ...rest } = data as { at?: string }
      return rest as EventData[T]
    })
}

export function resultOf({ events }: Pick<Outcome, "events">): unknown {
  const last = events.at(-1)
  if (last?.type !== "workflow_completed") throw new Error(`Ended with ${JSON.stringify(last)}`)
  return last.data.output.result
}

export function errorOf({ events }: Pick<Outcome, "events">): EventData["workflow_failed"]["error"] {
  const last = events.at(-1)
  if (last?.type !== "workflow_failed") throw new Error(`Ended with ${JSON.stringify(last)}`)
  return last.data.error
}
