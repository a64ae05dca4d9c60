import { composeTests } from "../src/cli/compose/compose-runs.ts"
import { readSettings } from "../src/cli/compose/settings.ts"
import { compile } from "../src/compile.ts"
import { compileTests } from "../src/compile-tests.ts"
import { LineMap } from "../src/source/line-map.ts"
import { placeholderSecrets } from "../src/testing/placeholder-secrets.ts"
import type { Suite } from "../src/testing/run-suites.ts"
import { casesOf, runCases } from "../src/testing/run-suites.ts"

// 1,000 tests whose results are all given, on the real engine, against the floor of the same work without an engine: their
// file compiled, and their expectations' values made.

const count = 1000

const workflow = `input { text: string }
secrets { key: string }
provider p from openai { endpoint: "https://models.example.com/v1"  api_key: secrets.key }
model m from p { id: "m" }
agent triage { model: model.m  instruction: "Triage: {{ input.text }}"  output { level: enum { low, high }  summary: string } }
agent escalate when agent.triage.level == "high" { model: model.m  instruction: "Escalate {{ agent.triage.summary }}"  output { note: string } }
agent reply when agent.triage.level == "low" { model: model.m  instruction: "Reply"  output { text: string } }
output { escalated: agent.escalate != null  triage: agent.triage }
`

const tests = Array.from(
  { length: count },
  (_, index) => `test "outage ${index}" {
    input { text: "The site is down ${index}" }
    given agent.triage: { level: "high", summary: "Outage ${index}" }
    given agent.escalate: { note: "Now" }
    expect output.escalated == true
    expect ran agent.escalate && skipped agent.reply
    expect asked agent.escalate contains "Outage ${index}"
}
`,
).join("\n")

const compiling = performance.now()
const { plan, program } = compile(workflow)
const compiled = compileTests(tests, "a.test.wire", () => program)
const compileMs = performance.now() - compiling
const { settings } = readSettings({ WIRE_STORE: "memory" }, {})
if (plan === undefined || compiled.tests === undefined || compiled.judges === undefined || settings === null) {
  throw new Error("The benchmark's workflow is broken")
}
const suite: Suite = {
  file: "a.test.wire",
  lines: new LineMap(tests),
  tested: {
    source: workflow,
    fixtures: new Map(),
    plan,
    secrets: placeholderSecrets(plan.secrets, plan.types),
    judges: compiled.judges,
    judgeSecrets: {},
  },
  tests: compiled.tests.map((test) => ({ plan: test, rows: null })),
}
const engines = await composeTests(settings, [plan], (error) => {
  throw error
})
const recording = engines.recording("play", {})
const heaps: number[] = []
console.log(`compile   ${compileMs.toFixed(0)} ms for ${count} tests`)
for (let round = 1; round <= 5; round++) {
  const startedAt = performance.now()
  const results = await runCases(
    casesOf([suite], () => true),
    (_, sample) => engines.engine(recording, sample),
    () => undefined,
    new AbortController().signal,
  )
  const ms = performance.now() - startedAt
  const failed = results.filter(({ passed }) => !passed).length
  globalThis.gc?.()
  heaps.push(process.memoryUsage().heapUsed / 1024 / 1024)
  console.log(
    `round ${round}   ${ms.toFixed(0)} ms, ${(ms / count).toFixed(2)} ms a test, ${(ms / compileMs).toFixed(1)} × compiling them, ${failed} failed, heap ${heaps.at(-1)?.toFixed(0)} MiB`,
  )
  if (failed > 0) process.exitCode = 1
  if (ms > 10_000) process.exitCode = 1
}
await engines.close()
