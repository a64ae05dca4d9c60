import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import type { ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestContext } from "node:test"
import { after, describe, it } from "node:test"
import type { FakeReply } from "../../support/fake-backend.ts"
import { apiError, calls, fakeBackend, says, sse, streamOf } from "../../support/fake-backend.ts"
import { tinyMcp } from "../../support/tiny-mcp.ts"
import { within } from "../../support/within.ts"
import type { EventData } from "../../../src/log/events.ts"
import type { SeenEvent } from "./read-stream.ts"
import { eventsOf, isEnd } from "./read-stream.ts"
import { ada, oneAgent, startService } from "./start-service.ts"

// A cancel in each state that a run can be in: what is open is closed at once, and then, and only then, the run says so.

const folder = mkdtempSync(join(tmpdir(), "wire-cancel-"))
after(() => rmSync(folder, { recursive: true, force: true }))

/** Upstream answers that are still open, and how many were closed. */
class OpenCalls {
  #open = 0
  #waiting: { readonly count: number; readonly resolve: () => void }[] = []
  readonly #none = Promise.withResolvers<void>()
  closed = 0

  watch(response: ServerResponse): void {
    this.#open++
    response.on("close", () => {
      if (response.writableFinished) return
      this.#open--
      this.closed++
      if (this.#open === 0) this.#none.resolve()
    })
    for (const { count, resolve } of this.#waiting) if (this.#open >= count) resolve()
  }

  /** The news of a closed connection takes its way, too. */
  none(): Promise<void> {
    return this.#open === 0 ? Promise.resolve() : within(30_000, "the end of all calls", this.#none.promise)
  }

  get count(): number {
    return this.#open
  }

  until(count: number): Promise<void> {
    if (this.#open >= count) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push({ count, resolve })
    return within(30_000, `${count} open calls`, promise)
  }
}

const stores: Record<string, Record<string, string>> = {
  memory: { STORE: "memory" },
  SQLite: { STORE: "sqlite", DATA_DIR: folder },
}

for (const [name, variables] of Object.entries(stores)) {
  describe(`cancel (${name})`, async () => {
    const service = await startService({ ...variables, MAX_RUNS: "2" })

    async function start(source: string, options: object = {}, input: object = ada): Promise<Started> {
      const response = await service.post(
        "/execute",
        { workflow_source: source, input, options },
        { accept: "text/event-stream" },
      )
      assert.equal(response.status, 200)
      return new Started(response)
    }

    /** Cancels, and checks all that a cancel promises: the answer, the calls, the events, the record. */
    async function cancel(run: Started, open: OpenCalls): Promise<SeenEvent> {
      const before = open.count
      const response = await service.post(`/execute/${run.run_id}/cancel`, "")
      assert.deepEqual([response.status, await response.json()], [202, { run_id: run.run_id, status: "cancelling" }])
      const end = await run.until(isEnd)
      assert.equal(end.type, "workflow_cancelled")
      await open.none()
      assert.equal(open.closed, before)
      await run.over()
      const again = await service.post(`/execute/${run.run_id}/cancel`, "")
      assert.deepEqual([again.status, await again.json()], [200, { run_id: run.run_id, status: "cancelled" }])
      const record = (await (await service.get(`/execute/${run.run_id}`)).json()) as Record<string, unknown>
      assert.deepEqual([record["status"], record["output"], record["error"]], ["cancelled", null, null])
      assert.notEqual(record["finished_at"], null)
      return end
    }

    async function backendThat(t: TestContext, open: OpenCalls, reply: FakeReply): Promise<string> {
      const { backend } = await fakeBackend(t, () => (response, raw) => {
        open.watch(response)
        reply(response, raw)
      })
      return backend.endpoint
    }

    it("while it is queued: without having run", async (t) => {
      const open = new OpenCalls()
      const source = oneAgent(await backendThat(t, open, () => {}))
      const first = [await start(source), await start(source)]
      await open.until(2)
      const queued = await start(source)
      const response = await service.post(`/execute/${queued.run_id}/cancel`, "")
      assert.equal(response.status, 202)
      assert.equal((await queued.until(isEnd)).type, "workflow_cancelled")
      assert.deepEqual(
        queued.events.map(({ type }) => type),
        ["workflow_started", "workflow_cancelled"],
      )
      assert.equal(open.count, 2)
      for (const run of first) await service.post(`/execute/${run.run_id}/cancel`, "")
      for (const run of first) await run.until(isEnd)
    })

    it("before the first byte of an answer", async (t) => {
      const open = new OpenCalls()
      const run = await start(oneAgent(await backendThat(t, open, () => {})))
      await open.until(1)
      await cancel(run, open)
    })

    it("between the headers and the body", async (t) => {
      const open = new OpenCalls()
      const reply: FakeReply = (response) => {
        response.writeHead(200, { "content-type": "application/json" })
        response.flushHeaders()
      }
      const run = await start(oneAgent(await backendThat(t, open, reply)))
      await open.until(1)
      await cancel(run, open)
    })

    it("while an answer streams", async (t) => {
      const open = new OpenCalls()
      const events = streamOf('{"message":"half of it"}').slice(0, 4)
      const run = await start(oneAgent(await backendThat(t, open, sse(events, { open: true }))), { deltas: true })
      await run.until(({ type }) => type === "agent_delta")
      const { interrupted } = (await cancel(run, open)).data as unknown as Interrupting
      const [step] = interrupted ?? []
      assert.equal(step?.agent, "reply")
      assert.deepEqual(
        step?.calls.map(({ turn, attempt, cut_off, usage }) => ({ turn, attempt, cut_off, usage })),
        [{ turn: 1, attempt: 1, cut_off: true, usage: undefined }],
      )
    })

    it("while it waits to try again", async (t) => {
      const { backend, asked } = await fakeBackend(t, () => apiError(503, "busy", {}, { "retry-after": "30" }))
      const source = oneAgent(backend.endpoint).replace("max_retries: 0", "max_retries: 3")
      const run = await start(source)
      const retried = await run.until(({ type }) => type === "agent_retried")
      assert.ok(Number(retried.data["delay_ms"]) >= 20_000)
      const { interrupted } = (await cancel(run, new OpenCalls())).data as unknown as Interrupting
      assert.deepEqual(
        interrupted?.flatMap((step) => step.calls).map(({ attempt, cut_off }) => [attempt, cut_off]),
        [[1, undefined]],
      )
      assert.equal(asked.length, 1)
    })

    it("in a loop, with some calls open and some to come", async (t) => {
      const open = new OpenCalls()
      const source = oneAgent(await backendThat(t, open, () => {}))
        .replace("name: string", "names: [string]")
        .replace("agent reply {", "agent reply for name in input.names {")
        .replace("input.name }}", "name }}")
        .replace("agent.reply.message", "agent.reply.*.message")
      const run = await start(source, { max_concurrency: 4 }, { names: Array.from({ length: 20 }, (_, n) => `n${n}`) })
      await open.until(4)
      await cancel(run, open)
      assert.ok(run.events.filter(({ type }) => type === "agent_started").length <= 20)
    })

    it("in a tool call that a model made, and in one of the workflow's own", async (t) => {
      const { backend } = await fakeBackend(t, (_request, n) => (n === 1 ? calls("wait", {}) : says('{"message":"x"}')))
      const declarations = (url: string): string => `mcp s { endpoint: "${url}" } tool wait from mcp.s.tool.wait`
      for (const kind of ["model", "workflow"] as const) {
        const open = new OpenCalls()
        const server = await tinyMcp({
          wait: ({ response }) => {
            open.watch(response)
            return undefined
          },
        })
        t.after(() => server.close())
        const one = oneAgent(backend.endpoint)
        const source =
          kind === "model"
            ? one.replace("output { message: string }", "uses: [tool.wait]\n output { message: string }")
            : one.replace(/output \{ message: agent[^}]*\}/, "output { message: call tool.wait }")
        const run = await start(`${declarations(server.url)}\n${source}`)
        await open.until(1)
        const end = (await cancel(run, open)).data as unknown as Interrupting
        if (kind === "workflow") continue
        // The turn that called is paid for: the end says so, and the call said so before.
        assert.ok((end.usage?.input_tokens ?? 0) > 0)
        const started = run.events.find(({ type }) => type === "tool_call_started")
        assert.deepEqual(started?.data["calls"], end.interrupted?.[0]?.calls)
      }
    })

    it("while it connects to a tool server", async (t) => {
      const open = new OpenCalls()
      const { server } = await fakeBackend(t, () => (response) => open.watch(response))
      const source = `mcp s { endpoint: "${server.origin}/mcp" } tool t from mcp.s.tool.t output { x: call tool.t }`
      const run = await start(source, {}, {})
      await open.until(1)
      await cancel(run, open)
    })

    it("in the instant in which it ends: it ends once, either way", async (t) => {
      const { backend } = await fakeBackend(t, () => says('{"message":"done"}'))
      const source = oneAgent(backend.endpoint)
      const ends = new Set<string>()
      for (let n = 0; n < 40; n++) {
        const run = await start(source)
        await new Promise((resolve) => setTimeout(resolve, n / 8))
        const response = await service.post(`/execute/${run.run_id}/cancel`, "")
        assert.ok(response.status === 202 || response.status === 200)
        const end = await run.until(isEnd)
        await run.over()
        assert.equal(run.events.filter(isEnd).length, 1)
        const { status } = (await (await service.get(`/execute/${run.run_id}`)).json()) as { status: string }
        assert.equal(end.type, `workflow_${status}`)
        ends.add(status)
      }
      assert.ok([...ends].every((status) => status === "completed" || status === "cancelled"))
    })
  })
}

type Interrupting = EventData["workflow_cancelled"]

/** A stream that is read as far as a test asks. */
class Started {
  readonly run_id: string
  readonly events: SeenEvent[] = []
  readonly #events: AsyncGenerator<SeenEvent>

  constructor(response: Response) {
    this.run_id = response.headers.get("x-service-run-id") ?? ""
    this.#events = eventsOf(response)
  }

  async until(wanted: (event: SeenEvent) => boolean): Promise<SeenEvent> {
    for (;;) {
      const { value, done } = await within(30_000, "an event", this.#events.next())
      if (done === true || value === undefined) throw new Error("The stream ended before that")
      this.events.push(value)
      if (wanted(value)) return value
    }
  }

  /** The terminal event is the last thing that comes. */
  async over(): Promise<void> {
    const { done } = await within(30_000, "the end of the stream", this.#events.next())
    assert.equal(done, true)
  }
}
