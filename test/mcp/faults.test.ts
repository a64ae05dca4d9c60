import assert from "node:assert/strict"
import type { ServerResponse } from "node:http"
import { after, describe, test } from "node:test"
import { MemoryStore } from "../../src/adapters/memory/memory-store.ts"
import type { McpHostOptions } from "../../src/adapters/mcp/mcp-host.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { startEverything } from "../support/everything-server.ts"
import type { TestServer } from "../support/http-server.ts"
import { startServer } from "../support/http-server.ts"
import type { RawRequest } from "../support/mcp-server.ts"
import { sendError, sendJson, sendResult, startRawServer } from "../support/mcp-server.ts"
import type { Attempt, Outcome } from "../support/run-plan.ts"
import { dataOf, errorOf, resultOf } from "../support/run-plan.ts"
import { hosting, preamble } from "../support/run-source.ts"
import { answers, callsTools, ScriptedModel } from "../support/scripted-model.ts"
import { atStrength } from "../support/strength.ts"
import { within } from "../support/within.ts"

/** More than the 8 MiB that are read. */
const hugeBytes = atStrength(10_000_000, 50_000_000)

type Respond = (request: RawRequest, response: ServerResponse) => unknown

interface Definition {
  readonly name?: string
  readonly inputSchema?: unknown
  readonly outputSchema?: unknown
  readonly description?: string
  readonly annotations?: unknown
}

/** A server with the tool `t`, whose calls are answered so. */
async function serverWith(onCall: Respond, definition: Definition = {}, more: Record<string, Respond> = {}) {
  const server = await startRawServer({
    "tools/list": ({ id }, response) =>
      sendResult(response, id, { tools: [{ name: "t", inputSchema: { type: "object" }, ...definition }] }),
    "tools/call": onCall,
    ...more,
  })
  after(() => server.close())
  return server
}

async function runOnce(
  url: string,
  options: Partial<McpHostOptions> = {},
  more = "",
  attempt: Partial<Attempt> = {},
): Promise<Outcome> {
  const here = hosting(options)
  try {
    return await here.run(
      `mcp s { endpoint: "${url}" }
      tool t from mcp.s.tool.t ${more}
      dynamic { d: call tool.t }
      output { d: dynamic.d }`,
      attempt,
    )
  } finally {
    await here.close()
  }
}

async function nothingOpen(server: TestServer): Promise<void> {
  await within(30_000, "the end of all exchanges", server.idle())
}

const stream = (response: ServerResponse): ServerResponse => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  return response
}

describe("what a server can do wrong with an answer", () => {
  const wrong: readonly [what: string, respond: Respond, message: RegExp, kind?: string][] = [
    [
      "text that is not JSON",
      (_, response) => response.writeHead(200, { "content-type": "application/json" }).end("<html>"),
      /^mcp\.s answered with something that is not a message of the protocol$/,
    ],
    [
      "JSON that is not JSON-RPC",
      (_, response) => sendJson(response, { hello: "world" }),
      /^mcp\.s answered with something that is not a message of the protocol$/,
    ],
    [
      "the answer to another request",
      (_, response) => sendJson(response, { jsonrpc: "2.0", id: 999, result: { resultType: "complete", content: [] } }),
      /^mcp\.s: the server closed its response before it answered$/,
    ],
    [
      "a result without content",
      ({ id }, response) => sendResult(response, id, { content: "none" }),
      /^mcp\.s answered with a result that the protocol does not allow$/,
    ],
    [
      "a web page",
      (_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>"),
      /^mcp\.s answered with neither JSON nor an event stream$/,
    ],
    [
      "nothing at all",
      (_, response) => response.writeHead(202).end(),
      /^mcp\.s: the server closed its response before it answered$/,
    ],
    [
      "a stream that ends too soon",
      (_, response) => stream(response).end(": nothing\n\n"),
      /^mcp\.s: the server closed its response before it answered$/,
    ],
    [
      "a stream of something else",
      (_, response) => stream(response).end("data: {nonsense\n\ndata: []\n\n"),
      /^mcp\.s: the server closed its response before it answered$/,
    ],
    [
      "a connection that breaks within the stream",
      (_, response) => {
        stream(response).write('data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n')
        setImmediate(() => response.destroy())
      },
      /^mcp\.s: 127\.0\.0\.1:\d+ closed the connection before its answer was whole$/,
    ],
    [
      "a connection that breaks before the answer",
      (_, response) => response.destroy(),
      /^mcp\.s: 127\.0\.0\.1:\d+ closed the connection before its answer was whole$/,
    ],
    [
      "a failure of its own, with words that nobody should repeat",
      (_, response) => response.writeHead(500).end("Stack trace: password=hunter2"),
      /^mcp\.s answered with HTTP 500$/,
    ],
    [
      "an error of the protocol",
      ({ id }, response) => sendError(response, id, -32_602, "Unknown tool: t"),
      /^t: Unknown tool: t$/,
    ],
    [
      "more than is read, as JSON",
      ({ id }, response) => sendResult(response, id, { content: [{ type: "text", text: "x".repeat(hugeBytes) }] }),
      /^mcp\.s: 127\.0\.0\.1:\d+ answered with more than 8388608 bytes$/,
    ],
    [
      "more than is read, in one event",
      (_, response) => stream(response).end(`data: ${"x".repeat(hugeBytes)}\n\n`),
      /^mcp\.s: 127\.0\.0\.1:\d+ answered with more than 8388608 bytes$/,
    ],
    [
      "a value that is nested without end",
      ({ id }, response) => {
        const deep = `${"[".repeat(5000)}${"]".repeat(5000)}`
        response.writeHead(200, { "content-type": "application/json" })
        response.end(
          `{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete","content":[],"structuredContent":${deep}}}`,
        )
      },
      /^mcp\.s: the server sent a value that is nested over 200 levels deep$/,
    ],
    [
      "a question instead of an answer",
      ({ id }, response) =>
        sendResult(response, id, {
          resultType: "input_required",
          inputRequests: {
            who: {
              method: "elicitation/create",
              params: { message: "Who?", requestedSchema: { type: "object", properties: {} } },
            },
          },
        }),
      /^mcp\.s asks for input: people can answer with `elicitation: ask` on the server \(sampling and roots are not offered\)$/,
    ],
  ]
  for (const [what, respond, message] of wrong) {
    test(what, async () => {
      const server = await serverWith(respond)
      const outcome = await runOnce(server.url)
      const error = errorOf(outcome)
      assert.equal(error.kind, "tool_error")
      assert.match(error.message, message)
      assert.deepEqual(
        error.issues.map(({ path }) => path),
        ["dynamic.d"],
      )
      assert.equal(dataOf(outcome.events, "tool_call_failed").length, 1)
      await nothingOpen(server)
    })
  }

  test("silence is a timeout, and closes the stream", async () => {
    const server = await serverWith(() => undefined)
    const outcome = await runOnce(server.url, { limits: { silenceMs: 1000 } })
    assert.equal(errorOf(outcome).kind, "timeout")
    assert.equal(errorOf(outcome).message, "mcp.s did not answer within 1000 ms")
    await nothingOpen(server)
  })

  test("a result that violates its own schema fails a call of the workflow, and is reported to a model", async () => {
    const outputSchema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] }
    const server = await serverWith(
      ({ id }, response) => sendResult(response, id, { content: [], structuredContent: { n: "three" } }),
      { outputSchema },
    )
    const own = await runOnce(server.url)
    assert.equal(errorOf(own).kind, "tool_error")
    assert.equal(errorOf(own).message, "t: the result does not fit its type: n: expected integer, found string")
    const here = hosting()
    const model = new ScriptedModel((request) =>
      request.turn === 1 ? callsTools([{ name: "t", arguments: {} }], request) : answers({ message: "ok" }, request),
    )
    const outcome = await here.run(
      `${preamble(server.url)}
      tool t from mcp.s.tool.t
      agent a { model: model.m uses: [tool.t] instruction: "x" output { message: string } }
      output { m: agent.a.message }`,
      { model },
    )
    await here.close()
    assert.deepEqual(resultOf(outcome), { m: "ok" })
    assert.match(JSON.stringify(model.requests[1]?.input), /the result does not fit its type: n: expected integer/)
  })

  test("an idempotent tool is called once more after a broken connection, with the same ids; another is not", async () => {
    for (const idempotentHint of [true, false]) {
      const metas: unknown[] = []
      const server = await serverWith(
        ({ id, params }, response) => {
          metas.push((params["_meta"] as Record<string, unknown>)["wireworks/call_id"])
          if (metas.length === 1) response.destroy()
          else sendResult(response, id, { content: [{ type: "text", text: "second" }] })
        },
        { annotations: { idempotentHint } },
      )
      const outcome = await runOnce(server.url)
      if (idempotentHint) {
        assert.deepEqual(resultOf(outcome), { d: "second" })
        assert.equal(metas.length, 2)
        assert.equal(metas[0], metas[1])
      } else {
        assert.equal(errorOf(outcome).kind, "tool_error")
        assert.equal(metas.length, 1)
      }
    }
  })

  test("a tool that has changed what it wants in headers is looked up again, and called again", async () => {
    const names: unknown[] = []
    let header = "Old"
    const server = await startRawServer({
      "tools/list": ({ id }, response) => {
        const inputSchema = { type: "object", properties: { a: { type: "string", "x-mcp-header": header } } }
        sendResult(response, id, { tools: [{ name: "t", inputSchema }] })
      },
      "tools/call": ({ id, headers }, response) => {
        names.push(headers["mcp-param-new"] ?? null)
        header = "New"
        if (names.length === 1) return sendError(response, id, -32_020, "Header mismatch")
        sendResult(response, id, { content: [{ type: "text", text: "ok" }] })
      },
    })
    after(() => server.close())
    const here = hosting()
    const outcome = await here.run(
      `mcp s { endpoint: "${server.url}" }
      tool t from mcp.s.tool.t
      dynamic { d: call tool.t { input { a: "wörld" } } }
      output { d: dynamic.d }`,
    )
    await here.close()
    assert.deepEqual(resultOf(outcome), { d: "ok" })
    assert.deepEqual(names, [null, `=?base64?${Buffer.from("wörld").toString("base64")}?=`])
  })

  test("an answer that comes after the call was given up does no harm", async () => {
    const late: (() => void)[] = []
    const server = await serverWith(({ id }, response) => {
      if (late.length > 0) return sendResult(response, id, { content: [{ type: "text", text: "in time" }] })
      late.push(() => sendResult(response, id, { content: [{ type: "text", text: "late" }] }))
    })
    const here = hosting({ limits: { silenceMs: 2000 } })
    const source = `mcp s { endpoint: "${server.url}" }
      tool t from mcp.s.tool.t
      dynamic { d: call tool.t }
      output { d: dynamic.d }`
    assert.equal(errorOf(await here.run(source)).kind, "timeout")
    for (const send of late) send()
    assert.deepEqual(resultOf(await here.run(source)), { d: "in time" })
    await here.close()
  })
})

describe("what a server can do wrong with its lists", () => {
  const offered = async (definition: Definition, url?: string) => {
    const server = await serverWith(({ id }, response) => sendResult(response, id, { content: [] }), definition)
    return errorOf(await runOnce(url ?? server.url))
  }

  test("references that would have to be fetched, that lead nowhere, or are no schema at all", async () => {
    let fetched = 0
    const elsewhere = await startServer((_, response) => {
      fetched++
      response.end("{}")
    })
    after(() => elsewhere.close())
    const network = await offered({
      inputSchema: { type: "object", properties: { a: { $ref: `${elsewhere.origin}/a` } } },
    })
    assert.equal(network.kind, "validation_error")
    assert.match(
      network.message,
      /t of mcp\.s: its input schema refers to http:\/\/127.*, and references are never fetched/,
    )
    assert.equal(fetched, 0)
    const nowhere = await offered({ inputSchema: { type: "object", properties: { a: { $ref: "#/$defs/none" } } } })
    assert.match(nowhere.message, /refers to #\/\$defs\/none, which is not in it/)
    const none = await offered({ inputSchema: "object" })
    assert.match(none.message, /its input schema is not a JSON object/)
    let deep: object = {}
    for (let level = 0; level < 200; level++) deep = { properties: { a: deep } }
    assert.match(
      (await offered({ outputSchema: deep })).message,
      /its output schema is nested more than 64 levels deep/,
    )
    const large = { type: "object", description: "x".repeat(300_000) }
    assert.match((await offered({ inputSchema: large })).message, /its input schema is larger than 262144 bytes/)
  })

  test("a pattern that takes JavaScript's engine for ever does not hold the service up", async () => {
    const inputSchema = { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } }
    const server = await serverWith(({ id }, response) => sendResult(response, id, { content: [] }), { inputSchema })
    const here = hosting()
    const outcome = await here.run(
      `mcp s { endpoint: "${server.url}" }
      tool t from mcp.s.tool.t
      dynamic { d: call tool.t { input { a: "${"a".repeat(60)}!" } } }
      output { d: dynamic.d }`,
    )
    await here.close()
    assert.match(errorOf(outcome).message, /a: string does not match pattern/)
  })

  test("pages that do not end", async () => {
    const server = await startRawServer({
      "tools/list": ({ id }, response) => sendResult(response, id, { tools: [], nextCursor: "again" }),
    })
    after(() => server.close())
    const error = errorOf(await runOnce(server.url))
    assert.equal(error.kind, "tool_error")
    assert.match(error.message, /mcp\.s: the server's tools\/list never ends/)
  })

  test("a tool on the last page, beside others that are published badly", async () => {
    const pages: Record<string, { tools: unknown[]; nextCursor?: string }> = {
      "": { tools: [{ name: "other" }, 7, null, {}], nextCursor: "b" },
      b: { tools: [{ name: "bad", inputSchema: [] }], nextCursor: "c" },
      c: { tools: [{ name: "t", inputSchema: { type: "object" } }] },
    }
    const server = await startRawServer({
      "tools/list": ({ id, params }, response) =>
        sendResult(response, id, { ...pages[typeof params["cursor"] === "string" ? params["cursor"] : ""] }),
      "tools/call": ({ id }, response) => sendResult(response, id, { content: [{ type: "text", text: "ok" }] }),
    })
    after(() => server.close())
    assert.deepEqual(resultOf(await runOnce(server.url)), { d: "ok" })
  })

  test("a list that may be kept is not asked for again by the next run, by another key it is", async () => {
    let lists = 0
    const server = await startRawServer({
      "tools/list": ({ id }, response) => {
        lists++
        sendResult(response, id, {
          tools: [{ name: "t", inputSchema: { type: "object" } }],
          ttlMs: 60_000,
          cacheScope: "public",
        })
      },
      "tools/call": ({ id }, response) => sendResult(response, id, { content: [] }),
    })
    after(() => server.close())
    const here = hosting()
    const source = (key: string): string => `mcp s { endpoint: "${server.url}" headers { X-Key: "${key}" } }
      tool t from mcp.s.tool.t
      dynamic { d: call tool.t }
      output { d: dynamic.d }`
    for (const key of ["one", "one", "two"]) resultOf(await here.run(source(key)))
    await here.close()
    assert.equal(lists, 2)
  })

  test("what a description hides is taken out, and the rest is cut", async () => {
    const hidden = "Adds\u0000 \u001b[31mred\u202e\u{e0041}\u{e0042} numbers\r\nand more. "
    const server = await serverWith(({ id }, response) => sendResult(response, id, { content: [] }), {
      description: hidden + "x".repeat(10_000),
      inputSchema: { type: "object", properties: { a: { type: "string", description: `${hidden}y` } } },
    })
    const here = hosting()
    const model = new ScriptedModel((request) => answers({ message: "ok" }, request))
    await here.run(
      `${preamble(server.url)}
      tool t from mcp.s.tool.t
      agent a { model: model.m uses: [tool.t] instruction: "x" output { message: string } }
      output { m: agent.a.message }`,
      { model },
    )
    await here.close()
    const [tool] = model.requests[0]?.tools ?? []
    assert.match(tool?.description ?? "", /^Adds \[31mred numbers\nand more\. xxx/)
    assert.ok((tool?.description.length ?? 0) < 4500)
    assert.match(JSON.stringify(tool?.parameters), /Adds \[31mred numbers\\nand more\. y/)
  })

  test("an unknown older protocol, and no protocol at all", async () => {
    const ancient = await startRawServer({
      "server/discover": ({ id }, response) => sendError(response, id, -32_601, "Method not found"),
      initialize: ({ id }, response) =>
        sendResult(response, id, {
          protocolVersion: "1999-01-01",
          capabilities: {},
          serverInfo: { name: "a", version: "1" },
        }),
    })
    after(() => ancient.close())
    assert.match(
      errorOf(await runOnce(ancient.url)).message,
      /speaks a protocol revision that this service does not know/,
    )
    const page = await startServer((_, response) => response.writeHead(404).end("Not here"))
    after(() => page.close())
    const error = errorOf(await runOnce(page.origin))
    assert.deepEqual(error.issues, [{ path: "mcp.s", message: "mcp.s answered with HTTP 404", upstream_status: 404 }])
  })

  test("a server that never answers at all cannot be reached", async () => {
    const server = await startServer(() => undefined)
    after(() => server.close())
    const error = errorOf(await runOnce(server.origin, { limits: { connectMs: 1000 } }))
    assert.equal(error.kind, "tool_error")
    assert.equal(error.message, "mcp.s: the server did not answer within 1000 ms")
    await nothingOpen(server)
  })

  test("forbidden and impossible addresses", async () => {
    const error = errorOf(await runOnce("http://169.254.169.254/mcp"))
    assert.equal(error.kind, "blocked_destination")
    assert.equal(error.issues[0]?.path, "mcp.s.endpoint")
    const here = hosting()
    const nowhere = await here.run(
      `input { url: string }
      mcp s { endpoint: input.url }
      tool t from mcp.s.tool.t
      dynamic { d: call tool.t }
      output { d: dynamic.d }`,
      { input: { url: "not a url" } },
    )
    await here.close()
    assert.equal(errorOf(nowhere).message, "The endpoint is not a URL.")
    assert.equal(errorOf(nowhere).issues[0]?.path, "mcp.s.endpoint")
  })

  test("all servers that cannot be reached are named in one error", async () => {
    const here = hosting()
    const outcome = await here.run(
      `mcp a { endpoint: "http://127.0.0.1:1/mcp" }
      mcp b { endpoint: "http://127.0.0.1:1/other" }
      tool x from mcp.a.tool.x
      tool y from mcp.b.tool.y
      dynamic { d: call tool.x, e: call tool.y }
      output { d: dynamic.d, e: dynamic.e }`,
    )
    await here.close()
    assert.deepEqual(
      errorOf(outcome).issues.map(({ path }) => path),
      ["mcp.a", "mcp.b"],
    )
  })
})

describe("servers of the older era", () => {
  interface Legacy {
    session: number
    initialized: number
    cancelled: unknown[]
    deleted: string[]
  }

  async function startLegacy(
    onCall: Respond,
    forgets: (session: string, method: string) => boolean = () => false,
    onAnswer: (answer: { readonly error?: unknown }) => void = () => undefined,
  ) {
    const seen: Legacy = { session: 0, initialized: 0, cancelled: [], deleted: [] }
    const server = await startServer((request, response) => {
      const session = String(request.headers["mcp-session-id"] ?? "")
      if (request.method === "DELETE") {
        seen.deleted.push(session)
        return response.writeHead(200).end()
      }
      if (request.method !== "POST") return response.writeHead(405).end()
      const { id, method, params = {} } = JSON.parse(request.body) as Partial<RawRequest>
      if (method === "initialize") {
        const result = {
          protocolVersion: "2025-06-18",
          capabilities: { tools: {} },
          serverInfo: { name: "old", version: "1" },
        }
        response.setHeader("mcp-session-id", `session-${++seen.session}`)
        return sendJson(response, { jsonrpc: "2.0", id, result })
      }
      if (session === "") return sendErrorAs(response, 400, id)
      if (forgets(session, method ?? "")) return sendErrorAs(response, 404, id)
      if (method === undefined) {
        onAnswer(JSON.parse(request.body) as { error?: unknown })
        return response.writeHead(202).end()
      }
      if (method === "notifications/initialized") seen.initialized++
      if (method === "notifications/cancelled") seen.cancelled.push(params["requestId"])
      if (id === undefined) return response.writeHead(202).end()
      if (method === "tools/list") {
        return sendJson(response, {
          jsonrpc: "2.0",
          id,
          result: { tools: [{ name: "t", inputSchema: { type: "object" } }] },
        })
      }
      return onCall({ id, method, params, headers: request.headers }, response)
    })
    after(() => server.close())
    return { server, seen, url: server.origin }
  }

  const sendErrorAs = (response: ServerResponse, status: number, id: unknown): unknown =>
    response.writeHead(status, { "content-type": "application/json" }).end(
      JSON.stringify({
        jsonrpc: "2.0",
        id: id ?? null,
        error: { code: -32_000, message: "Bad Request: no session" },
      }),
    )

  test("a session that the server forgot is begun again, and ended at the end of the run", async () => {
    const calls: string[] = []
    // The list is asked for in the first session; when the call comes, the server has forgotten it.
    const { url, seen } = await startLegacy(
      ({ id, headers }, response) => {
        calls.push(String(headers["mcp-session-id"]))
        sendJson(response, { jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "ok" }] } })
      },
      (session, method) => session === "session-1" && method === "tools/call",
    )
    assert.deepEqual(resultOf(await runOnce(url)), { d: "ok" })
    assert.deepEqual(calls, ["session-2"])
    assert.equal(seen.session, 2)
    assert.deepEqual(seen.deleted, ["session-2"])
  })

  test("calls side by side that find their session forgotten share the new one", async () => {
    const sessions: string[] = []
    const { url, seen } = await startLegacy(
      ({ id, headers }, response) => {
        sessions.push(String(headers["mcp-session-id"]))
        sendJson(response, { jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "ok" }] } })
      },
      (session, method) => session === "session-1" && method === "tools/call",
    )
    const here = hosting()
    const names = ["a", "b", "c", "d", "e"]
    const outcome = await here.run(
      `mcp s { endpoint: "${url}" }
      tool t from mcp.s.tool.t
      dynamic { ${names.map((name) => `${name}: call tool.t`).join(", ")} }
      output { ${names.map((name) => `${name}: dynamic.${name}`).join(", ")} }`,
    )
    await here.close()
    assert.deepEqual(resultOf(outcome), { a: "ok", b: "ok", c: "ok", d: "ok", e: "ok" })
    assert.deepEqual(new Set(sessions), new Set(["session-2"]))
    assert.equal(seen.session, 2)
  })

  test("a call that is given up is cancelled by name, and its stream closed", async () => {
    const { url, seen, server } = await startLegacy((_, response) => {
      stream(response).write(": wait\n\n")
    })
    const outcome = await runOnce(url, { limits: { silenceMs: 1000 } })
    assert.equal(errorOf(outcome).kind, "timeout")
    const id = server.received.flatMap(({ body }) =>
      body.includes("tools/call") ? [(JSON.parse(body) as RawRequest).id] : [],
    )
    assert.deepEqual(seen.cancelled, id)
    await nothingOpen(server)
  })

  test("a server that asks for input in the middle of a call is declined, and may go on without", async () => {
    const declined: unknown[] = []
    let open: { response: ServerResponse; id: RawRequest["id"] } | null = null
    const { url } = await startLegacy(
      ({ id }, response) => {
        open = { response, id }
        const ask = {
          jsonrpc: "2.0",
          id: "q",
          method: "elicitation/create",
          params: { message: "Who?", requestedSchema: {} },
        }
        stream(response).write(`data: ${JSON.stringify(ask)}\n\n`)
      },
      undefined,
      (answer) => {
        declined.push(answer.error)
        const result = { content: [{ type: "text", text: "without" }] }
        open?.response.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id: open.id, result })}\n\n`)
      },
    )
    assert.deepEqual(resultOf(await runOnce(url)), { d: "without" })
    assert.deepEqual(declined, [{ code: -32_601, message: "Method not found" }])
  })

  test("a stream that goes on after its answer is closed", async () => {
    const { url, server } = await startLegacy(({ id }, response) => {
      stream(response).write(
        `data: ${JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "ok" }] } })}\n\n`,
      )
    })
    assert.deepEqual(resultOf(await runOnce(url)), { d: "ok" })
    await nothingOpen(server)
  })

  for (const transport of atStrength(["streamableHttp"] as const, ["streamableHttp", "sse"] as const)) {
    test(`a server that dies in the middle of a call, over ${transport}: the call fails soon`, async () => {
      const server = await startEverything(transport)
      after(() => server.stop())
      const here = hosting()
      after(() => here.close())
      const store = new MemoryStore(systemClock)
      const running = here.run(
        `mcp s { endpoint: "${server.url}" }
        tool slow from mcp.s.tool.trigger-long-running-operation
        dynamic { d: call tool.slow { input { duration: 60, steps: 120 } } }
        output { d: dynamic.d }`,
        { store, run_id: `dies-${transport}` },
      )
      for await (const { type } of store.follow(`dies-${transport}`, 0, new AbortController().signal)) {
        if (type === "tool_call_started") break
      }
      await server.stop()
      const error = errorOf(await within(30_000, "the end of the run", running))
      assert.equal(error.kind, "tool_error")
      assert.match(error.message, /^mcp\.s\b/)
    })

    test(`a server that dies between two calls, over ${transport}: gone for good, and come back`, async () => {
      const first = await startEverything(transport)
      let stop = (): Promise<void> => first.stop()
      after(() => stop())
      const here = hosting()
      after(() => here.close())
      const source = `${preamble(first.url)}
        tool echo from mcp.s.tool.echo
        agent a { model: model.m uses: [tool.echo] instruction: "x" output { message: string } }
        output { m: agent.a.message }`
      const twice = (between: () => Promise<void>) =>
        new ScriptedModel(async (request) => {
          if (request.turn === 2) await between()
          if (request.turn === 3) return answers({ message: JSON.stringify(request.input.at(-1)) }, request)
          return callsTools([{ name: "echo", arguments: { message: `call ${request.turn}` } }], request)
        })
      const back = await here.run(source, {
        model: twice(async () => {
          await first.stop()
          const second = await startEverything(transport, first.port)
          stop = () => second.stop()
        }),
      })
      assert.match(JSON.stringify(resultOf(back)), /Echo: call 2/)
      const gone = await here.run(source, { model: twice(() => stop()) })
      assert.equal(errorOf(gone).kind, "tool_error")
      assert.match(errorOf(gone).message, /mcp\.s: (?:127\.0\.0\.1:\d+ refused the connection|the connection failed)/)
      assert.deepEqual(errorOf(gone).issues[0]?.path, "agent.a")
    })
  }
})
