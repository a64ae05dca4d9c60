import type { AgentNode, ContextPlan } from "../../plan/plan-shape.ts"
import { evaluateText } from "./agent-messages.ts"
import { stepName, type StepContext } from "./step-context.ts"
import { ModelList } from "./fallback.ts"
import type { CompactFacts } from "../context/cache-key.ts"
import type { Scope } from "../values/scope.ts"
import type { Effects } from "../values/evaluate-effects.ts"
import { backendFacts, backendOf, modelId, priceOf, pricing, providerKindOf } from "../context/backends.ts"
import { traits } from "../../plan/expression-traits.ts"
import type { ModelCallRecord } from "../../log/events.ts"
import { userText, type Message } from "../../log/messages.ts"
import { RunFailure, wireError } from "../../ports/run-failure.ts"
import type { ModelTurn, ModelWatch } from "../../ports/model.ts"
import { mergedInference } from "../../plan/prepare.ts"
import { shown } from "../log/log.ts"
import type { BegunTurn, FallbackReplayState } from "../../log/replay-state.ts"
import { askWithinBudgets } from "../context/within-budgets.ts"
import { spend, type RunContext } from "../context/run-context.ts"
import { unrounded } from "../../log/money.ts"
import { showSpent, spentBy } from "../../log/usage.ts"

const defaultInstruction =
  "Summarise the conversation so far for someone who continues it without having read it: the facts, the decisions, the" +
  " results, and what is still open. Answer with the summary alone."

/** The history that an agent continues. What of it another backend cannot read is the model client's business. */
export function continuedHistory(running: RunContext, context: ContextPlan): readonly Message[] {
  const history = running.histories.get(context.agent)
  if (history === undefined) throw new Error(`The history of agent.${context.agent} was not kept`)
  return history
}

/** How to summarise a history, evaluated. */
export async function compactFacts(
  running: RunContext,
  compact: NonNullable<ContextPlan["compact"]>,
  scope: Scope,
  effects: Effects,
): Promise<CompactFacts> {
  const [first, ...others] = compact.models.map(({ name, inference }) => ({
    backend: backendFacts(running, name),
    model: modelId(running, name, scope),
    inference: mergedInference(running.plan, name, inference),
  }))
  if (first === undefined) throw new Error("A compaction has no model")
  return {
    ...first,
    ...(others.length === 0 ? {} : { fallbacks: others }),
    instruction:
      compact.instruction === null ? defaultInstruction : await evaluateText(compact.instruction, scope, effects),
  }
}

/** The step that continues the history. */
export interface ContinuingStep extends Pick<StepContext, "running" | "node" | "caller" | "past"> {
  readonly watch: ModelWatch
}

interface Summary {
  readonly text: string
  /** It is that of a model other than the first. */
  readonly fellBack: boolean
}

/**
 * The message that replaces the history: a summary by a model, in plain text. The steps of a loop share one, unless what
 * is asked for differs from item to item.
 */
export async function compactedHistory(
  step: ContinuingStep,
  context: ContextPlan,
  facts: CompactFacts,
  history: readonly Message[],
  onFallback: () => void,
): Promise<Message[]> {
  const { running, node, past } = step
  const isOne = isShared(running, node, context)
  const known = isOne ? running.past.summaries.get(node.name) : past?.summary
  const fallbacks = (isOne ? running.past.summaryFallbacks.get(node.name) : past?.fallbacks) ?? []
  const summarise = (): Promise<Summary> =>
    known === undefined || known === null
      ? summary(step, context, facts, history, fallbacks)
      : Promise.resolve({ text: known, fellBack: fallbacks.some(({ turn }) => turn === 0) })
  let made: Promise<Summary>
  if (isOne) {
    made = running.summaries.get(node.name) ?? summarise()
    running.summaries.set(node.name, made)
  } else made = summarise()
  const { text, fellBack } = await made
  if (fellBack) onFallback()
  return [summaryMessage(text)]
}

/** Whether the steps of a loop share one summary. */
export function isShared(running: RunContext, node: AgentNode, { compact }: ContextPlan): boolean {
  if (node.loop === null || compact === null) return false
  // Each item may choose another.
  if (node.choice !== undefined && compact.own === true) return false
  const ids = compact.models.map(({ name }) => running.plan.models[name]?.id)
  return [...ids, compact.instruction].every(
    (expression) => expression === undefined || expression === null || !traits(expression).local,
  )
}

async function summary(
  { running, caller, past, watch }: ContinuingStep,
  context: ContextPlan,
  facts: CompactFacts,
  history: readonly Message[],
  fallbacks: readonly FallbackReplayState[],
): Promise<Summary> {
  const { clock, model } = running.ports
  const startedAt = clock.now()
  const calls: ModelCallRecord[] = []
  const summarisers = [facts, ...(facts.fallbacks ?? [])].map((one, position) => ({
    ...one,
    name: context.compact?.models[position]?.name ?? "",
  }))
  const models = new ModelList(running, caller, summarisers, (failed) => calls.push(...failed))
  models.replay(fallbacks.filter(({ turn }) => turn === 0))
  const ask = async (one: (typeof summarisers)[number], begun: BegunTurn | undefined): Promise<ModelTurn> => {
    const turn = await model.turn(
      {
        run_id: running.runId,
        caller: running.caller,
        path: caller.path,
        step: stepName(running, caller),
        backend: backendOf(running, one.name),
        model: one.model,
        name: one.name,
        provider: providerKindOf(running, one.name),
        ...pricing(running, one.name),
        system: null,
        input: [...history, userText(facts.instruction)],
        tools: [],
        contract: null,
        response_format: "auto",
        inference: one.inference,
        turn: 0,
        attempts_before: begun?.attempts ?? 0,
        progress: begun?.progress ?? null,
        deltas: false,
      },
      watch,
    )
    if (turn.kind === "text" && turn.text.trim() !== "") return turn
    const message = `The model gave no summary of agent.${context.agent}`
    throw new RunFailure(wireError("output_error", [{ path: caller.path, message }]), turn.calls)
  }
  let turn: ModelTurn
  try {
    turn = await askWithinBudgets(running, past?.begun.get(0), (begun) =>
      running.permits.use(() => models.ask(0, begun, ask)),
    )
  } catch (error) {
    // The calls of the models before are in the error of the last one, so that the agent's failure names them all.
    throw error instanceof RunFailure ? new RunFailure(error.error, [...calls, ...error.calls], error.answer) : error
  }
  if (turn.kind !== "text") throw new Error("A compaction gives a text")
  calls.push(...turn.calls)
  const spent = spentBy(calls, (name) => priceOf(running, name))
  spend(running, spent)
  running.log.add(
    "context_compacted",
    {
      ...caller.about,
      source: context.agent,
      summary: shown(turn.text),
      duration_ms: clock.now() - startedAt,
      usage: showSpent(spent),
    },
    { summary: turn.text, calls },
    unrounded(spent.cost),
  )
  return { text: turn.text, fellBack: models.fellBack }
}

function summaryMessage(text: string): Message {
  return userText(`Summary of the conversation so far:\n\n${text}`)
}
