import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { toJsonSchema } from "../../types/json-schema.ts"
import type { TypeTable } from "../../types/types.ts"
import type { CallSettings } from "../../plan/prepare.ts"
import type { AgentNode } from "../../plan/plan-shape.ts"
import { cacheAgent, cachedAgent, cacheInUse } from "./agent-cache.ts"
import { compactedHistory, compactFacts, continuedHistory } from "./agent-context.ts"
import type { Instruction } from "./agent-messages.ts"
import {
  evaluateText,
  imagePart,
  imagesFrom,
  promptMessages,
  renderFiles,
  renderInstruction,
  textPart,
} from "./agent-messages.ts"
import type { Caller, ToolReply } from "./agent-tools.ts"
import { AgentTools } from "./agent-tools.ts"
import { backendFacts, backendOf, modelId, priceOf, providerKindOf } from "../backends.ts"
import { ModelList } from "./fallback.ts"
import type { CompactFacts } from "./cache-key.ts"
import { cacheHash } from "./cache-key.ts"
import type { Scope } from "../evaluate.ts"
import type { Effects } from "../evaluate-effects.ts"
import { evaluateToKeep } from "../evaluate-effects.ts"
import { usualOutput } from "../budget/budget.ts"
import { showMoney } from "../budget/money.ts"
import { decide } from "../condition.ts"
import type { ModelCallRecord, WireError } from "../events.ts"
import { endsRun, failure, failureAt, wireError } from "../failure.ts"
import { memoryOf } from "../memory-of.ts"
import type { KeptModelCall } from "../log/kept.ts"
import { shown } from "../log/log.ts"
import { storeMessages } from "../log/stored-messages.ts"
import { storeProgress } from "../log/turn-progress.ts"
import type { FilePart, Message } from "../../ports/messages.ts"
import { assistantText, userText } from "../../ports/messages.ts"
import type { CallToReserve, ModelTurn, ModelWatch, Reservation } from "../../ports/model.ts"
import { RunEnding, RunFailure } from "../../ports/run-failure.ts"
import type { AgentPast, AnsweredTurn, BegunTurn, FallbackPast } from "../log/resume.ts"
import { placeKey } from "../log/resume.ts"
import type { Place } from "../permits.ts"
import type { GivenResult, RunContext } from "../run-context.ts"
import { finishBeforeEnd, outerScope } from "../run-context.ts"
import { serverFacts } from "../tools/tool-servers.ts"
import { addSpent, showSpent, spentBy } from "../usage.ts"
import { renderPrompt, workflowEffects } from "../tools/workflow-effects.ts"

/** A model that calls more tools than this in one turn is not going to do anything useful with the answers. */
const mostToolCalls = 128

/**
 * Runs an agent once: all of it, or what an interrupted run left to do. Its output is checked against its contract; it is
 * null where the agent is skipped.
 */
export async function runAgent(
  running: RunContext,
  node: AgentNode,
  iteration: number | null,
  variables: () => ReadonlyMap<string, JsonValue>,
): Promise<JsonValue> {
  if (running.past.skipped.has(placeKey(node.id, iteration))) return null
  const past = running.past.agents.get(placeKey(node.name, iteration)) ?? null
  if (past !== null && past.completed !== null) {
    keepHistory(running, node, past.completed.history ?? [])
    running.work.keep(memoryOf(past.completed.output), `agent.${node.name}`)
    return past.completed.output
  }
  const step = new AgentStep(running, node, iteration, past)
  return past !== null && past.failed !== null ? step.skip(past.failed) : step.run(variables)
}

function keepHistory(running: RunContext, node: AgentNode, history: readonly Message[]): void {
  if (!running.prepared.continued.has(node.name)) return
  running.work.keep(memoryOf(history), `agent.${node.name}`)
  running.histories.set(node.name, history)
}

const contracts = new WeakMap<AgentNode, JsonObject>()

function contractSchema(node: AgentNode, types: TypeTable): JsonObject {
  let schema = contracts.get(node)
  if (schema === undefined) {
    schema = toJsonSchema(node.output, types)
    contracts.set(node, schema)
  }
  return schema
}

/** Everything that a model is asked in one step, rendered. */
interface Rendered {
  /** In the order in which they are asked. */
  readonly models: readonly RenderedModel[]
  readonly instruction: Instruction
  readonly files: readonly FilePart[]
  readonly tools: AgentTools
  readonly compact: CompactFacts | null
}

interface RenderedModel {
  readonly name: string
  /** The backend's. */
  readonly id: string
  readonly system: string | null
  readonly settings: CallSettings
}

interface Asked {
  readonly messages: readonly Message[]
  /** The history that it goes on from. */
  readonly continued: readonly Message[]
  readonly facts: string
}

class AgentStep {
  readonly #running: RunContext
  readonly #node: AgentNode
  readonly #past: AgentPast | null
  readonly #caller: Caller
  readonly #effects: Effects
  readonly #locals = new Map<string, JsonValue>()
  readonly #watch: ModelWatch
  /** Memory of the agent's own dynamic values. */
  #kept = 0
  #scope: Scope
  /** Null until it is rendered, and for a result that a test gives. */
  #asked: Asked | null = null
  #turn = 1
  #startedAt = 0
  /** Its failure is in the log. */
  #hasFailed = false
  #calls: readonly ModelCallRecord[] = []
  readonly #ownCalls = (): readonly ModelCallRecord[] => this.#calls
  /** The answer, or the summary that it goes on from, is that of a model other than the first. */
  #fellBack = false

  constructor(running: RunContext, node: AgentNode, iteration: number | null, past: AgentPast | null) {
    const path = `agent.${node.name}`
    const about = iteration === null ? { agent: node.name } : { agent: node.name, iteration }
    this.#running = running
    this.#node = node
    this.#past = past
    this.#caller = { path, about }
    this.#scope = { ...outerScope(running, path), locals: this.#locals, iteration }
    this.#effects = workflowEffects(running, path, about)
    this.#watch = this.#modelWatch()
  }

  async run(variables: () => ReadonlyMap<string, JsonValue>): Promise<JsonValue> {
    this.#running.unfinished.add(this.#ownCalls)
    this.#startedAt = this.#past?.startedAt ?? this.#running.ports.clock.now()
    try {
      this.#scope = { ...this.#scope, variables: variables() }
      return (await this.#isWanted()) ? await this.#work() : this.skip(null)
    } catch (error) {
      if (this.#hasFailed || !this.#maySkip(error)) throw error
      return this.skip(this.#failed(error).error)
    } finally {
      this.#running.work.forget(this.#kept)
    }
  }

  /** The agent's value is null from here on, whatever comes. */
  skip(error: WireError | null): null {
    const { iteration } = this.#caller.about
    this.#running.log.add("step_skipped", {
      step: this.#node.id,
      ...(iteration === undefined ? {} : { iteration }),
      ...(error === null ? {} : { error }),
    })
    return null
  }

  /** What has begun was wanted: a condition is decided once. */
  #isWanted(): boolean | Promise<boolean> {
    const { when } = this.#node
    if (when === null || (this.#past !== null && this.#past.startedAt !== null)) return true
    const { path, about } = this.#caller
    return decide(when, this.#at("when"), workflowEffects(this.#running, `${path}.when`, about))
  }

  #maySkip(error: unknown): error is RunFailure {
    if (this.#node.on_failure !== "skip" || this.#running.signal.aborted) return false
    return error instanceof RunFailure && !(error instanceof RunEnding) && !endsRun(error.error)
  }

  async #work(): Promise<JsonValue> {
    const { log, ports } = this.#running
    for (const local of this.#node.locals) await this.#resolveLocal(local.key, local.value)
    const given = ports.given?.(this.#node.id, this.#caller.about.iteration ?? null)
    const rendered = given === undefined ? await this.#render() : await this.#renderGiven()
    const reused = given === undefined ? await this.#reused(rendered) : undefined
    if (reused !== undefined) return reused
    this.#startedAt = this.#past?.startedAt ?? ports.clock.now()
    this.#running.time.agentStarted(this.#node.name)
    if (this.#past === null || this.#past.startedAt === null) {
      log.add("agent_started", {
        ...this.#caller.about,
        model: rendered.models[0]?.id ?? "",
        tools: rendered.tools.names,
        instruction: rendered.instruction.text,
      })
    }
    try {
      return given === undefined ? await this.#answer(rendered) : this.#take(given, rendered)
    } catch (error) {
      if (this.#running.signal.aborted || !(error instanceof RunFailure)) throw error
      const placed = this.#failed(error)
      if (this.#maySkip(error)) return this.skip(placed.error)
      this.#hasFailed = true
      throw placed
    }
  }

  async #resolveLocal(name: string, expression: AgentNode["instruction"]): Promise<void> {
    const { ports, past, log } = this.#running
    const { about, path } = this.#caller
    const effects = workflowEffects(this.#running, path, { ...about, dynamic: name })
    const startedAt = ports.clock.now()
    const { value, kept } = await evaluateToKeep(expression, this.#at(`dynamic.${name}`), effects)
    this.#kept += kept
    this.#locals.set(name, value)
    if (past.dynamics.has(placeKey(`${about.agent}.${name}`, about.iteration))) return
    log.add("dynamic_resolved", { name, ...about, duration_ms: ports.clock.now() - startedAt })
  }

  #at(part: string): Scope {
    return { ...this.#scope, path: `${this.#caller.path}.${part}` }
  }

  async #render(): Promise<Rendered> {
    const running = this.#running
    const node = this.#node
    const compact = node.context?.compact ?? null
    const files = await renderFiles(node.files, this.#at("file"), this.#effects)
    return {
      models: await this.#models(),
      instruction: await renderInstruction(node.instruction, this.#at("instruction"), this.#effects),
      files,
      tools: await AgentTools.offered(running, node, this.#caller, this.#at("uses"), this.#effects),
      compact: compact === null ? null : await compactFacts(running, compact, this.#at("context"), this.#effects),
    }
  }

  /** What a test's given result needs: the instruction, and nothing that is asked elsewhere. */
  async #renderGiven(): Promise<Rendered> {
    const instruction = await renderInstruction(this.#node.instruction, this.#at("instruction"), this.#effects)
    const tools = AgentTools.none(this.#running, this.#node, this.#caller)
    return { models: await this.#models(), instruction, files: [], tools, compact: null }
  }

  #take(given: GivenResult, { instruction }: Rendered): JsonValue {
    if ("error" in given) throw new RunFailure(given.error)
    const { output } = given
    return this.#completed(output, [userText(instruction.text), assistantText(JSON.stringify(output))], false)
  }

  async #models(): Promise<RenderedModel[]> {
    const running = this.#running
    const { system } = this.#node
    const own = system === null ? null : await evaluateText(system, this.#at("system"), this.#effects)
    const models: RenderedModel[] = []
    for (const settings of running.prepared.calls.get(this.#node) ?? []) {
      const name = settings.model
      const id = modelId(running, name, this.#scope)
      models.push({ name, id, system: own ?? (await this.#modelSystem(name)), settings })
    }
    return models
  }

  /** The system text of a model, for agents that have none of their own. */
  async #modelSystem(model: string): Promise<string | null> {
    const usual = this.#running.plan.models[model]?.system ?? null
    return usual === null ? null : evaluateText(usual, { ...this.#scope, path: `model.${model}.system` }, this.#effects)
  }

  /** The result that an earlier run leaves to this step; undefined where it must run. */
  async #reused(rendered: Rendered): Promise<JsonValue | undefined> {
    const running = this.#running
    const { earlier, prepared, log } = running
    // What has begun goes on.
    if (earlier === null || (this.#past !== null && this.#past.startedAt !== null)) return undefined
    const { facts } = (this.#asked = await this.#askedOf(rendered))
    const { id, name } = this.#node
    const { iteration } = this.#caller.about
    const isContinued = prepared.continued.has(name)
    const found = earlier.takeStep(id, iteration ?? null, facts, isContinued)
    if (found === undefined) return undefined
    const { output, history } = found
    running.work.keep(memoryOf(output), this.#caller.path)
    keepHistory(running, this.#node, history ?? [])
    const asShown = shown(output)
    log.add(
      "step_reused",
      { step: id, ...(iteration === undefined ? {} : { iteration }), output: asShown, run_id: earlier.run_id },
      {
        facts,
        ...(asShown === output ? {} : { output }),
        ...(isContinued && history !== null ? { history: storeMessages(history) } : {}),
      },
    )
    return output
  }

  /** What the model is asked in this step, and the hash of all that decides its answer. */
  async #askedOf(rendered: Rendered): Promise<Asked> {
    const { context } = this.#node
    const prompts = await this.#prompts()
    const instruction: Message = { role: "user", parts: [...rendered.instruction.parts, ...rendered.files] }
    const messages = [...prompts, instruction]
    const continued = context === null ? [] : continuedHistory(this.#running, context)
    return { messages, continued, facts: this.#cacheHash(rendered, continued, messages) }
  }

  async #answer(rendered: Rendered): Promise<JsonValue> {
    const running = this.#running
    const node = this.#node
    const { messages, continued, facts } = (this.#asked ??= await this.#askedOf(rendered))
    const caches = cacheInUse(running)
    // A step that has already spoken with its model goes on with it.
    if (caches && (this.#past === null || this.#past.turns.size + this.#past.fallbacks.length === 0)) {
      const found = await cachedAgent(running, facts)
      if (found !== null) return this.#completed(found.output, found.history, true)
    }

    const before =
      node.context === null || rendered.compact === null
        ? continued
        : await this.#compacted(node.context, rendered.compact, continued)
    const history = [...before, ...messages]
    const output = await this.#converse(rendered, history)
    const { agent, iteration } = this.#caller.about
    const approved = running.approvedAgents.has(placeKey(agent, iteration))
    if (caches && !this.#fellBack && !approved) cacheAgent(running, facts, { output, history })
    return this.#completed(output, history, false)
  }

  async #prompts(): Promise<Message[]> {
    const found: Message[] = []
    const { plan } = this.#running
    for (const use of this.#node.uses) {
      if (use.kind !== "prompt") continue
      const path = `prompt.${use.name}.bindings`
      const messages = await renderPrompt(
        this.#running,
        use.name,
        { site: use.site, iteration: this.#caller.about.iteration ?? null },
        [
          { path, entries: plan.prompts[use.name]?.bindings ?? [] },
          { path, entries: use.bindings },
        ],
        this.#at("uses"),
        this.#caller.path,
        this.#effects,
      )
      found.push(...promptMessages(messages))
    }
    return found
  }

  #compacted(
    context: NonNullable<AgentNode["context"]>,
    facts: CompactFacts,
    history: readonly Message[],
  ): Promise<Message[]> {
    this.#turn = 0
    return compactedHistory(
      { running: this.#running, node: this.#node, caller: this.#caller, past: this.#past, watch: this.#watch },
      context,
      facts,
      history,
      () => (this.#fellBack = true),
    )
  }

  /** Turn after turn until the model gives its output; what was said is added to `history`. */
  async #converse(rendered: Rendered, history: Message[]): Promise<JsonObject> {
    const { max_steps } = this.#node
    const models = new ModelList(this.#running, this.#caller, rendered.models, (calls) => this.#account({ calls }))
    for (let turn = 1; turn <= max_steps; turn++) {
      const known = this.#past?.turns.get(turn)
      const withdrawn = known === undefined ? rendered.tools.usedUp() : (known.answer.withdrawn ?? [])
      const news = rendered.tools.withdraw(withdrawn)
      if (news.length > 0) history.push(userText(news.join("\n")))
      models.replay(this.#fallbacksIn(turn))
      if (known !== undefined) {
        this.#account(known.answer)
        await this.#callTools(rendered.tools, turn, known.answer, history)
        continue
      }
      const tools = rendered.tools.definitions()
      const { answer, place } = await this.#ask(models, history, turn, tools)
      this.#fellBack ||= models.fellBack
      switch (answer.kind) {
        case "output":
          history.push(answer.message)
          return answer.output
        case "text": {
          // Tools and structured output suppress each other on this backend: now that the tools are done with, it is asked
          // for the output alone.
          history.push(answer.message)
          models.replay(this.#fallbacksIn(turn + 1))
          const closing = await this.#close(models, history, turn + 1)
          this.#fellBack ||= models.fellBack
          history.push(closing.message)
          return closing.output
        }
        case "tool_calls":
          if (turn === max_steps) {
            place?.release()
            break
          }
          if (answer.tool_calls.length > mostToolCalls) {
            place?.release()
            throw failure(
              "limit_exceeded",
              this.#caller.path,
              `The model of agent.${this.#node.name} made ${answer.tool_calls.length} tool calls in one turn; at most ${mostToolCalls} are allowed`,
            )
          }
          await this.#callTools(rendered.tools, turn, { ...answer, withdrawn }, history, place)
      }
    }
    const turns = max_steps === 1 ? "1 turn" : `${max_steps} turns`
    throw failure(
      "limit_exceeded",
      this.#caller.path,
      `agent.${this.#node.name} still called tools after ${turns} (max_steps)`,
    )
  }

  #fallbacksIn(turn: number): readonly FallbackPast[] {
    return this.#past?.fallbacks.filter((one) => one.turn === turn) ?? []
  }

  async #ask(
    models: ModelList<RenderedModel>,
    history: readonly Message[],
    turn: number,
    tools: ReturnType<AgentTools["definitions"]>,
  ): Promise<{ readonly answer: ModelTurn; readonly place?: Place }> {
    const { permits, signal } = this.#running
    this.#turn = turn
    const place = await permits.take()
    try {
      signal.throwIfAborted()
      const answer = await models.ask(turn, this.#past?.begun.get(turn), (model, begun) =>
        this.#askOne(model, history, turn, tools, begun),
      )
      this.#account(answer)
      // A turn is stored with its first tool call. That call is made in the model's place: while it waited for another, a
      // crash would lose the turn.
      if (answer.kind === "tool_calls") return { answer, place }
      place.release()
      return { answer }
    } catch (error) {
      place.release()
      throw error
    }
  }

  /** One turn for the output alone, without tools. */
  async #close(
    models: ModelList<RenderedModel>,
    history: readonly Message[],
    turn: number,
  ): Promise<ModelTurn & { readonly kind: "output" }> {
    const { permits, signal } = this.#running
    this.#turn = turn
    const answer = await permits.use(async () => {
      signal.throwIfAborted()
      return models.ask(turn, this.#past?.begun.get(turn), async (model, begun) => {
        const given = await this.#askOne(model, history, turn, [], begun)
        if (given.kind === "output") return given
        const message = "The model gave no output in the form that was asked for"
        throw new RunFailure(wireError("output_error", [{ path: this.#caller.path, message }]), given.calls)
      })
    })
    if (answer.kind !== "output") throw new Error("A closing turn gives an output")
    this.#account(answer)
    return answer
  }

  #askOne(
    { name, id, system, settings }: RenderedModel,
    history: readonly Message[],
    turn: number,
    tools: ReturnType<AgentTools["definitions"]>,
    begun: BegunTurn | undefined,
  ): Promise<ModelTurn> {
    const running = this.#running
    const node = this.#node
    return running.ports.model.turn(
      {
        caller: running.caller,
        path: this.#caller.path,
        backend: backendOf(running, name),
        model: id,
        name,
        provider: providerKindOf(running, name),
        price: priceOf(running, name),
        system,
        input: history,
        tools,
        contract: { name: node.name, type: node.output, types: running.plan.types },
        response_format: settings.response_format,
        inference: settings.inference,
        turn,
        attempts_before: begun?.attempts ?? 0,
        progress: begun?.progress ?? null,
        deltas: running.options.deltas,
      },
      this.#watch,
    )
  }

  #account({ calls }: Pick<ModelTurn, "calls">): void {
    this.#calls = this.#calls.length === 0 ? calls : [...this.#calls, ...calls]
  }

  /** All calls of one turn, side by side; their answers in the order of the calls. */
  async #callTools(
    tools: AgentTools,
    turn: number,
    answer: AnsweredTurn,
    history: Message[],
    place?: Place,
  ): Promise<void> {
    const past = this.#past?.turns.get(turn)
    const { message, usage, calls, tool_calls, withdrawn = [] } = answer
    let stored = past !== undefined
    // The first call that is logged keeps the turn, whichever it is.
    const keep = (index: number) => (): KeptModelCall => {
      if (stored) return { turn, index }
      stored = true
      const own = { message: storeMessages([message]), usage, calls, tool_calls }
      return { turn, index, answer: withdrawn.length === 0 ? own : { ...own, withdrawn } }
    }
    let answers: Promise<ToolReply>[]
    try {
      answers = tool_calls.map(async (call, index) => {
        const reply = await tools.answer(call, keep(index), past?.calls.get(index) ?? null, place)
        this.#hold(memoryOf(reply))
        return reply
      })
      // One that fails leaves the others behind, where the run goes on without this agent.
      for (const one of answers) void finishBeforeEnd(this.#running, one)
    } finally {
      place?.releaseUnclaimed()
    }
    const outputs = await Promise.all(answers)
    this.#hold(memoryOf(message))
    history.push(message)
    for (const [index, { call_id, name }] of tool_calls.entries()) {
      history.push({ role: "tool", call_id, name, output: outputs[index]?.text ?? "" })
    }
    for (const [index, call] of tool_calls.entries()) {
      const images = outputs[index]?.images ?? []
      if (images.length === 0) continue
      // Few backends take images in a tool's output.
      history.push({ role: "user", parts: [textPart(imagesFrom(call.name)), ...images.map(imagePart)] })
    }
  }

  /** Counts memory that the conversation takes until the step ends. */
  #hold(bytes: number): void {
    this.#running.work.keep(bytes, this.#caller.path)
    this.#kept += bytes
  }

  #completed(output: JsonObject, history: readonly Message[], cached: boolean): JsonValue {
    const running = this.#running
    running.work.keep(memoryOf(output), this.#caller.path)
    keepHistory(running, this.#node, history)
    const { log, ports, prepared } = running
    const spent = spentBy(this.#calls, (model) => priceOf(running, model))
    const asShown = shown(output)
    const kept = {
      ...(this.#asked === null ? {} : { facts: this.#asked.facts }),
      ...(asShown === output ? {} : { output }),
      ...(prepared.continued.has(this.#node.name) ? { history: storeMessages(history) } : {}),
    }
    log.add(
      "agent_completed",
      {
        ...this.#caller.about,
        output: asShown,
        cached,
        duration_ms: ports.clock.now() - this.#startedAt,
        usage: showSpent(spent),
        calls: this.#calls,
      },
      Object.keys(kept).length === 0 ? undefined : kept,
    )
    running.spent = addSpent(running.spent, spent)
    running.unfinished.delete(this.#ownCalls)
    return output
  }

  #failed(error: RunFailure): RunFailure {
    const running = this.#running
    const calls = [...this.#calls, ...error.calls]
    const placed = failureAt(this.#caller.path, error)
    running.log.add("agent_failed", {
      ...this.#caller.about,
      error: placed.error,
      duration_ms: running.ports.clock.now() - this.#startedAt,
      calls,
    })
    running.spent = addSpent(
      running.spent,
      spentBy(calls, (model) => priceOf(running, model)),
    )
    running.unfinished.delete(this.#ownCalls)
    return placed
  }

  #cacheHash(rendered: Rendered, continued: readonly Message[], step: readonly Message[]): string {
    const running = this.#running
    const node = this.#node
    const [first, ...others] = rendered.models.map(({ name, id, system, settings }) => ({
      backend: backendFacts(running, name),
      model: id,
      system,
      inference: settings.inference,
      response_format: settings.response_format,
    }))
    if (first === undefined) throw new Error(`${node.id} has no model`)
    return cacheHash({
      ...first,
      ...(others.length === 0 ? {} : { fallbacks: others }),
      max_steps: node.max_steps,
      context: node.context === null ? null : { history: continued, compact: rendered.compact },
      messages: step,
      tools: rendered.tools.fingerprint,
      servers: serverFacts(running, node),
      contract: contractSchema(node, running.plan.types),
    })
  }

  /** Waits until the limits have room for the call, and stores what it may use at most. */
  async #reserve({ turn, attempt, model, price, input_tokens, max_tokens }: CallToReserve): Promise<Reservation> {
    const { budget, log } = this.#running
    const { about } = this.#caller
    const need = { kind: "model", input: input_tokens, output: max_tokens ?? usualOutput, price } as const
    const grant = await budget.reserve(about.agent, need)
    const cost = grant.cost === null ? null : showMoney(grant.cost)
    log.add("model_call_started", { ...about, turn, attempt, model, reserved: { tokens: grant.tokens, cost } })
    try {
      await log.stored()
    } catch (error) {
      grant.settle(null, false)
      throw error
    }
    return {
      max_tokens: budget.boundsOutput ? grant.output : null,
      settle: (usage, answered) => grant.settle(usage, answered),
    }
  }

  #modelWatch(): ModelWatch {
    const { budget, log, ports, redactor, signal, gate } = this.#running
    const { about } = this.#caller
    return {
      signal,
      gate,
      now: () => ports.clock.now(),
      ...(budget.limited ? { reserve: (call) => this.#reserve(call) } : {}),
      retried: ({ attempt, reason, delay_ms, progress }) => {
        const kept = { turn: this.#turn, progress: storeProgress(progress) }
        log.add("agent_retried", { ...about, attempt, reason, delay_ms }, kept)
        return log.stored()
      },
      delta: (attempt, text) => log.addDelta({ ...about, attempt, text }),
      redact: (value) => redactor.redact(value),
      redactStream: () => redactor.stream(),
    }
  }
}
