import type { Entry, Expression } from "../../plan/expression.ts"
import type { AgentNode, AssetKind, UsePlan } from "../../plan/plan-shape.ts"
import { stabilityOf, stableBeginning } from "../../plan/stable-part.ts"
import type { CallSettings } from "../../plan/prepare.ts"
import type { CapturedValues } from "../../log/replay-data.ts"
import { byContent } from "../../log/by-content.ts"
import type { FilePart, Message, UserMessage } from "../../log/messages.ts"
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
import { compactFacts, continuedHistory, isShared } from "./agent-context.ts"
import type { Instruction, ShowPart, StablePlace } from "./agent-messages.ts"
import {
  evaluateText,
  joinedByRole,
  placeWhenJoined,
  promptMessages,
  renderFiles,
  renderInstruction,
  renderMessages,
} from "./agent-messages.ts"
import { AgentTools } from "./agent-tools.ts"
import type { CompactFacts } from "../context/cache-key.ts"
import { cacheHash, fixedHash } from "../context/cache-key.ts"
import type { Scope } from "../values/scope.ts"
import type { StepContext } from "./step-context.ts"
import { scopeAt } from "./step-context.ts"

/** Everything that a model is asked in one step, rendered. */
export interface Rendered {
  /** In the order in which they are asked. */
  readonly models: readonly RenderedModel[]
  readonly instruction: Instruction
  /** What was said before the instruction. */
  readonly said: readonly Message[]
  /** How many of those stay the same from call to call. */
  readonly stableSaid: number
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
  /** The system text as traces show it. Absent where they do not. */
  readonly shownSystem?: string
  /** Characters of its stable beginning; null: all of it is. */
  readonly stableSystem: number | null
  readonly settings: CallSettings
}

/** The messages to the model, and the hash of everything that decides its answer. */
export interface Asked {
  readonly messages: readonly Message[]
  /** The history that it continues. */
  readonly continued: readonly Message[]
  /** The prompts of servers among the messages. */
  readonly prompts: readonly Message[]
  readonly facts: string
  /** Where the stable beginning ends in `messages`; null: in what is continued. */
  readonly stable: StablePlace | null
}

/** A promise only where something has to be waited for: most steps have an instruction and nothing else. */
export function renderStep(step: StepContext): Rendered | Promise<Rendered> {
  const { running, node, effects } = step
  const calls = running.prepared.calls.get(node) ?? []
  const scope = scopeAt(step, "instruction")
  const instruction = renderInstruction(
    node.instruction,
    scope,
    effects,
    (kind) => refusedAsset(step, kind),
    stabilityOf(node),
    showInstruction(step),
  )
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
    models: calls.map((call) => rendered(step, call, null, null)),
    instruction,
    said: [],
    stableSaid: 0,
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
  const before = plain(step, calls, await instruction)
  const { said, stable: stableSaid } =
    node.messages === undefined
      ? { said: before.said, stable: 0 }
      : await renderMessages(node.messages, scopeAt(step, "messages"), effects, stabilityOf(node))
  return {
    ...before,
    said,
    stableSaid,
    ...(node.files.length > 0 && { files: await renderFiles(node.files, scopeAt(step, "file"), effects) }),
    ...(hasSystem(node, calls) && { models: await withSystems(step, calls) }),
    ...(hasTools(node) && { tools: await AgentTools.offered(running, node, caller, scopeAt(step, "uses"), effects) }),
    ...(compact !== null && { compact: await compactFacts(running, compact, scopeAt(step, "context"), effects) }),
    ...(node.requires.length > 0 && { requirements: requirementsOf(step, await captured(step)) }),
  }
}

function showInstruction({ running, node }: StepContext): ShowPart | undefined {
  const shown = running.content?.agent(node.name)
  return shown && ((at) => shown.instruction(at))
}

function hasTools({ uses, workflows = [] }: AgentNode): boolean {
  return uses.length + workflows.length > 0
}

/** What a test's given result needs: the instruction, and nothing that is asked elsewhere. */
export async function renderGiven(step: StepContext): Promise<Rendered> {
  const { instruction: asked } = step.node
  const instruction = await renderInstruction(
    asked,
    scopeAt(step, "instruction"),
    step.effects,
    () => null,
    stabilityOf(step.node),
  )
  const tools = AgentTools.none(step.running, step.node, step.caller)
  const requirements = requirementsOf(step, await captured(step))
  const models = await withSystems(step, step.running.prepared.calls.get(step.node) ?? [])
  return { models, instruction, said: [], stableSaid: 0, files: [], tools, compact: null, requirements }
}

function captured({ node, caller, scope }: StepContext): Promise<CapturedValues> {
  return capture(node.requires, { ...scope, path: caller.path })
}

function requirementsOf({ running, node, caller }: StepContext, values: CapturedValues): Requirements {
  const { path, about } = caller
  const { work, plan: functions, code } = running
  return { requires: node.requires, captured: values, path, iteration: about.iteration ?? null, work, functions, code }
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
  const scope = scopeAt(step, "system")
  const own = system === null ? null : await systemText(step, system, scope, null)
  const stableOwn = system === null ? null : await stableCharacters(step, system, scope)
  const models: RenderedModel[] = []
  for (const call of calls) {
    const at = { ...scope, path: `model.${call.model}.system` }
    const given = own === null && call.system !== null ? await systemText(step, call.system, at, call.model) : own
    const stable = own === null && call.system !== null ? await stableCharacters(step, call.system, scope) : stableOwn
    const model = rendered(step, call, given?.text ?? null, stable)
    models.push(given?.shown === undefined ? model : { ...model, shownSystem: given.shown })
  }
  return models
}

interface SystemText {
  readonly text: string
  readonly shown?: string
}

/** `model`: the one that the text is of; null for the agent's own. */
async function systemText(
  { running, node, effects }: StepContext,
  system: Expression,
  scope: Scope,
  model: string | null,
): Promise<SystemText> {
  const { content } = running
  if (content === null) return { text: await evaluateText(system, scope, effects) }
  const labels = model === null ? null : content.systemOf(model)
  const shown = content.agent(node.name)
  return renderInstruction(
    system,
    scope,
    effects,
    () => null,
    stabilityOf(node),
    (at) => shown.system(at, labels),
  )
}

/** Characters of the stable beginning of a text; null: all of it is stable. */
async function stableCharacters(
  { node, effects }: StepContext,
  text: Expression,
  scope: Scope,
): Promise<number | null> {
  const parts = stableBeginning(text, stabilityOf(node))
  return parts === null ? null : (await evaluateText({ op: "text", parts }, scope, effects)).length
}

function rendered(
  step: StepContext,
  settings: CallSettings,
  system: string | null,
  stableSystem: number | null,
): RenderedModel {
  const name = settings.model
  return { name, id: modelId(step.running, name, step.scope), system, stableSystem, settings }
}

/** A promise only where prompts are rendered, or where there is much to hash. */
export function askedOf(step: StepContext, rendered: Rendered): Asked | Promise<Asked> {
  const { parts } = rendered.instruction
  const instruction: UserMessage = {
    role: "user",
    parts: rendered.files.length === 0 ? parts : [...parts, ...rendered.files],
  }
  if (step.node.uses.length === 0) return askedWith(step, rendered, [], instruction)
  return renderPrompts(step).then((prompts) => askedWith(step, rendered, prompts, instruction))
}

function askedWith(
  step: StepContext,
  rendered: Rendered,
  prompts: readonly Message[],
  instruction: UserMessage,
): Asked | Promise<Asked> {
  const { context } = step.node
  const all = [...rendered.said, ...prompts, instruction]
  // What was said before is joined, where the agent says so.
  const joins = step.node.messages !== undefined
  const messages = joins ? joinedByRole(all) : all
  const place = stablePlace(step, rendered, prompts.length)
  const stable = place === null || !joins ? place : placeWhenJoined(all, place)
  const continued = context === null ? [] : continuedHistory(step.running, context)
  const asked = (): Asked => ({
    messages,
    continued,
    prompts,
    facts: hashOf(step, rendered, continued, messages),
    stable,
  })
  const turn = loopTurns.forLarge(memoryOf(messages) + memoryOf(continued))
  return turn === null ? asked() : whileBusy(step.running, turn).then(asked)
}

/** Where the stable beginning ends in what an agent says itself. */
function stablePlace(
  { running, node }: StepContext,
  { said, stableSaid, instruction }: Rendered,
  prompts: number,
): StablePlace | null {
  const isStable = stabilityOf(node)
  const { context, loop } = node
  const areStable = (entries: readonly Entry[] = []): boolean => entries.every(({ value }) => isStable(value))
  if (context !== null && (loop === null || (context.compact !== null && !isShared(running, node, context))))
    return null
  if (stableSaid < said.length) return { messages: stableSaid, parts: 0, characters: 0 }
  const rendersSame = (use: UsePlan): boolean =>
    use.kind !== "prompt" ||
    (loop !== null && areStable(use.bindings) && areStable(running.plan.prompts[use.name]?.bindings))
  if (prompts > 0 && !node.uses.every(rendersSame)) return { messages: said.length, parts: 0, characters: 0 }
  const messages = said.length + prompts
  if (instruction.stable !== null) return { messages, ...instruction.stable }
  const end = node.files.findIndex(
    ({ name, content, media_type }) => ![name, content, media_type].every((one) => isStable(one)),
  )
  if (end < 0) return { messages: messages + 1, parts: 0, characters: 0 }
  return { messages, parts: instruction.parts.length + end, characters: 0 }
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
    context: node.context === null ? null : { compact: rendered.compact, history: byContent(continued) },
    messages: byContent(messages),
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
      calls: calls.map(({ inference, response_format, hosted_tools }) => ({
        inference,
        response_format,
        ...(hosted_tools !== undefined && { hosted_tools }),
      })),
    })
    fixed.set(node, facts)
  }
  return facts
}
