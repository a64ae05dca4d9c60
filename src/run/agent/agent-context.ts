import type { AgentNode, ContextPlan } from "../../plan/plan-shape.ts"
import { evaluateText } from "./agent-messages.ts"
import type { Caller } from "./agent-tools.ts"
import type { CompactFacts } from "./cache-key.ts"
import type { Scope } from "../evaluate.ts"
import type { Effects } from "../evaluate-effects.ts"
import { backendFacts, backendOf, modelId } from "../backends.ts"
import { traits } from "../../plan/expression-traits.ts"
import { failure } from "../failure.ts"
import type { Message } from "../../ports/messages.ts"
import { userText } from "../../ports/messages.ts"
import type { ModelWatch } from "../../ports/model.ts"
import { mergedInference } from "../../plan/prepare.ts"
import type { AgentPast } from "../log/resume.ts"
import type { RunContext } from "../run-context.ts"
import { callOut } from "../run-context.ts"
import { addUsage } from "../usage.ts"

const usualInstruction =
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
  return {
    backend: backendFacts(running, compact.model),
    model: modelId(running, compact.model, scope),
    inference: mergedInference(running.plan, compact.model, compact.inference),
    instruction:
      compact.instruction === null ? usualInstruction : await evaluateText(compact.instruction, scope, effects),
  }
}

/**
 * The message that stands for the history: a summary by a model, in plain text. The steps of a loop share one, unless what
 * is asked for differs from item to item.
 */
export async function compactedHistory(
  running: RunContext,
  node: AgentNode,
  caller: Caller,
  context: ContextPlan,
  facts: CompactFacts,
  history: readonly Message[],
  past: AgentPast | null,
  watch: ModelWatch,
): Promise<Message[]> {
  const summarise = (known: string | null): Promise<string> =>
    known === null ? summary(running, caller, context, facts, history, past, watch) : Promise.resolve(known)
  if (!isShared(running, node, context)) return [summaryMessage(await summarise(past?.summary ?? null))]
  let shared = running.summaries.get(node.name)
  if (shared === undefined) {
    shared = summarise(running.past.summaries.get(node.name) ?? null)
    running.summaries.set(node.name, shared)
  }
  return [summaryMessage(await shared)]
}

function isShared(running: RunContext, node: AgentNode, { compact }: ContextPlan): boolean {
  if (node.loop === null || compact === null) return false
  const id = running.plan.models[compact.model]?.id
  return [id, compact.instruction].every(
    (expression) => expression === undefined || expression === null || !traits(expression).local,
  )
}

async function summary(
  running: RunContext,
  caller: Caller,
  context: ContextPlan,
  facts: CompactFacts,
  history: readonly Message[],
  past: AgentPast | null,
  watch: ModelWatch,
): Promise<string> {
  const { clock, model } = running.ports
  const startedAt = clock.now()
  const turn = await callOut(running, () =>
    model.turn(
      {
        caller: running.caller,
        path: caller.path,
        backend: backendOf(running, context.compact?.model ?? ""),
        model: facts.model,
        system: null,
        input: [...history, userText(facts.instruction)],
        tools: [],
        contract: null,
        response_format: "auto",
        inference: facts.inference,
        turn: 0,
        attempts_before: past?.begun.get(0)?.attempts ?? 0,
        progress: past?.begun.get(0)?.progress ?? null,
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
  return turn.text
}

function summaryMessage(text: string): Message {
  return userText(`Summary of the conversation so far:\n\n${text}`)
}
