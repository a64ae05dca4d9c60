import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { validateValue } from "../../types/validate-value.ts"
import type { ApprovalPlan, CallExpression, ReadExpression, RenderExpression } from "../../plan/expression.ts"
import type { RemotePlan } from "../../plan/plan-shape.ts"
import { argumentProblems } from "./argument-problems.ts"
import { bind } from "./bind.ts"
import { withoutAbsent, withoutFields } from "./bound-schema.ts"
import { countedCall } from "../budget/counted-call.ts"
import { callTool, countCall, toolOf, usedUp } from "./call-tool.ts"
import type { ToolCall } from "./call-tool.ts"
import type { Effects } from "../evaluate-effects.ts"
import { evaluateEffects, evaluateEntries } from "../evaluate-effects.ts"
import { toBoundedText, type Scope } from "../evaluate.ts"
import { failureAt } from "../failure.ts"
import type { PromptMessage } from "../../log/messages.ts"
import type { ResourceAnswer } from "../../ports/tools.ts"
import { RunFailure, wireError } from "../../ports/run-failure.ts"
import { shown } from "../log/log.ts"
import { shownPrompt } from "../log/shown-messages.ts"
import { placeKey, type EffectPast } from "../../log/past.ts"
import { factsOfEffect, reusedEffect } from "./reuse-effect.ts"
import { resourceValue } from "./resource-value.ts"
import type { Place } from "../permits.ts"
import type { Approval } from "../questions/approval.ts"
import type { RunContext } from "../run-context.ts"
import { callStored, finishBeforeEnd } from "../run-context.ts"
import { sizeOf } from "../value-size.ts"

/** What the expressions of one place (a dynamic value, an agent) make happen, each once in the life of the run. */
export function workflowEffects(running: RunContext, path: string, about: ToolCall["about"]): Effects {
  const iteration = about.iteration ?? null
  const made: Effects = {
    async call(expression, scope) {
      const { plan, hosted } = toolOf(running, expression.tool)
      const past = pastEffect(running, expression.site, iteration)
      const input = await evaluateEntries(expression.input, scope, effects)
      const bound = await bind(running, layers(running, expression), scope, effects)
      const values = hosted.fit({ ...input, ...bound.values })
      const declared =
        plan.input === null ? null : withoutAbsent(withoutFields(plan.input, bound.values), input, running.plan.types)
      const misfits = declared === null ? [] : validateValue(input, declared, running.plan.types, "input")
      const problems =
        misfits.length > 0 ? misfits.map(({ message }) => message) : argumentProblems(hosted, input, bound)
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
        const at = { step: `tool.${expression.tool}`, path, site: expression.site, iteration, facts }
        const reused = reusedEffect(running, at)
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
        about,
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

    async read(expression, scope) {
      const past = pastEffect(running, expression.site, iteration)
      if (past?.kind === "read") return past.value
      const { values, shown: shownValues } = await bind(running, layers(running, expression), scope, effects)
      const remote = running.plan.resources[expression.resource]
      const facts = factsOfEffect(running, remote, shownValues)
      const at = { step: `resource.${expression.resource}`, path, site: expression.site, iteration, facts }
      const reused = reusedEffect(running, at)
      if (reused?.kind === "read") return reused.value
      const startedAt = running.ports.clock.now()
      const answer = await readResource(running, expression.resource, values, path, { agent: about.agent })
      const value = resourceValue(answer)
      running.log.add(
        "resource_read",
        {
          name: expression.resource,
          server: remote?.server ?? "",
          ...placeOf(expression.site, iteration),
          value: shown(value),
          duration_ms: running.ports.clock.now() - startedAt,
        },
        {
          site: placeKey(expression.site, iteration),
          value,
          facts,
          ...(about.agent === undefined ? {} : { agent: about.agent }),
        },
      )
      return value
    },

    async render(expression, scope) {
      const messages = await renderPrompt(
        running,
        expression.prompt,
        { site: expression.site, iteration },
        layers(running, expression),
        scope,
        path,
        effects,
      )
      return messages.map((message) => message.text).join("\n\n")
    },
  }
  // Where an expression fails, others of the same value may be under way.
  const effects: Effects = {
    call: (expression, scope) =>
      finishBeforeEnd(
        running,
        counted(running, () => made.call(expression, scope)),
      ),
    read: (expression, scope) =>
      finishBeforeEnd(
        running,
        counted(running, () => made.read(expression, scope)),
      ),
    render: (expression, scope) =>
      finishBeforeEnd(
        running,
        counted(running, () => made.render(expression, scope)),
      ),
  }
  return effects
}

/** The run's expressions may work more for each call, and with what it brings. */
async function counted({ work }: RunContext, effect: () => Promise<JsonValue>): Promise<JsonValue> {
  work.called()
  const value = await effect()
  work.received(sizeOf(value).bytes)
  return value
}

/** Whom a call is to be approved by. */
export async function approvalAt(plan: ApprovalPlan | null, scope: Scope, effects: Effects): Promise<Approval | null> {
  if (plan === null) return null
  const { to, expires_seconds } = plan
  const here = { ...scope, path: `${scope.path}.approval.to` }
  return { to: to === null ? null : toBoundedText(await evaluateEffects(to, here, effects), here), expires_seconds }
}

/** Renders a prompt once in the life of the run. */
export async function renderPrompt(
  running: RunContext,
  prompt: string,
  at: { readonly site: string; readonly iteration: number | null },
  bindings: Parameters<typeof bind>[1],
  scope: Scope,
  path: string,
  effects: Effects,
): Promise<readonly PromptMessage[]> {
  const past = pastEffect(running, at.site, at.iteration)
  if (past?.kind === "render") return past.messages
  const { host } = running
  if (host === null) throw new Error(`Prompt ${prompt} was not looked up at the start of the run`)
  const { values, shown: shownValues } = await bind(running, bindings, scope, effects)
  const facts = factsOfEffect(running, running.plan.prompts[prompt], shownValues)
  const reused = reusedEffect(running, { step: `prompt.${prompt}`, path, ...at, facts })
  if (reused?.kind === "render") return reused.messages
  const startedAt = running.ports.clock.now()
  const messages = await fromServer(running, path, () => host.render(prompt, values, running.signal), null)
  running.log.add(
    "prompt_rendered",
    {
      name: prompt,
      server: running.plan.prompts[prompt]?.server ?? "",
      ...placeOf(at.site, at.iteration),
      messages: shownPrompt(messages),
      duration_ms: running.ports.clock.now() - startedAt,
    },
    { site: placeKey(at.site, at.iteration), messages, facts },
  )
  return messages
}

/**
 * `counted`: whose call it is, null for one that was counted before; `place`: one that the caller holds; `begins` runs when
 * the place is there, before the server is asked.
 */
export async function readResource(
  running: RunContext,
  resource: string,
  values: JsonObject,
  path: string,
  counted: { readonly agent: string | undefined } | null,
  begins?: () => void,
  place?: Place,
): Promise<ResourceAnswer> {
  const { host } = running
  if (host === null) throw new Error(`Resource ${resource} was not looked up at the start of the run`)
  return fromServer(running, path, () => host.read(resource, values, running.signal), counted, begins, place)
}

/** Reading and rendering change nothing, so a transport failure is met with one more try. */
async function fromServer<T>(
  running: RunContext,
  path: string,
  ask: () => Promise<T>,
  counted: { readonly agent: string | undefined } | null,
  begins?: () => void,
  place?: Place,
): Promise<T> {
  const { redactor, signal } = running
  const askTwice = async (): Promise<T> => {
    try {
      return await ask()
    } catch (error) {
      if (signal.aborted || !(error instanceof RunFailure) || error.error.kind !== "tool_error") throw error
      return ask()
    }
  }
  try {
    const begin = (): Promise<T> => {
      begins?.()
      return callStored(running, askTwice)
    }
    const call = (): Promise<T> => (counted === null ? begin() : countedCall(running, counted.agent, begin))
    const answer = await running.permits.use(call, place)
    return redactor.redact(answer)
  } catch (error) {
    if (!(error instanceof RunFailure)) throw error
    throw failureAt(path, new RunFailure(redactor.redact(error.error)))
  }
}

function placeOf(site: string, iteration: number | null): { readonly site: string; readonly iteration?: number } {
  return iteration === null ? { site } : { site, iteration }
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

export function remoteOf(
  running: RunContext,
  kind: "tool" | "resource" | "prompt",
  name: string,
): RemotePlan | undefined {
  const { tools, resources, prompts } = running.plan
  return { tool: tools, resource: resources, prompt: prompts }[kind][name]
}

/** What the log knows of a call site. */
function pastEffect({ past }: RunContext, site: string, iteration: number | null): EffectPast | undefined {
  return past.effects.size === 0 ? undefined : past.effects.get(placeKey(site, iteration))
}
