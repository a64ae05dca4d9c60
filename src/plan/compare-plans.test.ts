import assert from "node:assert/strict"
import { test } from "node:test"
import { compile } from "../compile.ts"
import { comparePlans } from "./compare-plans.ts"
import type { Plan } from "./plan-shape.ts"

const source = `workflow inner from "./inner.wire" {}
dynamic { called: call workflow.inner  plain: 1 }
output { a: dynamic.called  b: dynamic.plain }`

function planned(inner: string): Plan {
  const { plan, diagnostics } = compile(source, { modules: { "inner.wire": inner } })
  assert.ok(plan !== undefined, JSON.stringify(diagnostics))
  return plan
}

test("a change inside of a called file changes the steps that call it; a comment there does not", () => {
  const input = { before: {}, after: {} }
  const statuses = (inner: string): Record<string, string> => {
    const changes = comparePlans(planned("output { x: 1 }"), planned(inner), input)
    return Object.fromEntries([...changes].map(([id, { status, why }]) => [id, `${status} ${why}`.trim()]))
  }
  assert.deepEqual(statuses("// other\noutput { x: 1 }"), {
    "dynamic.called": "same",
    "dynamic.plain": "same",
    output: "same",
  })
  assert.deepEqual(statuses("output { x: 2 }"), {
    "dynamic.called": "changed A workflow that it calls changed",
    "dynamic.plain": "same",
    output: "after It depends on dynamic.called",
  })
})
