import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import { adoptFiles } from "../context/adopt-files.ts"
import type { AgentNode } from "../../plan/plan-shape.ts"
import type { Message } from "../../log/messages.ts"
import { assistantText, userText } from "../../log/messages.ts"
import type { ModelWatch } from "../../ports/model.ts"
import { failure, RunFailure, wireError } from "../../ports/run-failure.ts"
import { priceOf } from "../context/backends.ts"
import { decide } from "../values/condition.ts"
import { evaluatePure, evaluateToKeep } from "../values/evaluate-effects.ts"
import type { WireError } from "../../log/events.ts"
import { maySkip, failureAt } from "../context/failure.ts"
import type { EarlierRun } from "../../log/earlier-run.ts"
import { shown } from "../log/log.ts"
import { placeKey, type AgentReplayState } from "../../log/replay-state.ts"
import { storeMessages } from "../../log/stored-messages.ts"
import { memoryOf } from "../../base/memory-of.ts"
import { issuesOf, rejectionsOf } from "../values/requirements.ts"
import type { GivenResult, RunContext, UnfinishedStep } from "../context/run-context.ts"
import { inScope, keepFailure, keepValue, outerScope, spend } from "../context/run-context.ts"
import { workflowEffects } from "../tools/workflow-effects.ts"
import { unrounded } from "../../log/money.ts"
import { showSpent, spentBy } from "../../log/usage.ts"
import { cacheAgent, cachedAgent, cacheInUse } from "./agent-cache.ts"
import { compactedHistory } from "./agent-context.ts"
import type { Caller } from "./agent-tools.ts"
import type { CompactFacts } from "../context/cache-key.ts"
import { Conversation } from "./conversation.ts"
import { modelWatch } from "./model-watch.ts"
import type { FirstWarms } from "./first-warms.ts"
import type { Asked, Rendered } from "./render-step.ts"
import { askedOf, renderGiven, renderStep } from "./render-step.ts"
import type { StepContext, StepProgress } from "./step-context.ts"
import { keepRequests, scopeAt } from "./step-context.ts"

/**
 * Runs an agent once: all of it, or what an interrupted run left to do. Its output is checked against its contract; it is
 * null where the agent is skipped.
 */
export function runAgent(
  running: RunContext,
  node: AgentNode,
  iteration: number | null,
  variables: () => ReadonlyMap<string, JsonValue>,
  warms: FirstWarms | null = null,
): Promise<JsonValue> {
  const key = placeKey(node.id, iteration)
  const skipped = running.past.skipped.get(key)
  if (skipped !== undefined) {
    keepFailure(running, key, skipped, node.id)
    return Promise.resolve(null)
  }
  const past = running.past.agents.get(placeKey(node.name, iteration)) ?? null
  if (past !== null && past.completed !== null) {
    keepHistory(running, node, past.completed.history ?? [])
    running.work.called()
    keepOutput(running, past.completed.output, `agent.${node.name}`)
    return Promise.resolve(past.completed.output)
  }
  const step = new AgentStep(running, node, iteration, past, warms)
  if (past !== null && past.failed !== null) return Promise.resolve(step.skip(past.failed))
  return step.run(variables)
}

function keepOutput(running: RunContext, output: JsonValue, path: string): void {
  const bytes = memoryOf(output)
  running.work.received(bytes)
  keepValue(running, bytes, path)
}

function keepHistory(running: RunContext, node: AgentNode, history: readonly Message[]): void {
  if (!running.prepared.continued.has(node.name)) return
  keepValue(running, memoryOf(history), `agent.${node.name}`)
  running.histories.set(node.name, history)
}

class AgentStep {
  readonly #running: RunContext
  readonly #node: AgentNode
  readonly #past: AgentReplayState | null
  readonly #caller: Caller
  readonly #locals = new Map<string, JsonValue>()
  readonly #progress: StepProgress = { turn: 1, calls: [], ended: [], sent: [], keptBytes: 0, fellBack: false }
  readonly #watch: ModelWatch
  #step: StepContext
  /** Null until it is rendered, and for a result that a test gives. */
  #asked: Asked | null = null
  #startedAt = 0
  /** Bytes that are sent to its model; all runs together share a limit on them. */
  #sharedBytes = 0
  /** Its failure is in the log. */
  #hasFailed = false
  readonly #ownCalls = (): UnfinishedStep => {
    const { calls, ended } = this.#progress
    const all = ended.length === 0 ? calls : [...calls, ...ended]
    return { step: { ...inScope(this.#running), ...this.#caller.about, calls: all }, sent: this.#progress.sent }
  }

  constructor(
    running: RunContext,
    node: AgentNode,
    iteration: number | null,
    past: AgentReplayState | null,
    warms: FirstWarms | null,
  ) {
    const path = `agent.${node.name}`
    const about = iteration === null ? { agent: node.name } : { agent: node.name, iteration }
    this.#running = running
    this.#node = node
    this.#past = past
    this.#caller = { path, about }
    this.#watch = modelWatch(running, this.#caller, this.#progress)
    this.#step = {
      running,
      node,
      past,
      caller: this.#caller,
      effects: workflowEffects(running, path, about),
      scope: { ...outerScope(running, path), locals: this.#locals, iteration },
      progress: this.#progress,
      warms,
    }
  }

  async run(variables: () => ReadonlyMap<string, JsonValue>): Promise<JsonValue> {
    this.#running.unfinished.add(this.#ownCalls)
    this.#startedAt = this.#past?.startedAt ?? this.#running.ports.clock.now()
    try {
      this.#step = { ...this.#step, scope: { ...this.#step.scope, variables: variables() } }
      const wanted = this.#isWanted()
      return wanted === true || (await wanted) ? await this.#work() : this.skip(null)
    } catch (error) {
      if (this.#hasFailed || !this.#maySkip(error)) throw error
      return this.skip(this.#failed(error).error)
    } finally {
      this.#running.work.forget(this.#progress.keptBytes)
      this.#running.work.unshare(this.#sharedBytes)
    }
  }

  /** From here on the agent's value is null. */
  skip(error: WireError | null): null {
    const { iteration } = this.#caller.about
    this.#running.log.add("step_skipped", {
      step: this.#node.id,
      ...(iteration === undefined ? {} : { iteration }),
      ...(error === null ? {} : { error }),
    })
    keepFailure(this.#running, placeKey(this.#node.id, iteration), error, this.#caller.path)
    return null
  }

  /** What has begun was wanted: a condition is decided once, that of rounds before the first. */
  #isWanted(): boolean | Promise<boolean> {
    const { when, repeat } = this.#node
    if (when === null || repeat !== undefined || (this.#past !== null && this.#past.startedAt !== null)) return true
    const { path, about } = this.#caller
    return decide(when, scopeAt(this.#step, "when"), workflowEffects(this.#running, `${path}.when`, about))
  }

  #maySkip(error: unknown): error is RunFailure {
    return this.#node.on_failure === "skip" && maySkip(error, this.#running)
  }

  async #work(): Promise<JsonValue> {
    const { log, ports, work } = this.#running
    work.called()
    for (const local of this.#node.locals) await this.#resolveLocal(local.key, local.value)
    await this.#choose()
    const given = ports.given?.(this.#node.id, this.#caller.about.iteration ?? null)
    const rendering = given === undefined ? renderStep(this.#step) : renderGiven(this.#step)
    const rendered = rendering instanceof Promise ? await rendering : rendering
    this.#sharedBytes = rendered.instruction.text.length + memoryOf(rendered.files) + memoryOf(rendered.said)
    work.share(this.#sharedBytes, this.#caller.path)
    const { earlier } = this.#running
    const reused = given === undefined && earlier !== null ? await this.#reused(earlier, rendered) : undefined
    if (reused !== undefined) return reused
    this.#startedAt = this.#past?.startedAt ?? ports.clock.now()
    this.#running.time.agentStarted(this.#node.name)
    if (this.#past === null || this.#past.startedAt === null) {
      log.add("agent_started", {
        ...this.#caller.about,
        model: rendered.models[0]?.id ?? "",
        tools: rendered.tools.names,
        instruction: rendered.instruction.text,
        ...this.#described(rendered),
      })
    }
    try {
      return given === undefined ? await this.#answer(rendered) : await this.#take(given, rendered)
    } catch (error) {
      if (this.#running.signal.aborted || !(error instanceof RunFailure)) throw error
      const placed = this.#failed(error)
      if (this.#maySkip(error)) return this.skip(placed.error)
      this.#hasFailed = true
      throw placed
    }
  }

  /** From here on the agent has the one model that it chooses. */
  async #choose(): Promise<void> {
    const { choice } = this.#node
    if (choice === undefined) return
    const name = await evaluatePure(choice, scopeAt(this.#step, "model"))
    if (typeof name !== "string") throw new Error(`${this.#caller.path} chooses no model`)
    this.#step = { ...this.#step, node: this.#running.prepared.chosen(this.#node, name) }
  }

  /** What the model knows of its tools, once for all items of a loop. */
  #described({ tools }: Rendered): { readonly tool_definitions?: JsonValue } {
    const { describedTools } = this.#running
    if (tools.names.length === 0 || describedTools.has(this.#node.name)) return {}
    describedTools.add(this.#node.name)
    return { tool_definitions: shown(tools.definitions().map((definition) => ({ ...definition }))) }
  }

  async #resolveLocal(name: string, expression: AgentNode["instruction"]): Promise<void> {
    const { ports, past, log } = this.#running
    const { about, path } = this.#caller
    const effects = workflowEffects(this.#running, path, { ...about, dynamic: name })
    const startedAt = ports.clock.now()
    const { value, kept } = await evaluateToKeep(expression, scopeAt(this.#step, `dynamic.${name}`), effects)
    this.#progress.keptBytes += kept
    this.#locals.set(name, value)
    if (past.dynamics.has(placeKey(`${about.agent}.${name}`, about.iteration))) return
    const logs = this.#running.code?.logsOf(`agent.${about.agent}`, about.iteration)
    log.add("dynamic_resolved", { name, ...about, ...logs, duration_ms: ports.clock.now() - startedAt })
  }

  async #take(given: GivenResult, { instruction, requirements }: Rendered): Promise<JsonValue> {
    if ("error" in given) throw new RunFailure(given.error)
    const { output } = given
    const [first, ...others] = issuesOf(this.#caller.path, await rejectionsOf(requirements, output))
    if (first !== undefined) throw new RunFailure(wireError("output_error", [first, ...others]))
    return this.#completed(output, [userText(instruction.text), assistantText(JSON.stringify(output))], false)
  }

  /** The result that an earlier run leaves to this step; undefined where it must run. */
  async #reused(earlier: EarlierRun, rendered: Rendered): Promise<JsonValue | undefined> {
    const running = this.#running
    const { prepared, log } = running
    // What has begun goes on.
    if (this.#past !== null && this.#past.startedAt !== null) return undefined
    const { facts } = (this.#asked = await askedOf(this.#step, rendered))
    const { id, name } = this.#node
    const { iteration } = this.#caller.about
    const isContinued = prepared.continued.has(name)
    const found = earlier.takeStep(id, iteration ?? null, facts, isContinued)
    if (found === undefined) return undefined
    const { history, given } = found
    const left = { step: id, type: this.#node.output, value: found.output, history: isContinued ? history : null }
    const adopting = adoptFiles(running, left)
    const output = adopting === null ? found.output : await adopting
    if (output === undefined) {
      if (given !== true) return undefined
      throw failure("input_error", this.#caller.path, "A file of the given result is not one of yours, or is gone")
    }
    keepOutput(running, output, this.#caller.path)
    keepHistory(running, this.#node, history ?? [])
    const asShown = shown(output)
    log.add(
      "step_reused",
      {
        step: id,
        ...(iteration === undefined ? {} : { iteration }),
        output: asShown,
        run_id: earlier.run_id,
        ...(given === true && { given }),
      },
      {
        facts,
        ...(asShown === output ? {} : { output }),
        ...(isContinued && history !== null ? { history: storeMessages(history) } : {}),
      },
    )
    return output
  }

  async #answer(rendered: Rendered): Promise<JsonValue> {
    const running = this.#running
    const node = this.#step.node
    const asking = this.#asked ?? askedOf(this.#step, rendered)
    const { messages, continued, prompts, facts, stable } = (this.#asked =
      asking instanceof Promise ? await asking : asking)
    const caches = cacheInUse(running)
    // A step that has already spoken with its model goes on with it.
    if (caches && (this.#past === null || this.#past.turns.size + this.#past.fallbacks.length === 0)) {
      const found = await cachedAgent(running, facts)
      const isContinued = running.prepared.continued.has(node.name)
      const left = found && {
        step: node.id,
        type: node.output,
        value: found.output,
        history: isContinued ? found.history : null,
      }
      const adopting = left && adoptFiles(running, left)
      const output = adopting === null ? found?.output : await adopting
      if (found !== null && isJsonObject(output)) return this.#completed(output, found.history, true)
    }

    const before =
      node.context === null || rendered.compact === null
        ? continued
        : await this.#compacted(node.context, rendered.compact, continued)
    const history = [...before, ...messages]
    const beginning = running.content?.agent(node.name).beginning({
      continued: before,
      said: rendered.said,
      prompts,
      instruction: rendered.instruction.shown ?? "",
      files: rendered.files,
    })
    const output = await new Conversation(this.#step, this.#watch, rendered.requirements).run(
      rendered,
      history,
      {
        ...(stable ?? { parts: 0, characters: 0 }),
        messages: stable === null ? 0 : before.length + stable.messages,
      },
      beginning,
    )
    const { agent, iteration } = this.#caller.about
    const approved = running.approvedAgents.has(placeKey(agent, iteration))
    if (caches && !this.#progress.fellBack && !approved) cacheAgent(running, facts, { output, history })
    return this.#completed(output, history, false)
  }

  async #compacted(
    context: NonNullable<AgentNode["context"]>,
    facts: CompactFacts,
    history: readonly Message[],
  ): Promise<Message[]> {
    this.#progress.turn = 0
    const summary = await compactedHistory(
      { ...this.#step, watch: this.#watch },
      context,
      facts,
      history,
      () => (this.#progress.fellBack = true),
    )
    // The event of the compaction counts them.
    this.#progress.ended = []
    return summary
  }

  #completed(output: JsonObject, history: readonly Message[], cached: boolean): JsonValue {
    const running = this.#running
    keepOutput(running, output, this.#caller.path)
    keepHistory(running, this.#node, history)
    const { log, ports, prepared } = running
    const spent = spentBy(this.#progress.calls, (model) => priceOf(running, model))
    const asShown = shown(output)
    const kept = {
      ...(this.#asked === null ? {} : { facts: this.#asked.facts }),
      ...(asShown === output ? {} : { output }),
      ...(prepared.continued.has(this.#node.name) ? { history: storeMessages(history) } : {}),
      ...keepRequests(running, this.#progress),
    }
    log.add(
      "agent_completed",
      {
        ...this.#caller.about,
        output: asShown,
        cached,
        ...this.#logs(),
        duration_ms: ports.clock.now() - this.#startedAt,
        usage: showSpent(spent),
        calls: this.#progress.calls,
      },
      Object.keys(kept).length === 0 ? undefined : kept,
      unrounded(spent.cost),
    )
    spend(running, spent)
    running.unfinished.delete(this.#ownCalls)
    return output
  }

  #logs(): { readonly logs?: string } {
    const { agent, iteration } = this.#caller.about
    return this.#running.code?.logsOf(`agent.${agent}`, iteration) ?? {}
  }

  #failed(error: RunFailure): RunFailure {
    const running = this.#running
    const calls = [...this.#progress.calls, ...error.calls]
    const placed = failureAt(this.#caller.path, error)
    const spent = spentBy(calls, (model) => priceOf(running, model))
    const duration_ms = running.ports.clock.now() - this.#startedAt
    const answer = error.answer === undefined ? {} : { answer: error.answer }
    const data = { ...this.#caller.about, error: placed.error, ...answer, ...this.#logs(), duration_ms, calls }
    running.log.add("agent_failed", data, keepRequests(running, this.#progress), unrounded(spent.cost))
    spend(running, spent)
    running.unfinished.delete(this.#ownCalls)
    return placed
  }
}
