import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { after, describe, it } from "node:test"
import type { JsonObject } from "../../../src/base/json-value.ts"
import { startServer } from "../../support/http-server.ts"
import { tinyMcp } from "../../support/tiny-mcp.ts"
import { startService, type ErrorBody, type TestService } from "./start-service.ts"

interface FileValue {
  readonly file_id: string
  readonly name: string
  readonly media_type: string
  readonly bytes: number
  readonly sha256: string
}

const png = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex")
const wav = Buffer.concat([Buffer.from("RIFF\x24\x00\x00\x00WAVEfmt ", "latin1"), Buffer.alloc(24)])
const pdf = Buffer.from("%PDF-1.7\n%%EOF")

function about(contents: Uint8Array, name: string, media_type: string): Omit<FileValue, "file_id"> {
  return { name, media_type, bytes: contents.length, sha256: createHash("sha256").update(contents).digest("hex") }
}

function facts({ name, media_type, bytes, sha256 }: FileValue): Omit<FileValue, "file_id"> {
  return { name, media_type, bytes, sha256 }
}

describe("files that tools give", async () => {
  const service = await startService({ DEMO: "on", STORE: "memory" })
  const answers: { content: object[]; structuredContent?: object } = { content: [] }
  const published: { outputSchema?: JsonObject } = {}
  const mcp = await tinyMcp({ render: () => answers as never }, published)
  after(() => mcp.close())
  const api = await startServer((request, response) => {
    const [path = ""] = (request.url ?? "").split("?")
    if (path.endsWith("/report%201.pdf")) response.writeHead(200, { "content-type": "application/pdf" }).end(pdf)
    else if (path.endsWith("/lie.pdf")) response.writeHead(200, { "content-type": "application/pdf" }).end("hello")
    else
      response.writeHead(200, { "content-type": "application/json" }).end('{"doc":{"url":"http://169.254.169.254/"}}')
  })
  after(() => api.close())

  const run = async (source: string, input: object = {}): Promise<Response> =>
    service.post("/execute", { workflow_source: source, input })
  const contents = async (of: TestService, file: FileValue): Promise<Buffer> =>
    Buffer.from(await (await of.get(`/files/${file.file_id}`)).arrayBuffer())

  const rendering = (output: string): string => `
mcp m { endpoint: "${mcp.url}" }
tool render from mcp.m.tool.render { output { ${output} } }
dynamic { made: call tool.render }
output { made: dynamic.made }
`

  it("images, sounds and resources of an MCP tool fill its fields in their order", async () => {
    const base64 = png.toString("base64")
    answers.content = [
      { type: "text", text: "A house" },
      { type: "image", mimeType: "image/png", data: base64 },
      { type: "audio", mimeType: "audio/wav", data: wav.toString("base64") },
      {
        type: "resource",
        resource: { uri: "x://docs/A%20b.pdf", mimeType: "application/pdf", blob: pdf.toString("base64") },
      },
    ]
    published.outputSchema = {
      type: "object",
      properties: { caption: { type: "string" } },
      required: ["caption"],
      additionalProperties: false,
    }
    answers.structuredContent = { caption: "A house" }
    const answer = await run(rendering("caption: string  picture: file  others: [file]"))
    delete published.outputSchema
    delete answers.structuredContent
    assert.equal(answer.status, 200, await answer.clone().text())
    const { made } = (await answer.json()) as { made: { caption: string; picture: FileValue; others: FileValue[] } }
    assert.equal(made.caption, "A house")
    assert.deepEqual(facts(made.picture), about(png, "render.png", "image/png"))
    assert.deepEqual(made.others.map(facts), [
      about(wav, "render.wav", "audio/wav"),
      about(pdf, "A b.pdf", "application/pdf"),
    ])
    assert.deepEqual(await contents(service, made.picture), png)
    const run_id = answer.headers.get("x-service-run-id") ?? ""
    const listed = (await (await service.get(`/execute/${run_id}/files`)).json()) as {
      files: { origin: string; step: string }[]
    }
    assert.deepEqual(
      listed.files.map(({ origin, step }) => [origin, step]),
      [1, 2, 3].map(() => ["made", "dynamic.made"]),
    )
    const events = await (await service.get(`/execute/${run_id}/events`)).text()
    assert.equal(events.includes(base64), false, "events have no contents")
  })

  it("what a tool says of files in its JSON counts for nothing", async () => {
    const foreign = await service.get("/files").then(() => "file_0123456789abcdef0123456789abcdef")
    for (const picture of [{ url: "http://169.254.169.254/" }, { file_id: foreign }, "data:image/png;base64,AAAA"]) {
      answers.content = [{ type: "text", text: JSON.stringify({ caption: "x", picture }) }]
      const answer = await run(rendering("caption: string  picture: maybe file"))
      assert.equal(answer.status, 200, await answer.clone().text())
      assert.deepEqual(await answer.json(), { made: { caption: "x", picture: null } })
    }
    answers.content = [{ type: "text", text: JSON.stringify({ deep: [{ picture: { file_id: foreign } }] }) }]
    const deep = await run(rendering("deep: [{ picture: file }]"))
    assert.equal(((await deep.json()) as ErrorBody).error.kind, "tool_error")
  })

  it("a missing file, one of another type, and one that was cut off fail the call", async () => {
    const picture = (more: object): object[] => [
      { type: "image", mimeType: "image/png", data: png.toString("base64"), ...more },
    ]
    for (const [given, output] of [
      [[{ type: "text", text: "nothing" }], "picture: file"],
      [picture({ mimeType: "image/jpeg" }), "picture: file"],
      [picture({ data: "iVBOR" }), "picture: file"],
    ] as const) {
      answers.content = [...given]
      const answer = await run(rendering(output))
      const { error } = (await answer.json()) as ErrorBody
      assert.equal(error.kind, "tool_error", JSON.stringify(given))
    }
  })

  it("an answer of an API that is not JSON is the file of its tool", async () => {
    const source = `
input { name: string }
api a { endpoint: "${api.origin}" }
tool get from api.a."GET /docs/{name}" { input { name: string }  output { doc: file } }
dynamic { got: call tool.get { input { name: input.name } } }
output { doc: dynamic.got.doc }
`
    const answer = await run(source, { name: "report 1.pdf" })
    assert.equal(answer.status, 200, await answer.clone().text())
    const { doc } = (await answer.json()) as { doc: FileValue }
    assert.deepEqual(facts(doc), about(pdf, "report 1.pdf", "application/pdf"))
    assert.deepEqual(await contents(service, doc), pdf)
    for (const name of ["lie.pdf", "json"]) {
      const failed = await run(source, { name })
      assert.equal(((await failed.json()) as ErrorBody).error.kind, "tool_error", name)
    }
  })

  it("a model reads what is known of a file, and the step's output may name none", async () => {
    answers.content = [{ type: "image", mimeType: "image/png", data: png.toString("base64") }]
    const source = `
mcp m { endpoint: "${mcp.url}" }
tool render from mcp.m.tool.render { output { picture: file } }
provider demo from openai { endpoint: "demo" }
model fast from demo { id: "demo" }
agent ask { model: model.fast  uses: [tool.render]  instruction: "Use render"  output { words: string } }
output { words: agent.ask.words }
`
    const answer = await run(source)
    assert.equal(answer.status, 200, await answer.clone().text())
    const run_id = answer.headers.get("x-service-run-id") ?? ""
    const { files } = (await (await service.get(`/execute/${run_id}/files`)).json()) as { files: { step: string }[] }
    assert.ok(files.length > 0 && files.every(({ step }) => step === "agent.ask"))
    const events = await (await service.get(`/execute/${run_id}/events`)).text()
    assert.equal(events.includes(png.toString("base64")), false)
  })
})

describe("files that tools are given", async () => {
  const service = await startService({ DEMO: "on", STORE: "memory" })
  const run = async (source: string, input: object = {}): Promise<Response> =>
    service.post("/execute", { workflow_source: source, input })
  const received: { type: string; body: Buffer }[] = []
  const api = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      received.push({ type: request.headers["content-type"] ?? "", body: Buffer.concat(chunks) })
      response.writeHead(200, { "content-type": "application/json" }).end('{"ok":true}')
    })
  })
  await new Promise<void>((resolve) => api.listen(0, "127.0.0.1", resolve))
  after(() => api.close())
  const origin = `http://127.0.0.1:${(api.address() as AddressInfo).port}`
  const values: JsonObject[] = []
  const mcp = await tinyMcp(
    {
      keep: (call) => {
        values.push(call.values)
        return { content: [{ type: "text", text: '{"ok":true}' }] }
      },
    },
    {
      inputSchema: {
        type: "object",
        properties: { doc: { type: "string" }, note: { type: "string" } },
        required: ["doc"],
        additionalProperties: false,
      },
    },
  )
  after(() => mcp.close())
  const contract = { data: pdf.toString("base64"), media_type: "application/pdf", name: 'a "1".pdf' }
  const head = "input { contract: file  photos: [file] }\n"
  const input = { contract, photos: [{ data: png.toString("base64"), media_type: "image/png", name: "p.png" }] }
  const eventsOf = async (answer: Response): Promise<string> => {
    const run_id = answer.headers.get("x-service-run-id") ?? ""
    return (await service.get(`/execute/${run_id}/events`)).text()
  }

  it("an API gets a file as the whole body, or a form with a part for each argument", async () => {
    const whole = await run(
      `${head}api a { endpoint: "${origin}" }
tool put from api.a."PUT /docs/{id}" { input { id: string  doc: file } output { ok: boolean } send { doc: body } }
output { done: call tool.put { input { id: "1"  doc: input.contract } } }
`,
      input,
    )
    assert.equal(whole.status, 200, await whole.clone().text())
    assert.deepEqual(received.at(-1), { type: "application/pdf", body: pdf })
    const events = await eventsOf(whole)
    assert.equal(events.includes(contract.data), false)
    assert.ok(events.includes('"sha256"'))

    const form = await run(
      `${head}api a { endpoint: "${origin}" }
tool post from api.a."POST /docs" { input { title: string  doc: file  photos: [file]  tags: [string] } output { ok: boolean } }
output { done: call tool.post { input { title: "Ä"  doc: input.contract  photos: input.photos  tags: ["x", "y"] } } }
`,
      input,
    )
    assert.equal(form.status, 200, await form.clone().text())
    const last = received.at(-1)
    const parsed = await new Response(new Uint8Array(last?.body ?? []), {
      headers: { "content-type": last?.type ?? "" },
    }).formData()
    assert.deepEqual([...parsed.keys()], ["title", "doc", "photos", "tags"])
    assert.equal(parsed.get("title"), "Ä")
    assert.equal(parsed.get("tags"), '["x","y"]')
    for (const [name, bytes, called, type] of [
      ["doc", pdf, 'a "1".pdf', "application/pdf"],
      ["photos", png, "p.png", "image/png"],
    ] as const) {
      const part = parsed.get(name)
      assert.ok(part instanceof File)
      assert.deepEqual([part.name, part.type, Buffer.from(await part.arrayBuffer())], [called, type, bytes])
    }
  })

  it("an MCP server gets a data URL of at most 1 MiB, from the workflow and by a binding", async () => {
    const tool = `mcp m { endpoint: "${mcp.url}" }\n`
    const url = `data:application/pdf;base64,${contract.data}`
    for (const declared of ["", "{ input { doc: file  note: string } }"]) {
      const called = await run(
        `${head}${tool}tool keep from mcp.m.tool.keep ${declared}
output { done: call tool.keep { input { doc: input.contract  note: "n" } } }
`,
        input,
      )
      assert.equal(called.status, 200, await called.clone().text())
      assert.deepEqual(values.at(-1), { doc: url, note: "n" })
      assert.equal((await eventsOf(called)).includes(contract.data), false)
    }
    const bound = await run(
      `${head}${tool}tool keep from mcp.m.tool.keep { input { doc: file  note: string } }
provider demo from openai { endpoint: "demo" }
model fast from demo { id: "demo" }
agent ask { model: model.fast  uses: [tool.keep { bindings { doc: input.contract } }]  instruction: "Use keep"  output { words: string } }
output { words: agent.ask.words }
`,
      input,
    )
    assert.equal(bound.status, 200, await bound.clone().text())
    assert.equal(values.at(-1)?.["doc"], url)
    const large = { data: Buffer.alloc(1_048_577).toString("base64") }
    const refused = await run(
      `${head}${tool}tool keep from mcp.m.tool.keep
output { done: call tool.keep { input { doc: input.contract  note: "n" } } }
`,
      { contract: large, photos: [] },
    )
    assert.equal(((await refused.json()) as ErrorBody).error.kind, "limit_exceeded")
  })

  it("a model cannot give a file, and a file has no place but a body", async () => {
    const issues = async (source: string): Promise<string> => (await run(source, input)).text()
    const agent = (uses: string): string => `provider demo from openai { endpoint: "demo" }
model fast from demo { id: "demo" }
agent ask { model: model.fast  uses: [${uses}]  instruction: "Use it"  output { words: string } }
output { words: agent.ask.words }
`
    const tool = `${head}mcp m { endpoint: "${mcp.url}" }\ntool keep from mcp.m.tool.keep { input { doc: maybe file  note: string } }\n`
    assert.match(
      await issues(tool + agent("tool.keep")),
      /A model cannot give a file, and nothing binds the argument `doc`/,
    )
    for (const [route, send] of [
      ["GET /docs", ""],
      ["POST /docs", "send { doc: query }"],
      ["POST /docs", 'send { doc: header "X-Doc" }'],
      ["POST /docs", "send { note: body }"],
    ]) {
      const source = `${head}api a { endpoint: "${origin}" }
tool t from api.a."${route}" { input { doc: file  note: string } output { ok: boolean } ${send} }
output { done: call tool.t { input { doc: input.contract  note: "n" } } }
`
      assert.match(await issues(source), /sent in the body of a request|A header is a string/, `${route} ${send}`)
    }
  })
})
