import type { Attributes, Context, Span, Tracer } from "@opentelemetry/api"
import { createTraceState, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api"
import { remembered } from "../../base/remembered.ts"
import { telemetryNames } from "../../check/provider-kinds.ts"
import type { LogEvent, ModelCallRecord, WireError } from "../../log/events.ts"
import { scopeAround } from "../../plan/call-scope.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import type { AnsweredCall, ShownPrompt, ShownStep } from "../../ports/content.ts"
import type { ResponseFacts } from "../../ports/model.ts"
import type { TakenRun } from "../../run/context/taken-run.ts"
import type { RunObserver } from "./run-observer.ts"
import { finishedWork } from "./finished-work.ts"
import type { OwnTraces } from "./own-traces.ts"
import type { TraceNames } from "./trace-names.ts"
import { tracedModels, type TracedModel } from "./traced-models.ts"

/** Names of trace fields in MCP's `_meta` and in HTTP headers. */
export interface TraceHeaders {
  readonly traceparent: string
  readonly tracestate?: string
}

interface TracedRun extends Prepared {
  /** The name of the workflow of the server's folder, on every span. */
  readonly name: Attributes
  readonly span: Span
  readonly context: Context
  /** Agent steps under way, by their keys. */
  readonly steps: Map<string, Traced>
  /** Calls of workflows under way, by their scopes. */
  readonly calls: Map<string, Traced>
  /** When each tool call under way began, by its id. */
  readonly toolStarts: Map<string, number>
}

/** Facts of a run that come before its events. */
interface Prepared {
  /** The models of its plan, and of the files that it calls, by scope. */
  readonly models: Map<string, ReadonlyMap<string, TracedModel>>
  /** What was said in the turns of steps under way, by step and turn. */
  readonly turns: Map<string, Map<number, Said>>
  /** What tools under way were given, and gave, by the id of the call. */
  readonly given: Map<string, Attributes>
  /** What backends said of the answers in steps under way, by step, turn and attempt. */
  readonly responses: Map<string, Map<string, ResponseFacts>>
  /** The protocol that each MCP server speaks. */
  readonly protocols: Map<string, string>
}

interface Said extends ShownPrompt {
  output?: string
}

interface Traced {
  readonly span: Span
  readonly context: Context
}

/**
 * A span for each run, agent step, called workflow, and request to a model or a server, with the names of the GenAI conventions. What was said is in
 * them where it is given: labels have been looked at, and secrets replaced. Names, statuses and errors hold no value of a run.
 */
export class RunTracer implements RunObserver {
  readonly #tracer: Tracer
  readonly #ids: Pick<OwnTraces, "next">
  readonly #names: TraceNames
  readonly #prepared = new Map<string, Prepared>()
  readonly #runs = new Map<string, TracedRun>()
  /** The spans that runs without an event yet belong under. */
  readonly #parents = new Map<string, Context>()
  /** Attributes of their spans about the workflow and the caller. */
  readonly #facts = new Map<
    string,
    { readonly name: Attributes; readonly root: Attributes; readonly trace_id: string | null }
  >()

  constructor(tracer: Tracer, names: TraceNames, ids: Pick<OwnTraces, "next">) {
    this.#tracer = tracer
    this.#names = names
    this.#ids = ids
  }

  planned(run_id: string, scope: string | null, plan: Plan): void {
    this.#prepare(run_id).models.set(scope ?? "", tracedModels(plan))
  }

  responded(run_id: string, call: AnsweredCall, response: ResponseFacts): void {
    const responses = this.#prepared.get(run_id)?.responses
    if (responses === undefined) return
    remembered(responses, stepKey(call), () => new Map<string, ResponseFacts>()).set(callKey(call), response)
  }

  asked(run_id: string, step: ShownStep, prompt: ShownPrompt): void {
    const turns = this.#prepared.get(run_id)?.turns
    if (turns !== undefined)
      remembered(turns, stepKey(step), () => new Map<number, Said>()).set(step.turn, { ...prompt })
  }

  answered(run_id: string, step: ShownStep, output: string): void {
    const said = this.#prepared.get(run_id)?.turns.get(stepKey(step))?.get(step.turn)
    if (said !== undefined) said.output = output
  }

  called(run_id: string, call_id: string, part: "arguments" | "result", json: string): void {
    const given = this.#prepared.get(run_id)?.given
    given?.set(call_id, { ...given.get(call_id), [this.#names[part]]: json })
  }

  #prepare(run_id: string): Prepared {
    return remembered(this.#prepared, run_id, () => ({
      models: new Map(),
      turns: new Map(),
      given: new Map(),
      responses: new Map(),
      protocols: new Map(),
    }))
  }

  /** The trace of the request that started the run goes on, also where another process takes the run up. */
  taken({ run_id, trace_id, traceparent, tracestate, caller, workflow }: TakenRun): void {
    const name: Attributes = workflow === null ? {} : { [this.#names.workflow]: workflow.name }
    const version: Attributes = workflow === null ? {} : { "wireworks.workflow.version": workflow.version }
    const root = { ...version, ...(caller !== "" && { "wireworks.caller": caller }) }
    this.#facts.set(run_id, { name, root, trace_id })
    const [, traceId, spanId, flags] = traceparent?.split("-") ?? []
    if (traceId === undefined || spanId === undefined || flags === undefined) return
    const parent = {
      traceId,
      spanId,
      traceFlags: Number.parseInt(flags, 16) & 1,
      isRemote: true,
      ...(tracestate !== null && { traceState: createTraceState(tracestate) }),
    }
    this.#parents.set(run_id, trace.setSpanContext(ROOT_CONTEXT, parent))
  }

  appended(run_id: string, events: readonly LogEvent[]): void {
    for (const event of events) this.#event(run_id, event)
  }

  /** The process that resumes the run begins a span of its own. */
  left(run_id: string): void {
    this.#parents.delete(run_id)
    this.#facts.delete(run_id)
    const run = this.#runs.get(run_id)
    if (run !== undefined) this.#end(run_id, run, Date.now(), "left", null)
    this.#prepared.delete(run_id)
  }

  context(run_id: string): TraceHeaders | null {
    const span = this.#runs.get(run_id)?.span.spanContext()
    if (span === undefined) return null
    const traceparent = `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, "0")}`
    const tracestate = span.traceState?.serialize() ?? ""
    return tracestate === "" ? { traceparent } : { traceparent, tracestate }
  }

  #event(run_id: string, event: LogEvent): void {
    const at = Date.parse(event.at)
    const run = this.#run(run_id, at)
    if (event.type === "mcp_server_connected") run.protocols.set(event.data.server, event.data.protocol)
    const done = finishedWork(event, this.#names)
    if (done !== null) {
      const options = {
        startTime: at - done.duration_ms,
        kind: SpanKind.CLIENT,
        attributes: { ...run.name, ...done.attributes },
      }
      this.#tracer.startSpan(done.name, options, this.#around(run, event.data)).end(at)
      return
    }
    switch (event.type) {
      case "agent_started":
        this.#stepStarted(run, event.data, at)
        break
      case "agent_completed": {
        const { usage, cached, calls } = event.data
        const attributes: Attributes = {
          ...(usage.cost !== null && { "wireworks.usage.cost": usage.cost }),
          [this.#names.inputTokens]: usage.input_tokens,
          [this.#names.outputTokens]: usage.output_tokens,
          "wireworks.cached": cached,
        }
        this.#step(run, event.data, at, calls, attributes, null)
        break
      }
      case "agent_failed":
        this.#step(run, event.data, at, event.data.calls, {}, event.data.error)
        break
      case "step_skipped":
        // Loops get none: there would be one for each item.
        if (event.data.iteration === undefined && event.data.site === undefined)
          run.span.addEvent("step_skipped", { step: event.data.step }, at)
        break
      case "tool_call_started":
        run.toolStarts.set(event.data.call_id, at)
        break
      case "tool_call_completed":
        this.#tool(run, event.data, at, null)
        break
      case "tool_call_failed":
        this.#tool(run, event.data, at, event.data.error)
        break
      case "workflow_call_started":
        this.#callStarted(run, event.data, at)
        break
      case "workflow_call_completed":
      case "workflow_call_failed": {
        const { scope = "", duration_ms } = event.data
        const { span } = run.calls.get(scope) ?? this.#callStarted(run, event.data, at - duration_ms)
        run.calls.delete(scope)
        fail(span, "error" in event.data ? event.data.error : null)
        span.end(at)
        break
      }
      case "question_asked":
      case "question_answered":
      case "question_expired":
      case "question_withdrawn":
        run.span.addEvent(event.type, { question: event.data.name }, at)
        break
      case "run_resumed":
        run.span.addEvent("run_resumed", {}, at)
        break
      case "agent_fallback": {
        const { agent, from, to, error } = event.data
        const { span } = run.steps.get(stepKey(event.data)) ?? run
        span.addEvent("agent_fallback", { agent, from, to, "error.type": error.kind }, at)
        break
      }
      case "run_waiting":
        this.#end(run_id, run, at, "waiting", null)
        break
      case "workflow_completed":
        this.#end(run_id, run, at, "completed", null)
        break
      case "workflow_failed":
        this.#end(run_id, run, at, "failed", event.data.error)
        break
      case "workflow_cancelled":
        this.#end(run_id, run, at, "cancelled", null)
        break
      default:
        break
    }
  }

  #run(run_id: string, at: number): TracedRun {
    const known = this.#runs.get(run_id)
    if (known !== undefined) return known
    const { name, root, trace_id } = this.#facts.get(run_id) ?? { name: {}, root: {}, trace_id: null }
    const attributes = {
      [this.#names.operation]: "invoke_workflow",
      ...name,
      "wireworks.run_id": run_id,
      ...root,
    }
    const parent = this.#parents.get(run_id) ?? ROOT_CONTEXT
    if (parent === ROOT_CONTEXT) this.#ids.next = trace_id
    const span = this.#tracer.startSpan("workflow", { startTime: at, kind: SpanKind.SERVER, attributes }, parent)
    const run = {
      name,
      span,
      context: trace.setSpan(ROOT_CONTEXT, span),
      steps: new Map(),
      calls: new Map(),
      toolStarts: new Map(),
      ...this.#prepare(run_id),
    }
    this.#parents.delete(run_id)
    this.#facts.delete(run_id)
    this.#runs.set(run_id, run)
    return run
  }

  #end(run_id: string, run: TracedRun, at: number, status: string, error: WireError | null): void {
    // Steps and calls that the run's end has interrupted.
    for (const { span } of [...run.steps.values(), ...run.calls.values()]) span.end(at)
    run.span.setAttribute("wireworks.status", status)
    fail(run.span, error)
    run.span.end(at)
    this.#runs.delete(run_id)
    this.#prepared.delete(run_id)
  }

  /** The span that an event belongs under: that of its agent's step, else of the call of a workflow that it happens in, else of the run. */
  #around(run: TracedRun, about: Partial<TracedAgent>): Context {
    const { agent, scope } = about
    const step = agent === undefined ? undefined : run.steps.get(stepKey({ ...about, agent }))
    return (step ?? (scope === undefined ? undefined : run.calls.get(scope)) ?? run).context
  }

  #callStarted(run: TracedRun, about: TracedCall, at: number): Traced {
    const { workflow, scope = "", agent, iteration } = about
    const outer = scopeAround(scope)
    const caller = {
      ...(agent !== undefined && { agent }),
      ...(iteration !== undefined && { iteration }),
      ...(outer !== null && { scope: outer }),
    }
    const attributes = {
      [this.#names.operation]: "invoke_workflow",
      ...run.name,
      "wireworks.called": workflow,
      "wireworks.scope": scope,
    }
    const parent = this.#around(run, caller)
    const span = this.#tracer.startSpan(`invoke_workflow ${workflow}`, { startTime: at, attributes }, parent)
    const call = { span, context: trace.setSpan(parent, span) }
    run.calls.set(scope, call)
    return call
  }

  #stepStarted(run: TracedRun, about: TracedAgent, at: number): Traced {
    const parent = this.#around(run, about.scope === undefined ? {} : { scope: about.scope })
    const span = this.#tracer.startSpan(
      `invoke_agent ${about.agent}`,
      {
        startTime: at,
        attributes: {
          [this.#names.operation]: "invoke_agent",
          ...run.name,
          [this.#names.agent]: about.agent,
          ...(about.iteration !== undefined && { "wireworks.iteration": about.iteration }),
          ...(about.scope !== undefined && { "wireworks.scope": about.scope }),
        },
      },
      parent,
    )
    const step = { span, context: trace.setSpan(parent, span) }
    run.steps.set(stepKey(about), step)
    return step
  }

  #step(
    run: TracedRun,
    about: TracedAgent,
    at: number,
    calls: readonly ModelCallRecord[],
    attributes: Attributes,
    error: WireError | null,
  ): void {
    const key = stepKey(about)
    // A step that another process began has no start here: its span begins with its first call.
    const [first] = calls
    const begun = first === undefined ? at : Date.parse(first.started_at)
    const { span, context } = run.steps.get(key) ?? this.#stepStarted(run, about, begun)
    run.steps.delete(key)
    const said = run.turns.get(key)
    run.turns.delete(key)
    const responses = run.responses.get(key)
    run.responses.delete(key)
    span.setAttributes(attributes)
    const models = run.models.get(about.scope ?? "")
    const modelOf = (call: ModelCallRecord): TracedModel => models?.get(call.model ?? "") ?? {}
    const { id } = first === undefined ? {} : modelOf(first)
    if (id !== undefined) span.setAttribute(this.#names.requestModel, id)
    // The error of a step is that of its last call; of the calls before, only their failure is known.
    const last = error === null ? "_OTHER" : upstreamType(error)
    for (const call of calls) {
      const isLast = calls.findLast(({ turn }) => turn === call.turn) === call
      this.#call(
        call,
        {
          context,
          name: run.name,
          model: modelOf(call),
          said: said?.get(call.turn),
          response: responses?.get(callKey(call)) ?? {},
          isAnswered: isLast,
        },
        call === calls.at(-1) ? last : "_OTHER",
      )
    }
    fail(span, error)
    span.end(at)
  }

  #call(
    call: ModelCallRecord,
    { context, name, model, said, response, isAnswered }: TracedCallOf,
    errorType: string,
  ): void {
    const names = this.#names
    const startTime = Date.parse(call.started_at)
    const isOpen = call.format === undefined
    const attributes: Attributes = {
      [names.operation]: "chat",
      ...name,
      [names.provider]: telemetryNames.get(call.provider ?? "openai") ?? call.provider ?? "openai",
      ...(model.id !== undefined && { [names.requestModel]: model.id }),
      ...(model.address !== undefined && { [names.server]: model.address }),
      ...(model.port !== undefined && { [names.port]: model.port }),
      "wireworks.turn": call.turn,
      "wireworks.attempt": call.attempt,
      ...(call.usage !== undefined && {
        [names.inputTokens]: call.usage.input_tokens,
        [names.outputTokens]: call.usage.output_tokens,
        [names.cacheRead]: call.usage.cached_tokens,
        [names.cacheWritten]: call.usage.written_tokens,
        ...(typeof call.usage.cost === "number" && { "wireworks.usage.cost": call.usage.cost }),
      }),
      ...(response.id !== undefined && model.isDemo !== true && { [names.responseId]: response.id }),
      // It names the model that was asked for, which is left out where the input decides it.
      ...(response.model !== undefined && model.id !== undefined && { [names.responseModel]: response.model }),
      ...(response.finish_reasons !== undefined && { [names.finishReasons]: [...response.finish_reasons] }),
      ...(said !== undefined && { [names.inputMessages]: said.input }),
      ...(typeof said?.system === "string" && { [names.system]: said.system }),
      ...(said?.output !== undefined && isAnswered && !isOpen && { [names.outputMessages]: said.output }),
    }
    const title = model.id === undefined ? "chat" : `chat ${model.id}`
    const span = this.#tracer.startSpan(title, { startTime, kind: SpanKind.CLIENT, attributes }, context)
    // A call that gave no answer has no format that held.
    if (isOpen) {
      span.setAttribute(names.error, errorType)
      span.setStatus({ code: SpanStatusCode.ERROR })
    }
    span.end(startTime + call.duration_ms)
  }

  #tool(
    run: TracedRun,
    about: Partial<TracedAgent> & {
      readonly tool: string
      readonly server: string
      readonly call_id: string
    },
    at: number,
    error: WireError | null,
  ): void {
    const startTime = run.toolStarts.get(about.call_id) ?? at
    run.toolStarts.delete(about.call_id)
    const names = this.#names
    const protocol = run.protocols.get(about.server)
    // A name that no server has is a model's word.
    const isKnown = about.server !== ""
    const attributes: Attributes = {
      [names.operation]: "execute_tool",
      ...run.name,
      ...(isKnown && { [names.tool]: about.tool }),
      [names.callId]: about.call_id,
      ...(protocol !== undefined && { [names.mcpMethod]: "tools/call", [names.mcpProtocol]: protocol }),
      ...(isKnown && { "wireworks.server": about.server }),
      ...run.given.get(about.call_id),
    }
    run.given.delete(about.call_id)
    const options = { startTime, kind: SpanKind.CLIENT, attributes }
    const title = isKnown ? `execute_tool ${about.tool}` : "execute_tool"
    const span = this.#tracer.startSpan(title, options, this.#around(run, about))
    fail(span, error)
    span.end(at)
  }
}

/** What a span of a model call is made with. */
interface TracedCallOf {
  readonly context: Context
  readonly name: Attributes
  readonly model: TracedModel
  readonly said: Said | undefined
  readonly response: ResponseFacts
  /** It is the one that gave the turn's answer, where there is one. */
  readonly isAnswered: boolean
}

interface TracedCall extends Partial<TracedAgent> {
  readonly workflow: string
}

interface TracedAgent {
  readonly agent: string
  readonly iteration?: number
  /** Set for a step in a called workflow. */
  readonly scope?: string
}

function callKey({ turn, attempt }: { readonly turn: number; readonly attempt: number }): string {
  return `${turn}.${attempt}`
}

function stepKey({ agent, iteration, scope }: TracedAgent): string {
  const own = scope === undefined ? agent : `${scope}/${agent}`
  return iteration === undefined ? own : `${own}#${iteration}`
}

/** The backend's status, where it answered. */
function upstreamType({ kind, issues: [first] }: WireError): string {
  return first?.upstream_status === undefined ? kind : String(first.upstream_status)
}

/** The kind alone: a message may name what a caller sent. */
function fail(span: Span, error: WireError | null): void {
  if (error === null) return
  span.setAttribute("error.type", error.kind)
  span.setStatus({ code: SpanStatusCode.ERROR })
}
