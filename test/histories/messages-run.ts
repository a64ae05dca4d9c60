import { createEgress } from "../../src/adapters/egress/egress.ts"
import { MemoryStore } from "../../src/adapters/memory/memory-store.ts"
import { createModelClient } from "../../src/adapters/model-turn/model-client.ts"
import { modelApi } from "../../src/cli/compose/model-apis.ts"
import { systemRandom } from "../../src/adapters/system/system-random.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import type { JsonObject } from "../../src/base/json-value.ts"
import { compile } from "../../src/compile.ts"
import type { LogEvent } from "../../src/log/events.ts"
import { startServer } from "../support/http-server.ts"
import { InProcessTools } from "../support/in-process-tools.ts"
import { runPlan } from "../support/run-plan.ts"
import { answerTo, endpoint, input, served, source } from "./messages-scene.ts"

export interface SceneOutcome {
  /** What the backend was asked. */
  readonly asked: readonly JsonObject[]
  readonly toolCalls: number
  /** The whole log, with what it keeps. */
  readonly events: readonly LogEvent[]
  /** The last id of each append. */
  readonly appends: readonly number[]
}

/** Copies each append: a store drops what it kept when the run ends. */
class Recording extends MemoryStore {
  readonly appends: number[] = []
  readonly events: LogEvent[] = []
  override append(lease: Parameters<MemoryStore["append"]>[0], events: readonly LogEvent[]): Promise<void> {
    this.appends.push(events.at(-1)?.id ?? 0)
    this.events.push(...structuredClone(events))
    return super.append(lease, events)
  }
}

/** Runs the scene against a backend on loopback; or resumes a log that breaks off. */
export async function runScene(past: readonly LogEvent[] = []): Promise<SceneOutcome> {
  const { plan, diagnostics } = compile(source)
  if (plan === undefined) throw new Error(JSON.stringify(diagnostics))
  const asked: JsonObject[] = []
  const server = await startServer((request, response) => {
    const body = JSON.parse(request.body) as JsonObject
    asked.push(body)
    response.writeHead(200, { "content-type": "application/json" })
    response.end(JSON.stringify(answerTo(body)))
  })
  const real = createEgress({ policy: { kind: "private" } })
  const egress: typeof real = {
    ...real,
    request: (request) =>
      real.request({ ...request, url: request.url.replace(new URL(endpoint).origin, server.origin) }),
  }
  const store = new Recording(systemClock)
  const tools = new InProcessTools(served)
  const model = createModelClient({ api: modelApi, egress, clock: systemClock, random: systemRandom, demo: null })
  try {
    const run_id = "scene"
    if (past.length > 0) await leave(store, run_id, past)
    // A run's time counts from its start, and the recordings grow old.
    const resumed = past.length > 0 ? { resumed: "crash", limits: { timeout_ms: Number.MAX_SAFE_INTEGER } } : {}
    const { bugs } = await runPlan(plan, { model, tools, store, input, run_id, ...resumed })
    if (bugs.length > 0) throw bugs[0]
    return { asked, toolCalls: tools.calls.length, events: store.events, appends: store.appends }
  } finally {
    await real.close()
    await server.close()
  }
}

/** A store that holds the log of a run whose process died. */
async function leave(store: MemoryStore, run_id: string, past: readonly LogEvent[]): Promise<void> {
  const options = { cache_key: null, use_cache: true, max_concurrency: null, timeout_ms: null, deltas: false }
  const request = { source, input, secrets: {}, options }
  const created = await store.create(
    { run_id, caller: "", request, created_at: Date.now(), idempotency: null },
    "dead",
    60_000,
  )
  if (created.outcome !== "created") throw new Error(created.outcome)
  await store.append(created.lease, past)
  await store.release(created.lease)
}
