import type { JsonObject } from "../../base/json-value.ts"
import { userText, type Message } from "../../log/messages.ts"
import type { ShownMessage } from "../../ports/content.ts"
import type { JudgedRequirements, ModelTurn, ModelWatch, OutputContract, StablePart } from "../../ports/model.ts"
import { isOpenAi } from "../../ports/openai-endpoint.ts"
import { leastCachedTokens, stableTokens } from "../../ports/stable-size.ts"
import { RunFailure, failure, wireError } from "../../ports/run-failure.ts"
import { backendOf, pricing, providerKindOf } from "../context/backends.ts"
import type { ModelCallReplayData } from "../../log/replay-data.ts"
import type { AnsweredTurn, BegunTurn, FallbackReplayState } from "../../log/replay-state.ts"
import { storeMessages } from "../../log/stored-messages.ts"
import { memoryOf } from "../../base/memory-of.ts"
import { Place } from "../shares/permits.ts"
import { rejectionsOf, requirementFacts, type Requirements } from "../values/requirements.ts"
import { askWithinBudgets } from "../context/within-budgets.ts"
import { finishBeforeEnd, inScope } from "../context/run-context.ts"
import { imagePart, imagesFrom, textPart, type StablePlace } from "./agent-messages.ts"
import type { AgentTools, ToolReply } from "./agent-tools.ts"
import { batchClaims } from "./model-watch.ts"
import { ModelList } from "./fallback.ts"
import { Ahead } from "./first-warms.ts"
import type { Rendered, RenderedModel } from "./render-step.ts"
import { addCalls, holdMemory, keepRequests, stepName, type StepContext } from "./step-context.ts"
import { modelToolCallsOfTurn } from "../../base/limits.ts"

function judged(requirements: Requirements): JudgedRequirements {
  return { facts: requirementFacts(requirements), rejections: (output) => rejectionsOf(requirements, output) }
}

/** What a step and its models say to each other, until one of them gives the output. */
export class Conversation {
  readonly #step: StepContext
  readonly #watch: ModelWatch
  readonly #contract: OutputContract
  #stable: StablePlace = { messages: 0, parts: 0, characters: 0 }
  /** What traces show of the first so many messages; null where they show nothing. */
  #begun: { readonly beginning: readonly ShownMessage[]; readonly length: number } | null = null

  constructor(step: StepContext, watch: ModelWatch, requirements: Requirements) {
    const { node, running } = step
    this.#step = step
    this.#watch = watch
    this.#contract = {
      name: node.name,
      type: node.output,
      types: running.plan.types,
      ...(node.requires.length > 0 && { requirements: judged(requirements) }),
    }
  }

  /** Turn after turn until the model gives its output; what was said is added to `history`. */
  async run(
    rendered: Rendered,
    history: Message[],
    stable: StablePlace,
    beginning?: readonly ShownMessage[],
  ): Promise<JsonObject> {
    this.#stable = stable
    this.#begun = beginning === undefined ? null : { beginning, length: history.length }
    const { running, caller, node, past, progress } = this.#step
    const { max_steps } = node
    const models = new ModelList(running, caller, rendered.models, (calls) => addCalls(progress, calls))
    for (let turn = 1; turn <= max_steps; turn++) {
      const known = past?.turns.get(turn)
      const withdrawn = known === undefined ? rendered.tools.usedUp() : (known.answer.withdrawn ?? [])
      const news = rendered.tools.withdraw(withdrawn)
      if (news.length > 0) history.push(userText(news.join("\n")))
      models.replay(this.#fallbacksIn(turn))
      if (known !== undefined) {
        addCalls(progress, known.answer.calls)
        await this.#callTools(rendered.tools, turn, known.answer, history)
        continue
      }
      const tools = rendered.tools.definitions()
      const { answer, place } = await this.#ask(models, history, turn, tools)
      progress.fellBack ||= models.fellBack
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
          progress.fellBack ||= models.fellBack
          history.push(closing.message)
          return closing.output
        }
        case "tool_calls":
          if (turn === max_steps) {
            place?.release()
            break
          }
          if (answer.tool_calls.length > modelToolCallsOfTurn) {
            place?.release()
            throw failure(
              "limit_exceeded",
              caller.path,
              `The model of agent.${node.name} made ${answer.tool_calls.length} tool calls in one turn; at most ${modelToolCallsOfTurn} are allowed`,
            )
          }
          await this.#callTools(rendered.tools, turn, { ...answer, withdrawn }, history, place)
      }
    }
    const turns = max_steps === 1 ? "1 turn" : `${max_steps} turns`
    throw failure("limit_exceeded", caller.path, `agent.${node.name} still called tools after ${turns} (max_steps)`)
  }

  #fallbacksIn(turn: number): readonly FallbackReplayState[] {
    return this.#step.past?.fallbacks.filter((one) => one.turn === turn) ?? []
  }

  #ask(
    models: ModelList<RenderedModel>,
    history: readonly Message[],
    turn: number,
    tools: ReturnType<AgentTools["definitions"]>,
  ): Promise<{ readonly answer: ModelTurn; readonly place?: Place }> {
    return askWithinBudgets(this.#step.running, this.#step.past?.begun.get(turn), (begun) =>
      this.#askInTurn(models, history, turn, tools, begun),
    )
  }

  async #askInTurn(
    models: ModelList<RenderedModel>,
    history: readonly Message[],
    turn: number,
    tools: ReturnType<AgentTools["definitions"]>,
    begunBefore: BegunTurn | undefined,
  ): Promise<{ readonly answer: ModelTurn; readonly place?: Place }> {
    const entered = turn === 1 ? this.#enter(models.reached, history, tools) : null
    if (!(entered instanceof Ahead)) {
      if (entered !== null) await entered
      return this.#askNow(models, history, turn, tools, begunBefore, null)
    }
    try {
      return await this.#askNow(models, history, turn, tools, begunBefore, entered)
    } finally {
      entered.end()
    }
  }

  /** Whether others that are sent the same beginning wait for this item, or it waits for one of them. */
  #enter(
    model: RenderedModel | undefined,
    input: readonly Message[],
    tools: ReturnType<AgentTools["definitions"]>,
  ): Ahead | Promise<void> | null {
    const { warms, running, node, caller } = this.#step
    if (warms === null || model === undefined || caller.about.iteration === undefined) return null
    const { name, system, settings } = model
    const { hosted_tools = [] } = settings
    const { api, endpoint } = backendOf(running, name)
    const isKept = api === "anthropic" || (api !== "google" && isOpenAi(endpoint))
    const { prompt_cache } = settings
    if (!isKept || prompt_cache === "none") return null
    // A backend keeps only what is marked.
    if (api === "anthropic" && node.keeps_private === true && prompt_cache === null) return null
    if (stableTokens({ tools, hosted_tools, system, input }, this.#stableOf(model)) < leastCachedTokens) return null
    return warms.enter(caller.about.iteration, name)
  }

  #stableOf({ stableSystem }: RenderedModel): StablePart {
    return stableSystem === null
      ? { system: null, ...this.#stable }
      : { system: stableSystem, messages: 0, parts: 0, characters: 0 }
  }

  async #askNow(
    models: ModelList<RenderedModel>,
    history: readonly Message[],
    turn: number,
    tools: ReturnType<AgentTools["definitions"]>,
    begunBefore: BegunTurn | undefined,
    ahead: Ahead | null,
  ): Promise<{ readonly answer: ModelTurn; readonly place?: Place }> {
    const { permits, signal } = this.#step.running
    this.#step.progress.turn = turn
    const { running, caller, node } = this.#step
    const lane = running.lanesOf.get(node.name)
    const { reached } = models
    const claims =
      lane === undefined || reached === undefined
        ? null
        : batchClaims(running, reached.name, reached.id, reached.settings.prompt_cache)
    const seat = lane === undefined ? null : await lane.seat(caller.about.iteration ?? 0, claims)
    if (seat !== null) {
      const watch = { ...this.#watch, batch: seat }
      const answer = await models.ask(turn, begunBefore, (model, begun) =>
        this.#askOne(model, history, turn, tools, begun, null, watch),
      )
      addCalls(this.#step.progress, answer.calls)
      return { answer }
    }
    const taken = permits.take()
    const place = taken instanceof Place ? taken : await taken
    try {
      signal.throwIfAborted()
      const answer = await models.ask(turn, begunBefore, (model, begun) =>
        this.#askOne(model, history, turn, tools, begun, ahead),
      )
      addCalls(this.#step.progress, answer.calls)
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
    const { permits, signal } = this.#step.running
    this.#step.progress.turn = turn
    const answer = await askWithinBudgets(this.#step.running, this.#step.past?.begun.get(turn), (begunBefore) =>
      permits.use(async () => {
        signal.throwIfAborted()
        return models.ask(turn, begunBefore, async (model, begun) => {
          const given = await this.#askOne(model, history, turn, [], begun)
          if (given.kind === "output") return given
          const message = "The model gave no output in the form that was asked for"
          throw new RunFailure(wireError("output_error", [{ path: this.#step.caller.path, message }]), given.calls)
        })
      }),
    )
    if (answer.kind !== "output") throw new Error("A closing turn gives an output")
    addCalls(this.#step.progress, answer.calls)
    return answer
  }

  #askOne(
    rendered: RenderedModel,
    history: readonly Message[],
    turn: number,
    tools: ReturnType<AgentTools["definitions"]>,
    begun: BegunTurn | undefined,
    ahead: Ahead | null = null,
    watch = ahead === null ? this.#watch : this.#watchAhead(ahead),
  ): Promise<ModelTurn> {
    const { name, id, system, settings } = rendered
    const { running, caller, node } = this.#step
    const answering = running.ports.model.turn(
      {
        run_id: running.runId,
        caller: running.caller,
        path: caller.path,
        step: stepName(running, caller),
        backend: backendOf(running, name),
        model: id,
        name,
        provider: providerKindOf(running, name),
        ...pricing(running, name, settings.prompt_cache),
        system,
        input: history,
        tools,
        ...(settings.hosted_tools !== undefined && { hosted_tools: settings.hosted_tools }),
        ...(settings.outputs !== undefined && { outputs: settings.outputs }),
        contract: this.#contract,
        response_format: settings.response_format,
        inference: settings.inference,
        turn,
        attempts_before: begun?.attempts ?? 0,
        progress: begun?.progress ?? null,
        deltas: watch.batch === undefined && running.options.deltas,
        cache: {
          mode: settings.prompt_cache ?? "auto",
          isWritten: settings.prompt_cache !== null,
          isLooped: node.loop !== null,
          holdsPrivate: node.keeps_private === true,
          stable: this.#stableOf(rendered),
        },
        ...(ahead !== null && { isAhead: true }),
      },
      watch,
    )
    return running.content === null ? answering : this.#tell(rendered, history, turn, answering)
  }

  /** The others go on when it begins to be answered, or has failed. */
  #watchAhead(ahead: Ahead): ModelWatch {
    const watch = this.#watch
    const { deltas } = this.#step.running.options
    return {
      ...watch,
      began: () => ahead.end(),
      delta: (attempt, text) => {
        if (deltas) watch.delta(attempt, text)
      },
      retried: (retry) => {
        // One that is asked again at once, in another way, has not failed.
        if (retry.delay_ms > 0) ahead.end()
        return watch.retried(retry)
      },
    }
  }

  /** Tells traces what the model was asked in a turn, and what it answered. */
  async #tell(
    { system, shownSystem }: RenderedModel,
    history: readonly Message[],
    turn: number,
    answering: Promise<ModelTurn>,
  ): Promise<ModelTurn> {
    const { running, caller, node } = this.#step
    const shown = running.content?.agent(node.name)
    if (shown === undefined || this.#begun === null) return answering
    const step = { ...inScope(running), ...caller.about, turn }
    const { beginning, length } = this.#begun
    shown.asked(step, system === null ? null : (shownSystem ?? null), beginning, history.slice(length))
    const answer = await answering
    shown.answered(step, answer)
    return answer
  }

  /** All calls of one turn, side by side; their answers in the order of the calls. */
  async #callTools(
    tools: AgentTools,
    turn: number,
    answer: AnsweredTurn,
    history: Message[],
    place?: Place,
  ): Promise<void> {
    const past = this.#step.past?.turns.get(turn)
    const { message, usage, calls, tool_calls, withdrawn = [] } = answer
    let stored = past !== undefined
    // The first call that is logged keeps the turn, whichever it is.
    const keep = (index: number) => (): ModelCallReplayData => {
      if (stored) return { turn, index }
      stored = true
      const sent = keepRequests(this.#step.running, this.#step.progress)
      const own = { message: storeMessages([message]), usage, calls, tool_calls, ...sent }
      return { turn, index, answer: withdrawn.length === 0 ? own : { ...own, withdrawn } }
    }
    let answers: Promise<ToolReply>[]
    try {
      answers = tool_calls.map(async (call, index) => {
        const reply = await tools.answer(call, keep(index), past?.calls.get(index) ?? null, place)
        holdMemory(this.#step, memoryOf(reply))
        return reply
      })
      // One that fails leaves the others behind, where the run goes on without this agent.
      for (const one of answers) void finishBeforeEnd(this.#step.running, one)
    } finally {
      place?.releaseUnclaimed()
    }
    const outputs = await Promise.all(answers)
    holdMemory(this.#step, memoryOf(message))
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
}
