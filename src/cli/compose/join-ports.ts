import about from "../../../package.json" with { type: "json" }
import { createEgress } from "../../adapters/egress/egress.ts"
import { parseTraceTargets, takesTrace, withTrace, type TraceTargets } from "../../adapters/egress/with-trace.ts"
import { parseEgressPolicy, type EgressPolicy } from "../../adapters/egress/policy.ts"
import { HttpHost } from "../../adapters/http-tools/http-host.ts"
import { ToolHosts } from "../../adapters/http-tools/tool-hosts.ts"
import { createModelClient } from "../../adapters/model-turn/model-client.ts"
import { Tokens } from "../../adapters/oauth/tokens.ts"
import { systemRandom } from "../../adapters/system/system-random.ts"
import type { TraceContexts } from "../../adapters/telemetry/trace-contexts.ts"
import type { JsonObject } from "../../base/json-value.ts"
import type { DemoServer } from "../../demo/demo-server.ts"
import type { Clock } from "../../ports/clock.ts"
import type { Egress } from "../../ports/egress.ts"
import type { RunStore } from "../../ports/store.ts"
import type { HostSession, ToolHost } from "../../ports/tools.ts"
import { loopTurns } from "../../event-loop/loop-turns.ts"
import type { RunPorts } from "../../run/context/run-context.ts"
import { modelApi } from "./model-apis.ts"
import { StartRefusal } from "./open-store.ts"
import { isLoopback } from "./is-loopback.ts"
import type { Settings } from "./settings.ts"

/** To one backend: the agents of one run may call it at the same time. */
const leastConnections = 256

/** Which backends get the traces of runs, and what they get. */
export interface TracePassing {
  readonly targets: TraceTargets
  readonly contexts: TraceContexts
}

/** The ports of runs; `close` ends the connections behind them. */
export function joinPorts(
  policy: EgressPolicy,
  store: RunStore,
  clock: Clock,
  demo: DemoServer | null,
  trace: TracePassing | null,
  bug: (error: unknown) => void,
  maxRuns = 1,
  onShortage: () => void = () => undefined,
): RunPorts & { readonly egress: Egress; close(): Promise<void> } {
  const egress = createEgress({
    policy,
    userAgent: `wireworks/${about.version}`,
    // Runs that wait for one and the same backend do not also wait for each other.
    maxConnections: Math.max(leastConnections, maxRuns),
    onShortage,
  })
  // The demo model is reached whatever the policy says: its endpoint is a word, not an address.
  const demoEgress = createEgress({ policy: { kind: "private" } })
  const traced =
    trace === null
      ? undefined
      : (egress: Egress, run_id: string) => withTrace(egress, trace.targets, () => trace.contexts.headers(run_id))
  const model = createModelClient({
    egress,
    ...(traced !== undefined && { traced }),
    api: modelApi,
    clock,
    random: systemRandom,
    demo: demo === null ? null : { endpoint: demo.endpoint, egress: demoEgress },
  })
  const tokens = new Tokens(clock)
  const mcp = new LazyTools(async () => {
    const { McpHost } = await import("../../adapters/mcp/mcp-host.ts")
    const meta = (run_id: string, endpoint: string): JsonObject =>
      trace !== null && takesTrace(trace.targets, endpoint) ? { ...trace.contexts.headers(run_id) } : {}
    return new McpHost({
      egress,
      demo: demo === null ? null : { endpoint: demo.library, egress: demoEgress },
      version: about.version,
      meta,
      tokens,
      ...(traced !== undefined && { traced }),
    })
  })
  const http = new HttpHost({
    egress,
    demo: demo === null ? null : { endpoint: demo.crm, egress: demoEgress },
    clock,
    random: systemRandom,
    tokens,
    ...(traced !== undefined && { traced }),
  })
  return {
    store,
    egress,
    model,
    batches: model.batches,
    tools: new ToolHosts(mcp, http),
    clock,
    random: systemRandom,
    bug,
    async close() {
      await mcp.close()
      await egress.close()
      await demoEgress.close()
    },
  }
}

/** Where strangers may reach the service, what they write must not reach into the operator's network. */
export function egressPolicy(settings: Settings): EgressPolicy {
  if (settings.egress !== undefined) {
    const outcome = parseEgressPolicy(settings.egress)
    if (!outcome.ok) throw new StartRefusal(outcome.message)
    return outcome.policy
  }
  const trusted = isLoopback(settings.host) || (settings.apiKeys ?? []).length > 0
  return { kind: trusted ? "private" : "public" }
}

/** Which backends get the traces of runs. */
export function traceTargets({ traceHosts }: Settings): TraceTargets {
  const targets = parseTraceTargets(traceHosts)
  if (targets !== null) return targets
  throw new StartRefusal(
    `WIRE_TRACE_HOSTS is "${traceHosts}": it must be none, all, or hosts such as models.example.com or *.example.com, with commas between them.`,
  )
}

/** Work on this many bytes takes about as long as to load the protocol's client. */
const bytesOfLoading = 16 * 1024 * 1024

/** The protocol's client takes its time to load: it is loaded by the first run that needs it. */
class LazyTools implements ToolHost {
  readonly #load: () => Promise<ToolHost & { close(): Promise<void> }>
  #loaded: Promise<ToolHost & { close(): Promise<void> }> | null = null

  constructor(load: () => Promise<ToolHost & { close(): Promise<void> }>) {
    this.#load = load
  }

  async open(...args: Parameters<ToolHost["open"]>): Promise<HostSession> {
    this.#loaded ??= this.#loadInItsTurn()
    const host = await this.#loaded
    return host.open(...args)
  }

  /** Loading takes 100 ms at its first time, and the first use nearly as long: others get their turn before and after. */
  async #loadInItsTurn(): Promise<ToolHost & { close(): Promise<void> }> {
    await loopTurns.spend(bytesOfLoading)
    const host = await this.#load()
    await loopTurns.spend(bytesOfLoading)
    return host
  }

  async close(): Promise<void> {
    const host = await this.#loaded
    await host?.close()
  }
}
