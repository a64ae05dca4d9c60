import assert from "node:assert/strict"
import { once } from "node:events"
import type { ServerResponse } from "node:http"
import { after, before, describe, test } from "node:test"
import { followRun, replica, replicaEnvironment, type Replica, type SeenEvent } from "./replica.ts"
import { startServer, type TestServer } from "./http-server.ts"
import { tinyMcp } from "./tiny-mcp.ts"
import { startProxy, type TcpProxy } from "./tcp-proxy.ts"
import { within } from "./within.ts"

// Two replicas on one store: what one starts the other can follow, cancel and take over. The first reaches the store through
// a proxy that can be cut.

/** The server that keeps the store. */
export interface StoreServer {
  readonly port: number
  /** `WIRE_STORE`, with this port in place of its own. */
  url(port: number): string
  kill(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

const source = `
input { endpoint: string  name: string }
secrets { key: string }
provider p from openai { endpoint: input.endpoint  api_key: secrets.key }
model m from p { id: "m" }
agent one { model: model.m  instruction: "one of {{ input.name }}."  output { message: string } }
agent two { model: model.m  instruction: "two of {{ input.name }}. {{ agent.one.message }}"  output { message: string } }
output { message: agent.two.message }
`

interface Asked {
  readonly agent: string
  readonly name: string
  readonly response: ServerResponse
}

let model: TestServer
let server: StoreServer
let proxy: TcpProxy
let first: Replica
let second: Replica
const asked: Asked[] = []
const waiting: (() => void)[] = []

function answer(response: ServerResponse): void {
  const content = [{ type: "output_text", text: '{"message":"done"}' }]
  const body = {
    output: [{ type: "message", role: "assistant", content }],
    usage: { input_tokens: 1, output_tokens: 1 },
  }
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body))
}

/** Resolves to the model's nth question about an agent of a run. */
async function question(name: string, agent: string, nth = 1): Promise<Asked> {
  const look = () => asked.filter((one) => one.name === name && one.agent === agent)[nth - 1]
  const found = async () => {
    for (;;) {
      const one = look()
      if (one !== undefined) return one
      await new Promise<void>((resolve) => waiting.push(resolve))
    }
  }
  return within(120_000, `question ${nth} for ${agent} of ${name}`, found())
}

const body = (name: string) => ({
  workflow_source: source,
  input: { endpoint: `${model.origin}/v1`, name },
  secrets: { key: "sk-replicas-0123456789" },
})

function start(at: Replica, name: string, follow: Replica = at) {
  let calls = 0
  // The first call starts the run, the others follow it elsewhere.
  return followRun(body(name), name, () => (calls++ === 0 ? at.address : follow.address), AbortSignal.timeout(300_000))
}

async function runId(at: Replica, name: string): Promise<string> {
  const headers = { accept: "text/event-stream", "content-type": "application/json", "idempotency-key": name }
  const stop = new AbortController()
  const response = await fetch(`${at.address}/execute`, {
    method: "POST",
    headers,
    body: JSON.stringify(body(name)),
    signal: stop.signal,
  })
  const run_id = response.headers.get("x-service-run-id") ?? ""
  stop.abort()
  return run_id
}

const types = (events: readonly SeenEvent[]) => events.map(({ type }) => type)

export function checkTwoReplicas(on: string, startStore: () => Promise<StoreServer>): void {
  describe(`two replicas on ${on}`, () => {
    before(async () => {
      asked.length = 0
      model = await startServer((request, response) => {
        const [, agent = "", name = ""] = /(one|two) of (\w+)\./.exec(request.body) ?? []
        asked.push({ agent, name, response })
        for (const wake of waiting.splice(0)) wake()
        if (!name.startsWith("held")) answer(response)
      })
      server = await startStore()
      proxy = await startProxy(server.port)
      const env = replicaEnvironment(server.url(server.port))
      first = replica("first", { ...env, WIRE_STORE: server.url(proxy.port) })
      second = replica("second", env)
      await Promise.all([first.start(), second.start()])
    })

    after(async () => {
      for (const one of [first, second]) one.signal("SIGKILL")
      await Promise.all([first.ended(), second.ended()])
      await proxy.close()
      await server.close()
      await model.close()
    })

    test("a cancel at another replica closes the model's connection", async (t) => {
      const following = start(first, "heldCancel")
      const { response } = await question("heldCancel", "one")
      const closed = once(response, "close")
      const run_id = await runId(second, "heldCancel")
      const at = performance.now()
      const cancelled = await fetch(`${second.address}/execute/${run_id}/cancel`, { method: "POST" })
      assert.equal(cancelled.status, 202)
      await within(120_000, "the end of the call", closed)
      t.diagnostic(`it took ${(performance.now() - at).toFixed(0)} ms`)
      assert.equal((await following).events.at(-1)?.type, "workflow_cancelled")
    })

    test("a re-run at another replica takes over the results of steps that did not change", async () => {
      const { run_id } = await start(first, "again")
      const response = await fetch(`${second.address}/execute/${run_id}/rerun`, {
        method: "POST",
        headers: { accept: "text/event-stream", "content-type": "application/json" },
        body: JSON.stringify({
          secrets: body("again").secrets,
          workflow_source: source.replace('"two of', '"Changed: two of'),
        }),
      })
      assert.equal(response.status, 200)
      const events = (await response.text()).matchAll(/^event: (\w+)$/gm)
      const seen = [...events].map(([, type]) => type)
      assert.ok(seen.includes("step_reused"), String(seen))
      assert.equal(seen.at(-1), "workflow_completed")
      const agents = asked.filter(({ name }) => name === "again").map(({ agent }) => agent)
      assert.deepEqual(agents, ["one", "two", "two"])
      const rerun_id = response.headers.get("x-service-run-id") ?? ""
      const record = await fetch(`${first.address}/execute/${rerun_id}`)
      assert.equal(((await record.json()) as Record<string, unknown>)["rerun_of"], run_id)
    })

    test("idempotency, records and the cache work from any replica", async () => {
      const { run_id, events } = await start(first, "plain")
      assert.equal(events.at(-1)?.type, "workflow_completed")
      assert.equal(await runId(second, "plain"), run_id)
      const record = (await (await fetch(`${second.address}/execute/${run_id}`)).json()) as Record<string, unknown>
      assert.equal(record["status"], "completed")
      assert.equal(record["last_event_id"], events.length)
      const other = { ...body("plain"), input: { ...body("plain").input, name: "another" } }
      const headers = { "content-type": "application/json", "idempotency-key": "plain" }
      const conflict = await fetch(`${second.address}/execute`, {
        method: "POST",
        headers,
        body: JSON.stringify(other),
      })
      assert.equal(conflict.status, 409)
    })

    test("a dead replica's runs are taken over", async (t) => {
      const following = start(first, "heldDead", second)
      answer((await question("heldDead", "one")).response)
      await question("heldDead", "two")
      const at = performance.now()
      first.signal("SIGKILL")
      const again = await question("heldDead", "two", 2)
      t.diagnostic(`it took ${(performance.now() - at).toFixed(0)} ms`)
      answer(again.response)
      const { events } = await following
      assert.equal(events.at(-1)?.type, "workflow_completed")
      assert.equal(asked.filter(({ name, agent }) => name === "heldDead" && agent === "one").length, 1)
      await first.ended()
      await first.start()
    })

    test("a replica that stood still longer than its lease is fenced off", async () => {
      const following = start(first, "heldStill", second)
      const { response } = await question("heldStill", "one")
      first.signal("SIGSTOP")
      const again = await question("heldStill", "one", 2)
      answer(again.response)
      answer((await question("heldStill", "two")).response)
      // It wakes to the answer that it was waiting for.
      answer(response)
      first.signal("SIGCONT")
      const { events } = await following
      assert.deepEqual(types(events).slice(-2), ["agent_completed", "workflow_completed"])
      // It finds its connections closed first.
      const ready = async (): Promise<void> => {
        while ((await fetch(`${first.address}/readyz`)).status !== 200);
      }
      await within(120_000, "readiness", ready())
      assert.equal(asked.filter(({ name, agent }) => name === "heldStill" && agent === "two").length, 1)
    })

    test("a replica that wakes after its run has ended elsewhere calls no model and no tool for it", async () => {
      const calls: string[] = []
      const mcp = await tinyMcp({
        note: ({ meta }) => {
          calls.push(JSON.stringify(meta["wireworks/call_id"]))
          return { content: [{ type: "text", text: "noted" }] }
        },
      })
      // A local backend with tools: the answer in words is followed at once by a closing call for the output.
      const held: ServerResponse[] = []
      let questions = 0
      const talker = await startServer((_, response) => {
        questions++
        for (const wake of waiting.splice(0)) wake()
        held.push(response)
      })
      const says = (response: ServerResponse | undefined, output: object) => {
        const answered = { output: [output], usage: { input_tokens: 1, output_tokens: 1 } }
        response?.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answered))
      }
      const message = (text: string) => ({
        type: "message",
        role: "assistant",
        content: [{ type: "output_text", text }],
      })
      const asks = (count: number) =>
        within(
          120_000,
          `question ${count}`,
          (async () => {
            while (questions < count) await new Promise<void>((resolve) => waiting.push(resolve))
            return held[count - 1]
          })(),
        )
      const workflow = `
provider p from openai { endpoint: "${talker.origin}/v1" }
model m from p { id: "m" }
mcp s { endpoint: "${mcp.url}" }
tool from mcp.s.tool.note
agent one { model: model.m  instruction: "Talk."  uses: [tool.note]  output { message: string  count: integer } }
output { message: agent.one.message }
`
      try {
        let connections = 0
        const pick = () => (connections++ === 0 ? first.address : second.address)
        const following = followRun({ workflow_source: workflow }, "heldTalk", pick, AbortSignal.timeout(300_000))
        const early = await asks(1)
        first.signal("SIGSTOP")
        says(await asks(2), { type: "function_call", call_id: "c1", name: "note", arguments: "{}" })
        says(await asks(3), message("All noted."))
        says(await asks(4), message('{"message":"done","count":1}'))
        const { events } = await following
        assert.equal(events.at(-1)?.type, "workflow_completed")
        // The one that slept wakes to an answer in words, and would ask for the output next.
        says(early, message("Nothing to note."))
        first.signal("SIGCONT")
        const awake = async () => {
          while ((await fetch(`${first.address}/readyz`)).status !== 200);
          const metrics = async () => (await fetch(`${first.address}/metrics`)).text()
          while (!/^wire_runs_active 0$/m.test(await metrics())) await new Promise((resolve) => setTimeout(resolve, 50))
        }
        await within(120_000, "the end of the run on the replica that woke", awake())
        assert.equal(questions, 4)
        assert.equal(calls.length, 1)
      } finally {
        await talker.close()
        await mcp.close()
      }
    })

    test("a replica that stood still takes over no run whose owner went on", async () => {
      const following = start(first, "heldAwake")
      const { response } = await question("heldAwake", "one")
      second.signal("SIGSTOP")
      await new Promise((resolve) => setTimeout(resolve, 4_000))
      second.signal("SIGCONT")
      const looked = async () => {
        // Its claims come before its answers to requests that it finds waiting.
        for (let n = 0; n < 20; n++) assert.equal((await fetch(`${second.address}/readyz`)).status, 200)
      }
      await within(120_000, "readiness", looked())
      answer(response)
      answer((await question("heldAwake", "two")).response)
      const { events } = await following
      assert.equal(events.at(-1)?.type, "workflow_completed")
      assert.ok(!types(events).includes("run_resumed"))
    })

    test("a replica cut off from the store stops writing, is taken over, and does no harm on return", async () => {
      const following = start(first, "heldCut", second)
      const { response } = await question("heldCut", "one")
      proxy.cut()
      const again = await question("heldCut", "one", 2)
      // Now both have an answer: one can write it.
      answer(response)
      const notReady = async () => {
        while ((await fetch(`${first.address}/readyz`)).status !== 503)
          await new Promise((resolve) => setTimeout(resolve, 100))
      }
      await within(120_000, "the news that the store is gone", notReady())
      answer(again.response)
      answer((await question("heldCut", "two")).response)
      const { events, run_id } = await following
      assert.equal(events.at(-1)?.type, "workflow_completed")
      assert.equal(types(events).filter((type) => type === "agent_completed").length, 2)
      proxy.restore()
      const ready = async () => {
        while ((await fetch(`${first.address}/readyz`)).status !== 200)
          await new Promise((resolve) => setTimeout(resolve, 100))
      }
      await within(120_000, "readiness", ready())
      const log = await fetch(`${first.address}/execute/${run_id}`)
      assert.equal(((await log.json()) as Record<string, unknown>)["last_event_id"], events.length)
      assert.equal(asked.filter(({ name, agent }) => name === "heldCut" && agent === "two").length, 1)
      assert.equal((await start(first, "after")).events.at(-1)?.type, "workflow_completed")
    })

    test("a store that is gone for a while holds runs, and both go on by themselves", async () => {
      const following = start(first, "heldStore")
      const { response } = await question("heldStore", "one")
      await server.kill()
      const notReady = async () => {
        while ((await fetch(`${first.address}/readyz`)).status !== 503)
          await new Promise((resolve) => setTimeout(resolve, 100))
      }
      await within(120_000, "the news that the store is gone", notReady())
      answer(response)
      await server.start()
      answer((await question("heldStore", "two")).response)
      const { events } = await following
      assert.equal(events.at(-1)?.type, "workflow_completed")
      // It was held, not taken over: the answer that came meanwhile counts.
      assert.equal(asked.filter(({ name, agent }) => name === "heldStore" && agent === "one").length, 1)
    })
  })
}
