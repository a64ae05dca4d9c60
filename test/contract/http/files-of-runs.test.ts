import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { after, describe, it } from "node:test"
import { startService, type ErrorBody, type TestService } from "./start-service.ts"

const ann = { authorization: "Bearer ann-key" }
const bob = { authorization: "Bearer bob-key" }

interface FileValue {
  readonly file_id: string
  readonly name: string
  readonly media_type: string
  readonly bytes: number
  readonly sha256: string
}

function post(service: TestService, path: string, body: unknown, headers: object = ann): Promise<Response> {
  return fetch(`${service.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  })
}

function execute(
  service: TestService,
  workflow_source: string,
  input: object,
  headers: object = ann,
): Promise<Response> {
  return post(service, "/execute", { workflow_source, input }, headers)
}

async function send(service: TestService, text: string, name: string, type: string): Promise<FileValue> {
  const answer = await fetch(`${service.url}/files`, {
    method: "POST",
    body: text,
    headers: { ...ann, "content-type": type, "content-disposition": `attachment; filename="${name}"` },
  })
  assert.equal(answer.status, 201)
  return (await answer.json()) as FileValue
}

async function failed(
  answer: Response,
): Promise<{ readonly status: number; readonly kind: string; readonly path: string }> {
  const { error } = (await answer.json()) as ErrorBody & { readonly error: { readonly issues: { path: string }[] } }
  return { status: answer.status, kind: error.kind, path: error.issues[0]?.path ?? "" }
}

const copies = `
input {
    contract: file
}

output {
    contract: input.contract
    name: input.contract.name
    size: input.contract.bytes
    text: text_of(input.contract)
    copy: make_file("copy.md", "# {{ text_of(input.contract) }}")
}
`

const reads = `
input {
    contract: file
    photos: [file]
}

provider demo from openai {
    endpoint: "demo"
}

model m from demo {
    id: "demo"
    assets: ["document", "image"]
}

agent read {
    model: model.m
    instruction: "Read. {{ asset input.contract }} {{ asset input.photos }}"

    output {
        months: integer
    }
}

output {
    months: agent.read.months
}
`

describe("files of runs", async () => {
  const service = await startService({ API_KEYS: "ann:ann-key,bob:bob-key", DEMO: "on", STORE: "memory" })

  it("a run gets a file by its id, reads it, and makes one that its caller can get", async () => {
    const contract = await send(service, "Notice: 3 months", "contract.txt", "text/plain")
    const answer = await execute(service, copies, { contract: { file_id: contract.file_id } })
    assert.equal(answer.status, 200)
    const output = (await answer.json()) as { copy: FileValue; contract: FileValue; text: string; size: number }
    const { file_id, name, media_type, bytes, sha256 } = contract
    assert.deepEqual(output.contract, { file_id, name, media_type, bytes, sha256 })
    assert.equal(output.text, "Notice: 3 months")
    assert.equal(output.size, 16)
    const text = "# Notice: 3 months"
    const { file_id: copyId, ...copy } = output.copy
    assert.deepEqual(copy, {
      name: "copy.md",
      media_type: "text/markdown",
      bytes: text.length,
      sha256: createHash("sha256").update(text).digest("hex"),
    })
    const got = await fetch(`${service.url}/files/${copyId}`, { headers: ann })
    assert.equal(await got.text(), text)
    assert.equal((await fetch(`${service.url}/files/${copyId}`, { headers: bob })).status, 404)
    const run_id = answer.headers.get("x-service-run-id")
    const listed = await fetch(`${service.url}/execute/${run_id}/files`, { headers: ann })
    const { files } = (await listed.json()) as { files: { file_id: string; origin: string; step?: string }[] }
    assert.deepEqual(
      files.map((file) => [file.file_id, file.origin, file.step]),
      [
        [file_id, "input", undefined],
        [copyId, "made", "output"],
      ],
    )
  })

  it("a file that is not the caller's, or gone, is refused at its path before the run begins", async () => {
    const mine = await send(service, "Mine", "mine.txt", "text/plain")
    const refused = { status: 422, kind: "input_error", path: "input.contract" }
    const given = { contract: { file_id: mine.file_id } }
    assert.deepEqual(await failed(await execute(service, copies, given, bob)), refused)
    assert.deepEqual(await failed(await execute(service, copies, { contract: { file_id: "file_0" } })), refused)
    await fetch(`${service.url}/files/${mine.file_id}`, { method: "DELETE", headers: ann })
    assert.deepEqual(await failed(await execute(service, copies, given)), refused)
    for (const contract of [null, 3, "hello", { data: "%" }, { url: 1 }, { file_id: "a", more: 1 }]) {
      assert.deepEqual(await failed(await execute(service, copies, { contract })), refused)
    }
    const lie = { contract: { data: Buffer.from("hello").toString("base64"), media_type: "image/png" } }
    assert.deepEqual(await failed(await execute(service, copies, lie)), refused)
  })

  it("a file is given as data and as a data URL, and the same contents are one file", async () => {
    const data = Buffer.from("Inline").toString("base64")
    const first = await execute(service, copies, { contract: { data, media_type: "text/plain", name: "../a.txt" } })
    const one = (await first.json()) as { contract: FileValue; text: string }
    assert.equal(one.text, "Inline")
    assert.equal(one.contract.name, "..a.txt")
    const again = await execute(service, copies, { contract: { data, media_type: "text/plain", name: "../a.txt" } })
    assert.equal(((await again.json()) as { contract: FileValue }).contract.file_id, one.contract.file_id)
    const url = await execute(service, copies, { contract: `data:text/plain;base64,${data}` })
    assert.equal(((await url.json()) as { contract: FileValue }).contract.name, "file")
  })

  it("a file is fetched once by its address; one that cannot be had ends the run at that place", async () => {
    let asked = 0
    const server = createServer((request, reply) => {
      asked++
      if (request.url === "/notes%20a.txt") reply.setHeader("content-type", "text/plain").end("From afar")
      else reply.writeHead(404).end()
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    after(() => server.close())
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const fetched = await execute(service, copies, { contract: { url: `${origin}/notes%20a.txt` } })
    const output = (await fetched.json()) as { contract: FileValue; text: string; name: string }
    assert.deepEqual([output.text, output.name, asked], ["From afar", "notes a.txt", 1])
    const at = { status: 422, kind: "input_error", path: "input.contract.url" }
    assert.deepEqual(await failed(await execute(service, copies, { contract: { url: `${origin}/none` } })), at)
    const metadata = { contract: { url: "http://169.254.169.254/latest" } }
    assert.deepEqual(await failed(await execute(service, copies, metadata)), at)
    assert.deepEqual(await failed(await execute(service, copies, { contract: { url: "ftp://a/b" } })), at)
  })

  it("a model gets the contents; events and the kept request have the id", async () => {
    const page = `%PDF-1.7 ${"a page of text ".repeat(20_000)}`
    const contract = await send(service, page, "a.pdf", "application/pdf")
    const answer = await execute(service, reads, { contract: { file_id: contract.file_id }, photos: [] })
    assert.equal(answer.status, 200)
    const run_id = answer.headers.get("x-service-run-id")
    const call = await (await fetch(`${service.url}/execute/${run_id}/calls/read.1.1`, { headers: ann })).text()
    const usage = (await (await fetch(`${service.url}/execute/${run_id}`, { headers: ann })).json()) as {
      usage: { input_tokens: number }
    }
    assert.ok(usage.usage.input_tokens > page.length / 8, "the model has read the contents")
    assert.ok(call.includes(contract.file_id))
    assert.ok(call.length < 20_000, `${call.length} characters of the request are kept`)
  })

  it("what a workflow makes is refused where its text is not of its type", async () => {
    const source = 'output { doc: make_file("a.png", "hello") }'
    assert.deepEqual(await failed(await execute(service, source, {})), {
      status: 422,
      kind: "evaluation_error",
      path: "output.doc",
    })
  })
})

describe("a service without files", async () => {
  const service = await startService({ FILES: "none", STORE: "memory" })

  it("takes and makes none", async () => {
    const contract = { data: "aGVsbG8=" }
    const refused = await failed(await execute(service, copies, { contract }, {}))
    assert.deepEqual(refused, { status: 422, kind: "input_error", path: "input.contract" })
    const made = await failed(await execute(service, 'output { doc: make_file("a.txt", "hello") }', {}, {}))
    assert.equal(made.kind, "evaluation_error")
  })
})
