import assert from "node:assert/strict"
import { readFileSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { after, describe, test } from "node:test"
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { builtWire } from "../support/built-wire.ts"
import { folderWith, runWire } from "./run-wire.ts"

const broken = 'input { name: maybe string }\noutput { a: "{{ input.nam }}" }\n'

describe("wire mcp docs", async () => {
  const outside = folderWith({ "secret.wire": "output { a: 1 }\n" })
  const folder = folderWith({ "flow.wire": broken, "notes.txt": "x", "fine.wire": "output{a:1}" })
  symlinkSync(join(outside, "secret.wire"), join(folder, "link.wire"))
  const client = new Client({ name: "test", version: "1" })
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [builtWire, "mcp", "docs"],
      cwd: folder,
      stderr: "ignore",
    }),
  )
  after(() => client.close())
  const call = async (name: string, given: Record<string, unknown>) => {
    const { structuredContent, content, isError } = await client.callTool({ name, arguments: given })
    const [text] = content as { text: string }[]
    return {
      value: structuredContent as Record<string, never> | undefined,
      text: text?.text ?? "",
      isError: isError ?? false,
    }
  }

  test("lists its tools", async () => {
    const { tools } = await client.listTools()
    assert.deepEqual(
      tools.map(({ name }) => name),
      ["check", "format", "explain", "search_docs", "examples", "reach"],
    )
  })

  test("checks a source, and a file, which it can fix", async () => {
    const { value } = await call("check", { source: broken })
    assert.deepEqual(
      [value?.["valid"], (value?.["issues"] as { code: string }[] | undefined)?.[0]?.code],
      [false, "unknown-reference"],
    )
    const fixed = await call("check", { path: "flow.wire", fix: true })
    assert.equal(fixed.value?.["valid"], true)
    assert.match(readFileSync(join(folder, "flow.wire"), "utf8"), /input\.name/)
  })

  test("reads nothing outside of its folder", async () => {
    for (const path of [join(outside, "secret.wire"), "../secret.wire", "link.wire", "notes.txt", "/etc/passwd"]) {
      const { isError, text } = await call("check", { path })
      assert.ok(isError, text)
      assert.match(text, /is not a \.wire file of this folder/)
    }
    assert.ok((await call("check", { path: "missing.wire" })).isError)
    assert.ok((await call("check", {})).isError)
    assert.ok((await call("check", { path: "fine.wire", source: "x" })).isError)
  })

  test("formats, explains, searches, and shows examples and reach", async () => {
    assert.equal((await call("format", { path: "fine.wire" })).value?.["formatted"], "output {\n    a: 1\n}\n")
    assert.ok((await call("format", { source: "agent {" })).isError)
    assert.match((await call("explain", { code: "nullable-access" })).text, /may be null/)
    assert.match((await call("explain", { code: "nullable-acces" })).text, /Did you mean nullable-access/)
    const { value } = await call("search_docs", { query: "concurrency of a loop" })
    assert.ok((value?.["sections"] as { page: string }[] | undefined)?.some(({ page }) => page === "language.md"))
    const list = (await call("examples", {})).value?.["examples"] as { name: string }[] | undefined
    assert.ok(list?.some(({ name }) => name === "hello"))
    const hello = (await call("examples", { name: "hello" })).value?.["source"] as string | undefined
    const reach = (await call("reach", { source: hello ?? "" })).value
    assert.ok((reach?.["hosts"] as unknown[] | undefined)?.length === 1)
    await assert.rejects(client.callTool({ name: "nope", arguments: {} }))
  })
})

test("wire init writes AGENTS.md, and a skill where it is asked for", async () => {
  const folder = folderWith({})
  assert.equal((await runWire(["init", "a"], { cwd: folder })).code, 0)
  assert.match(readFileSync(join(folder, "a/AGENTS.md"), "utf8"), /wire check/)
  assert.equal((await runWire(["init", "b", "--skill"], { cwd: folder })).code, 0)
  assert.match(readFileSync(join(folder, "b/.agents/skills/wire/SKILL.md"), "utf8"), /^---\nname: wire\n/)
})
