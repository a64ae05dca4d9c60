import type { AgentNode, AssetKind } from "../../plan/plan-shape.ts"
import type { CallSettings } from "../../plan/prepare.ts"
import type { CapturedValues } from "../../log/replay-data.ts"
import type { FilePart, Message } from "../../log/messages.ts"
import { toJsonSchema } from "../../types/json-schema.ts"
import { backendFacts, modelId } from "../context/backends.ts"
import { loopTurns } from "../../event-loop/loop-turns.ts"
import { memoryOf } from "../../base/memory-of.ts"
import type { RunContext } from "../context/run-context.ts"
import { whileBusy } from "../context/run-context.ts"
import type { Requirements } from "../values/requirements.ts"
import { capture, noCaptures, requirementFacts } from "../values/requirements.ts"
import { serverFacts } from "../tools/tool-servers.ts"
import { bind } from "../tools/bind.ts"
import { renderPrompt } from "../tools/read-and-render.ts"
import { compactFacts, continuedHistory } from "./agent-context.ts"
import type { Instruction } from "./agent-messages.ts"
import {
  evaluateText,
  joinedByRole,
  promptMessages,
  renderFiles,
  renderInstruction,
  renderMessages,
} from "./agent-messages.ts"
import { AgentTools } from "./agent-tools.ts"
import type { CompactFacts } from "../context/cache-key.ts"
import { cacheHash, fixedHash } from "../context/cache-key.ts"
import type { StepContext } from "./step-context.ts"
import { scopeAt } from "./step-context.ts"

/** Everything that a model is asked in one step, rendered. */
export interface Rendered {
  /** In the order in which they are asked. */
  readonly models: readonly RenderedModel[]
  readonly instruction: Instruction
  /** What was said before the instruction. */
  readonly said: readonly Message[]
  readonly files: readonly FilePart[]
  readonly tools: AgentTools
  readonly compact: CompactFacts | null
  readonly requirements: Requirements
}

export interface RenderedModel {
  readonly name: string
  /** The backend's. */
  readonly id: string
  readonly system: string | null
  readonly settings: CallSettings
}

/** The messages to the model, and the hash of everything that decides its answer. */
export interface Asked {
  readonly messages: readonly Message[]
  /** The history that it continues. */
  readonly continued: readonly Message[]
  readonly facts: string
}

/** A promise only where something has to be waited for: most steps have an instruction and nothing else. */
export function renderStep(step: StepContext): Rendered | Promise<Rendered> {
  const { running, node, effects } = step
  const calls = running.prepared.calls.get(node) ?? []
  const scope = scopeAt(step, "instruction")
  const instruction = renderInstruction(node.instruction, scope, effects, (kind) => refusedAsset(step, kind))
  const isPlain =
    node.files.length + node.requires.length === 0 &&
    node.messages === undefined &&
    (node.context?.compact ?? null) === null &&
    !hasTools(node) &&
    !hasSystem(node, calls)
  if (!isPlain) return renderMore(step, calls, instruction)
  return instruction instanceof Promise
    ? instruction.then((late) => plain(step, calls, late))
    : plain(step, calls, instruction)
}

function plain(step: StepContext, calls: readonly CallSettings[], instruction: Instruction): Rendered {
  return {
    models: calls.map((call) => rendered(step, call, null)),
    instruction,
    said: [],
    files: [],
    tools: AgentTools.none(step.running, step.node, step.caller),
    compact: null,
    requirements: requirementsOf(step, noCaptures),
  }
}

async function renderMore(
  step: StepContext,
  calls: readonly CallSettings[],
  instruction: Instruction | Promise<Instruction>,
): Promise<Rendered> {
  const { running, node, caller, effects } = step
  const compact = node.context?.compact ?? null
  return {
    ...plain(step, calls, await instruction),
    ...(node.messages !== undefined && {
      said: await renderMessages(node.messages, scopeAt(step, "messages"), effects),
    }),
    ...(node.files.length > 0 && { files: await renderFiles(node.files, scopeAt(step, "file"), effects) }),
    ...(hasSystem(node, calls) && { models: await withSystems(step, calls) }),
    ...(hasTools(node) && { tools: await AgentTools.offered(running, node, caller, scopeAt(step, "uses"), effects) }),
    ...(compact !== null && { compact: await compactFacts(running, compact, scopeAt(step, "context"), effects) }),
    ...(node.requires.length > 0 && { requirements: requirementsOf(step, await captured(step)) }),
  }
}

function hasTools({ uses, workflows = [] }: AgentNode): boolean {
  return uses.length + workflows.length > 0
}

/** What a test's given result needs: the instruction, and nothing that is asked elsewhere. */
export async function renderGiven(step: StepContext): Promise<Rendered> {
  const { instruction: asked } = step.node
  const instruction = await renderInstruction(asked, scopeAt(step, "instruction"), step.effects, () => null)
  const tools = AgentTools.none(step.running, step.node, step.caller)
  const requirements = requirementsOf(step, await captured(step))
  const models = await withSystems(step, step.running.prepared.calls.get(step.node) ?? [])
  return { models, instruction, said: [], files: [], tools, compact: null, requirements }
}

function captured({ node, caller, scope }: StepContext): Promise<CapturedValues> {
  return capture(node.requires, { ...scope, path: caller.path })
}

function requirementsOf({ running, node, caller }: StepContext, values: CapturedValues): Requirements {
  const { path, about } = caller
  const { work, plan } = running
  return { requires: node.requires, captured: values, path, iteration: about.iteration ?? null, work, functions: plan }
}

/** Why one of the agent's models cannot take a kind of asset. Kinds that the source tells are the checker's. */
function refusedAsset({ running, node }: StepContext, kind: AssetKind): string | null {
  const { models } = running.plan
  const other = node.models.find(({ name }) => models[name]?.assets.includes(kind) !== true)
  return other === undefined ? null : `it is of type ${kind}, which \`assets\` of model.${other.name} does not list`
}

function hasSystem({ system }: AgentNode, calls: readonly CallSettings[]): boolean {
  return system !== null || calls.some((call) => call.system !== null)
}

/** The models with their system texts: the agent's own, or else that of each model. */
async function withSystems(step: StepContext, calls: readonly CallSettings[]): Promise<RenderedModel[]> {
  const { system } = step.node
  const own = system === null ? null : await evaluateText(system, scopeAt(step, "system"), step.effects)
  const models: RenderedModel[] = []
  for (const call of calls) {
    const model = rendered(step, call, own)
    models.push(own === null ? { ...model, system: await modelSystem(step, call) } : model)
  }
  return models
}

function rendered(step: StepContext, settings: CallSettings, system: string | null): RenderedModel {
  const name = settings.model
  return { name, id: modelId(step.running, name, step.scope), system, settings }
}

/** The system text of a model, for agents that have none of their own. */
async function modelSystem(step: StepContext, { model, system }: CallSettings): Promise<string | null> {
  return system === null ? null : evaluateText(system, { ...step.scope, path: `model.${model}.system` }, step.effects)
}

/** A promise only where prompts are rendered, or where there is much to hash. */
export function askedOf(step: StepContext, rendered: Rendered): Asked | Promise<Asked> {
  const { parts } = rendered.instruction
  const instruction: Message = {
    role: "user",
    parts: rendered.files.length === 0 ? parts : [...parts, ...rendered.files],
  }
  if (step.node.uses.length === 0) return askedWith(step, rendered, messagesOf(step, rendered, [instruction]))
  return renderPrompts(step).then((prompts) => {
    return askedWith(step, rendered, messagesOf(step, rendered, [...prompts, instruction]))
  })
}

/** With what was said before, where the agent says so. */
function messagesOf({ node }: StepContext, { said }: Rendered, own: readonly Message[]): readonly Message[] {
  return node.messages === undefined ? own : joinedByRole([...said, ...own])
}

function askedWith(step: StepContext, rendered: Rendered, messages: readonly Message[]): Asked | Promise<Asked> {
  const { context } = step.node
  const continued = context === null ? [] : continuedHistory(step.running, context)
  const asked = (): Asked => ({ messages, continued, facts: hashOf(step, rendered, continued, messages) })
  const turn = loopTurns.forLarge(memoryOf(messages) + memoryOf(continued))
  return turn === null ? asked() : whileBusy(step.running, turn).then(asked)
}

async function renderPrompts(step: StepContext): Promise<Message[]> {
  const found: Message[] = []
  const { plan } = step.running
  for (const use of step.node.uses) {
    if (use.kind !== "prompt") continue
    const path = `prompt.${use.name}.bindings`
    const bindings = [
      { path, entries: plan.prompts[use.name]?.bindings ?? [] },
      { path, entries: use.bindings },
    ]
    const at = { site: use.site, iteration: step.caller.about.iteration ?? null, items: [] }
    const messages = await renderPrompt(step.running, { name: use.name, at, path: step.caller.path }, () =>
      bind(step.running, bindings, scopeAt(step, "uses"), step.effects),
    )
    found.push(...promptMessages(messages))
  }
  return found
}

function hashOf(
  step: StepContext,
  rendered: Rendered,
  continued: readonly Message[],
  messages: readonly Message[],
): string {
  const { running, node } = step
  const hasNoUses = !hasTools(node)
  return cacheHash({
    fixed: fixedFacts(running, node),
    models: rendered.models.map(({ name, id, system }) => ({
      backend: backendFacts(running, name),
      model: id,
      system,
    })),
    context: node.context === null ? null : { compact: rendered.compact, history: continued },
    messages,
    servers: hasNoUses ? [] : serverFacts(running, node),
    tools: hasNoUses ? [] : rendered.tools.fingerprint,
    ...(node.requires.length === 0 ? {} : { requirements: requirementFacts(rendered.requirements) }),
  })
}

// Plans are kept by their source and run again and again.
const fixed = new WeakMap<AgentNode, string>()

function fixedFacts({ plan, prepared }: RunContext, node: AgentNode): string {
  let facts = fixed.get(node)
  if (facts === undefined) {
    const calls = prepared.calls.get(node) ?? []
    facts = fixedHash({
      max_steps: node.max_steps,
      contract: toJsonSchema(node.output, plan.types),
      calls: calls.map(({ inference, response_format }) => ({ inference, response_format })),
    })
    fixed.set(node, facts)
  }
  return facts
}
