import { createEgress } from "../../src/adapters/egress/egress.ts"
import { createModelClient } from "../../src/adapters/model-turn/model-client.ts"
import { openSqliteStore } from "../../src/adapters/sqlite/open-sqlite-store.ts"
import { systemRandom } from "../../src/adapters/system/system-random.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { createMasterKey } from "../../src/adapters/vault/vault.ts"
import { modelApi } from "../../src/cli/compose/model-apis.ts"
import { compile } from "../../src/compile.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import { openGate } from "../../src/ports/gate.ts"
import type { RunStore } from "../../src/ports/store.ts"
import { defaultLimits } from "../../src/run/context/run-context.ts"
import { Runs } from "../../src/run/runs.ts"
import { record, string } from "../support/build-types.ts"
import { InProcessTools } from "../support/in-process-tools.ts"
import { postgresStores } from "../support/postgres-store.ts"

// What works on the runs, in the process that is killed and in the one that takes over.

export const defaultLeaseMs = 10_000

export function planOf(text: string): Plan {
  const { plan, diagnostics } = compile(text)
  if (plan === undefined) throw new Error(JSON.stringify(diagnostics))
  return plan
}

/** `place` is a SQLite file or `postgres://USER@HOST:PORT/DATABASE#SCHEMA`. */
export function openStore(place: string): Promise<RunStore> {
  const masterKey = createMasterKey(new Uint8Array(32).fill(7))
  const [url = "", schema = ""] = place.split("#")
  if (place.startsWith("postgres://")) return postgresStores(url, systemClock, schema)({ masterKey })
  return openSqliteStore({ path: place, masterKey, clock: systemClock })
}

/** Everything is real except the tools, which are in this process and report each call to the counterpart. */
export function startRuns(
  store: RunStore,
  origin: string,
  leaseMs = defaultLeaseMs,
): { readonly runs: Runs; close(): Promise<void> } {
  const egress = createEgress({ policy: { kind: "private" } })
  const report = async (text: unknown, callId: string, signal: AbortSignal) => {
    const body = JSON.stringify({ text, call_id: callId })
    const url = `${origin}/tool`
    const answer = await egress.request({ url, method: "POST", headers: {}, body, signal, gate: openGate })
    return { text: await answer.text(), is_error: false }
  }
  const input = record({ text: string })
  const tools = new InProcessTools({
    tools: {
      note: { input, idempotent: true, call: ({ text }, callId, signal) => report(text, callId, signal) },
      send: { input, idempotent: false, call: ({ text }, callId, signal) => report(text, callId, signal) },
    },
  })
  const runs = new Runs(
    {
      store,
      model: createModelClient({ api: modelApi, egress, clock: systemClock, random: systemRandom, demo: null }),
      tools,
      clock: systemClock,
      random: systemRandom,
      bug: (error) => process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`),
    },
    async ({ source }) => ({ plan: planOf(source) }),
    { owner: `process ${process.pid}`, leaseMs, maxRuns: 10, maxQueued: 10, limits: defaultLimits },
  )
  return {
    runs,
    close: async () => {
      await runs.drain(0)
      await egress.close()
    },
  }
}
