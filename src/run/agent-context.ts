import type { ContextPlan } from "../plan/plan-shape.ts"
import { textPart, userMessage } from "./agent-messages.ts"
import type { Caller } from "./agent-tools.ts"
import type { CompactFacts } from "./cache-key.ts"
import type { Scope } from "./evaluate.ts"
import { toText } from "./evaluate.ts"
import type { Effects } from "./evaluate-effects.ts"
import { evaluateEffects } from "./evaluate-effects.ts"
import { backendFacts, backendOf, modelId } from "./backends.ts"
import { failure } from "./failure.ts"
import type { HistoryItem, ModelWatch } from "./ports.ts"
import { mergedInference } from "./prepare.ts"
import type { AgentPast } from "./resume.ts"
import type { Running } from "./running.ts"
import { addUsage } from "./usage.ts"

const usualInstruction =
  "Summarise the conversation so far for someone who continues it without having read it: the facts, the decisions, the" +
  " results, and what is still open. Answer with the summary alone."

/** The history that an agent continues. What of it another backend cannot read is the model client's business. */
export function continuedHistory(running: Running, context: ContextPlan): readonly HistoryItem[] {
  const history = running.histories.get(context.agent)
  if (history === undefined) throw new Error(`The history of agent.${context.agent} was not kept`)
  return history
}

/** How a history is to be summarised, evaluated. */
export async function compactFacts(
  running: Running,
  compact: NonNullable<ContextPlan["compact"]>,
  scope: Scope,
  effects: Effects,
): Promise<CompactFacts> {
  return {
    backend: backendFacts(running, compact.model),
    model: modelId(running, compact.model, scope),
    inference: mergedInference(running.plan, compact.model, compact.inference),
    instruction:
      compact.instruction === null
        ? usualInstruction
        : toText(await evaluateEffects(compact.instruction, scope, effects)),
  }
}

/** The message that stands for the history: a summary by a model, in plain text. */
export async function compactedHistory(
  running: Running,
  caller: Caller,
  context: ContextPlan,
  facts: CompactFacts,
  history: readonly HistoryItem[],
  past: AgentPast | null,
  watch: ModelWatch,
): Promise<HistoryItem[]> {
  const known = past?.summary ?? null
  if (known !== null) return [summaryMessage(known)]
  const { clock, model } = running.ports
  const startedAt = clock.now()
  const turn = await running.permits.use(() =>
    model.turn(
      {
        path: caller.path,
        backend: backendOf(running, context.compact?.model ?? ""),
        model: facts.model,
        input: [...history, userMessage([textPart(facts.instruction)])],
        tools: [],
        contract: null,
        response_format: "auto",
        inference: facts.inference,
        turn: 0,
        attempts_before: past?.retries.get(0) ?? 0,
        deltas: false,
      },
      watch,
    ),
  )
  if (turn.kind !== "text" || turn.text.trim() === "") {
    throw failure("output_error", caller.path, `The model gave no summary of agent.${context.agent}`)
  }
  running.usage = addUsage(running.usage, turn.usage)
  running.log.add(
    "context_compacted",
    { ...caller.about, source: context.agent, duration_ms: clock.now() - startedAt, usage: turn.usage },
    { summary: turn.text },
  )
  return [summaryMessage(turn.text)]
}

function summaryMessage(summary: string): HistoryItem {
  return userMessage([textPart(`Summary of the conversation so far:\n\n${summary}`)])
}
