import assert from "node:assert/strict"
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import type { WaitingAnswer } from "../../../src/api/execute.ts"
import type { QuestionsAnswer } from "../../../src/api/questions.ts"
import type { WorkflowsAnswer } from "../../../src/api/workflows.ts"
import { RunWaiting, WireworksClient } from "../../support/built-client.ts"
import { setTimeout as pause } from "node:timers/promises"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { errorOf, hello, startService, type TestService } from "./start-service.ts"

const directory = mkdtempSync(join(tmpdir(), "wireworks-pages-"))
after(() => rmSync(directory, { recursive: true }))

const mebibyte = 1024 * 1024

interface Page {
  readonly next: string | null
}

/** All pages of a list, each no larger than it may be. */
async function pagesOf<P extends Page>(service: TestService, path: string, first?: string): Promise<P[]> {
  const pages: P[] = []
  for (let after = first ?? null; ;) {
    const query: string = after === null ? "" : `${path.includes("?") ? "&" : "?"}after=${encodeURIComponent(after)}`
    const response = await service.get(`${path}${query}`)
    const text = await response.text()
    assert.equal(response.status, 200, text)
    assert.ok(text.length <= mebibyte + 1000, `${text.length} characters`)
    const page = JSON.parse(text) as P
    pages.push(page)
    after = page.next
    if (after === null) return pages
  }
}

const asking = `
input { items: [integer]  text: string }
ask review for item in input.items {
    question: "Item {{ item }}?"
    show: input.text
    output { fine: boolean }
}
output { answers: ask.review.**.fine }
`

for (const store of ["memory", "sqlite"]) {
  describe(`lists of large questions, store ${store}`, async () => {
    const service = await startService({ STORE: store, DATA_DIR: join(directory, store) })
    const items = Array.from({ length: 12 }, (_, index) => index)
    const body = { workflow_source: asking, input: { items, text: "x".repeat(200_000) } }
    const response = await service.post("/execute", body)
    const waiting = (await response.json()) as WaitingAnswer
    const asked = (pages: readonly QuestionsAnswer[]): unknown[] =>
      pages.flatMap(({ questions }) => questions.map(({ iteration }) => iteration))

    it("the answer of a run that begins to wait has those that fit, and where the others are", async () => {
      assert.equal(response.status, 202)
      assert.deepEqual(asked([{ ...waiting, next: null }]), [0, 1, 2, 3, 4])
      const rest = await pagesOf<QuestionsAnswer>(service, `/execute/${waiting.run_id}/questions`, waiting.next)
      assert.deepEqual(asked(rest), items.slice(5))
    })

    it("the questions of a run come in pages of a mebibyte", async () => {
      const pages = await pagesOf<QuestionsAnswer>(service, `/execute/${waiting.run_id}/questions`)
      assert.deepEqual(
        pages.map(({ questions }) => questions.length),
        [5, 5, 2],
      )
      assert.deepEqual(asked(pages), items)
      assert.deepEqual(asked(await pagesOf(service, `/execute/${waiting.run_id}/questions?limit=4`)), items)
    })

    it("so does the inbox, whatever limit is asked for", async () => {
      const pages = await pagesOf<QuestionsAnswer>(service, "/questions?limit=500")
      assert.equal(pages.length, 3)
      assert.deepEqual(asked(pages), items)
    })

    it("the client puts the pages together", async () => {
      const client = new WireworksClient({ baseUrl: service.url })
      assert.equal((await client.questions(waiting.run_id)).length, items.length)
      await assert.rejects(client.execute(body), (error: unknown) => {
        assert.ok(error instanceof RunWaiting)
        assert.equal(error.questions.length, items.length)
        return true
      })
    })

    it("a cursor that no page has given is refused, or has nothing after it", async () => {
      const odd = await errorOf(await service.get(`/execute/${waiting.run_id}/questions?after=%20x`))
      assert.deepEqual([odd.status, odd.kind, odd.issues[0]?.path], [400, "invalid_request", "after"])
      const other = await service.get(`/execute/${waiting.run_id}/questions?after=zzz`)
      assert.deepEqual(await other.json(), { questions: [], next: null })
    })
  })
}

async function eventually(what: string, look: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 60_000; !(await look()); await pause(20)) {
    assert.ok(Date.now() < deadline, `${what} did not come`)
  }
}

describe("the list of workflows", async () => {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-many-"))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const names = Array.from({ length: 30 }, (_, index) => `w${String(index).padStart(2, "0")}`)
  const source = `secrets { token: string }\n${hello
    .replace("name: string", `\n/// ${"x".repeat(60_000)}\nname: string\n`)
    .replace('endpoint: "demo"', 'endpoint: "demo"  api_key: secrets.token')}`
  for (const name of names) writeFileSync(join(folder, `${name}.wire`), source)
  const secretsFile = join(directory, "secrets.json")
  const writeSecrets = (all: object): void => {
    writeFileSync(secretsFile, JSON.stringify({ all }))
    chmodSync(secretsFile, 0o600)
  }
  writeSecrets({})
  const service = await startService({ WORKFLOWS: folder, SECRETS_FILE: secretsFile })
  const listed = async (path = "/workflows") => {
    const pages = await pagesOf<WorkflowsAnswer>(service, path)
    return { count: pages.length, workflows: pages.flatMap(({ workflows }) => workflows) }
  }

  it("comes in pages of a mebibyte, by name", async () => {
    const { count, workflows } = await listed()
    assert.equal(count, 2)
    assert.deepEqual(
      workflows.map(({ name }) => name),
      names,
    )
    assert.deepEqual((await listed("/workflows?limit=7")).workflows, workflows)
    const client = new WireworksClient({ baseUrl: service.url })
    assert.deepEqual(await client.workflows(), workflows)
    const { status, issues } = await errorOf(await service.get("/workflows?after=%20"))
    assert.deepEqual([status, issues[0]?.path], [400, "after"])
  })

  it("of /mcp comes in pages, too, until the folder changes", async () => {
    const client = new Client({ name: "test", version: "1" })
    await client.connect(new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`)))
    after(() => client.close())
    const tools: string[] = []
    const pages: number[] = []
    for (let cursor: string | undefined; ;) {
      const body = { jsonrpc: "2.0", id: 1, method: "tools/list", params: cursor === undefined ? {} : { cursor } }
      const accept = "application/json, text/event-stream"
      const text = await (await service.post("/mcp", body, { accept, "mcp-protocol-version": "2025-06-18" })).text()
      assert.ok(text.length <= mebibyte + 1000, `${text.length} characters`)
      const { result } = JSON.parse(text.slice(text.indexOf("{"))) as {
        result: { tools: { name: string }[]; nextCursor?: string }
      }
      tools.push(...result.tools.map(({ name }) => name))
      pages.push(result.tools.length)
      cursor = result.nextCursor
      if (cursor === undefined) break
    }
    assert.deepEqual(tools, names)
    assert.equal(pages.length, 2)
    const { tools: first } = await client.listTools({})
    assert.equal(first[0]?.name, "w00")
    await assert.rejects(client.listTools({ cursor: "nonsense" }), /Unknown cursor/)
  })

  it("is the same until the folder or the secrets change", async () => {
    const before = await listed()
    assert.deepEqual(before.workflows[0]?.secrets, { token: "missing" })
    assert.deepEqual(await listed(), before)
    writeSecrets({ token: "a-secret" })
    assert.deepEqual((await listed()).workflows[0]?.secrets, { token: "set" })
    writeFileSync(join(folder, "w00.wire"), `// Short.\n${hello}`)
    await eventually("the new version", async () => (await listed()).workflows[0]?.description === "Short.")
    rmSync(join(folder, "w29.wire"))
    await eventually("the end of a workflow", async () => (await listed()).workflows.length === 29)
  })
})
