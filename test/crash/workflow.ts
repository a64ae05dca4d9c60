import { openGate } from "../../src/ports/gate.ts"
import { createEgress } from "../../src/adapters/egress/egress.ts"
import { createModelClient } from "../../src/adapters/model-turn/model-client.ts"
import { modelApi } from "../../src/cli/model-apis.ts"
import { openSqliteStore } from "../../src/adapters/sqlite/sqlite-store.ts"
import { systemChance } from "../../src/adapters/system/system-chance.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { createVault } from "../../src/adapters/vault/vault.ts"
import { compile } from "../../src/compile.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import type { RunStore } from "../../src/ports/store.ts"
import { usualLimits } from "../../src/run/run-context.ts"
import type { NewRequest } from "../../src/run/runs.ts"
import { Runs } from "../../src/run/runs.ts"
import { record, string } from "../support/build-types.ts"
import { InProcessTools } from "../support/in-process-tools.ts"
import { usualOptions } from "../support/run-plan.ts"

// The run that is killed again and again: a call of its own, a tool loop, a loop, contexts, a cache, conditions.

const usual = `
input { endpoint: string  topic: string  items: [string] }
secrets { key: string }
provider p from openai { endpoint: input.endpoint  api_key: secrets.key }
model m from p { id: "m"  inference { retry_base_delay_ms: 1 } }
mcp s { endpoint: "http://tools.test/mcp" }
tool note from mcp.s.tool.note { idempotent: true }

dynamic {
    noted: call tool.note { input { text: input.topic } }
}

agent scheme {
    model: model.m
    uses: [tool.note { max_calls: 2 }]
    instruction: "Scheme {{ dynamic.noted }}"
    output { message: string }
}

agent checked when (call tool.note { input { text: "check" } }) contains "check" {
    model: model.m
    instruction: "Checked"
    output { message: string }
}

agent unneeded when agent.checked == null {
    model: model.m
    instruction: "Unneeded"
    output { message: string }
}

agent each for item in input.items when item != "b" {
    model: model.m
    instruction: "Each {{ item }} of {{ input.topic }}"
    output { message: string }
}

agent further {
    model: model.m
    context: agent.scheme
    instruction: "Further"
    output { message: string }
}

agent sum {
    model: model.m
    context: compact agent.further { model: model.m }
    instruction: "Sum {{ agent.each.*.message }}"
    output { message: string }
}

output {
    sum: agent.sum.message
    each: agent.each.*.message
    checked: agent.checked?.message
    unneeded: agent.unneeded
}
`

/** Models that fail and go on, and limits on everything. */
const limits = `
input { endpoint: string  topic: string  items: [string] }
secrets { key: string }
provider p from openai { endpoint: input.endpoint  api_key: secrets.key  inference { max_retries: 0  max_tokens: 200 } }
model shaky from p { id: "shaky"  price { input: 1 output: 2 } }
model firm from p { id: "firm"  price { input: 10 output: 20 } }
mcp s { endpoint: "http://tools.test/mcp" }
tool note from mcp.s.tool.note { idempotent: true }

limits {
    cost: 5
    tokens: 100_000
    model_calls: 40
    tool_calls: 40
}

agent scheme {
    model: [model.shaky, model.firm]
    uses: [tool.note]
    instruction: "Scheme about {{ input.topic }}"
    limits { tokens: 50_000 }
    output { message: string }
}

agent each for item in ["x", "y"] {
    model: model.firm
    instruction: "Each {{ item }} of {{ input.items }}"
    output { message: string }
}

output {
    message: agent.scheme.message
    each: agent.each.*.message
}
`

export const source = process.env["CRASH_WORKFLOW"] === "limits" ? limits : usual

export function planOf(text: string): Plan {
  const { plan, diagnostics } = compile(text)
  if (plan === undefined) throw new Error(JSON.stringify(diagnostics))
  return plan
}

export function requestTo(origin: string): NewRequest {
  return {
    caller: "",
    request: {
      source,
      input: { endpoint: `${origin}/v1`, topic: "wires", items: ["a", "b", "c"] },
      secrets: { key: "sk-crash-0123456789" },
      options: { ...usualOptions, cache_key: "crash", max_concurrency: 2 },
    },
    idempotency: null,
    resumable: true,
  }
}

export function openStore(path: string): Promise<RunStore> {
  return openSqliteStore({ path, vault: createVault(new Uint8Array(32).fill(7)), clock: systemClock })
}

/** Everything real but the tools, which are in this process and tell the counterpart of each call. */
export function startRuns(store: RunStore, origin: string): { readonly runs: Runs; close(): Promise<void> } {
  const egress = createEgress({ policy: { kind: "private" } })
  const tools = new InProcessTools({
    tools: {
      note: {
        input: record({ text: string }),
        idempotent: true,
        call: async ({ text }, callId, signal) => {
          const body = JSON.stringify({ text, call_id: callId })
          const answer = await egress.request({
            url: `${origin}/tool`,
            method: "POST",
            headers: {},
            body,
            signal,
            gate: openGate,
          })
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
    { owner: `process ${process.pid}`, leaseMs: 10_000, max_runs: 10, max_queued: 10, limits: usualLimits },
  )
  return {
    runs,
    close: async () => {
      await runs.drain(0)
      await egress.close()
    },
  }
}
