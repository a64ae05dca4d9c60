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

test("a change of a function changes the steps that call it, also by way of others; another name changes nothing", () => {
  const statuses = (functions: string, call = "gross"): Record<string, string> => {
    const plan = (text: string, name: string): Plan => {
      const rest = `input { n: number }\ndynamic { a: ${name}(input.n)  b: input.n }\noutput { a: dynamic.a  b: dynamic.b }`
      const { plan: found, diagnostics } = compile(`${text}\n${rest}`)
      assert.ok(found !== undefined, JSON.stringify(diagnostics))
      return found
    }
    const before = plan("function rate(n: number) = n * 0.19\nfunction gross(n: number) = n + rate(n)", "gross")
    const changes = comparePlans(before, plan(functions, call), { before: { n: 1 }, after: { n: 1 } })
    return Object.fromEntries([...changes].map(([id, { status }]) => [id, status]))
  }
  const same = { "dynamic.a": "same", "dynamic.b": "same", output: "same" }
  const renamed = "function tax(amount: number) = amount * 0.19\nfunction whole(x: number) = x + tax(x)"
  assert.deepEqual(statuses(renamed, "whole"), same)
  const changed = { "dynamic.a": "changed", "dynamic.b": "same", output: "after" }
  assert.deepEqual(statuses("function rate(n: number) = n * 0.07\nfunction gross(n: number) = n + rate(n)"), changed)
  assert.deepEqual(statuses("function rate(n: number) = n * 0.19\nfunction gross(n: number) = n - rate(n)"), changed)
})
