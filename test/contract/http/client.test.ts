import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import type { TestContext } from "node:test"
import { after, describe, it } from "node:test"
import { fc } from "../../support/fast-check.ts"
import type { StreamEvent } from "../../../src/client/client.ts"
import { LocalFile, RunWaiting, WireworksClient, WireworksError } from "../../support/built-client.ts"
import type { CuttingRules } from "../../support/cutting-proxy.ts"
import { cuttingProxy } from "../../support/cutting-proxy.ts"
import { fakeBackend, json, says } from "../../support/fake-backend.ts"
import { startServer } from "../../support/http-server.ts"
import { within } from "../../support/within.ts"
import { allEvents, collect } from "./read-stream.ts"
import { ada, heldAgent, hello, oneAgent, startService, untilMetric } from "./start-service.ts"

// The typed client, against the service, by way of a proxy that breaks connections.

const body = { workflow_source: hello, input: ada }

/** Reconnects at once: the waits are the service's wish, and tested on their own. */
const hurried: typeof fetch = async (...call) => {
  const response = await fetch(...call)
  if (!(response.headers.get("content-type") ?? "").startsWith("text/event-stream")) return response
  const text = new TransformStream<string, string>({
    transform: (chunk, controller) => controller.enqueue(chunk.replace("retry: 1000", "retry: 1")),
  })
  const stream = response.body
    ?.pipeThrough(new TextDecoderStream())
    .pipeThrough(text)
    .pipeThrough(new TextEncoderStream())
  return new Response(stream ?? null, { status: response.status, headers: response.headers })
}

describe("the typed client", async () => {
  const service = await startService()
  const client = new WireworksClient({ baseUrl: `${service.url}/` })

  async function through(t: TestContext, rules: CuttingRules) {
    const proxy = await cuttingProxy(service.url, rules)
    t.after(() => proxy.close())
    return { proxy, client: new WireworksClient({ baseUrl: proxy.origin, fetch: hurried }) }
  }

  it("executes", async () => {
    const { output, run_id } = await client.execute<{ message: string }>(body)
    assert.equal(output.message, "Hello, Ada.")
    const record = await client.run(run_id)
    assert.deepEqual([record.status, record.output, record.last_event_id], ["completed", { message: "Hello, Ada." }, 5])
  })

  it("sends files of an input: small ones with it, large ones before it", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "wireworks-client-"))
    t.after(() => rmSync(folder, { recursive: true }))
    const path = join(folder, "large.txt")
    writeFileSync(path, "x".repeat(70_000))
    const workflow_source = "input { files: [object], n: integer }\noutput { files: input.files, n: input.n }\n"
    const stream = new Blob(["streamed"]).stream() as ReadableStream<Uint8Array>
    const files = [
      new Blob(["ab"], { type: "text/plain" }),
      new File(["c"], "c.md"),
      Buffer.from("é"),
      new LocalFile(path, { media_type: "text/plain" }),
      stream,
      { path },
    ]
    const input = { files, n: 1 }
    const { output } = await client.execute<{ files: Record<string, string>[]; n: number }>({ workflow_source, input })
    const [blob, named, bytes, local, streamed, plain] = output.files
    assert.deepEqual(blob, { data: "YWI=", media_type: "text/plain" })
    assert.deepEqual(named, { data: "Yw==", name: "c.md" })
    assert.deepEqual(bytes, { data: "w6k=" })
    assert.deepEqual(plain, { path })
    assert.equal(output.n, 1)
    const { name, media_type, bytes: size } = await client.fileMeta(local?.["file_id"] ?? "")
    assert.deepEqual([name, media_type, size], ["large.txt", "text/plain", 70_000])
    const contents = await client.file(streamed?.["file_id"] ?? "")
    assert.equal(await new Response(contents).text(), "streamed")
  })

  it("gives files to a workflow, and reads those of its output", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "wireworks-client-"))
    t.after(() => rmSync(folder, { recursive: true }))
    const path = join(folder, "notes.txt")
    writeFileSync(path, "n".repeat(70_000))
    const workflow_source = `
input { notes: file  more: { one: file } }
output { copy: make_file("copy.md", text_of(input.more.one))  same: input.notes }
`
    const input = {
      notes: new LocalFile(path),
      more: { one: new File(["small"], "small.txt", { type: "text/plain" }) },
    }
    type Made = Record<"copy" | "same", { file_id: string; name: string; bytes: number }>
    const { run_id, output } = await client.execute<Made>({ workflow_source, input })
    assert.deepEqual([output.same.name, output.same.bytes, output.copy.name], ["notes.txt", 70_000, "copy.md"])
    const run = await client.run(run_id)
    assert.equal(await new Response(await run.file(output.copy.file_id)).text(), "small")
    const files = await client.runFiles(run_id)
    const listed = files.map(({ name, origin }) => `${name} ${origin}`)
    assert.deepEqual(listed.toSorted(), ["copy.md made", "notes.txt input", "small.txt input"])
  })

  it("reads a file on disk, and those that it uses, from the nearest folder with `wireworks.json`", async (t) => {
    const outside = mkdtempSync(join(tmpdir(), "wireworks-client-"))
    t.after(() => rmSync(outside, { recursive: true }))
    const root = join(outside, "project")
    const files = {
      "../elsewhere.wire": "output { x: 1 }\n",
      "wireworks.json": "{}",
      "lib/common.wire": "schema person { name: string }\n",
      "greet.wire": `import { schema.person } from "./lib/common.wire"
input { who: schema.person }
output { text: "Hello, {{ input.who.name }}." }
`,
      "flows/main.wire": `import { schema.person } from "../lib/common.wire"
workflow greet from "../greet.wire"
input { who: schema.person }
output { text: call workflow.greet { input { who: input.who } } }
`,
      "flows/linked.wire": 'workflow x from "./link.wire"\noutput { x: call workflow.x { } }\n',
      "flows/away.wire": 'workflow x from "../../elsewhere.wire"\noutput { x: call workflow.x { } }\n',
    }
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), text)
    }
    symlinkSync(join(outside, "elsewhere.wire"), join(root, "flows/link.wire"))
    const input = { who: { name: "Ada" } }
    const file = join(root, "flows/main.wire")
    const { output, run_id } = await client.execute({ file, input })
    assert.deepEqual(output, { text: { text: "Hello, Ada." } })
    const sent = await client.runRequest(run_id)
    assert.equal(sent.file, "flows/main.wire")
    assert.deepEqual(Object.keys(sent.modules ?? {}).toSorted(), ["greet.wire", "lib/common.wire"])
    assert.equal((await client.validate({ file })).valid, true)
    assert.equal((await collect(client.stream({ file, input }))).at(-1)?.type, "workflow_completed")
    // Nothing outside of the root is sent.
    for (const name of ["linked", "away"]) {
      const { issues } = await client.validate({ file: join(root, `flows/${name}.wire`) })
      assert.deepEqual(issues.map(({ code }) => code).slice(0, 1), ["unknown-file"])
    }
    await assert.rejects(
      client.start({ file: join(root, "none.wire") }),
      /^TypeError: There is no workflow .*none\.wire/,
    )
  })

  it("rejects with the run when it begins to wait for people; the run is answered and goes on", async () => {
    const workflow_source = `
ask review { question: "Publish?"  output { publish: boolean } }
output { done: ask.review.publish }
`
    const waiting = await client.execute({ workflow_source }).then(
      () => assert.fail("there is no output yet"),
      (error: unknown) => error,
    )
    assert.ok(waiting instanceof RunWaiting)
    const [question, ...more] = waiting.questions
    assert.ok(question !== undefined)
    assert.deepEqual(more, [])
    assert.deepEqual(await waiting.run.questions(), [question])
    assert.equal((await client.run(waiting.run_id, { wait: 60 })).status, "waiting")
    await assert.rejects(
      waiting.run.answer(question.id, { publish: "yes" }),
      (error) => error instanceof WireworksError && error.kind === "input_error",
    )
    const answered = await waiting.run.answer(question.id, { publish: true }, { by: "ann" })
    assert.deepEqual([answered.status, answered.answered_by], ["answered", { caller: null, by: "ann" }])
    const record = await client.run(waiting.run_id, { wait: 60 })
    assert.deepEqual([record.status, record.output], ["completed", { done: true }])
    await assert.rejects(
      record.answer(question.id, { publish: false }),
      (error) => error instanceof WireworksError && error.kind === "conflict",
    )
    assert.ok(!Object.keys(record).includes("answer"))
  })

  it("starts without waiting", async () => {
    const { run_id } = await client.start(body)
    const record = await client.run(run_id, { wait: 60 })
    assert.deepEqual([record.status, record.output], ["completed", { message: "Hello, Ada." }])
  })

  it("streams", async () => {
    let run_id = ""
    const events = await collect(client.stream(body, { onRun: (id) => (run_id = id) }))
    assert.deepEqual(
      events.map(({ id, type }) => [id, type]),
      [
        [1, "workflow_started"],
        [2, "workflow_planned"],
        [3, "agent_started"],
        [4, "agent_completed"],
        [5, "workflow_completed"],
      ],
    )
    const end = events.at(-1)
    // Types tell events apart.
    assert.deepEqual(end?.type === "workflow_completed" && end.data.output.result, { message: "Hello, Ada." })
    assert.deepEqual(await collect(client.follow(run_id, { after: 3 })), events.slice(3))
    assert.deepEqual(await collect(client.follow(run_id, { after: 5 })), [])
  })

  it("validates, formats and invalidates", async () => {
    assert.equal((await client.validate(hello)).valid, true)
    const { valid, issues } = await client.validate({ workflow_source: "output { a: agent.x }" })
    assert.deepEqual([valid, issues[0]?.code], [false, "unknown-reference"])
    assert.equal((await client.format("output{a:1}")).formatted_workflow_source, "output {\n    a: 1\n}\n")
    await client.execute({ ...body, options: { cache_key: "client" } })
    assert.deepEqual(await client.invalidateCache("client"), { purged_entries: 1 })
  })

  it("throws what the service says, with its kind, its issues and its run", async (t) => {
    const { backend } = await fakeBackend(t, () => json({ error: { message: "no" } }, 401))
    const failing = { workflow_source: oneAgent(backend.endpoint), input: ada }
    await assert.rejects(client.execute(failing), (error) => {
      assert.ok(error instanceof WireworksError)
      assert.deepEqual([error.kind, error.status, error.issues[0]?.path], ["provider_error", 502, "agent.reply"])
      assert.match(error.run_id ?? "", /^[\w-]{22,}$/)
      return true
    })
    await assert.rejects(collect(client.stream({ workflow_source: hello, input: {} })), (error) => {
      assert.ok(error instanceof WireworksError)
      assert.deepEqual([error.kind, error.issues[0]?.path], ["input_error", "input.name"])
      return true
    })
    await assert.rejects(client.run("none"), (error) => error instanceof WireworksError && error.kind === "not_found")
  })

  it("calls no other route for an id or a name that is a path", async () => {
    for (const bad of ["..", ".", "%2e%2e", "a/..", "..\\x"]) {
      await assert.rejects(client.run(bad), TypeError)
      await assert.rejects(client.cancel(bad), TypeError)
      await assert.rejects(client.answer("run", bad, { answer: {} }), TypeError)
      await assert.rejects(client.workflowDetail(bad), TypeError)
      assert.throws(() => client.workflow(bad), TypeError)
    }
    await assert.rejects(client.workflowDetail("../runs"), TypeError)
  })

  it("sends its key", async () => {
    const guarded = await startService({ API_KEYS: "ann:secret-of-ann" })
    const without = new WireworksClient({ baseUrl: guarded.url })
    const withKey = new WireworksClient({ baseUrl: guarded.url, apiKey: "secret-of-ann" })
    await assert.rejects(without.validate(hello), /API key/)
    assert.equal((await withKey.validate(hello)).valid, true)
    assert.equal((await collect(withKey.stream(body))).length, 5)
  })

  it("is not bothered by connections that break anywhere: each event once, and one run", async (t) => {
    const { backend, asked } = await fakeBackend(t, () => (reply, raw) => {
      setTimeout(() => says('{"message":"hm"}')(reply, raw), 15)
    })
    const source = oneAgent(backend.endpoint)
    const place = fc.oneof(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 2500 }))
    const tries = fc.sample(fc.array(place, { maxLength: 5 }), 12)
    // At once, because a client waits for seconds before it connects again.
    await Promise.all(
      tries.map(async (cuts) => {
        const { proxy, client: far } = await through(t, { bytes: (n) => cuts[n - 1] ?? null })
        let run_id = ""
        const reading = collect(far.stream({ workflow_source: source, input: ada }, { onRun: (id) => (run_id = id) }))
        const events: StreamEvent[] = await within(120_000, "the end", reading)
        const all = await allEvents(await service.get(`/execute/${run_id}/events`))
        assert.deepEqual(events, all, `cut after ${cuts.join(", ")} bytes`)
        await proxy.close()
      }),
    )
    assert.equal(asked.length, tries.length)
  })

  it("tells of reconnects, and waits longer each time, as long as the service asks at least", async (t) => {
    const waits: number[] = []
    const seen: number[] = []
    let last = performance.now()
    const { client: far } = await through(t, { bytes: (n) => (n <= 2 ? 0 : null) })
    const events = await collect(
      far.stream(body, {
        onReconnect: (attempt) => {
          seen.push(attempt)
          waits.push(performance.now() - last)
          last = performance.now()
        },
      }),
    )
    assert.equal(events.length, 5)
    assert.deepEqual(seen, [1, 2])
    // Nothing had been said by the service yet: a second, unless it says otherwise.
    assert.ok((waits[1] ?? 0) >= 500)
  })

  it("gives up after so many reconnects that bring nothing, whether they break or just end", async () => {
    const dead = new WireworksClient({ baseUrl: "http://127.0.0.1:9", maxReconnects: 0 })
    const sentence = /^The service at http:\/\/127\.0\.0\.1:9 cannot be reached: /
    await assert.rejects(collect(dead.stream(body)), { name: "TypeError", message: sentence })
    await assert.rejects(dead.execute(body), { name: "TypeError", message: sentence })
    const server = await startServer((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream", "x-service-run-id": "r" })
      response.end("retry: 1\n\n")
    })
    after(() => server.close())
    const ending = new WireworksClient({ baseUrl: server.origin, maxReconnects: 3 })
    await assert.rejects(collect(ending.stream(body)), /ended before the run did/)
    assert.equal(server.received.length, 4)
  })

  it("waits for a service that is at capacity", async () => {
    const small = await startService({ MAX_RUNS: "1", MAX_QUEUED: "0" })
    const near = new WireworksClient({ baseUrl: small.url })
    const held = await heldAgent()
    const first = collect(near.stream({ workflow_source: held.source, input: ada }))
    await untilMetric(small, "wire_runs_active", 1)
    let reconnects = 0
    const onReconnect = (): void => {
      reconnects++
      held.release()
    }
    const second = await collect(near.stream(body, { onReconnect }))
    assert.equal(second.length, 5)
    assert.ok(reconnects > 0)
    await first
  })

  it("stops at once when asked to, and leaves the run alone", async () => {
    const stop = new AbortController()
    let run_id = ""
    const { source } = await heldAgent()
    const reading = (async () => {
      for await (const event of client.stream(
        { workflow_source: source, input: ada },
        { signal: stop.signal, onRun: (id) => (run_id = id) },
      )) {
        if (event.type === "agent_started") stop.abort(new Error("enough"))
      }
    })()
    await assert.rejects(within(30_000, "the end", reading), /enough/)
    assert.equal((await client.run(run_id)).status, "running")
    assert.deepEqual(await client.cancel(run_id), { run_id, status: "cancelling" })
    const events = await collect(client.follow(run_id))
    assert.equal(events.at(-1)?.type, "workflow_cancelled")
    assert.deepEqual(await client.cancel(run_id), { run_id, status: "cancelled" })
  })

  it("closes its connection when the loop is left", async () => {
    const { source } = await heldAgent()
    for await (const { type } of client.stream({ workflow_source: source, input: ada })) {
      if (type === "agent_started") break
    }
    await untilMetric(service, "wire_streams_open", 0)
  })

  it("executes once for one key, however often it is asked", async (t) => {
    const { backend, asked } = await fakeBackend(t, () => says('{"message":"once"}'))
    const keyed = { workflow_source: oneAgent(backend.endpoint), input: ada }
    const both = await Promise.all([1, 2].map(() => client.execute(keyed, { idempotencyKey: "the same" })))
    assert.equal(both[0]?.run_id, both[1]?.run_id)
    assert.equal(asked.length, 1)
    const other = client.execute({ ...keyed, input: { name: "Bob" } }, { idempotencyKey: "the same" })
    await assert.rejects(other, (error) => error instanceof WireworksError && error.kind === "conflict")
  })

  it("an execute that is aborted cancels its run, unless it has a key of its caller's", async () => {
    for (const [key, expected] of [
      [undefined, "cancelled"],
      ["mine", "completed"],
    ] as const) {
      const { source, release } = await heldAgent()
      const name = `aborted ${expected}`
      const left = new AbortController()
      const options = { signal: left.signal, ...(key !== undefined && { idempotencyKey: key }) }
      const asked = client.execute({ workflow_source: source, input: { name } }, options)
      const found = async (): Promise<{ run_id: string; status: string } | undefined> =>
        (await client.runs({ q: name })).runs[0]
      const deadline = Date.now() + 60_000
      while ((await found())?.status !== "running") assert.ok(Date.now() < deadline, "it does not run")
      left.abort(new Error("enough"))
      await assert.rejects(asked, /enough/)
      if (key !== undefined) release()
      const { run_id = "" } = (await found()) ?? {}
      assert.equal((await within(60_000, "the end", client.run(run_id, { wait: 60 }))).status, expected)
      // It is one run: asking for it by its key has made no second one.
      assert.equal((await client.runs({ q: name })).runs.length, 1)
      release()
    }
    const never = AbortSignal.abort(new Error("before"))
    const request = { workflow_source: "output { a: 1 }", input: { name: "never" } }
    await assert.rejects(client.execute(request, { signal: never }), /before/)
  })

  it("an execute whose connection breaks takes its run up again", async (t) => {
    const { backend, asked } = await fakeBackend(t, () => says('{"message":"once"}'))
    const request = { workflow_source: oneAgent(backend.endpoint), input: ada }
    // Before the answer, and in the middle of it.
    const cuts = [0, 40, 200]
    await Promise.all(
      cuts.map(async (bytes) => {
        const { proxy, client: far } = await through(t, { bytes: (n) => (n === 1 ? bytes : null) })
        const { run_id, output } = await within(120_000, "the output", far.execute(request))
        assert.deepEqual(output, { message: "once" })
        assert.equal((await client.run(run_id)).status, "completed")
        assert.ok(proxy.requests.length >= (bytes === 0 ? 1 : 2))
      }),
    )
    assert.equal(asked.length, cuts.length)
  })

  it("names the questions of a workflow's run", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "wireworks-client-"))
    t.after(() => rmSync(folder, { recursive: true }))
    writeFileSync(
      join(folder, "send.wire"),
      'ask review { question: "Send?"  output { send: boolean } }\noutput { sent: ask.review.send }\n',
    )
    const named = await startService({ WORKFLOWS: folder })
    const workflow = new WireworksClient({ baseUrl: named.url }).workflow("send")
    const { run_id } = await workflow.start({})
    const run = workflow.run(run_id)
    await within(
      30_000,
      "the question",
      (async () => {
        while ((await run.questions()).length === 0) continue
      })(),
    )
    await assert.rejects(run.answer("revue", {}), /has not asked revue/)
    assert.equal((await run.answer("review", { send: true }, { by: "ann" })).status, "answered")
  })
})
