import { canonicalJson } from "../base/canonical-json.ts"
import type { JsonValue } from "../base/json-value.ts"
import type { Program } from "../check/program.ts"
import { compareSteps } from "../plan/compare-plans.ts"
import { plan } from "../plan/plan.ts"
import type { AskNode, Plan } from "../plan/plan-shape.ts"
import { planTriggers } from "../plan/plan-triggers.ts"
import { withoutTexts } from "../plan/without-texts.ts"
import { amountOf, growthOf } from "../trust/reach-growth.ts"
import { boundNames, shareOf } from "../trust/show-reach.ts"
import type { Exception, Reach } from "../trust/reach-shape.ts"
import { reachOf } from "../trust/reach.ts"
import { compareTypes } from "./compare-types.ts"
import { contractDiff, type Contract } from "./contract-diff.ts"
import type { Growth, QuestionChange, WorkflowDiff } from "./diff-shape.ts"

/** What the change from one program to another means. Both are without errors. */
export function diffWorkflows(before: Program, after: Program): WorkflowDiff {
  const [old, now] = [contractOf(before), contractOf(after)]
  const [could, can] = [reachOf(before), reachOf(after)]
  return {
    contract: contractDiff(old, now),
    steps: compareSteps(old.plan, now.plan),
    reach: growth(could, can, (reach) => ({ ...reach, most: can.most, exceptions: [] })),
    cost: {
      grew: [...costs(could, can, (old, now) => now > old), ...cacheable(could, can, (old, now) => now < old)],
      shrank: [...costs(could, can, (old, now) => now < old), ...cacheable(could, can, (old, now) => now > old)],
      before: could.most,
      after: can.most,
    },
    trust: growth(could, can, (reach) => ({ ...nothing, most: can.most, exceptions: merged(reach.exceptions) })),
    questions: questionChanges(old.plan, now.plan),
  }
}

function contractOf(program: Program): Contract {
  return { plan: plan(program), triggers: planTriggers(program) }
}

const nothing = { hosts: [], tools: [], agents: [], decisions: [], ways: [], exceptions: [] }

function growth(before: Reach, after: Reach, part: (reach: Reach) => Reach): Growth {
  const [old, now] = [part(before), part(after)]
  return { grew: growthOf(old, now), shrank: growthOf(now, old) }
}

function costs(before: Reach, after: Reach, isListed: (old: number, now: number) => boolean): string[] {
  return Object.entries(boundNames).flatMap(([key, name]) => {
    const [old, now] = [before, after].map(({ most }) => most[key as keyof typeof boundNames])
    if (old === undefined || now === undefined || !isListed(amountOf(old), amountOf(now))) return []
    const change = `at most ${old.most} → ${now.most}`
    const because = now.most === "unbounded" ? ` (${now.because})` : ""
    return [`${key === "cost" ? `${change} a run` : `${name} ${change}`}${because}`]
  })
}

/** The shares of literal text that backends can keep, by agents of both: less of it costs more. */
function cacheable(before: Reach, after: Reach, isListed: (old: number, now: number) => boolean): string[] {
  const shares = new Map(before.agents.map(({ agent, cacheable }) => [agent, cacheable]))
  return after.agents.flatMap(({ agent, cacheable: now }) => {
    const old = shares.get(agent) ?? null
    if (old === null || now === null || shareOf(old) === shareOf(now) || !isListed(old, now)) return []
    return [`${agent} cacheable ${shareOf(old)} → ${shareOf(now)}`]
  })
}

/** The same exception several times in a step is one. */
function merged(exceptions: readonly Exception[]): Exception[] {
  return [...new Map(exceptions.map((one) => [canonicalJson(one as object as JsonValue), one])).values()]
}

function questionChanges(before: Plan, after: Plan): QuestionChange[] {
  const asks = (plan: Plan): Map<string, AskNode> =>
    new Map(plan.nodes.flatMap((node) => (node.kind === "ask" ? [[node.id, node]] : [])))
  const now = asks(after)
  return [...asks(before)].flatMap(([question, old]): QuestionChange[] => {
    const node = now.get(question)
    if (node === undefined) return [{ question, change: "is gone: open questions are withdrawn", fits: false }]
    const properties = (["question", "to", "show"] as const).filter((key) => meaning(old[key]) !== meaning(node[key]))
    if (meaning(old.loop) !== meaning(node.loop)) properties.push("for" as "show")
    if (properties.length > 0) {
      const change = `has another ${properties.join(", ")}: open questions are asked again`
      return [{ question, change, fits: false }]
    }
    const types = {
      before: { type: old.output, types: before.types },
      after: { type: node.output, types: after.types },
    }
    const changes = [
      ...compareTypes("", "input", types.before, types.after),
      ...compareTypes("", "output", types.before, types.after),
    ]
    if (changes.length === 0) return []
    const names = [...new Set(changes.map(({ path }) => `\`${path.replace(/^\./, "")}\``))]
    const fits = changes.every(({ change, breaking }) => change === "is new" && !breaking)
    const fields = `field${names.length === 1 ? "" : "s"} ${names.join(", ")}`
    return fits
      ? [
          {
            question,
            change: `${fields} ${names.length === 1 ? "is" : "are"} new and may be null: open questions fit`,
            fits,
          },
        ]
      : [{ question, change: `the answer's ${fields} changed: open questions are asked again`, fits }]
  })
}

function meaning(part: object | null): string {
  return canonicalJson(withoutTexts(part as JsonValue))
}
