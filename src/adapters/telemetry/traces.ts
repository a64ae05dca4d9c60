import type { Attributes, Context, Span, Tracer } from "@opentelemetry/api"
import { diag, DiagLogLevel, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api"
import type { LogEvent, ModelCallRecord, WireError } from "../../run/events.ts"
import type { RunObserver } from "./observe-store.ts"

export interface Traces {
  readonly observer: RunObserver
  /** Of a run under way, for those that it calls: `00-…-…-01`. */
  traceparent(run_id: string): string | null
  /** Sends what is left. */
  close(): Promise<void>
}

/** How long what is left may take to be sent at the end. */
const longestFarewell = 3000

/** Traces over OTLP, set up by the usual `OTEL_*` variables; null where no endpoint is set. */
export async function startTraces(
  environment: Readonly<Record<string, string | undefined>>,
  version: string,
  trouble: (message: string) => void,
): Promise<Traces | null> {
  const endpoint = environment["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] ?? environment["OTEL_EXPORTER_OTLP_ENDPOINT"]
  if (endpoint === undefined || endpoint === "" || environment["OTEL_SDK_DISABLED"] === "true") return null
  const { otlpProvider } = await import("./otlp-provider.ts")
  const silent = (): void => undefined
  diag.setLogger({ verbose: silent, debug: silent, info: silent, warn: trouble, error: trouble }, DiagLogLevel.WARN)
  const provider = otlpProvider(version)
  const tracer = new RunTracer(provider.getTracer("wireworks", version))
  return {
    observer: tracer,
    traceparent: (run_id) => tracer.traceparent(run_id),
    async close() {
      const late = Promise.withResolvers<void>()
      const timer = setTimeout(() => late.resolve(), longestFarewell)
      // A receiver that is not there keeps no process from ending.
      await Promise.race([provider.shutdown().catch((error: unknown) => trouble(String(error))), late.promise])
      clearTimeout(timer)
    },
  }
}

interface TracedRun {
  readonly span: Span
  readonly context: Context
  /** When an agent's step or a tool call began, by its key. */
  readonly starts: Map<string, { readonly at: number; readonly model: string }>
}

/** A span for each run, agent step, model call and tool call, with the names of the GenAI conventions and no payloads. */
export class RunTracer implements RunObserver {
  readonly #tracer: Tracer
  readonly #runs = new Map<string, TracedRun>()

  constructor(tracer: Tracer) {
    this.#tracer = tracer
  }

  appended(run_id: string, events: readonly LogEvent[]): void {
    for (const event of events) this.#event(run_id, event)
  }

  /** Whoever takes it up begins a trace of its own. */
  left(run_id: string): void {
    const run = this.#runs.get(run_id)
    if (run !== undefined) this.#end(run_id, run, Date.now(), "left", null)
  }

  traceparent(run_id: string): string | null {
    const span = this.#runs.get(run_id)?.span.spanContext()
    if (span === undefined) return null
    return `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, "0")}`
  }

  #event(run_id: string, event: LogEvent): void {
    const at = Date.parse(event.at)
    const run = this.#run(run_id, at)
    switch (event.type) {
      case "agent_started":
        run.starts.set(stepKey(event.data), { at, model: event.data.model })
        break
      case "agent_completed": {
        const { usage, cached, calls } = event.data
        const attributes: Attributes = {
          ...(usage.cost !== null && { "wireworks.usage.cost": usage.cost }),
          "gen_ai.usage.input_tokens": usage.input_tokens,
          "gen_ai.usage.output_tokens": usage.output_tokens,
          "wireworks.cached": cached,
        }
        this.#step(run, event.data, at, calls, attributes, null)
        break
      }
      case "agent_failed":
        this.#step(run, event.data, at, event.data.calls, {}, event.data.error)
        break
      case "agent_fallback":
        run.span.addEvent("agent_fallback", { agent: event.data.agent, "error.type": event.data.error.kind }, at)
        break
      case "step_skipped":
        // Those of a loop would be as many as its items.
        if (event.data.iteration === undefined) run.span.addEvent("step_skipped", { step: event.data.step }, at)
        break
      case "tool_call_started":
        run.starts.set(`tool ${event.data.call_id}`, { at, model: "" })
        break
      case "tool_call_completed":
        this.#tool(run, event.data, at, null)
        break
      case "tool_call_failed":
        this.#tool(run, event.data, at, event.data.error)
        break
      case "run_resumed":
        run.span.addEvent("run_resumed", {}, at)
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
    const attributes = { "gen_ai.operation.name": "invoke_workflow", "wireworks.run_id": run_id }
    const span = this.#tracer.startSpan("workflow", { startTime: at, kind: SpanKind.SERVER, attributes }, ROOT_CONTEXT)
    const run = { span, context: trace.setSpan(ROOT_CONTEXT, span), starts: new Map() }
    this.#runs.set(run_id, run)
    return run
  }

  #end(run_id: string, run: TracedRun, at: number, status: string, error: WireError | null): void {
    run.span.setAttribute("wireworks.status", status)
    fail(run.span, error)
    run.span.end(at)
    this.#runs.delete(run_id)
  }

  #step(
    run: TracedRun,
    about: { readonly agent: string; readonly iteration?: number },
    at: number,
    calls: readonly ModelCallRecord[],
    attributes: Attributes,
    error: WireError | null,
  ): void {
    const key = stepKey(about)
    const start = run.starts.get(key)
    run.starts.delete(key)
    const model = start?.model ?? ""
    const span = this.#tracer.startSpan(
      `invoke_agent ${about.agent}`,
      {
        startTime: start?.at ?? at,
        attributes: {
          "gen_ai.operation.name": "invoke_agent",
          "gen_ai.agent.name": about.agent,
          "gen_ai.request.model": model,
          ...(about.iteration !== undefined && { "wireworks.iteration": about.iteration }),
          ...attributes,
        },
      },
      run.context,
    )
    const context = trace.setSpan(run.context, span)
    for (const call of calls) this.#call(call, model, context)
    fail(span, error)
    span.end(at)
  }

  #call(call: ModelCallRecord, first: string, context: Context): void {
    const model = call.id ?? first
    const startTime = Date.parse(call.started_at)
    const span = this.#tracer.startSpan(
      `chat ${model}`,
      {
        startTime,
        kind: SpanKind.CLIENT,
        attributes: {
          "gen_ai.operation.name": "chat",
          "gen_ai.provider.name": providerName(call.provider ?? "openai"),
          "gen_ai.request.model": model,
          "wireworks.turn": call.turn,
          "wireworks.attempt": call.attempt,
          ...(call.usage !== undefined && {
            "gen_ai.usage.input_tokens": call.usage.input_tokens,
            "gen_ai.usage.output_tokens": call.usage.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": call.usage.cached_tokens,
            ...(typeof call.usage.cost === "number" && { "wireworks.usage.cost": call.usage.cost }),
          }),
        },
      },
      context,
    )
    // A call that gave no answer has no format that held.
    if (call.format === undefined) {
      span.setAttribute("error.type", "_OTHER")
      span.setStatus({ code: SpanStatusCode.ERROR })
    }
    span.end(startTime + call.duration_ms)
  }

  #tool(
    run: TracedRun,
    about: { readonly tool: string; readonly server: string; readonly call_id: string },
    at: number,
    error: WireError | null,
  ): void {
    const key = `tool ${about.call_id}`
    const startTime = run.starts.get(key)?.at ?? at
    run.starts.delete(key)
    const attributes = {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": about.tool,
      "gen_ai.tool.call.id": about.call_id,
      "wireworks.server": about.server,
    }
    const options = { startTime, kind: SpanKind.CLIENT, attributes }
    const span = this.#tracer.startSpan(`execute_tool ${about.tool}`, options, run.context)
    fail(span, error)
    span.end(at)
  }
}

/** The names of the GenAI conventions for kinds of providers, where they differ. */
const providerNames: Readonly<Record<string, string>> = {
  openai_compatible: "openai",
  openai_chat: "openai",
  google: "gcp.gemini",
  mistral: "mistral_ai",
  xai: "x_ai",
}

function providerName(kind: string): string {
  return Object.hasOwn(providerNames, kind) ? (providerNames[kind] ?? kind) : kind
}

function stepKey({ agent, iteration }: { readonly agent: string; readonly iteration?: number }): string {
  return iteration === undefined ? agent : `${agent}#${iteration}`
}

/** The kind alone: a message may name what a caller sent. */
function fail(span: Span, error: WireError | null): void {
  if (error === null) return
  span.setAttribute("error.type", error.kind)
  span.setStatus({ code: SpanStatusCode.ERROR })
}
