import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { errorOf, hello, startService } from "./start-service.ts"

interface Validation {
  readonly valid: boolean
  readonly issues: readonly {
    readonly code: string
    readonly severity: string
    readonly path: string
    readonly range?: object
  }[]
  readonly plan: { readonly nodes: readonly { readonly id: string }[]; readonly edges: readonly object[] } | null
  readonly schemas: Record<string, { readonly type: string }> | null
}

describe("POST /validate", async () => {
  const service = await startService()
  const validate = async (body: unknown): Promise<Validation> => {
    const response = await service.post("/validate", body)
    assert.equal(response.status, 200)
    return (await response.json()) as Validation
  }

  it("says what a workflow can reach when asked", async () => {
    assert.equal("reach" in (await validate({ workflow_source: hello })), false)
    const answer = (await validate({ workflow_source: hello, reach: true })) as unknown as {
      reach: { agents: unknown }
    }
    assert.deepEqual(answer.reach.agents, [{ agent: "agent.reply", pattern: "plain", reads: [], cacheable: 0.86 }])
  })

  it("gives the plan and the schemas of a valid workflow", async () => {
    const { valid, issues, plan, schemas } = await validate({ workflow_source: hello })
    assert.deepEqual([valid, issues], [true, []])
    assert.deepEqual(
      plan?.nodes.map(({ id }) => id),
      ["agent.reply", "output"],
    )
    assert.deepEqual(plan?.edges, [{ from: "agent.reply", to: "output" }])
    assert.deepEqual(schemas?.["input"], {
      type: "object",
      properties: { name: { type: "string" } },
      required: ["name"],
      additionalProperties: false,
    })
    assert.deepEqual(Object.keys(schemas ?? {}), ["input", "secrets", "output"])
  })

  it("gives every issue of an invalid one, and no plan", async () => {
    const { valid, issues, plan } = await validate({ workflow_source: "output { a: agent.x.y b: input.z }" })
    assert.deepEqual([valid, plan], [false, null])
    assert.deepEqual(
      issues.map(({ code, severity, path }) => [code, severity, path]),
      [
        ["unknown-reference", "error", "output.a"],
        ["unknown-reference", "error", "output.b"],
      ],
    )
    assert.deepEqual(issues[0]?.range, {
      start: { line: 1, column: 19, offset: 18 },
      end: { line: 1, column: 22, offset: 21 },
    })
  })

  it("is valid with warnings", async () => {
    const { valid, issues } = await validate({ workflow_source: "schema unused { a: string }\noutput { }" })
    assert.deepEqual([valid, issues.map(({ code }) => code)], [true, ["unused-declaration"]])
  })

  it("checks input and secrets where they are given", async () => {
    const { valid, issues } = await validate({
      workflow_source: hello,
      input: { name: 3 },
      secrets: { x: "SECRET-VALUE" },
    })
    assert.equal(valid, false)
    assert.deepEqual(
      issues.map(({ path }) => path),
      ["input.name", "secrets.x"],
    )
    assert.doesNotMatch(JSON.stringify(issues), /SECRET-VALUE/)
    assert.equal((await validate({ workflow_source: hello, input: null })).valid, true)
  })

  it("takes the source as a plain body", async () => {
    const response = await service.post("/validate", `\uFEFF${hello.replaceAll("\n", "\r\n")}`, {
      "content-type": "text/plain",
    })
    assert.equal(((await response.json()) as Validation).valid, true)
  })

  it("takes what `curl --data-binary @x.wire` sends", async () => {
    const curl = { "content-type": "application/x-www-form-urlencoded" }
    const response = await service.post("/validate", hello, curl)
    assert.equal(((await response.json()) as Validation).valid, true)
    const formatted = await service.post("/format", 'output { a: "1%20+1" }', curl)
    assert.match(await formatted.text(), /1%20\+1/)
    assert.equal((await service.post("/execute", hello, curl)).status, 415)
    assert.equal((await service.post("/validate", { workflow_source: hello }, curl)).status, 415)
  })

  it("refuses what it cannot read", async () => {
    const bytes = Buffer.from([0x6f, 0xff, 0xfe])
    const rows: [unknown, Record<string, string>][] = [
      [{}, {}],
      [{ workflow_source: "" }, {}],
      [{ workflow_source: "  \n" }, {}],
      [{ workflow_source: 5 }, {}],
      [{ workflow_source: hello, workflow_source_base64: "eA==" }, {}],
      [{ workflow_source_base64: "a$$$" }, {}],
      [{ workflow_source_base64: "abcde" }, {}],
      [{ workflow_source_base64: "aGk=\n" }, {}],
      [{ workflow_source_base64: bytes.toString("base64") }, {}],
      [{ workflow_source: hello, sources: 1 }, {}],
      ["", { "content-type": "text/plain" }],
    ]
    for (const [body, headers] of rows) {
      const error = await errorOf(await service.post("/validate", body, headers))
      assert.deepEqual([body, error.status, error.kind], [body, 400, "invalid_request"])
    }
    const invalid = await fetch(`${service.url}/validate`, {
      method: "POST",
      headers: { "content-type": "text/plain" },
      body: bytes,
    })
    assert.equal((await errorOf(invalid)).kind, "invalid_request")
  })
})

describe("POST /format", async () => {
  const service = await startService()

  it("writes the source canonically, as JSON or as text", async () => {
    const response = await service.post("/format", { workflow_source: "output{a:1,b:2}" })
    const formatted = "output {\n    a: 1\n    b: 2\n}\n"
    assert.deepEqual(await response.json(), { formatted_workflow_source: formatted, changed: true })
    const again = await service.post("/format", { workflow_source: formatted })
    assert.deepEqual(await again.json(), { formatted_workflow_source: formatted, changed: false })
    const text = await service.post("/format", "output{a:1,b:2}", {
      "content-type": "text/plain",
      accept: "text/plain",
    })
    assert.equal(text.headers.get("content-type"), "text/plain; charset=utf-8")
    assert.equal(await text.text(), formatted)
  })

  it("says that a byte-order mark goes", async () => {
    const formatted = "output {\n    a: 1\n}\n"
    const marked = `\uFEFF${formatted}`
    const answers = [
      await service.post("/format", { workflow_source: marked }),
      await service.post("/format", { workflow_source_base64: Buffer.from(marked).toString("base64") }),
      await service.post("/format", marked, { "content-type": "text/plain" }),
    ]
    for (const answer of answers) {
      assert.deepEqual(await answer.json(), { formatted_workflow_source: formatted, changed: true })
    }
  })

  it("refuses source with syntax errors, with its diagnostics", async () => {
    const error = await errorOf(await service.post("/format", { workflow_source: "output { a }" }))
    assert.deepEqual([error.status, error.kind, error.issues[0]?.path], [422, "validation_error", "output"])
  })

  it("formats source whose errors are not of syntax", async () => {
    assert.equal((await service.post("/format", { workflow_source: "output { a: agent.x }" })).status, 200)
  })
})

describe("the other routes", async () => {
  const service = await startService()

  it("answer probes, metrics and the contract", async () => {
    assert.deepEqual(await (await service.get("/healthz")).json(), { status: "ok" })
    assert.deepEqual(await (await service.get("/readyz")).json(), { status: "ready" })
    assert.match(await (await service.get("/metrics")).text(), /^wire_runs_active 0$/m)
    const contract = (await (await service.get("/openapi.json")).json()) as {
      openapi: string
      paths: Record<string, object>
    }
    assert.match(contract.openapi, /^3\.1/)
    assert.deepEqual(Object.keys(contract.paths), [
      "/execute",
      "/execute/{run_id}",
      "/runs/{run_id}",
      "/execute/{run_id}/request",
      "/execute/{run_id}/calls/{call_id}",
      "/execute/{run_id}/origins",
      "/execute/{run_id}/events",
      "/runs/{run_id}/events",
      "/execute/{run_id}/questions",
      "/execute/{run_id}/questions/{id}",
      "/questions",
      "/events",
      "/events/{id}",
      "/waits",
      "/files",
      "/files/{file_id}",
      "/files/{file_id}/meta",
      "/execute/{run_id}/files",
      "/execute/{run_id}/cancel",
      "/runs/{run_id}/cancel",
      "/execute/{run_id}/rerun",
      "/validate",
      "/format",
      "/workflows",
      "/workflows/{name}",
      "/workflows/{name}/execute",
      "/workflows/{name}/versions",
      "/workflows/{name}/versions/{version}",
      "/workflows/{name}/versions/{a}/diff/{b}",
      "/workflows/{name}/versions/{version}/withdraw",
      "/workflows/{name}/serve",
      "/workflows/{name}/move",
      "/workflows/{name}/ag-ui",
      "/workflows/{name}/release",
      "/triggers",
      "/triggers/{workflow}/{name}/run",
      "/triggers/{workflow}/{name}/pause",
      "/triggers/{workflow}/{name}/resume",
      "/hooks/{workflow}/{name}",
      "/runs",
      "/runs/stats",
      "/runs/actions",
      "/runs/actions/{id}",
      "/erase",
      "/erase/{id}",
      "/execute/{run_id}/scores",
      "/scores",
      "/budgets",
      "/spending",
      "/v1/models",
      "/v1/models/{id}",
      "/v1/chat/completions",
      "/v1/responses",
      "/v1/responses/{id}",
      "/v1/responses/{id}/cancel",
      "/v1/files",
      "/v1/files/{file_id}",
      "/v1/files/{file_id}/content",
      "/mcp",
      "/cache/invalidate",
      "/playground",
      "/healthz",
      "/readyz",
      "/metrics",
      "/openapi.json",
      "/llms.txt",
      "/demo/v1/responses",
      "/demo/v1/chat/completions",
      "/demo/v1/messages",
      "/demo/v1beta/models/{call}",
    ])
  })

  it("redirect to the playground, whose page is under a strict policy", async () => {
    const redirect = await fetch(`${service.url}/`, { redirect: "manual" })
    assert.equal(redirect.headers.get("location"), "/playground")
    const page = await service.get("/playground")
    assert.match(page.headers.get("content-security-policy") ?? "", /default-src 'none'/)
    for (const path of [
      "/playground/../../package.json",
      "/playground/..%2f..%2fpackage.json",
      "/playground/nope.js",
    ]) {
      assert.equal((await service.get(path)).status, 404)
    }
  })

  it("say which methods a path takes", async () => {
    const rows = [
      ["GET", "/execute", "POST"],
      ["PUT", "/execute/abc", "GET, HEAD, DELETE"],
      ["POST", "/execute/abc/events", "GET, HEAD"],
      ["GET", "/execute/abc/cancel", "POST"],
      ["PUT", "/validate", "POST"],
      ["POST", "/healthz", "GET, HEAD"],
    ]
    for (const [method = "", path = "", allow] of rows) {
      const response = await fetch(`${service.url}${path}`, { method })
      const error = await errorOf(response)
      assert.deepEqual([path, error.status, error.kind], [path, 405, "method_not_allowed"])
      assert.equal(response.headers.get("allow"), allow)
    }
    assert.equal((await errorOf(await service.get("/nowhere"))).kind, "not_found")
    // The type of a body says nothing about a path that is not there.
    for (const type of ["text/plain", "application/xml", ""]) {
      const error = await errorOf(await service.post("/executes", "x".repeat(100_000), { "content-type": type }))
      assert.deepEqual([error.status, error.kind], [404, "not_found"])
    }
  })

  it("speaks of errors in OpenAI's shape where it is the demo model", async () => {
    const keyed = await startService({ API_KEYS: "a:0123456789abcdef" })
    const text = { "content-type": "text/plain" }
    const answers = [
      [await service.post("/demo/v1/responses", "{"), 400],
      [await service.post("/demo/v1/responses", "x", text), 415],
      [await service.post("/demo/v1/responses", { model: "demo-unknown", input: "x" }), 404],
      [await keyed.post("/demo/v1/responses", { model: "demo", input: "x" }), 401],
    ] as const
    for (const [answer, status] of answers) {
      const { error } = (await answer.json()) as { error: Record<string, unknown> }
      assert.equal(answer.status, status)
      assert.equal(typeof error["message"], "string")
      assert.equal(error["type"], "invalid_request_error")
      assert.equal(typeof error["code"], "string")
      assert.ok("param" in error)
    }
  })

  it("can be without the demo model and the playground", async () => {
    const bare = await startService({ DEMO: "off", PLAYGROUND: "off" })
    assert.equal((await bare.get("/playground")).status, 404)
    assert.equal((await bare.post("/demo/v1/responses", {})).status, 404)
    const error = await errorOf(await bare.post("/execute", { workflow_source: hello, input: { name: "A" } }))
    assert.equal(error.kind, "provider_error")
  })
})
