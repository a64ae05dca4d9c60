import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { test } from "node:test"

// docs/compatibility.md compares names of another service's HTTP interface with ours.

const docs = join(dirname(import.meta.dirname), "docs")
const page = readFileSync(join(docs, "compatibility.md"), "utf8")
const http = readFileSync(join(docs, "http.md"), "utf8")

test("every name that the page gives our HTTP interface is in docs/http.md", () => {
  const [, table = ""] = page.split("## Clients of the HTTP interface")
  const rows = table.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| |"))
  assert.ok(rows.length > 15)
  const ours = rows.flatMap((row) =>
    [...(row.split(" | ").at(-1) ?? "").matchAll(/`([^`]+)`/g)].map(([, name]) => name),
  )
  const names = ours.flatMap((name = "") => name.match(/[\w?=/-]+/g) ?? []).filter((name) => /[a-z]{2}/.test(name))
  const missing = names.filter((name) => name !== "text" && !http.includes(name))
  assert.deepEqual(missing, [])
})
