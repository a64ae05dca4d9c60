import type { JsonValue } from "../base/json-value.ts"
import { callingAgent, scopeAround } from "../plan/call-scope.ts"
import { isTerminal, type EventData, type EventType, type LogEvent, type ModelCallRecord } from "./events.ts"
import { askedQuestion } from "./asked-question.ts"
import { roleOf } from "./event-schemas.ts"
import type {
  ReplayData,
  ElicitationReplayData,
  ModelCallReplayData,
  ReuseReplayData,
  TurnReplayData,
  WorkflowCallReplayData,
} from "./replay-data.ts"
import type { LogWriter } from "./log-version.ts"
import { eventBytes } from "./event-bytes.ts"
import { ConsumptionSum } from "./consumption.ts"
import { addSpent, spentBy, type PriceOf, type Spent } from "./usage.ts"
import { readMessages } from "./stored-messages.ts"
import { readProgress } from "./turn-progress.ts"
import {
  emptyReplayState,
  emptyPastInside,
  placeKey,
  type AgentReplayState,
  type AnsweredTurn,
  type AskedByServer,
  type CallOutcome,
  type CallReplayState,
  type QuestionOutcome,
  type QuestionReplayState,
  type ReplayState,
  type StepOutcome,
} from "./replay-state.ts"

/** Whether a run that writes such an event got further. */
export function isProgress({ type }: LogEvent): boolean {
  return roleOf(type) !== "repeated"
}

/** A call that has no outcome yet, and what it counts for. */
interface OpenCall {
  readonly call: CallReplayState
  readonly tool: string
  readonly site: string | null
  readonly agent: string | undefined
}

/** Those of a call of a workflow itself, which is made in the scope around its own. */
const ofCalls: ReadonlySet<EventType> = new Set<EventType>([
  "workflow_call_started",
  "workflow_call_completed",
  "workflow_call_failed",
])

/** The fold of the workflow around a called one. */
interface FoldAround {
  readonly fold: LogFold
  readonly scope: string
}

type StepReplayData = ReplayData<"agent_completed"> | Exclude<ReuseReplayData, { readonly site: string }>

/** Takes the events of a log one after the other into what the run has behind it. */
export class LogFold {
  readonly past: ReplayState
  readonly #openCalls = new Map<string, OpenCall>()
  readonly #priceOf: PriceOf
  readonly #used: ConsumptionSum
  readonly #around: FoldAround | null
  /** By scope: those of all workflows that the run calls. */
  readonly #inside = new Map<string, LogFold>()

  constructor(priceOf: PriceOf = () => null, around: FoldAround | null = null) {
    this.#priceOf = priceOf
    this.#around = around
    this.past = around === null ? emptyReplayState() : emptyPastInside(around.fold.past)
    this.#used = new ConsumptionSum(
      priceOf,
      around && { sum: around.fold.#used, scope: around.scope, agent: callingAgent(around.scope) },
    )
  }

  /** The log is at its end. */
  finished(): ReplayState {
    for (const { past, used } of this.#allInside()) past.used = used.total()
    this.past.used = this.#used.total()
    return this.past
  }

  #allInside(): { readonly past: ReplayState; readonly used: ConsumptionSum }[] {
    return [...this.#inside.values()].map((fold) => ({ past: fold.past, used: fold.#used }))
  }

  take(event: LogEvent): void {
    const { past } = this
    past.lastId = event.id
    past.logBytes += eventBytes(event)
    const at = Date.parse(event.at)
    past.startedAt ??= at
    if (event.type === "run_resumed") past.idle.push({ from: past.lastAt ?? at, to: at })
    past.lastAt = Math.max(past.lastAt ?? at, at)
    if (isProgress(event)) past.vainResumes = 0
    const { scope } = event.data
    if (scope === undefined) this.#takeOwn(event, at)
    else {
      const inside = this.#in(scope)
      if (ofCalls.has(event.type)) this.#in(scopeAround(scope)).#takeOwn(event, at)
      else inside.#takeOwn(event, at)
    }
  }

  /** The fold of a scope; null is that of the run. */
  #in(scope: string | null): LogFold {
    if (scope === null) return this
    let fold = this.#inside.get(scope)
    if (fold === undefined) {
      fold = new LogFold(this.#priceOf, { fold: this.#in(scopeAround(scope)), scope })
      this.#inside.set(scope, fold)
      this.past.inside.set(scope, fold.past)
    }
    return fold
  }

  #takeOwn(event: LogEvent, at: number): void {
    const { past } = this
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
        past.idle.push({ from: at, to: null })
        break
      case "run_continued": {
        const wait = past.idle.at(-1)
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
        this.#skipped(event.data)
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
      case "tool_call_continued": {
        const open = this.#openCalls.get(event.data.call_id)
        // From here on the server may have acted on the answers.
        if (open !== undefined) open.call.asked = null
        break
      }
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
      case "workflow_call_started": {
        const { call_id, scope = "", agent, iteration } = event.data
        const { file, call } = kept<"workflow_call_started">(event) ?? { file: null }
        this.#workflowCall(call_id, scope, call, agent, iteration).startedAt = at
        const inner = past.inside.get(scope)
        if (inner !== undefined) Object.assign(inner, { startedAt: at, file })
        break
      }
      case "workflow_call_completed": {
        const call = past.workflowCalls.get(event.data.scope ?? "")
        const result = kept<"workflow_call_completed">(event)?.output ?? event.data.output
        if (call !== undefined) call.outcome = { kind: "completed", result }
        break
      }
      case "workflow_call_failed": {
        const call = past.workflowCalls.get(event.data.scope ?? "")
        const { error } = event.data
        if (call !== undefined) call.outcome = { kind: "failed", error, modelText: error.message, refused: false }
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

  #skipped({ step, iteration, site, items }: EventData["step_skipped"]): void {
    if (site === undefined) this.past.skipped.add(placeKey(step, iteration))
    else this.past.skippedEffects.add(placeKey(site, iteration, items))
  }

  #stepEnded(data: EventData["agent_completed" | "agent_failed"], at: number): void {
    this.#spend(data, data.calls)
    const times = this.past.agentTimes.get(data.agent)
    if (times !== undefined) times.endedAt = at
  }

  #spend(about: { readonly agent: string; readonly iteration?: number }, calls: readonly ModelCallRecord[]): void {
    const spent = spentBy(calls, this.#priceOf, this.#around?.scope)
    this.#addSpent(spent)
    this.#used.modelCallsEnded(about, calls)
  }

  /** A called workflow and all around it use the same calls. */
  #addSpent(spent: Spent): void {
    this.past.spent = addSpent(this.past.spent, spent)
    if (this.#around !== null) this.#around.fold.#addSpent(spent)
  }

  /** The newest form counts: the last writer may have used a newer one. */
  #writtenBy(writer: LogWriter = { log: 0, engine: "of unknown version" }): void {
    if (writer.log >= (this.past.writer?.log ?? 0)) this.past.writer = writer
  }

  #agent(about: { readonly agent: string; readonly iteration?: number | undefined }): AgentReplayState {
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
    const { step, iteration, items, output } = event.data
    const more = kept<"step_reused">(event)
    if (more !== undefined && "site" in more) {
      const { outcome, facts, site } = more
      this.past.effects.set(
        placeKey(site, iteration, items),
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
    const { call_id } = event.data
    const asked = askedQuestion(event.data)
    const more = kept<"question_asked">(event)
    const requirements = more !== undefined && "place" in more ? more.requirements?.facts : undefined
    const question: QuestionReplayState = { asked, outcome: null, ...(requirements !== undefined && { requirements }) }
    past.questions.set(asked.id, question)
    if (more === undefined) return
    if ("place" in more) past.asks.set(more.place, question)
    else if (call_id !== undefined && more.scope !== undefined) {
      const { call, scope, agent } = more
      const byModel = "turn" in call ? call : undefined
      this.#workflowCall(call_id, scope, byModel, agent, asked.iteration).questions.push(question)
    } else if (call_id !== undefined) {
      const call = this.#call(call_id, asked.name, more.call, asked, more.agent)
      if (more.elicitation === undefined) call.questions.push(question)
      else askedBy(call, more.elicitation).questions.set(more.elicitation.key, question)
    }
  }

  #settled(id: string, outcome: QuestionOutcome): void {
    const question = this.past.questions.get(id)
    if (question !== undefined) question.outcome = outcome
  }

  #callStarted(event: Extract<LogEvent, { type: "tool_call_started" }>): void {
    const { tool, call_id, agent } = event.data
    this.#call(call_id, tool, kept<"tool_call_started">(event), event.data, agent).startedAt = Date.parse(event.at)
  }

  /** The call, which counts from the first time that the log speaks of it. */
  #call(
    callId: string,
    tool: string,
    more: ModelCallReplayData | WorkflowCallReplayData | undefined,
    { iteration, items }: { readonly iteration?: number; readonly items?: readonly number[] },
    agent: string | undefined,
  ): CallReplayState {
    const { past } = this
    const known = this.#openCalls.get(callId)
    if (known !== undefined) return known.call
    const call: CallReplayState = { callId, startedAt: null, questions: [], asked: null, outcome: null }
    const site = more !== undefined && "site" in more ? more.site : null
    const open = { call, tool, site, agent }
    this.#openCalls.set(callId, open)
    this.#count(open, 1)
    if (more === undefined) return call
    if ("site" in more) {
      past.effects.set(placeKey(more.site, iteration, items), { kind: "call", call, facts: more.facts })
    } else if (agent !== undefined) this.#inTurn(call, more, agent, iteration)
    return call
  }

  /** A call that a model made belongs to its turn. */
  #inTurn(call: CallReplayState, more: ModelCallReplayData, agent: string, iteration: number | undefined): void {
    if (more.answer !== undefined) this.#used.modelCallsEnded({ agent, iteration }, more.answer.calls)
    const { turns } = this.#agent({ agent, iteration })
    let turn = turns.get(more.turn)
    if (turn === undefined && more.answer !== undefined) {
      turn = { answer: readTurn(more.answer), calls: new Map() }
      turns.set(more.turn, turn)
    }
    turn?.calls.set(more.index, call)
  }

  /** The call of a workflow, from the first time that the log speaks of it. It counts as no tool call. */
  #workflowCall(
    callId: string,
    scope: string,
    more: ModelCallReplayData | undefined,
    agent: string | undefined,
    iteration: number | undefined,
  ): CallReplayState {
    const { workflowCalls } = this.past
    const known = workflowCalls.get(scope)
    if (known !== undefined) return known
    const call: CallReplayState = { callId, scope, startedAt: null, questions: [], asked: null, outcome: null }
    workflowCalls.set(scope, call)
    if (more !== undefined && agent !== undefined) this.#inTurn(call, more, agent, iteration)
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

function outcomeOf(output: JsonValue, more: StepReplayData | undefined): StepOutcome {
  const history = more?.history === undefined ? null : readMessages(more.history)
  return { output: more?.output ?? output, history, facts: more?.facts }
}

function askedBy(call: CallReplayState, { round, state }: ElicitationReplayData): AskedByServer {
  if (call.asked?.round !== round) call.asked = { round, state: state ?? null, questions: new Map() }
  return call.asked
}

function reusedCall(result: JsonValue): CallReplayState {
  return { callId: "", startedAt: 0, questions: [], asked: null, outcome: { kind: "completed", result } }
}

function readTurn({ message, usage, calls, tool_calls, withdrawn }: TurnReplayData): AnsweredTurn {
  const parts = readMessages(message).flatMap((message) => (message.role === "assistant" ? message.parts : []))
  const answer = { message: { role: "assistant", parts }, usage, calls, tool_calls } as const
  return withdrawn === undefined ? answer : { ...answer, withdrawn }
}

/** The writer of a log types what it keeps; it is the only one who writes there. */
function kept<T extends EventType>(event: { readonly kept?: JsonValue }): ReplayData<T> | undefined {
  return event.kept as ReplayData<T> | undefined
}
