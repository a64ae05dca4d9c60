import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { test } from "node:test"
import { startService } from "./contract/http/start-service.ts"

const root = dirname(import.meta.dirname)
const read = (path: string): string => readFileSync(join(root, path), "utf8")

test("docs/operations.md lists every metric with its type, and the dashboard and the alerts use no other", async () => {
  const text = await (await (await startService()).get("/metrics")).text()
  const served = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => [name, type] as const),
  )
  const own = [...served].filter(([name]) => name.startsWith("wire"))
  const listed = [...read("docs/operations.md").matchAll(/^\| `(wire\w+)` \| (\w+) \|/gm)]
  assert.deepEqual(
    listed.map(([, name, type]) => `${name} ${type}`).toSorted(),
    own.map(([name, type]) => `${name} ${type}`).toSorted(),
  )
  for (const file of ["deploy/monitoring/grafana-dashboard.json", "deploy/monitoring/alerts.yaml"]) {
    const used = [...read(file).matchAll(/\b((?:wire|wireworks|nodejs)_[a-z0-9_]+)\b/g)].map(([, name = ""]) => name)
    assert.ok(used.length > 5)
    for (const name of used) assert.ok(served.has(name.replace(/_(?:bucket|sum|count)$/, "")), `${file}: ${name}`)
  }
})

interface Written {
  readonly place: string
  readonly levels: readonly string[]
  /** Null for a sentence that is made elsewhere. */
  readonly message: string | null
}

/** Every call of a log in the sources. */
function writtenLines(): Written[] {
  const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  return files.flatMap((file) => {
    if (!file.endsWith(".ts") || file.endsWith(".test.ts")) return []
    const text = read(join("src", file))
    return [...text.matchAll(/\b(?:#?log|parts\.log)(?:\.(debug|info|warn|error)|\[([^\]]+)\])\(/g)].map((found) => {
      const [call, level, computed = ""] = found
      const start = found.index + call.length
      const levels = level === undefined ? [...computed.matchAll(/"(\w+)"/g)].map(([, one = ""]) => one) : [level]
      const given = text.slice(start, endOfCall(text, start))
      const [, , message = null] = /,\s*(["`])((?:(?!\1).)+)\1,?\s*$/s.exec(given) ?? []
      return { place: `${file}:${text.slice(0, start).split("\n").length}`, levels, message }
    })
  })
}

/** The offset of the bracket that closes a call. */
function endOfCall(text: string, start: number): number {
  let at = start
  for (let depth = 1; depth > 0; at++) {
    if ("([{".includes(text[at] ?? "")) depth++
    if (")]}".includes(text[at] ?? "")) depth--
  }
  return at - 1
}

test("docs/operations.md has every line of the log with its level, and no other", () => {
  const written = writtenLines()
  assert.ok(written.length > 30)
  const [table = ""] = /^\| `msg` \|.*?\n\n/ms.exec(read("docs/operations.md")) ?? []
  const documented = table
    .split("\n")
    .slice(2)
    .flatMap((row) => {
      const [names = "", levels = ""] = row.split(" | ")
      return [...names.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => ({ name, levels }))
    })
  const fits = (name: string, message: string): boolean =>
    name.endsWith("\u2026") ? message.startsWith(name.slice(0, -1).trim()) : message === name
  const found = new Set<string>()
  for (const { place, levels, message } of written) {
    if (message === null) continue
    const own = message.replace("${shortestKey}", "16")
    const rows = documented.filter(({ name }) => fits(name, own))
    assert.ok(rows.length > 0, `${place}: the table has no line "${own}"`)
    for (const level of levels) {
      assert.ok(
        rows.some((row) => row.levels.includes(level)),
        `${place}: "${own}" is logged at level ${level}`,
      )
    }
    for (const { name } of rows) found.add(name)
  }
  // Written without a log: when there was none.
  found.add("lines of the log could not be written")
  assert.deepEqual(
    documented.filter(({ name }) => !found.has(name)).map(({ name }) => name),
    [],
  )
})
