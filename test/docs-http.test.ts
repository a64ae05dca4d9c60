import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { after, test } from "node:test"
import { startService } from "./contract/http/start-service.ts"

const page = readFileSync(join(import.meta.dirname, "..", "docs", "http.md"), "utf8")

interface Command {
  readonly line: number
  readonly script: string
  /** The JSON that the page shows right after it. */
  readonly shows: unknown
}

function commandsOf(source: string): Command[] {
  const blocks = [...source.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
  return blocks.flatMap((block, index) => {
    if (block[1] !== "sh") return []
    const next = blocks[index + 1]
    const between = next === undefined ? "" : source.slice(block.index + block[0].length, next.index)
    const shows = next?.[1] === "json" && between.trim() === "" ? (JSON.parse(next[2] ?? "") as unknown) : undefined
    return [{ line: source.slice(0, block.index).split("\n").length, script: block[2] ?? "", shows }]
  })
}

test("every command of docs/http.md does what the page says", async () => {
  const service = await startService()
  const folder = mkdtempSync(join(tmpdir(), "wireworks-docs-"))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const commands = commandsOf(page)
  assert.ok(commands.length > 10)
  // One shell for all of them, as a reader has; a mark between the outputs tells them apart.
  const mark = "=====next====="
  const script = commands.map(({ script: part }) => `${part}\necho "${mark}$?"`).join("\n")
  const shell = spawn("bash", ["-s"], { cwd: folder, stdio: ["pipe", "pipe", "pipe"] })
  shell.stdin.end(script.replaceAll("http://127.0.0.1:13703", service.url))
  const [out, err] = await Promise.all([text(shell.stdout), text(shell.stderr)])
  const parts = out.split(new RegExp(`${mark}(\\d+)\\n`))
  for (const [index, { line, shows }] of commands.entries()) {
    const printed = parts[2 * index] ?? ""
    assert.equal(parts[2 * index + 1], "0", `docs/http.md:${line} failed: ${printed}${err}`)
    if (shows !== undefined) assert.deepEqual(JSON.parse(printed), shows, `docs/http.md:${line}`)
  }
})
