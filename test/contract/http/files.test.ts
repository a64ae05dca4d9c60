import assert from "node:assert/strict"
import { createHash, randomBytes } from "node:crypto"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import { gzipSync } from "node:zlib"
import { sendRaw, type RawOptions } from "../../support/raw-http.ts"
import { WireworksClient } from "../../support/built-client.ts"
import { startService, type ErrorBody, type TestService } from "./start-service.ts"

const ann = { authorization: "Bearer ann-key" }
const bob = { authorization: "Bearer bob-key" }
const operator = { authorization: "Bearer op-key" }
const keys = { API_KEYS: "ann:ann-key,bob:bob-key", OPERATOR_KEYS: "op:op-key" }

interface Meta {
  readonly file_id: string
  readonly name: string
  readonly media_type: string
  readonly bytes: number
  readonly sha256: string
  readonly created_at: string
  readonly expires_at: string
  readonly runs?: readonly string[]
}

const folder = mkdtempSync(join(tmpdir(), "wireworks-files-"))
after(() => rmSync(folder, { recursive: true }))

function send(
  service: TestService,
  body: string | Uint8Array<ArrayBuffer> | FormData,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${service.url}/files`, { method: "POST", body, headers: { ...ann, ...headers } })
}

async function sent(
  service: TestService,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<Meta> {
  const answer = await send(service, body, headers)
  assert.equal(answer.status, 201)
  return (await answer.json()) as Meta
}

async function kindOf(answer: Response): Promise<string> {
  return ((await answer.json()) as ErrorBody).error.kind
}

/** All bytes in a folder, whatever they are called. */
function bytesIn(path: string): Buffer {
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
  return Buffer.concat(files.map(({ parentPath, name }) => readFileSync(join(parentPath, name))))
}

describe("files over HTTP", async () => {
  const service = await startService({
    ...keys,
    STORE: "sqlite",
    DATA_DIR: folder,
    MAX_FILE: "2mb",
    MAX_FILES_PER_CALLER: "3mb",
  })

  it("a file is stored once, read whole, in ranges, and by its tag", async () => {
    const bytes = randomBytes(300_000)
    const headers = {
      "content-type": "text/plain; charset=utf-8",
      "content-disposition": 'attachment; filename="notes.txt"',
    }
    const first = await sent(service, bytes, headers)
    assert.match(first.file_id, /^file_[0-9a-f]{32}$/)
    assert.deepEqual(
      [first.name, first.media_type, first.bytes, first.sha256],
      ["notes.txt", "text/plain; charset=utf-8", 300_000, createHash("sha256").update(bytes).digest("hex")],
    )
    assert.equal(Date.parse(first.expires_at) - Date.parse(first.created_at), 24 * 3_600_000)
    const again = await send(service, bytes, headers)
    assert.equal(again.status, 200)
    assert.equal(((await again.json()) as Meta).file_id, first.file_id)
    const path = `/files/${first.file_id}`

    const whole = await service.get(path, ann)
    assert.ok(Buffer.from(await whole.arrayBuffer()).equals(bytes))
    const shown = Object.fromEntries(whole.headers)
    assert.equal(shown["content-type"], "text/plain; charset=utf-8")
    assert.equal(shown["content-length"], "300000")
    assert.equal(shown["content-disposition"], "attachment; filename=\"notes.txt\"; filename*=UTF-8''notes.txt")
    assert.equal(shown["x-content-type-options"], "nosniff")
    assert.equal(shown["content-security-policy"], "sandbox; default-src 'none'")
    assert.equal(shown["cache-control"], "private, no-store")
    assert.equal(shown["cross-origin-resource-policy"], "same-origin")

    const head = await fetch(`${service.url}${path}`, { method: "HEAD", headers: ann })
    assert.deepEqual([head.status, head.headers.get("content-length"), await head.text()], [200, "300000", ""])
    assert.equal((await service.get(path, { ...ann, "if-none-match": shown["etag"] ?? "" })).status, 304)
    for (const [range, from, to] of [
      ["0-0", 0, 1],
      ["65535-65536", 65_535, 65_537],
      ["299990-", 299_990, 300_000],
      ["-5", 299_995, 300_000],
      ["131072-999999", 131_072, 300_000],
    ] as const) {
      const part = await service.get(path, { ...ann, range: `bytes=${range}` })
      assert.deepEqual([part.status, part.headers.get("content-range")], [206, `bytes ${from}-${to - 1}/300000`])
      assert.ok(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(from, to)), range)
    }
    const outside = await service.get(path, { ...ann, range: "bytes=300000-" })
    assert.deepEqual([outside.status, outside.headers.get("content-range")], [416, "bytes */300000"])
    const far = await service.get(path, { ...ann, range: `bytes=${"9".repeat(30)}-` })
    assert.deepEqual([far.status, await kindOf(far)], [416, "invalid_request"])
    const all = await service.get(path, { ...ann, range: `bytes=-${"9".repeat(30)}` })
    assert.deepEqual([all.status, all.headers.get("content-range")], [206, "bytes 0-299999/300000"])
    for (const range of ["lines=1-2", "bytes=5-2", "bytes=0-1,3-4", "bytes=-", "bytes=0x1-2"]) {
      assert.equal((await service.get(path, { ...ann, range })).status, 200, range)
    }

    // Nothing of it can be read where it is kept, nor its name.
    const kept = bytesIn(folder)
    assert.equal(kept.indexOf(bytes.subarray(1_000, 1_032)), -1)
    assert.equal(kept.indexOf("notes.txt"), -1)
    assert.equal(kept.indexOf(first.sha256), -1)
  })

  it("a form with one part is a file; other forms are refused", async () => {
    const form = new FormData()
    form.set("file", new File(["a,b\r\n--x\r\n1,2"], 'Zahlen "ü".csv', { type: "text/csv" }))
    const answer = await send(service, form)
    assert.equal(answer.status, 201)
    const { file_id, name, media_type, bytes } = (await answer.json()) as Meta
    assert.deepEqual([name, media_type, bytes], ['Zahlen "ü".csv', "text/csv", 13])
    assert.equal(await (await service.get(`/files/${file_id}`, ann)).text(), "a,b\r\n--x\r\n1,2")
    form.append("file", new File(["more"], "b.csv"))
    assert.equal((await send(service, form)).status, 400)
    const other = new FormData()
    other.set("document", new File(["x"], "x.txt"))
    assert.equal((await send(service, other)).status, 400)
    for (const [body, type] of [
      ["--b\r\n", "multipart/form-data; boundary=b"],
      ["", "multipart/form-data; boundary=b"],
      ["x", "multipart/form-data"],
      ['--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nhalf', "multipart/form-data; boundary=b"],
    ] as const) {
      assert.equal((await send(service, body, { "content-type": type })).status, 400, body)
    }
    const { files } = (await (await service.get("/files?limit=500", ann)).json()) as { readonly files: readonly Meta[] }
    assert.deepEqual(
      files.filter(({ name: found }) => found === "file" || found === "x.txt"),
      [],
    )
  })

  it("a type that the first bytes belie is refused, and one that nobody can tell is not", async () => {
    const png = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), randomBytes(5)])
    assert.equal((await sent(service, png, { "content-type": "image/png" })).media_type, "image/png")
    for (const type of ["image/jpeg", "application/pdf", "audio/wav", "image/svg+xml", "IMAGE/GIF; a=b"]) {
      const refused = await send(service, png, { "content-type": type })
      assert.deepEqual([refused.status, await kindOf(refused)], [415, "unsupported_media_type"], type)
    }
    assert.equal((await send(service, new Uint8Array(0), { "content-type": "application/x-any" })).status, 201)
    assert.equal((await send(service, "x", { "content-type": "no type" })).status, 415)
  })

  it("a script in a picture runs nowhere: it is a download without rights", async () => {
    const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
    const { file_id } = await sent(service, svg, { "content-type": "image/svg+xml" })
    const { headers } = await service.get(`/files/${file_id}`, ann)
    assert.match(headers.get("content-disposition") ?? "", /^attachment;/)
    assert.equal(headers.get("content-security-policy"), "sandbox; default-src 'none'")
    assert.equal(headers.get("x-content-type-options"), "nosniff")
  })

  it("hostile names become harmless ones", async () => {
    const names: readonly (readonly [given: string, stored: string])[] = [
      ["..%2F..%2Fetc%2Fpasswd", "....etcpasswd"],
      ["C%3A%5Cwin.ini", "C:win.ini"],
      ["a%0D%0ASet-Cookie%3A%20x%3D1%00.txt", "aSet-Cookie: x=1.txt"],
      ["invoice%E2%80%AEfdp.exe", "invoicefdp.exe"],
      ["..", "file"],
      ["%20%20", "file"],
      ["%22%3B%20filename%3D%22x.html", '"; filename="x.html'],
      ["a%D8%9Cb%C2%85.txt", "ab.txt"],
      ["in%E2%80%8Bvisible%F3%A0%81%81%EF%BB%BF", "invisible"],
      ["%D9%85%DB%8C%E2%80%8C%D8%B1.pdf", "می\u200Cر.pdf"],
      ["x".repeat(5_000), "x".repeat(255)],
      ["%E6%97%A5%E6%9C%AC%F0%9F%98%80.pdf", "日本😀.pdf"],
    ]
    for (const [given, stored] of names) {
      const { name, file_id } = await sent(service, `of ${given}`, {
        "content-disposition": `attachment; filename*=UTF-8''${given}`,
      })
      assert.equal(name, stored)
      const { headers } = await service.get(`/files/${file_id}`, ann)
      const shown = headers.get("content-disposition") ?? ""
      assert.equal(decodeURIComponent(/filename\*=UTF-8''(\S+)$/.exec(shown)?.[1] ?? ""), stored)
      assert.match(shown, /^attachment; filename="[^"\\]*"; filename\*=UTF-8''[^\s;"]*$/)
      assert.equal(headers.get("set-cookie"), null)
    }
    assert.equal((await send(service, "x", { "content-disposition": "attachment; filename*=UTF-8''%zz" })).status, 400)
    for (const [disposition, stored] of [
      ['attachment; name="; filename=b"; filename="a.txt"', "a.txt"],
      ['attachment; title="\\"; filename=b; \\""; FileName = a.txt', "a.txt"],
      ["attachment; xfilename=b.txt", "file"],
      ['attachment; filename="a.txt"; filename="b.txt"', "a.txt"],
    ] as const) {
      assert.equal((await sent(service, disposition, { "content-disposition": disposition })).name, stored)
    }
  })

  it("others see nothing of a file, and operators no contents", async () => {
    const { file_id } = await sent(service, "mine")
    const path = `/files/${file_id}`
    for (const one of [path, `${path}/meta`]) assert.equal((await service.get(one, bob)).status, 404)
    assert.equal((await fetch(`${service.url}${path}`, { method: "DELETE", headers: bob })).status, 404)
    assert.deepEqual(await (await service.get("/files", bob)).json(), { files: [], next: null })
    assert.equal((await service.get(path, operator)).status, 403)
    const meta = (await (await service.get(`${path}/meta`, operator)).json()) as Meta
    assert.deepEqual([meta.file_id, meta.runs], [file_id, []])
    assert.equal((await service.get("/files/file_none", ann)).status, 404)
    assert.equal((await service.get(path)).status, 401)
  })

  it("what lies about its length or how it is encoded is not stored", async () => {
    const before = (await (await service.get("/files?limit=500", ann)).json()) as { readonly files: readonly Meta[] }
    const bomb = gzipSync(Buffer.alloc(10_000_000))
    const packed = await send(service, bomb, { "content-encoding": "gzip", "content-type": "text/plain" })
    assert.deepEqual([packed.status, await kindOf(packed)], [415, "unsupported_media_type"])
    const head = "POST /files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ann-key\r\n"
    const statuses = async (rest: string, options: RawOptions = {}): Promise<readonly number[]> =>
      (await sendRaw(service.port, head + rest, options)).answers.map(({ status }) => status)
    for (const lie of [
      "Content-Length: 4\r\n\r\nlies and more\r\n\r\n",
      "Content-Length: 3\r\nContent-Length: 4\r\n\r\nlies",
      "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nlies\r\n0\r\n\r\n",
      "Content-Length: -4\r\n\r\nlies",
      "Content-Length: 99999999999999999999\r\n\r\nlies",
      // They end before they are whole.
      "Content-Length: 100\r\n\r\nhalf",
      "Transfer-Encoding: chunked\r\n\r\n9\r\nhalf",
    ]) {
      assert.notEqual((await statuses(lie, { end: true }))[0] ?? 400, 201, lie)
    }
    const after = (await (await service.get("/files?limit=500", ann)).json()) as { readonly files: readonly Meta[] }
    assert.deepEqual(after, before)
  })

  it("a client that leaves in the middle of its file is no error of the service", async () => {
    const lines: string[] = []
    const note = (_: unknown, message: string): void => void lines.push(message)
    const silent = (): void => undefined
    const log = { debug: silent, info: silent, warn: note, error: note }
    const left = await startService({ MAX_FILE: "1mb" }, { log })
    for (const body of ["Content-Length: 100\r\n\r\nhalf", "Transfer-Encoding: chunked\r\n\r\n9\r\nhalf"]) {
      const { answers } = await sendRaw(left.port, `POST /files HTTP/1.1\r\nHost: x\r\n${body}`, { end: true })
      assert.deepEqual(
        answers.map(({ status }) => status),
        [400],
      )
    }
    await left.stop()
    assert.deepEqual(lines, [])
  })

  it("an id that is none, whatever it looks like, is a file that is not there", async () => {
    for (const id of ["..%2f..%2fetc%2fpasswd", "%00", "__proto__", "file_' OR 1=1", "x".repeat(3_000)]) {
      const answer = await service.get(`/files/${id}`, ann)
      assert.deepEqual([answer.status, await kindOf(answer)], [404, "not_found"], id)
    }
  })

  it("the list has the newest first, page by page", async () => {
    for (const name of ["one", "two", "three"])
      await sent(service, `list ${name}`, { "content-disposition": `attachment; filename=${name}` })
    const page = (await (await service.get("/files?limit=2", ann)).json()) as { files: Meta[]; next: string }
    assert.deepEqual(
      page.files.map(({ name }) => name),
      ["three", "two"],
    )
    const more = (await (await service.get(`/files?limit=1&after=${page.next}`, ann)).json()) as { files: Meta[] }
    assert.deepEqual(
      more.files.map(({ name }) => name),
      ["one"],
    )
    assert.equal((await service.get("/files?after=x", ann)).status, 400)
  })

  it("a deleted file is gone at once", async () => {
    const { file_id } = await sent(service, "to be deleted")
    const path = `${service.url}/files/${file_id}`
    assert.equal((await fetch(path, { method: "DELETE", headers: ann })).status, 204)
    assert.equal((await fetch(path, { headers: ann })).status, 404)
    assert.equal((await fetch(path, { method: "DELETE", headers: ann })).status, 404)
    assert.notEqual((await sent(service, "to be deleted")).file_id, file_id)
  })

  it("files that are too large or too many are refused, before and while they come", async () => {
    const refused = await send(service, randomBytes(2 * 1024 * 1024 + 1))
    assert.deepEqual([refused.status, await kindOf(refused)], [413, "payload_too_large"])
    const chunked = await new Promise<number>((resolve, reject) => {
      const going = request(`${service.url}/files`, {
        method: "POST",
        headers: { ...ann, "transfer-encoding": "chunked" },
      })
      going.once("response", (response) => resolve(response.resume().statusCode ?? 0)).once("error", reject)
      for (let n = 0; n < 40; n++) going.write(randomBytes(64 * 1024))
      going.end()
    })
    assert.equal(chunked, 413)
    const kinds: string[] = []
    for (let n = 0; n < 3; n++) {
      const answer = await send(service, randomBytes(1_500_000))
      kinds.push(answer.status === 201 ? "stored" : `${answer.status} ${await kindOf(answer)}`)
    }
    assert.deepEqual(kinds, ["stored", "429 storage_full", "429 storage_full"])
    const ofBob = await fetch(`${service.url}/files`, { method: "POST", body: "small", headers: bob })
    assert.equal(ofBob.status, 201)
  })

  it("the metrics have bytes and counts", async () => {
    const text = await (await service.get("/metrics", ann)).text()
    assert.match(text, /^wire_files_bytes [1-9]\d*$/m)
    assert.match(text, /^wire_files_total [1-9]\d*$/m)
  })

  it("a run has its list of files", async () => {
    const run = await service.post("/execute", { workflow_source: "output {\n    a: 1\n}\n", input: {} }, ann)
    assert.equal(run.status, 200)
    const run_id = run.headers.get("x-service-run-id") ?? ""
    assert.deepEqual(await (await service.get(`/execute/${run_id}/files`, ann)).json(), { files: [] })
    assert.equal((await service.get(`/execute/${run_id}/files`, bob)).status, 404)
  })
})

it("the typed client sends blobs, bytes, streams and paths, and reads files as streams", async () => {
  const service = await startService()
  const client = new WireworksClient({ baseUrl: service.url })
  const text = async (file_id: string): Promise<string> => new Response(await client.file(file_id)).text()
  const blob = await client.sendFile(new File(["of a blob"], "ünï.md", { type: "text/markdown" }))
  assert.deepEqual([blob.name, blob.media_type, await text(blob.file_id)], ["ünï.md", "text/markdown", "of a blob"])
  const bytes = await client.sendFile(Buffer.from("of bytes"), { name: "b.bin" })
  assert.deepEqual(
    [bytes.name, bytes.media_type, await text(bytes.file_id)],
    ["b.bin", "application/octet-stream", "of bytes"],
  )
  const stream = await client.sendFile(new Blob(["of a stream"]).stream() as ReadableStream<Uint8Array>, {
    media_type: "text/plain",
  })
  assert.deepEqual([stream.name, await text(stream.file_id)], ["file", "of a stream"])
  const path = await client.sendFile(import.meta.filename)
  assert.deepEqual([path.name, await text(path.file_id)], ["files.test.ts", readFileSync(import.meta.filename, "utf8")])
  assert.deepEqual(
    (await client.files({ limit: 1 })).files.map(({ name }) => name),
    ["files.test.ts"],
  )
  await client.deleteFile(path.file_id)
  await assert.rejects(client.fileMeta(path.file_id), { kind: "not_found" })
})

it("a service without files has none of their routes", async () => {
  const service = await startService({ FILES: "none" })
  for (const [method, path] of [
    ["POST", "/files"],
    ["GET", "/files"],
    ["GET", "/files/x"],
    ["GET", "/files/x/meta"],
    ["DELETE", "/files/x"],
  ] as const) {
    assert.equal((await fetch(`${service.url}${path}`, { method })).status, 404, `${method} ${path}`)
  }
})
