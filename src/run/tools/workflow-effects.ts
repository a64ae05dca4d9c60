import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { validateValue } from "../../types/validate-value.ts"
import type {
  CallExpression,
  ReadExpression,
  RenderExpression,
  RepeatPlan,
  WorkflowCallExpression,
} from "../../plan/expression.ts"
import { callScope } from "../../plan/call-scope.ts"
import { argumentProblems } from "./argument-problems.ts"
import { bind, type Bound } from "./bind.ts"
import { withoutAbsent, withoutFields } from "./bound-schema.ts"
import { callWorkflow } from "../called/call-workflow.ts"
import { decide } from "../values/condition.ts"
import { callTool, countCall, toolOf, usedUp, type ToolCall } from "./call-tool.ts"
import { evaluateEntries, noEffects, type Effects } from "../values/evaluate-effects.ts"
import type { Scope } from "../values/scope.ts"
import { maySkip } from "../context/failure.ts"
import { RunEnding, RunFailure, failure, wireError } from "../../ports/run-failure.ts"
import { shown } from "../log/log.ts"
import { readResource, renderPrompt } from "./read-and-render.ts"
import { withSentFiles } from "./sent-files.ts"
import { effectKey, eventPlace, factsOfEffect, replayedEffect, reusedEffect } from "./reuse-effect.ts"
import { remoteOf } from "./server-of.ts"
import type { EffectPlace } from "../../log/earlier-run.ts"
import { resourceValue } from "./resource-value.ts"
import { approvalAt } from "../asking/approval.ts"
import type { Effect } from "../../plan/prepare.ts"
import { finishBeforeEnd, keepFailure, type RunContext } from "../context/run-context.ts"
import { runEach } from "../context/scheduler.ts"
import { sizeOf } from "../values/value-size.ts"

/** What the expressions of one place (a dynamic value, an agent) make happen, each once in the life of the run. */
export function workflowEffects(running: RunContext, path: string, about: ToolCall["about"]): Effects {
  if (running.prepared.isPure) return noEffects
  const iteration = about.iteration ?? null
  const placeOf = ({ site }: { readonly site: string }, { positions }: Scope): EffectPlace => {
    return { site, iteration, items: positions }
  }
  const made: Omit<Effects, "each"> = {
    async call(expression, scope) {
      const place = placeOf(expression, scope)
      const past = replayedEffect(running, place)
      const known = running.rehearses && past?.kind === "call" ? past.call.outcome : null
      if (known?.kind === "completed") return known.result
      if (known?.kind === "failed") throw new RunFailure(known.error)
      const { plan, hosted } = toolOf(running, expression.tool)
      const input = await evaluateEntries(expression.input, scope, effects)
      const bound = await bind(running, layers(running, expression), scope, effects)
      const given = await withSentFiles(running, plan, input, path)
      const sent = { ...bound, values: await withSentFiles(running, plan, bound.values, path) }
      const values = hosted.fit({ ...given, ...sent.values })
      const declared =
        plan.input === null ? null : withoutAbsent(withoutFields(plan.input, bound.values), input, running.plan.types)
      const misfits = declared === null ? [] : validateValue(input, declared, running.plan.types, "input")
      const problems =
        misfits.length > 0 ? misfits.map(({ message }) => message) : argumentProblems(hosted, given, sent)
      if (problems.length > 0) {
        throw new RunFailure(
          wireError("evaluation_error", [
            { path, message: `Cannot evaluate ${expression.text}: ${problems.slice(0, 10).join("; ")}` },
          ]),
        )
      }
      const shownValues = { ...input, ...bound.shown }
      const facts = factsOfEffect(running, plan, shownValues)
      if (past === undefined) {
        const at = { step: `tool.${expression.tool}`, path, ...place, facts }
        const reused = running.earlier === null ? undefined : await reusedEffect(running, at, plan.output)
        if (reused?.kind === "call") return reused.value
        // The counts of a resumed run hold what the log holds already.
        if (!countCall(running.siteCalls, expression.site, expression.max_calls)) {
          throw usedUp(path, expression.tool, expression.max_calls)
        }
        if (!countCall(running.toolCalls, expression.tool, plan.max_calls)) {
          throw usedUp(path, expression.tool, plan.max_calls)
        }
      }
      const outcome = await callTool(running, {
        path,
        about: place.items.length === 0 ? about : { ...about, items: place.items },
        tool: expression.tool,
        values,
        shownValues,
        kept: () => ({ site: expression.site, facts }),
        site: expression.site,
        past: past?.kind === "call" ? past.call : null,
        answersModel: false,
        approval: await approvalAt(expression.approval, scope, effects),
      })
      if (outcome.kind === "failed") throw new RunFailure(outcome.error)
      return outcome.result
    },

    async callWorkflow(expression, scope) {
      const { workflow, site, repeat } = expression
      const input = await evaluateEntries(expression.input, scope, effects)
      const approval = await approvalAt(expression.approval, scope, effects)
      const positions = iteration === null ? scope.positions : [iteration, ...scope.positions]
      const call = (given: JsonObject, round: readonly number[]): Promise<JsonValue> => {
        const inside = callScope(running.scope, { workflow, site, positions: [...positions, ...round] })
        return callWorkflow(running, {
          workflow,
          scope: inside,
          path,
          about: scope.positions.length === 0 ? about : { ...about, items: scope.positions },
          site,
          input: given,
          text: expression.text,
          past: running.past.workflowCalls.get(inside) ?? null,
          approval,
        })
      }
      return repeat === undefined ? call(input, []) : repeated(expression, repeat, input, scope, effects, call)
    },

    async read(expression, scope) {
      const place = placeOf(expression, scope)
      const past = replayedEffect(running, place)
      if (past?.kind === "read") return past.value
      const { values, shown: shownValues } = await bind(running, layers(running, expression), scope, effects)
      const remote = running.plan.resources[expression.resource]
      const facts = factsOfEffect(running, remote, shownValues)
      const at = { step: `resource.${expression.resource}`, path, ...place, facts }
      const reused = running.earlier === null ? undefined : await reusedEffect(running, at)
      if (reused?.kind === "read") return reused.value
      const startedAt = running.ports.clock.now()
      const resource = { name: expression.resource, values, path }
      const value = resourceValue(await readResource(running, resource, { counted: { agent: about.agent } }))
      running.log.add(
        "resource_read",
        {
          name: expression.resource,
          server: remote?.server ?? "",
          ...eventPlace(place),
          value: shown(value),
          duration_ms: running.ports.clock.now() - startedAt,
        },
        {
          site: effectKey(place),
          value,
          facts,
          ...(about.agent === undefined ? {} : { agent: about.agent }),
        },
      )
      return value
    },

    async render(expression, scope) {
      const prompt = { name: expression.prompt, at: placeOf(expression, scope), path }
      const bound = (): Promise<Bound> => bind(running, layers(running, expression), scope, effects)
      const messages = await renderPrompt(running, prompt, bound)
      return messages.map((message) => message.text).join("\n\n")
    },
  }
  const make = (
    expression: Effect | WorkflowCallExpression,
    scope: Scope,
    effect: () => Promise<JsonValue>,
  ): Promise<JsonValue> => {
    const place = placeOf(expression, scope)
    const skipped = running.past.skippedEffects.get(effectKey(place))
    if (skipped !== undefined) {
      keepFailure(running, effectKey(place), skipped, path)
      return Promise.resolve(null)
    }
    const value = namingItem(counted(running, effect), path, scope.positions)
    // Where an expression fails, others of the same value may be under way.
    return finishBeforeEnd(running, expression.skips === true ? orSkipped(running, path, place, value) : value)
  }
  const effects: Effects = {
    call: (expression, scope) => make(expression, scope, () => made.call(expression, scope)),
    callWorkflow: (expression, scope) => make(expression, scope, () => made.callWorkflow(expression, scope)),
    read: (expression, scope) => make(expression, scope, () => made.read(expression, scope)),
    render: (expression, scope) => make(expression, scope, () => made.render(expression, scope)),
    each: (count, concurrency, scope, work) => eachItem(running, count, concurrency, scope.path, work),
  }
  return effects
}

/** Calls a workflow again and again, each time with what the last round made of its input. */
async function repeated(
  { text }: WorkflowCallExpression,
  { until, next, at_most }: RepeatPlan,
  first: JsonObject,
  scope: Scope,
  effects: Effects,
  call: (input: JsonObject, round: readonly number[]) => Promise<JsonValue>,
): Promise<JsonObject> {
  let input = first
  for (let round = 1; ; round++) {
    const result = await call(input, [round - 1])
    const here = { ...scope, judged: { result, captured: [], round } }
    const done = await decide({ condition: until, text }, here, effects)
    if (done || round >= at_most) return { result, rounds: round, done }
    input = { ...input, ...(await evaluateEntries(next, here, effects)) }
  }
}

/** A failure in a list says which item it is that of: `dynamic.all[2]`, and in its message. */
async function namingItem(value: Promise<JsonValue>, path: string, positions: readonly number[]): Promise<JsonValue> {
  if (positions.length === 0) return value
  try {
    return await value
  } catch (error) {
    if (!(error instanceof RunFailure) || error instanceof RunEnding) throw error
    // `agent.review[2]` is an iteration of the agent.
    const isStep = path.startsWith("agent.") || path.startsWith("ask.")
    const at = isStep ? path : `${path}${positions.map((position) => `[${position}]`).join("")}`
    const [first, ...others] = error.error.issues.map((issue) =>
      issue.path === path ? { ...issue, path: at, message: `${issue.message} (item ${positions.join(", ")})` } : issue,
    )
    if (first === undefined) throw error
    throw new RunFailure({ ...error.error, ...wireError(error.error.kind, [first, ...others]) })
  }
}

/** Null for an effect that has failed for good, and may. */
async function orSkipped(
  running: RunContext,
  path: string,
  place: EffectPlace,
  value: Promise<JsonValue>,
): Promise<JsonValue> {
  try {
    return await value
  } catch (error) {
    if (!maySkip(error, running)) throw error
    running.log.add("step_skipped", { step: stepAt(path), ...eventPlace(place), error: error.error })
    keepFailure(running, effectKey(place), error.error, path)
    return null
  }
}

/** The step that a path leads into: `agent.review` of `agent.review.when`. */
function stepAt(path: string): string {
  return /^(?:output|\w+\.\w+)/.exec(path)?.[0] ?? path
}

/** Makes as many calls at a time as the list and the run allow. A failure does not wait for other calls, which may wait for a person. */
function eachItem(
  running: RunContext,
  count: number,
  concurrency: number | undefined,
  path: string,
  work: (position: number) => Promise<void>,
): Promise<void> {
  const { limits, maxConcurrency, signal, log } = running
  if (count > limits.maxIterations) {
    const message = `${path} would make calls for ${count} items; at most ${limits.maxIterations} are allowed`
    return Promise.reject(failure("limit_exceeded", path, message))
  }
  const one = async (position: number): Promise<void> => {
    signal.throwIfAborted()
    await work(position)
    const room = log.room()
    if (room !== null) await room
  }
  return new Promise((resolve, reject) => {
    runEach(count, Math.min(concurrency ?? maxConcurrency, maxConcurrency), one, reject).then(resolve, reject)
  })
}

/** The run's expressions may work more for each call, and with what it brings. */
async function counted({ work }: RunContext, effect: () => Promise<JsonValue>): Promise<JsonValue> {
  work.called()
  const value = await effect()
  work.received(sizeOf(value).bytes)
  return value
}

/** An import's own bindings, then those of the place that uses it. */
function layers(
  running: RunContext,
  expression: CallExpression | ReadExpression | RenderExpression,
): Parameters<typeof bind>[1] {
  const [kind, name] =
    expression.op === "call"
      ? (["tool", expression.tool] as const)
      : expression.op === "read"
        ? (["resource", expression.resource] as const)
        : (["prompt", expression.prompt] as const)
  const path = `${kind}.${name}.bindings`
  return [
    { path, entries: remoteOf(running, kind, name)?.bindings ?? [] },
    { path, entries: expression.bindings },
  ]
}
