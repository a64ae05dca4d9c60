import type { JsonValue } from "../base/json-value.ts"
import type { EventData, EventType, LogEvent, ModelCallRecord } from "./events.ts"
import { isTerminal } from "./events.ts"
import type { Kept, KeptModelCall, KeptReuse, KeptTurn, KeptWorkflowCall } from "./kept.ts"
import type { LogWriter } from "./log-version.ts"
import { eventBytes } from "./event-bytes.ts"
import { UsedSum } from "./used.ts"
import type { PriceOf } from "./usage.ts"
import { addSpent, spentBy } from "./usage.ts"
import { readMessages } from "./stored-messages.ts"
import { readProgress } from "./turn-progress.ts"
import {
  emptyPast,
  placeKey,
  type AgentPast,
  type AnsweredTurn,
  type CallOutcome,
  type CallPast,
  type QuestionOutcome,
  type QuestionPast,
  type ReplayState,
  type StepOutcome,
} from "./past.ts"

/** What a run that gets no further can say again each time it is taken up. All others say something once for a place. */
const repeats: ReadonlySet<EventType> = new Set<EventType>([
  "run_resumed",
  "agent_delta",
  "agent_retried",
  "model_call_started",
  "cache_degraded",
])

/** A call that has no outcome yet, and what it counts for. */
interface OpenCall {
  readonly call: CallPast
  readonly tool: string
  readonly site: string | null
  readonly agent: string | undefined
}

type KeptStep = Kept<"agent_completed"> | Exclude<KeptReuse, { readonly site: string }>

/** Takes the events of a log one after the other into what the run has behind it. */
export class LogFold {
  readonly past = emptyPast()
  readonly #openCalls = new Map<string, OpenCall>()
  readonly #priceOf: PriceOf
  readonly #used: UsedSum

  constructor(priceOf: PriceOf = () => null) {
    this.#priceOf = priceOf
    this.#used = new UsedSum(priceOf)
  }

  /** The log is at its end. */
  finished(): ReplayState {
    this.past.used = this.#used.total()
    return this.past
  }

  take(event: LogEvent): void {
    const { past } = this
    past.lastId = event.id
    past.logBytes += eventBytes(event)
    const at = Date.parse(event.at)
    past.startedAt ??= at
    past.lastAt = Math.max(past.lastAt ?? at, at)
    if (!repeats.has(event.type)) past.vainResumes = 0
    switch (event.type) {
      case "workflow_started":
        this.#writtenBy(kept<"workflow_started">(event))
        break
      case "workflow_planned":
        past.planned = true
        break
      case "run_resumed":
        this.#writtenBy(kept<"run_resumed">(event))
        if (kept<"run_resumed">(event)?.given_back !== true) past.vainResumes++
        break
      case "run_waiting":
        past.waits.push({ from: at, to: null })
        break
      case "run_continued": {
        const wait = past.waits.at(-1)
        if (wait !== undefined) wait.to ??= at
        break
      }
      case "model_call_started": {
        this.#used.modelCallBegan(event.data)
        const { turn, attempt } = event.data
        const { begun } = this.#agent(event.data)
        const before = begun.get(turn)
        begun.set(turn, {
          progress: before?.progress ?? null,
          attempts: Math.max(before?.attempts ?? 0, attempt),
        })
        break
      }
      case "agent_started": {
        const { agent } = event.data
        this.#agent(event.data).startedAt = at
        if (!past.agentTimes.has(agent)) past.agentTimes.set(agent, { startedAt: at, endedAt: null })
        break
      }
      case "agent_retried": {
        const { turn, progress } = kept<"agent_retried">(event) ?? { turn: 1 }
        const { begun } = this.#agent(event.data)
        begun.set(turn, {
          attempts: event.data.attempt - 1,
          progress: progress === undefined ? null : readProgress(begun.get(turn)?.progress ?? null, progress),
        })
        this.#used.modelCallsEnded(event.data, progress?.new_calls ?? [])
        break
      }
      case "agent_delta": {
        // Pieces of an answer that broke off: what the same question brings now is another attempt.
        const { begun, turns } = this.#agent(event.data)
        const turn = turns.size + 1
        begun.set(turn, { progress: begun.get(turn)?.progress ?? null, attempts: event.data.attempt })
        break
      }
      case "agent_completed": {
        const agent = this.#agent(event.data)
        const more = kept<"agent_completed">(event)
        agent.completed = outcomeOf(event.data.output, more)
        // Nothing of how it came about is asked for again.
        agent.turns = new Map()
        agent.begun = new Map()
        agent.summary = null
        agent.fallbacks = []
        this.#stepEnded(event.data, at)
        break
      }
      case "agent_failed":
        past.failures.push({ agent: event.data.agent, error: event.data.error })
        this.#agent(event.data).failed = event.data.error
        this.#stepEnded(event.data, at)
        break
      case "step_skipped":
        past.skipped.add(placeKey(event.data.step, event.data.iteration))
        break
      case "step_reused":
        this.#reused(event)
        break
      case "agent_fallback": {
        const { agent: name, from, to, error } = event.data
        const { turn, attempts, calls } = kept<"agent_fallback">(event) ?? { turn: 1, attempts: 0, calls: [] }
        const agent = this.#agent(event.data)
        const fallback = { turn, from, to, error, calls }
        this.#used.modelCallsEnded(event.data, calls)
        agent.fallbacks.push(fallback)
        agent.begun.set(turn, { attempts, progress: null })
        if (turn === 0) past.summaryFallbacks.set(name, [...(past.summaryFallbacks.get(name) ?? []), fallback])
        break
      }
      case "context_compacted": {
        const { summary = null, calls = [] } = kept<"context_compacted">(event) ?? {}
        this.#agent(event.data).summary = summary
        if (summary !== null) past.summaries.set(event.data.agent, summary)
        this.#spend(event.data, calls)
        break
      }
      case "agent_loop_started":
        past.loopsStarted.set(event.data.agent, Date.parse(event.at))
        break
      case "agent_loop_completed":
        past.loopsCompleted.add(event.data.agent)
        break
      case "dynamic_resolved": {
        const { agent, name, iteration } = event.data
        past.dynamics.add(placeKey(agent === undefined ? name : `${agent}.${name}`, iteration))
        break
      }
      case "mcp_server_connected":
        past.servers.add(event.data.server)
        break
      case "question_asked":
        this.#asked(event)
        break
      case "question_answered":
        this.#settled(event.data.id, { kind: "answered", answer: event.data.answer })
        break
      case "question_expired":
        this.#settled(event.data.id, { kind: "expired" })
        break
      case "tool_call_started":
        this.#callStarted(event)
        break
      case "tool_call_completed": {
        const { result = event.data.result, parts } = kept<"tool_call_completed">(event) ?? {}
        this.#callEnded(event.data.call_id, {
          kind: "completed",
          result,
          ...(parts === undefined ? {} : { parts }),
        })
        break
      }
      case "tool_call_failed": {
        const more = kept<"tool_call_failed">(event)
        this.#callEnded(event.data.call_id, {
          kind: "failed",
          error: event.data.error,
          modelText: more?.told ?? null,
          refused: more?.refused ?? false,
        })
        break
      }
      case "resource_read": {
        // One that a model asked for is a tool call.
        const read = kept<"resource_read">(event)
        if (read === undefined) break
        past.effects.set(read.site, { kind: "read", value: read.value, facts: read.facts })
        this.#used.toolCalls(read.agent, 1)
        break
      }
      case "prompt_rendered": {
        const rendered = kept<"prompt_rendered">(event)
        if (rendered === undefined) break
        const { site, messages, facts } = rendered
        past.effects.set(site, { kind: "render", messages, facts })
        break
      }
      default:
        if (isTerminal(event.type)) past.ended = true
    }
  }

  #stepEnded(data: EventData["agent_completed" | "agent_failed"], at: number): void {
    this.#spend(data, data.calls)
    const times = this.past.agentTimes.get(data.agent)
    if (times !== undefined) times.endedAt = at
  }

  #spend(about: { readonly agent: string; readonly iteration?: number }, calls: readonly ModelCallRecord[]): void {
    this.past.spent = addSpent(this.past.spent, spentBy(calls, this.#priceOf))
    this.#used.modelCallsEnded(about, calls)
  }

  /** The newest form counts: the last writer may have used a newer one. */
  #writtenBy(writer: LogWriter = { log: 0, engine: "of unknown version" }): void {
    if (writer.log >= (this.past.writer?.log ?? 0)) this.past.writer = writer
  }

  #agent(about: { readonly agent: string; readonly iteration?: number | undefined }): AgentPast {
    const key = placeKey(about.agent, about.iteration)
    let agent = this.past.agents.get(key)
    if (agent === undefined) {
      agent = {
        startedAt: null,
        completed: null,
        failed: null,
        begun: new Map(),
        summary: null,
        turns: new Map(),
        fallbacks: [],
      }
      this.past.agents.set(key, agent)
    }
    return agent
  }

  #reused(event: Extract<LogEvent, { type: "step_reused" }>): void {
    const { step, iteration, output } = event.data
    const more = kept<"step_reused">(event)
    if (more !== undefined && "site" in more) {
      const { outcome, facts, site } = more
      this.past.effects.set(
        placeKey(site, iteration),
        outcome.kind === "call" ? { kind: "call", call: reusedCall(outcome.value), facts } : { ...outcome, facts },
      )
      return
    }
    const reused = outcomeOf(output, more)
    if (step.startsWith("ask.")) this.past.reusedAnswers.set(placeKey(step, iteration), reused)
    else this.#agent({ agent: step.replace(/^agent\./, ""), iteration }).completed = reused
  }

  #asked(event: Extract<LogEvent, { type: "question_asked" }>): void {
    const { past } = this
    const { call_id, at: _, ...asked } = event.data
    const question: QuestionPast = { asked, outcome: null }
    past.questions.set(asked.id, question)
    const more = kept<"question_asked">(event)
    if (more === undefined) return
    if ("place" in more) past.asks.set(more.place, question)
    else if (call_id !== undefined) {
      const { name, iteration } = asked
      this.#call(call_id, name, more.call, iteration, more.agent).questions.push(question)
    }
  }

  #settled(id: string, outcome: QuestionOutcome): void {
    const question = this.past.questions.get(id)
    if (question !== undefined) question.outcome = outcome
  }

  #callStarted(event: Extract<LogEvent, { type: "tool_call_started" }>): void {
    const { tool, call_id, agent, iteration } = event.data
    this.#call(call_id, tool, kept<"tool_call_started">(event), iteration, agent).startedAt = Date.parse(event.at)
  }

  /** The call, which counts from the first time that the log speaks of it. */
  #call(
    callId: string,
    tool: string,
    more: KeptModelCall | KeptWorkflowCall | undefined,
    iteration: number | undefined,
    agent: string | undefined,
  ): CallPast {
    const { past } = this
    const known = this.#openCalls.get(callId)
    if (known !== undefined) return known.call
    const call: CallPast = { callId, startedAt: null, questions: [], outcome: null }
    const site = more !== undefined && "site" in more ? more.site : null
    const open = { call, tool, site, agent }
    this.#openCalls.set(callId, open)
    this.#count(open, 1)
    if (more === undefined) return call
    if ("site" in more) {
      past.effects.set(placeKey(more.site, iteration), { kind: "call", call, facts: more.facts })
    } else if (agent !== undefined) {
      if (more.answer !== undefined) this.#used.modelCallsEnded({ agent, iteration }, more.answer.calls)
      const { turns } = this.#agent({ agent, iteration })
      let turn = turns.get(more.turn)
      if (turn === undefined && more.answer !== undefined) {
        turn = { answer: readTurn(more.answer), calls: new Map() }
        turns.set(more.turn, turn)
      }
      turn?.calls.set(more.index, call)
    }
    return call
  }

  #count({ tool, site, agent }: OpenCall, by: 1 | -1): void {
    const { toolCalls, siteCalls } = this.past
    toolCalls.set(tool, (toolCalls.get(tool) ?? 0) + by)
    if (site !== null) siteCalls.set(site, (siteCalls.get(site) ?? 0) + by)
    this.#used.toolCalls(agent, by)
  }

  #callEnded(callId: string, outcome: CallOutcome): void {
    const open = this.#openCalls.get(callId)
    if (open === undefined) return
    open.call.outcome = outcome
    if (outcome.kind === "failed" && outcome.refused) this.#count(open, -1)
    this.#openCalls.delete(callId)
  }
}

function outcomeOf(output: JsonValue, more: KeptStep | undefined): StepOutcome {
  const history = more?.history === undefined ? null : readMessages(more.history)
  return { output: more?.output ?? output, history, facts: more?.facts }
}

function reusedCall(result: JsonValue): CallPast {
  return { callId: "", startedAt: 0, questions: [], outcome: { kind: "completed", result } }
}

function readTurn({ message, usage, calls, tool_calls, withdrawn }: KeptTurn): AnsweredTurn {
  const parts = readMessages(message).flatMap((message) => (message.role === "assistant" ? message.parts : []))
  const answer = { message: { role: "assistant", parts }, usage, calls, tool_calls } as const
  return withdrawn === undefined ? answer : { ...answer, withdrawn }
}

/** The writer of a log types what it keeps; it is the only one who writes there. */
function kept<T extends EventType>(event: { readonly kept?: JsonValue }): Kept<T> | undefined {
  return event.kept as Kept<T> | undefined
}
