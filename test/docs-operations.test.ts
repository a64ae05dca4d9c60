import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { test } from "node:test"
import { startService } from "./contract/http/start-service.ts"

const root = dirname(import.meta.dirname)
const read = (path: string): string => readFileSync(join(root, path), "utf8")

/** Only in a cluster. */
const ofBroker = ["wireworks_broker_connected", "wireworks_broker_reconnects", "wireworks_broker_retries"]

test("docs/operations.md lists every metric with its type, and the dashboard and the alerts use no other", async () => {
  const text = await (await (await startService()).get("/metrics")).text()
  const served = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => [name, type] as const),
  )
  for (const name of ofBroker) served.set(name, "gauge")
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
