import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { test } from "node:test"
import { builtWire } from "../support/built-wire.ts"

// `wire mcp docs` as the MCP inspector sees it. The inspector brings a web application of 100 MB, so that it is installed here and not with the project.

const version = "2.12.0"
const home = join(dirname(dirname(import.meta.dirname)), ".cache", `mcp-inspector-${version}`)
const inspector = join(home, "node_modules", ".bin", "mcp-inspector")

function install(): string | null {
  if (existsSync(inspector)) return null
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, "package.json"), '{ "private": true }\n')
  const flags = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", home]
  const { status, stderr } = spawnSync("npm", [...flags, `@modelcontextprotocol/inspector@${version}`], {
    cwd: home,
    encoding: "utf8",
    timeout: 600_000,
  })
  return status === 0 && existsSync(inspector) ? null : `The inspector cannot be installed: ${stderr.slice(-500)}`
}

const problem = install()

test("the MCP inspector lists and calls the tools of wire mcp docs", { skip: problem ?? false }, (t) => {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-inspector-"))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, "flow.wire"), "output{a:1}")
  const inspect = (...flags: readonly string[]): unknown => {
    const started = [inspector, "--cli", process.execPath, builtWire, "mcp", "docs", ...flags]
    const ran = spawnSync(process.execPath, started, { cwd: folder, encoding: "utf8", timeout: 120_000 })
    assert.equal(ran.status, 0, `${ran.stdout}\n${ran.stderr}`)
    return JSON.parse(ran.stdout)
  }
  const call = (tool: string, ...values: readonly string[]): Record<string, unknown> => {
    const given = values.flatMap((value) => ["--tool-arg", value])
    const { structuredContent } = inspect("--method", "tools/call", "--tool-name", tool, ...given) as {
      readonly structuredContent: Record<string, unknown>
    }
    return structuredContent
  }

  const { tools } = inspect("--method", "tools/list") as { readonly tools: readonly { readonly name: string }[] }
  assert.deepEqual(
    tools.map(({ name }) => name),
    ["check", "format", "explain", "search_docs", "examples", "reach"],
  )
  assert.equal(call("check", "path=flow.wire")["valid"], true)
  assert.match(JSON.stringify(call("check", "source=output { a: input.x }")), /unknown-reference/)
  assert.match(JSON.stringify(call("explain", "code=unknown-reference")), /unknown-reference/)
})
