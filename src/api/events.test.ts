import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { Ajv2020 } from "ajv/dist/2020.js"
import { streamEvent } from "./events.ts"

const histories = join(import.meta.dirname, "..", "..", "test", "histories")

test("every event of the recorded runs fits the schema of its type, and no other", () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  const fits = ajv.compile(streamEvent)
  const seen = new Set<string>()
  for (const file of readdirSync(histories).filter((name) => name.endsWith(".jsonl"))) {
    for (const line of readFileSync(join(histories, file), "utf8").split("\n")) {
      if (line === "") continue
      const { id, type, data } = JSON.parse(line) as { id: number; type: string; data: object }
      seen.add(type)
      const event = { id, event: type, data }
      assert.ok(fits(event), `${file} ${id} ${type}: ${ajv.errorsText(fits.errors)}`)
      const other = type === "workflow_planned" ? "run_resumed" : "workflow_planned"
      assert.ok(!fits({ ...event, event: other }), `${file} ${id} fits ${other}`)
    }
  }
  assert.ok(seen.size >= 20, [...seen].join(", "))
})
