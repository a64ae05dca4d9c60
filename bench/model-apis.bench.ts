import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { createEgress } from "../src/adapters/egress/egress.ts"
import { createModelClient } from "../src/adapters/model-turn/model-client.ts"
import { systemRandom } from "../src/adapters/system/system-random.ts"
import { systemClock } from "../src/adapters/system/system-clock.ts"
import { modelApi } from "../src/cli/compose/model-apis.ts"
import type { ModelRequest, ModelWatch } from "../src/ports/model.ts"
import { userText } from "../src/log/messages.ts"
import { redactor } from "../src/run/secrets/redact.ts"
import { openGate } from "../src/ports/gate.ts"
import { voices } from "../test/contract/model-client/voices.ts"
import { integer, record, string } from "../test/support/build-types.ts"

// CPU of this process for one turn with a model, by each API, against the floor: the same exchange through egress,
// its answer parsed once and nothing else.

const quick = process.argv.includes("--quick")
const turns = quick ? 300 : 3000
const width = 10

const backend = spawn(process.execPath, [join(import.meta.dirname, "model-apis", "backend.ts")], {
  stdio: ["ignore", "pipe", "inherit"],
})
const [line] = (await once(backend.stdout, "data")) as [Buffer]
const origin = line.toString().trim()

const egress = createEgress({ policy: { kind: "private" } })
const client = createModelClient({ egress, api: modelApi, clock: systemClock, random: systemRandom, demo: null })
const contract = { name: "reply", type: record({ summary: string, score: integer }), types: {} }
const input = [userText("Summarise the report of the owls. ".repeat(40))]
const signal = new AbortController().signal
const watch: ModelWatch = {
  now: () => Date.now(),
  signal,
  retried: () => Promise.reject(new Error("A call was made again")),
  delta: () => undefined,
  redact: (value) => value,
  redactStream: () => redactor({}).stream(),
  gate: openGate,
}

async function sideBySide(work: () => Promise<unknown>, count: number): Promise<number> {
  let left = count
  const before = process.cpuUsage()
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (left-- > 0) await work()
    }),
  )
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000 / count
}

process.stdout.write("CPU per turn, and times the floor of the same exchange\n")
for (const deltas of [false, true]) {
  for (const voice of voices) {
    const { api } = voice
    const endpoint = `${origin}/v1`
    const request: ModelRequest = {
      run_id: "r",
      caller: "",
      path: "agent.a",
      backend: { api, endpoint, api_key: "key", headers: {} },
      model: "test-model",
      name: "m",
      provider: "openai",
      price: null,
      system: null,
      input,
      tools: [],
      contract,
      response_format: "auto",
      inference: {},
      turn: 1,
      attempts_before: 0,
      progress: null,
      deltas,
    }
    const body = JSON.stringify({ model: "test-model", input, ...(deltas ? { stream: true } : {}) })
    const url = `${origin}${voice.url(deltas)}`
    const headers = { "content-type": "application/json" }
    const bare = async (): Promise<unknown> => {
      const response = await egress.request({ url, method: "POST", headers, body, signal, gate: openGate })
      const text = await response.text()
      return deltas ? text.split("\n\n").length : JSON.parse(text)
    }
    await sideBySide(() => client.turn(request, watch), turns / 2)
    await sideBySide(bare, turns / 2)
    // Others who use the machine can only add to a cost: the least of several tries, in turns.
    let [spent, floor] = [Infinity, Infinity]
    for (let round = 0; round < (quick ? 1 : 3); round++) {
      spent = Math.min(spent, await sideBySide(() => client.turn(request, watch), turns))
      floor = Math.min(floor, await sideBySide(bare, turns))
    }
    const how = deltas ? "streamed" : "whole"
    const figures = [`${api}, ${how}`.padEnd(22), `${spent.toFixed(3)} ms`, `${(spent / floor).toFixed(1)}x`]
    process.stdout.write(`  ${figures.join("  ")}  of ${floor.toFixed(3)} ms\n`)
  }
}
await egress.close()
backend.kill()
