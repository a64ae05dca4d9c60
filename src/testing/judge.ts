import type { JsonObject } from "../base/json-value.ts"
import { isJsonObject } from "../base/is-json-object.ts"
import type { AgentNode, Plan } from "../plan/plan-shape.ts"
import type { ExpectPlan } from "../plan/plan-tests.ts"
import { RunFailure } from "../ports/run-failure.ts"
import type { Scope } from "../run/values/scope.ts"
import { evaluate } from "../run/values/evaluate.ts"
import { toText } from "../run/values/value-builders.ts"
import type { Usage } from "../log/events.ts"
import { noUsage } from "../log/usage.ts"
import type { Failure } from "./check-expectation.ts"
import { nothingGiven, runOnce, type Tested, type TestEngine } from "./run-once.ts"
import { showMiss } from "./show-miss.ts"

export interface Verdict {
  /** Null when it passes. */
  readonly failure: Failure | null
  readonly reason: string
  readonly usage: Usage
}

const system =
  "You judge whether a result meets a criterion. Answer pass: true only if all of the criterion is met, " +
  "and give the reason in one sentence."

/** Has a model judge a criterion. A judge is a workflow of one agent, run like any other. */
export async function judge(
  engine: TestEngine,
  tested: Tested,
  expect: ExpectPlan,
  scope: Scope,
  signal: AbortSignal,
): Promise<Verdict> {
  const failed = (details: readonly string[], reason = "", usage: Usage = noUsage): Verdict => ({
    failure: { text: `expect ${expect.text}`, at: expect.span.start, details },
    reason,
    usage,
  })
  let criterion: string
  try {
    criterion = toText(evaluate(expect.condition, scope))
  } catch (error) {
    if (!(error instanceof RunFailure)) throw error
    return failed([error.error.message])
  }
  const model = expect.judge ?? ""
  const isOwn = tested.judges.models[model] !== undefined
  const plan = judgePlan(isOwn ? tested.judges : tested.plan, model, criterion)
  const secrets = isOwn ? tested.judgeSecrets : tested.secrets
  const observed = await runOnce(engine, tested, plan, {}, secrets, nothingGiven, signal)
  const [miss] = observed.misses
  if (miss !== undefined) return failed(["What the judge is asked is not recorded", ...showMiss(miss)])
  if (observed.error !== null) {
    return failed([`The judge failed: ${observed.error.kind}`, ...observed.error.message.split("\n")])
  }
  const answer = observed.agents.get("judge")
  const { pass, reason } = isJsonObject(answer ?? null) ? (answer as JsonObject) : {}
  const said = typeof reason === "string" ? reason : ""
  if (pass === true) return { failure: null, reason: said, usage: observed.usage }
  return failed([`The judge says: ${said}`, "Criterion:", ...lines(criterion)], said, observed.usage)
}

function lines(text: string): string[] {
  return text.split("\n").map((line) => `  | ${line}`)
}

function judgePlan(own: Plan, model: string, criterion: string): Plan {
  const agent: AgentNode = {
    id: "agent.judge",
    kind: "agent",
    name: "judge",
    depends_on: [],
    loop: null,
    when: null,
    concurrency: null,
    on_failure: "fail",
    models: [{ name: model, inference: {} }],
    response_format: null,
    max_steps: 1,
    uses: [],
    context: null,
    locals: [],
    files: [],
    instruction: { op: "literal", value: `Criterion:\n${criterion}` },
    system: { op: "literal", value: system },
    limits: null,
    requires: [],
    output: {
      kind: "record",
      fields: [
        { name: "pass", type: { kind: "boolean" }, doc: "Whether all of the criterion is met." },
        { name: "reason", type: { kind: "string" }, doc: "Why, in one sentence." },
      ],
    },
  }
  const empty = { kind: "record", fields: [] } as const
  return {
    ...own,
    limits: null,
    input: empty,
    output: empty,
    servers: {},
    tools: {},
    resources: {},
    prompts: {},
    nodes: [agent],
  }
}
