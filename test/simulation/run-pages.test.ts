import assert from "node:assert/strict"
import { test } from "node:test"
import type { RunQuery } from "../../src/ports/run-list.ts"
import { BareStores, createRun } from "./bare-stores.ts"

const query: RunQuery = {
  caller: "",
  workflow: null,
  status: null,
  since: null,
  error_kind: null,
  limit: 100,
  after: null,
}

test("on NATS the pages of a long list of runs are read from one list, and its first page is new each time", async () => {
  const stores = new BareStores()
  let listed = 0
  const store = await stores.open((direct) => ({
    subjects: (stream, filter) => {
      if (filter.includes(".listed.")) listed++
      return direct.subjects(stream, filter)
    },
  }))
  const names = Array.from({ length: 250 }, (_, index) => `run${String(index).padStart(3, "0")}`)
  for (const name of names) await createRun(store, {}, name)
  const found: string[] = []
  for (let after: RunQuery["after"] = null; ;) {
    const page = await store.list({ ...query, after })
    found.push(...page.map(({ run_id }) => run_id))
    const last = page.at(-1)
    if (last === undefined) break
    after = { created_at: last.created_at, run_id: last.run_id }
  }
  assert.deepEqual(found.toSorted(), names)
  assert.equal(listed, 1)
  await createRun(store, {}, "run999")
  const first = await store.list(query)
  assert.ok(first.some(({ run_id }) => run_id === "run999"))
  assert.equal(listed, 2)
})
