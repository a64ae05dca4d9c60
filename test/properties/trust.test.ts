import assert from "node:assert/strict"
import { test } from "node:test"

import { compile } from "../../src/compile.ts"
import { Random } from "../support/random.ts"
import { atStrength, soakSeed } from "../support/strength.ts"
import { naiveFindings } from "./trust/naive-trust.ts"
import { randomWorkflow } from "./trust/random-workflow.ts"
import { writeWorkflow } from "./trust/write-workflow.ts"

// Random workflows: the checker, which goes over the steps once, against a walk along every path.

const errors = new Set(["untrusted-action", "private-leak"])

/** What the checker finds, in the words of the walk. */
function checkedFindings(source: string): string[] {
  const found = new Set<string>()
  for (const { code, severity, path, hint = "", message, span } of compile(source).diagnostics) {
    const step = path.split(".").slice(0, 2).join(".")
    if (errors.has(code)) {
      const places = (hint.split("\n")[0] ?? "").split(" → ")
      found.add(`${code} ${step} ${places.at(-1)} ${places[0]}`)
    } else if (code === "undeclared-effect") {
      found.add(`${code} ${step} ${source.slice(span.start, span.end)}`)
    } else if (code === "needless-exception") {
      const [, reason] = /because "reason (\d+)"$/.exec(source.slice(span.start, span.end)) ?? []
      found.add(`${code} ${reason}`)
    } else assert.notEqual(severity, "error", `${code} ${path}: ${message}\n${source}`)
  }
  return [...found].sort()
}

test("the pass agrees with a walk along every path", () => {
  const seeds = new Random(soakSeed)
  const count = atStrength(700, 100_000)
  let findings = 0
  let silent = 0
  for (let index = 0; index < count; index++) {
    const seed = seeds.below(2 ** 32)
    const workflow = randomWorkflow(new Random(seed))
    const source = writeWorkflow(workflow)
    const expected = naiveFindings(workflow)
    assert.deepEqual(checkedFindings(source), expected, `seed ${seed}:\n${source}`)
    findings += expected.length
    if (expected.length === 0) silent++
  }
  // Else it compared nothing.
  assert.ok(findings > count, `${findings} findings in ${count} workflows`)
  assert.ok(silent > count / 100, `${silent} of ${count} workflows without findings`)
})
