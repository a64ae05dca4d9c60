import { diag, DiagLogLevel } from "@opentelemetry/api"
import type { ContentPort } from "../../ports/content.ts"
import type { RunObserver } from "./run-observer.ts"
import { RunTracer, type TraceHeaders } from "./run-tracer.ts"
import { sendsTraces } from "./sends-traces.ts"
import { traceNames } from "./trace-names.ts"

export interface Traces {
  readonly observer: RunObserver
  /** Trace headers of a running run, for the tools that it calls: `00-…-…-01`, and what the caller's tracing systems added. */
  context(run_id: string): TraceHeaders | null
  /** Takes what runs show of themselves. */
  content(level: ContentPort["level"], unmarked: boolean): ContentPort
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
  if (!sendsTraces(environment)) return null
  const { otlpProvider } = await import("./otlp-provider.ts")
  const silent = (): void => undefined
  diag.setLogger({ verbose: silent, debug: silent, info: silent, warn: trouble, error: trouble }, DiagLogLevel.WARN)
  const { provider, ids } = otlpProvider(version)
  const names = traceNames(environment)
  const tracer = new RunTracer(provider.getTracer("wireworks", version), names, ids)
  return {
    observer: tracer,
    context: (run_id) => tracer.context(run_id),
    content: (level, unmarked) => ({
      level,
      unmarked,
      saysFinish: names.saysFinish,
      asked: (...about) => tracer.asked(...about),
      answered: (...about) => tracer.answered(...about),
      called: (...about) => tracer.called(...about),
    }),
    async close() {
      const late = Promise.withResolvers<void>()
      const timer = setTimeout(() => late.resolve(), longestFarewell)
      // A receiver that is not there keeps no process from ending.
      await Promise.race([provider.shutdown().catch((error: unknown) => trouble(String(error))), late.promise])
      clearTimeout(timer)
    },
  }
}
