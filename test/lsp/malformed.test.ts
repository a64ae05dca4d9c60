import assert from "node:assert/strict"
import { once } from "node:events"
import { after, before, test } from "node:test"
import { FrameReader } from "../../src/lsp/framing.ts"
import { within } from "../support/within.ts"
import { spawnLsp } from "./start-lsp.ts"

// One server takes all of this, message after message, and still answers at the end.

interface Answer {
  readonly id?: number | string | null
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
  readonly method?: string
}

const child = spawnLsp()
const answers: Answer[] = []
let look: () => void = () => {}
const reader = new FrameReader()
child.stdout.on("data", (chunk: Buffer) => {
  for (const frame of reader.read(chunk)) {
    assert.ok(frame.kind === "message")
    answers.push(JSON.parse(frame.text) as Answer)
  }
  look()
})

function send(message: unknown): void {
  const body = Buffer.from(typeof message === "string" ? message : JSON.stringify(message))
  child.stdin.write(Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]))
}

/** The next message that is not a notification. */
async function next(what: string): Promise<Answer> {
  const come = new Promise<Answer>((resolve) => {
    look = () => {
      const index = answers.findIndex((one) => one.method === undefined)
      if (index >= 0) resolve(answers.splice(index, 1)[0] ?? {})
    }
    look()
  })
  return within(30_000, `the answer to ${what}`, come)
}

let id = 0
async function ask(method: string, params?: unknown): Promise<Answer> {
  id++
  send({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) })
  const answer = await next(method)
  assert.equal(answer.id, id)
  return answer
}

before(async () => {
  assert.equal((await ask("textDocument/hover", {})).error?.code, -32002, "nothing before initialize")
  assert.ok(
    (await ask("initialize", { capabilities: { textDocument: 3, general: { positionEncodings: "utf-8" } } })).result,
  )
})

after(async () => {
  const closed = once(child, "close")
  assert.equal((await ask("shutdown")).result, null)
  assert.equal((await ask("textDocument/hover", {})).error?.code, -32600, "nothing after shutdown")
  send({ jsonrpc: "2.0", method: "exit" })
  await within(30_000, "the end", closed)
  assert.equal(child.exitCode, 0)
})

test("what is not JSON, or not JSON-RPC, is refused", async () => {
  const cases: [unknown, number, number | string | null][] = [
    ["{ not json", -32700, null],
    ["", -32700, null],
    [[], -32600, null],
    [null, -32600, null],
    ['"text"', -32600, null],
    [{ id: 7, method: "textDocument/hover" }, -32600, 7],
    [{ jsonrpc: "2.0", id: 8 }, -32600, 8],
    [{ jsonrpc: "2.0", id: 9, method: 3 }, -32600, 9],
    [{ jsonrpc: "2.0", id: {}, method: "shutdown" }, -32600, null],
    [{ jsonrpc: "2.0", id: null, method: "shutdown" }, -32600, null],
  ]
  for (const [message, code, about] of cases) {
    send(message)
    const answer = await next(JSON.stringify(message))
    assert.equal(answer.error?.code, code, JSON.stringify(message))
    assert.equal(answer.id, about)
  }
})

test("broken frames are reported, and the next message is read", async () => {
  const body = Buffer.from([0xff, 0xfe, 0x22])
  for (const bytes of [
    Buffer.from("Nonsense: 3\r\n\r\n"),
    Buffer.from("garbage without a colon\r\n\r\n"),
    Buffer.from("Content-Length: minus one\r\n\r\n"),
    Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]),
    Buffer.concat([Buffer.from("x".repeat(20_000)), Buffer.from("\r\n\r\n")]),
  ]) {
    child.stdin.write(bytes)
    assert.equal((await next("broken bytes")).error?.code, -32700)
    assert.equal((await ask("no/such")).error?.code, -32601)
  }
})

test("headers in any case and order, and messages in pieces, are read", async () => {
  const message = JSON.stringify({ jsonrpc: "2.0", id: "ä", method: "no/such" })
  const length = Buffer.byteLength(message)
  const head = `content-type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-LENGTH:${length}\r\n\r\n`
  for (const byte of Buffer.from(head + message)) child.stdin.write(Buffer.from([byte]))
  assert.deepEqual((await next("pieces")).id, "ä")
  const two = Buffer.from(`Content-Length: ${length}\r\n\r\n${message}`)
  child.stdin.write(Buffer.concat([two, two]))
  assert.equal((await next("two at once")).id, "ä")
  assert.equal((await next("two at once")).id, "ä")
})

test("parameters of the wrong shape are refused, one by one", async () => {
  const uri = "file:///a.wire"
  send({
    jsonrpc: "2.0",
    method: "textDocument/didOpen",
    params: { textDocument: { uri, languageId: "wire", version: 1, text: "input {\n    a: string\n}\n" } },
  })
  const methods = ["completion", "hover", "definition", "references", "documentHighlight", "prepareRename", "rename"]
  const bad = [
    undefined,
    null,
    [],
    3,
    {},
    { textDocument: null },
    { textDocument: { uri: 3 } },
    { textDocument: { uri: "file:///other.wire" }, position: { line: 0, character: 0 } },
    { textDocument: { uri } },
    { textDocument: { uri }, position: { line: "0", character: 0 } },
    { textDocument: { uri }, position: { line: -1, character: 0 } },
    { textDocument: { uri }, position: { line: 0.5, character: 0 } },
  ]
  for (const method of methods) {
    for (const params of bad) {
      const answer = await ask(`textDocument/${method}`, params)
      assert.equal(answer.error?.code, -32602, `${method} ${JSON.stringify(params)}: ${JSON.stringify(answer)}`)
    }
  }
  assert.equal((await ask("textDocument/codeAction", { textDocument: { uri }, range: 3 })).error?.code, -32602)
  assert.equal((await ask("initialize", {})).error?.code, -32600, "once is enough")
})

test("changes of the wrong shape change nothing, and places beyond the text are its end", async () => {
  const uri = "file:///b.wire"
  const notify = (method: string, params: unknown): void => send({ jsonrpc: "2.0", method, params })
  const open = { uri, languageId: "wire", version: 1, text: "input {\n    a: string\n}\n" }
  notify("textDocument/didOpen", { textDocument: open })
  const change = (changes: unknown): void => {
    notify("textDocument/didChange", { textDocument: { uri, version: 2 }, contentChanges: changes })
  }
  for (const wrong of [
    undefined,
    {},
    [3],
    [{ range: {} }],
    [{ text: 3 }],
    [{ range: { start: 1, end: 2 }, text: "" }],
  ]) {
    change(wrong)
  }
  notify("textDocument/didOpen", { textDocument: { uri: 3 } })
  notify("textDocument/didClose", null)
  notify("no/such/notification", { anything: [] })
  notify("$/cancelRequest", { id: {} })
  const names = async (): Promise<unknown> => {
    const { result } = await ask("textDocument/documentSymbol", { textDocument: { uri } })
    return (result as { name: string }[]).map(({ name }) => name)
  }
  assert.deepEqual(await names(), ["input", "a"])
  const far = { line: 9999, character: 9999 }
  change([{ range: { start: far, end: far }, text: "\noutput {\n}\n" }])
  assert.deepEqual(await names(), ["input", "a", "output"])
  const hovered = await ask("textDocument/hover", { textDocument: { uri }, position: far })
  assert.equal(hovered.result, null)
})
