import assert from "node:assert/strict"
import { test } from "node:test"
import { isDeepStrictEqual } from "node:util"

import { compile } from "../../src/compile.ts"
import { Random } from "../support/random.ts"
import { assertOften, atStrength, soakSeed } from "../support/strength.ts"
import type { Workflow } from "./trust/labelled-workflow.ts"
import { maxSourcesOf, naiveFindings } from "./trust/naive-trust.ts"
import { randomWorkflow } from "./trust/random-workflow.ts"
import { writeFiles } from "./trust/write-workflow.ts"

// Random workflows, some of them with files that they call, repeat and let models call: the checker, which goes over the steps once,
// against a walk along every path.

/** A workflow with files takes several times as long. */
const tenantOfCalling = atStrength(0.2, 0.05)

const errors = new Set(["untrusted-action", "private-leak"])

/** What the checker finds, in the words of the walk. */
function checkedFindings(source: string, modules: Record<string, string>): string[] {
  const found = new Set<string>()
  for (const { code, severity, path, hint = "", message, span } of compile(source, { modules }).diagnostics) {
    const step = path.split(".").slice(0, 2).join(".")
    if (errors.has(code)) {
      const places = (hint.split("\n")[0] ?? "").split(" → ")
      found.add(`${code} ${step} ${places.at(-1)} ${places[0]}`)
    } else if (code === "undeclared-effect") {
      found.add(`${code} ${step} ${source.slice(span.start, span.end)}`)
    } else if (code === "needless-exception") {
      const [, reason] = /because "reason (\d+)"$/.exec(source.slice(span.start, span.end)) ?? []
      found.add(`${code} ${reason}`)
    } else assert.notEqual(severity, "error", `${code} ${path}: ${message}\n${shown(source, modules)}`)
  }
  return [...found].sort()
}

function shown(source: string, modules: Record<string, string>): string {
  return [...Object.entries(modules).map(([path, text]) => `// ${path}\n${text}`), source].join("\n")
}

/** A value keeps this many sources: where there may be more, findings are compared without theirs. */
const maxSources = 8

function comparable(findings: readonly string[], crowded: ReadonlySet<string>): string[] {
  const all = findings.map((one) => {
    const code = one.slice(0, one.indexOf(" "))
    return crowded.has(code) ? one.slice(0, one.lastIndexOf(" ")) : one
  })
  return [...new Set(all)].sort()
}

/** Code, step and target of each finding. */
function withoutSources(findings: readonly string[]): string[] {
  return findings.map((one) => one.slice(0, one.lastIndexOf(" ")))
}

function crowdedCodes(workflow: Workflow): Set<string> {
  const crowded = new Set<string>()
  if (maxSourcesOf(workflow, "untrusted") > maxSources) crowded.add("untrusted-action")
  if (maxSourcesOf(workflow, "private") > maxSources) crowded.add("private-leak")
  return crowded
}

test("the pass agrees with a walk along every path", () => {
  const seeds = new Random(soakSeed)
  const count = atStrength(500, 40_000)
  let findings = 0
  let silent = 0
  let called = 0
  const different: number[] = []
  for (let index = 0; index < count; index++) {
    const seed = seeds.below(2 ** 32)
    const workflow = randomWorkflow(new Random(seed), tenantOfCalling)
    const { source, modules } = writeFiles(workflow)
    const expected = naiveFindings(workflow)
    const found = checkedFindings(source, modules)
    // Few values have more sources than they keep, and to count them takes a walk for each label.
    const crowded = isDeepStrictEqual(found, expected) ? new Set<string>() : crowdedCodes(workflow)
    const [has, needs] = [comparable(found, crowded), comparable(expected, crowded)]
    const missed = withoutSources(needs).filter((one) => !withoutSources(has).includes(one))
    assert.deepEqual(missed, [], `seed ${seed}: the pass misses findings\n${shown(source, modules)}`)
    if (!isDeepStrictEqual(has, needs)) different.push(seed)
    findings += expected.length
    if (expected.length === 0) silent++
    if (/(?:call|repeat|uses).* workflow\./.test(source)) called++
  }
  // Where called files call others, or rounds begin with what earlier ones gave, the two seldom name other sources, and the pass is seldom stricter.
  const most = Math.ceil(count / 2_000)
  assert.ok(different.length <= most, `${different.length} of ${count} differ, over ${most}: ${different.join(", ")}`)
  // Else it compared nothing.
  assertOften(findings, count, `findings in ${count} workflows`)
  assertOften(silent, count / 100, `of ${count} workflows have no findings`)
  assertOften(called, (count * tenantOfCalling) / 2, `of ${count} workflows have called files`)
})
