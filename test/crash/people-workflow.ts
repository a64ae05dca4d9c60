import { createEgress } from "../../src/adapters/egress/egress.ts"
import { createModelClient } from "../../src/adapters/model-turn/model-client.ts"
import { readAddress } from "../../src/adapters/nats/address.ts"
import { openNatsStore } from "../../src/adapters/nats/nats-store.ts"
import { openSqliteStore } from "../../src/adapters/sqlite/sqlite-store.ts"
import { systemChance } from "../../src/adapters/system/system-chance.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { createVault } from "../../src/adapters/vault/vault.ts"
import { modelApi } from "../../src/cli/model-apis.ts"
import { openGate } from "../../src/ports/gate.ts"
import type { RunStore } from "../../src/ports/store.ts"
import { usualLimits } from "../../src/run/run-context.ts"
import { Runs, type NewRequest } from "../../src/run/runs.ts"
import { record, string } from "../support/build-types.ts"
import { InProcessTools } from "../support/in-process-tools.ts"
import { noProofs, usualSizes } from "../support/nats-store.ts"
import { usualOptions } from "../support/run-plan.ts"
import { planOf } from "./workflow.ts"

// A run with two questions, approvals in a tool loop (one is given, one is declined) and a question that nobody answers.

export const source = `
input { endpoint: string }
provider p from openai { endpoint: input.endpoint }
model m from p { id: "m"  inference { retry_base_delay_ms: 1 } }
mcp s { endpoint: "http://tools.test/mcp" }
tool send from mcp.s.tool.send { approval: required }

ask first {
    question: "First?"
    output { go: boolean }
}

ask nobody {
    question: "Does anybody answer?"
    expires_seconds: 1
    on_expiry: { said: "nobody" }
    output { said: string }
}

agent work {
    model: model.m
    uses: [tool.send]
    instruction: "Work, for first said {{ ask.first.go }}"
    output { message: string }
}

ask second {
    question: "Second, after {{ agent.work.message }}?"
    output { good: boolean }
}

output {
    first: ask.first.go
    work: agent.work.message
    second: ask.second.good
    nobody: ask.nobody.said
}
`

export function requestTo(origin: string): NewRequest {
  return {
    caller: "",
    request: { source, input: { endpoint: `${origin}/v1` }, secrets: {}, options: usualOptions },
    idempotency: null,
    resumable: true,
  }
}

const vault = createVault(new Uint8Array(32).fill(7))

/** A SQLite file, or `nats://HOST:PORT#PREFIX`. */
export async function openStore(place: string): Promise<RunStore> {
  if (!place.startsWith("nats://")) return openSqliteStore({ path: place, vault, clock: systemClock })
  const [url = "", prefix = ""] = place.split("#")
  const read = readAddress(url)
  if (!read.ok) throw new Error(`${url} ${read.must}`)
  const remark = (): void => undefined
  const { address } = read
  return openNatsStore({ address, proofs: noProofs, prefix, sizes: usualSizes, vault, clock: systemClock, remark })
}

/** Everything real but the tool, which is in this process and tells the counterpart of each call. It may not be called twice. */
export function startRuns(
  store: RunStore,
  origin: string,
  leaseMs: number,
): { readonly runs: Runs; close(): Promise<void> } {
  const egress = createEgress({ policy: { kind: "private" } })
  const tools = new InProcessTools({
    tools: {
      send: {
        input: record({ text: string }),
        idempotent: false,
        call: async ({ text }, callId, signal) => {
          const body = JSON.stringify({ text, call_id: callId })
          const url = `${origin}/tool`
          const answer = await egress.request({ url, method: "POST", headers: {}, body, signal, gate: openGate })
          return { text: await answer.text(), is_error: false }
        },
      },
    },
  })
  const runs = new Runs(
    {
      store,
      model: createModelClient({ api: modelApi, egress, clock: systemClock, chance: systemChance, demo: null }),
      tools,
      clock: systemClock,
      chance: systemChance,
      bug: (error) => process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`),
    },
    async (text) => ({ plan: planOf(text) }),
    { owner: `process ${process.pid}`, leaseMs, max_runs: 10, max_queued: 10, limits: usualLimits },
  )
  return {
    runs,
    close: async () => {
      await runs.drain(0)
      await egress.close()
    },
  }
}
