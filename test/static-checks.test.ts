import assert from "node:assert/strict"
import { test } from "node:test"
import { checks } from "../scripts/checks.ts"
import { runCheck } from "../scripts/run-check.ts"

// Types, lint, format and layers as tests, so that `npm test` is one run with one count. What `npm run check` has found lately is known.

for (const check of checks) {
  test(check.name, async () => {
    const { passed, printed } = await runCheck(check)
    assert.ok(passed, `${check.name} failed (npm run check):\n${printed}`)
  })
}
