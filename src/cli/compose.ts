import about from "../../package.json" with { type: "json" }
import { randomUUID } from "node:crypto"
import { isIP } from "node:net"
import { setImmediate as nextTurn } from "node:timers/promises"
import { createEgress } from "../adapters/egress/egress.ts"
import type { EgressPolicy } from "../adapters/egress/policy.ts"
import { parseEgressPolicy } from "../adapters/egress/policy.ts"
import type { ListedTool, ServerContents } from "../adapters/mcp/inspect-server.ts"
import { MemoryStore } from "../adapters/memory/memory-store.ts"
import { createModelClient } from "../adapters/model-turn/model-client.ts"
import { recordedModel } from "../adapters/recording/recorded-model.ts"
import { RecordedRun } from "../adapters/recording/recorded-run.ts"
import type { ReviveTool } from "../adapters/recording/recorded-tools.ts"
import { RecordedTools } from "../adapters/recording/recorded-tools.ts"
import type { Exchanges, RecordingMode } from "../adapters/recording/recording.ts"
import { readRecording, Recording, writeRecording } from "../adapters/recording/recording.ts"
import { systemChance } from "../adapters/system/system-chance.ts"
import { systemClock } from "../adapters/system/system-clock.ts"
import { createMetrics } from "../adapters/telemetry/metrics.ts"
import { observeStore } from "../adapters/telemetry/observe-store.ts"
import { logRuns } from "../adapters/telemetry/log-runs.ts"
import { timeFirstToken } from "../adapters/telemetry/time-first-token.ts"
import { timeStore } from "../adapters/telemetry/time-store.ts"
import { errorStatus } from "../api/error-status.ts"
import type { Traces } from "../adapters/telemetry/traces.ts"
import { startTraces } from "../adapters/telemetry/traces.ts"
import type { JsonObject } from "../base/json-value.ts"
import { Compiler } from "../compiler/compiler.ts"
import type { Planned } from "../compiler/source-jobs.ts"
import { planSource } from "../compiler/source-jobs.ts"
import type { DemoServer } from "../demo/demo-server.ts"
import { startDemoServer } from "../demo/demo-server.ts"
import { createDemoModel } from "../demo/handle-demo.ts"
import type { Plan } from "../plan/plan-shape.ts"
import { PlanCache } from "../run/plan-cache.ts"
import type { Egress } from "../ports/egress.ts"
import type { HostSession, ToolHost, ToolServer } from "../ports/tools.ts"
import { isStoreTrouble, type RunStore } from "../ports/store.ts"
import { Deadlines } from "../run/deadlines.ts"
import type { LogEvent } from "../ports/events.ts"
import { redactor } from "../run/secrets/redact.ts"
import type { TestEngine } from "../testing/run-once.ts"
import type { RunPorts } from "../run/run-context.ts"
import { usualLimits } from "../run/run-context.ts"
import { Health, type TroubleKind } from "../run/health.ts"
import { Notifier } from "../run/notifications/notifier.ts"
import { Runs } from "../run/runs.ts"
import { watchStore } from "../run/watch-store.ts"
import { createServer } from "../server/create-server.ts"
import type { ServerLog } from "../server/route-dependencies.ts"
import { ServerSecrets } from "../workflows/server-secrets.ts"
import { WorkflowFolder } from "../workflows/workflow-folder.ts"
import { changeKey } from "./change-key.ts"
import { createLog } from "./log.ts"
import { mcpRoute } from "./mcp-route.ts"
import { tooFewDescriptors, watchDescriptors } from "../adapters/system/watch-descriptors.ts"
import { modelApi } from "./model-apis.ts"
import type { OpenedStore } from "./open-store.ts"
import { leaseMs, openStore, StartRefusal } from "./open-store.ts"
import { playgroundFiles } from "./playground-files.ts"
import type { Settings } from "./settings.ts"

export { readRecording, writeRecording }
export type { Exchanges, ListedTool, Recording, RecordingMode, ServerContents }

/** The service as a whole, with a life: it listens, and it stops. */
export interface Service {
  /** The files of the folder: how many there are, and the names of those that are refused. Null without a folder. */
  readonly workflows: { readonly files: number; readonly refused: readonly string[] } | null
  /** Resolves to an address to call it under, once connections are accepted. */
  listen(): Promise<string>
  /** What it listens on: with `0.0.0.0`, all addresses of the machine. Null before it does. */
  readonly bound: () => string | null
  /** Takes no more work, waits for what is under way at most this long, then closes everything. */
  stop(graceMs: number): Promise<void>
}

/** What is not a setting and differs only in tests. */
export interface Timing {
  /** How long a request may take to arrive. */
  readonly requestTimeoutMs?: number
}

/** To one backend: the agents of one run may call it at the same time. */
const leastConnections = 256

/** A short retention is kept to more closely. */
const sweepEvery = (retention: number): number => Math.min(60_000, Math.max(250, retention / 4))

/**
 * Joins ports to adapters as the settings say: with open-store.ts the only file that knows both. Throws a `StartRefusal` or a `StoreFailure`,
 * each with a sentence for the operator.
 */
export async function compose(
  settings: Settings,
  opening: Promise<OpenedStore> = openStore(settings),
  timing: Timing = {},
): Promise<Service> {
  const log = createLog(settings.logLevel)
  const policy = egressPolicy(settings)
  const serverSecrets = openSecrets(settings, log)
  const compiler = new Compiler()
  const folder = await openFolder(settings, compiler, log)
  const traces = await startTraces(process.env, about.version, (message) => {
    // The exporter's message may quote what the collector answered.
    const code = /\b(?:E[A-Z]{4,}|[45]\d\d)\b/.exec(message)?.[0]
    log.error(code === undefined ? {} : { code }, "traces are not delivered")
  })
  const opened = await opening
  for (const sentence of opened.remarks) log.info({}, sentence)
  for (const sentence of opened.warnings) log.error({}, sentence)
  const tooFew = tooFewDescriptors(settings.maxRuns)
  if (tooFew !== null) log.error({}, tooFew)
  const metrics = createMetrics(
    {
      active: () => runs.active,
      queued: () => runs.queued,
      streams: () => streams.size,
      waiting: () => opened.store.waitingCounts(),
      broker: opened.broker,
    },
    Object.keys(errorStatus),
  )
  const observers = [metrics.observer, ...(traces === null ? [] : [traces.observer]), logRuns(log)]
  const health = new Health(systemClock, log)
  const timed = timeStore(opened.store, metrics.service.store, () => systemClock.monotonic())
  const watched = watchStore(timed, health, systemClock)
  const stopLooking = watchDescriptors(health)
  const store = observeStore(watched.store, observers)
  const demo = settings.demo ? await startDemoServer() : null
  const joined = joinPorts(
    policy,
    store,
    demo,
    traces,
    (error) => log.error({ err: error }, "unexpected error"),
    settings.maxRuns,
  )
  const ports = {
    ...joined,
    model: timeFirstToken(
      joined.model,
      () => systemClock.monotonic(),
      (api, ms) => metrics.service.firstToken(api, ms),
    ),
    taken(run) {
      for (const observer of observers) observer.taken?.(run)
    },
    started(run_id, queuedMs) {
      for (const observer of observers) observer.started?.(run_id, queuedMs)
    },
    serverSecrets: (workflow: string, names: readonly string[]) => serverSecrets.of(workflow, names),
    note: (run_id: string, sentence: string, level: "info" | "error") => log[level]({ run_id }, sentence),
    trouble: () => (health.trouble === null ? null : troubleForCallers[health.trouble.kind]),
  } satisfies RunPorts
  const plans = new PlanCache((source, share) => compiler.plan(source, share))
  const planOf = (source: string, share: string): Promise<Planned> => plans.get(source, share)
  const runs = new Runs(ports, planOf, {
    owner: randomUUID(),
    leaseMs: opened.leaseMs,
    max_runs: settings.maxRuns,
    max_queued: settings.maxQueued,
    max_runs_per_caller: settings.maxRunsPerCaller ?? usualShare(settings),
    max_waiting: settings.maxWaiting,
    limits: {
      ...usualLimits,
      max_iterations: settings.maxIterations,
      cacheTtlMs: settings.cacheTtl,
      // Who may send more may also compute more of it.
      value_bytes: Math.max(usualLimits.value_bytes, 2 * settings.maxBody),
      kept_bytes: settings.maxRunMemory,
      log_bytes: settings.maxRunLog,
    },
  })
  const notifyOrigins = new Set(settings.notifyOrigins)
  const mcpParts = { serverSecrets, runs, store, planOf, maxBody: settings.maxBody }
  const mcp = folder === null ? null : mcpRoute({ ...mcpParts, folder })
  const { app, drain, streams } = createServer({
    version: about.version,
    maxBody: settings.maxBody,
    keys: settings.apiKeys ?? [],
    groups: settings.groups,
    browsers: { allowedHosts: settings.allowedHosts, allowedOrigins: settings.allowedOrigins },
    loopback: isLoopback(settings.host),
    rateLimit: settings.rateLimit,
    demo: settings.demo ? createDemoModel() : null,
    playground: settings.playground ? playgroundFiles() : null,
    runs,
    store,
    planOf,
    compiler,
    folder,
    serverSecrets,
    mcp,
    log,
    notify: { origins: notifyOrigins, signed: settings.notifySecret !== undefined },
    metrics: { key: settings.metricsKey ?? null, text: () => metrics.text(), service: metrics.service },
    trouble: () => health.trouble?.kind ?? null,
    requestTimeoutMs: timing.requestTimeoutMs,
  })
  await app.ready()
  const { notifySecret } = settings
  const notifier =
    notifySecret === undefined
      ? null
      : new Notifier(
          { ...ports, attempted: (outcome) => metrics.notified(outcome) },
          { origins: notifyOrigins, secrets: notifySecret },
        )
  const stopChangingKey =
    opened.keyChange === null ? () => {} : changeKey(opened.keyChange, metrics.service.keyChange, log)
  const sweeper = setInterval(() => {
    store
      .sweep(systemClock.now() - settings.retention)
      // Trouble with the store is logged once for all that it concerns.
      .catch((error: unknown) => isStoreTrouble(error) || log.error({ err: error }, "sweep failed"))
  }, sweepEvery(settings.retention)).unref()
  return {
    bound() {
      const found = app.server.address()
      if (found === null || typeof found === "string") return found
      return `http://${found.family === "IPv6" ? `[${found.address}]` : found.address}:${found.port}`
    },
    workflows: folder?.found ?? null,
    async listen() {
      const address = await app.listen({ host: settings.host, port: settings.port, backlog: 4096 })
      await runs.recover()
      return address
    },
    async stop(graceMs) {
      clearInterval(sweeper)
      stopChangingKey()
      drain()
      await runs.drain(graceMs)
      await notifier?.stop(Math.min(graceMs, 2_000))
      watched.stop()
      stopLooking()
      streams.close()
      await app.close()
      await mcp?.close()
      await folder?.close()
      await compiler.close()
      await store.close()
      await ports.close()
      await traces?.close()
      await demo?.close()
    },
  }
}

/** Throws a `StartRefusal` where the file is wrong, or where strangers could use what it holds. */
function openSecrets(settings: Settings, log: ServerLog): ServerSecrets {
  let secrets: ServerSecrets
  try {
    secrets = new ServerSecrets({
      file: settings.secretsFile,
      variables: settings.secretVariables,
      tell: (sentence) => log.error({}, sentence),
    })
  } catch (error) {
    throw new StartRefusal(error instanceof Error ? error.message : String(error))
  }
  if (secrets.present && !isLoopback(settings.host) && (settings.apiKeys ?? []).length === 0) {
    throw new StartRefusal(
      `This service has secrets of its own and would listen on ${settings.host} without asking for keys: everyone who ` +
        "reaches it could run workflows with them. Set WIRE_API_KEYS, or WIRE_HOST to 127.0.0.1.",
    )
  }
  return secrets
}

async function openFolder(settings: Settings, compiler: Compiler, log: ServerLog): Promise<WorkflowFolder | null> {
  const { workflows } = settings
  if (workflows === undefined) return null
  try {
    return await WorkflowFolder.open({
      folder: workflows,
      compiler,
      tell: (workflow, sentence, level) => log[level](workflow === "" ? {} : { workflow }, sentence),
      bug: (error) => log.error({ err: error }, "unexpected error"),
    })
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error)) throw error
    throw new StartRefusal(
      `WIRE_WORKFLOWS is "${workflows}": it must be a folder that can be read (${String(error.code)}).`,
    )
  }
}

const troubleForCallers: Readonly<Record<TroubleKind, string>> = {
  store: "The store cannot be written to right now: no run can begin. Try again later",
  descriptors: "The service is out of file descriptors: no run can begin. Try again later",
}

/**
 * What runs workflows without a service; the demo model is started where one of them may call it. Throws a `StoreFailure`
 * with a sentence.
 */
export async function composeRuns(
  settings: Settings,
  plans: readonly Plan[],
  bug: (error: unknown) => void,
  maxRuns = 1,
  recorded: RecordedRun | null = null,
): Promise<{ readonly runs: Runs; readonly store: RunStore; readonly close: () => Promise<void> }> {
  const policy = egressPolicy(settings)
  const store = new MemoryStore(systemClock)
  const demo = plans.some(mayUseDemo) ? await startDemoServer() : null
  const ports = joinPorts(policy, store, demo, null, bug)
  const runs = new Runs(
    recorded === null ? ports : withRecording(ports, recorded),
    async (source) => planSource(source),
    {
      owner: randomUUID(),
      leaseMs,
      max_runs: maxRuns,
      max_queued: 0,
      limits: { ...usualLimits, max_iterations: settings.maxIterations, timeout_ms: Number.MAX_SAFE_INTEGER },
    },
  )
  return {
    runs,
    store,
    async close() {
      await runs.drain(0)
      await store.close()
      await ports.close()
      await demo?.close()
    },
  }
}

/** What tests run on, and the recordings that they are played from. */
export interface RecordedTestEngines {
  /** For one sample of a test. */
  engine(recording: Recording, sample: number): TestEngine
  recording(mode: RecordingMode, exchanges: Exchanges): Recording
  /** Null for a text that is no recording. */
  read(text: string): Exchanges | null
  write(exchanges: Exchanges): string
  close(): Promise<void>
}

/** What runs tests; the demo model is started where one of them may call it. */
export async function composeTests(
  settings: Settings,
  plans: readonly Plan[],
  bug: (error: unknown) => void,
): Promise<RecordedTestEngines> {
  const demo = plans.some(mayUseDemo) ? await startDemoServer() : null
  const ports = joinPorts(egressPolicy(settings), new MemoryStore(systemClock), demo, null, bug)
  const deadlines = new Deadlines(systemClock)
  const limits = { ...usualLimits, max_iterations: settings.maxIterations }
  return {
    engine: (recording, sample) => ({
      clock: systemClock,
      chance: systemChance,
      limits,
      deadlines,
      bug,
      open(secrets) {
        const store = new WatchedMemoryStore(systemClock)
        const run = new RecordedRun(recording, sample, redactor(secrets))
        const { model, tools } = withRecording(ports, run)
        return {
          store,
          events: store.appended,
          model,
          tools,
          misses: run.misses,
          close: () => store.close(),
        }
      },
    }),
    recording: (mode, exchanges) => new Recording(mode, exchanges),
    read: readRecording,
    write: writeRecording,
    async close() {
      deadlines.close()
      await ports.close()
      await demo?.close()
    },
  }
}

/** The ports of a run that is recorded, or played from a recording. */
function withRecording(ports: RunPorts, run: RecordedRun): RunPorts {
  return {
    ...ports,
    model: recordedModel(ports.model, run),
    tools: new RecordedTools(ports.tools, run, loadReviver),
  }
}

/** One run's recording, for `composeRuns`. */
export function openRecording(mode: RecordingMode, exchanges: Exchanges, secrets: JsonObject): RecordedRun {
  return new RecordedRun(new Recording(mode, exchanges), 0, redactor(secrets))
}

async function loadReviver(): Promise<ReviveTool> {
  const { reviveTool } = await import("../adapters/mcp/hosted-tool.ts")
  return reviveTool
}

/** A store of one run. Its creator can read the events with everything that is kept with them. */
class WatchedMemoryStore extends MemoryStore {
  readonly appended: LogEvent[] = []

  override async append(...args: Parameters<MemoryStore["append"]>): Promise<void> {
    await super.append(...args)
    this.appended.push(...args[1])
  }
}

function mayUseDemo({ providers, servers }: Plan): boolean {
  return [...Object.values(providers), ...Object.values(servers)].some(
    ({ endpoint }) => endpoint !== null && (endpoint.op !== "literal" || endpoint.value === "demo"),
  )
}

/** What an MCP server offers, asked as a run would ask. Rejects with a `RunFailure`. */
export async function inspectMcp(settings: Settings, server: ToolServer, signal: AbortSignal): Promise<ServerContents> {
  const egress = createEgress({ policy: egressPolicy(settings), user_agent: `wireworks/${about.version}` })
  const { inspectServer } = await import("../adapters/mcp/inspect-server.ts")
  const { usualMcpLimits } = await import("../adapters/mcp/mcp-host.ts")
  try {
    return await inspectServer(server, { egress, version: about.version, limits: usualMcpLimits }, signal)
  } finally {
    await egress.close()
  }
}

/** The ports of runs; `close` ends the connections behind them. */
export function joinPorts(
  policy: EgressPolicy,
  store: RunStore,
  demo: DemoServer | null,
  traces: Traces | null,
  bug: (error: unknown) => void,
  maxRuns = 1,
): RunPorts & { readonly egress: Egress; close(): Promise<void> } {
  const egress = createEgress({
    policy,
    user_agent: `wireworks/${about.version}`,
    // Runs that wait for one and the same backend do not also wait for each other.
    max_connections: Math.max(leastConnections, maxRuns),
  })
  // The demo model is reached whatever the policy says: its endpoint is a word, not an address.
  const demoEgress = createEgress({ policy: { kind: "private" } })
  const model = createModelClient({
    egress,
    api: modelApi,
    clock: systemClock,
    chance: systemChance,
    demo: demo === null ? null : { endpoint: demo.endpoint, egress: demoEgress },
  })
  const tools = new LazyTools(async () => {
    const { McpHost } = await import("../adapters/mcp/mcp-host.ts")
    const meta = (run_id: string): JsonObject => ({ ...traces?.context(run_id) })
    return new McpHost({
      egress,
      demo: demo === null ? null : { endpoint: demo.library, egress: demoEgress },
      version: about.version,
      meta,
    })
  })
  return {
    store,
    egress,
    model,
    tools,
    clock: systemClock,
    chance: systemChance,
    bug,
    async close() {
      await tools.close()
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

/** Where several callers use the service, none of them can take more than half of it. */
function usualShare({ apiKeys = [], host, maxRuns }: Settings): number {
  const names = new Set(apiKeys.map(({ name }) => name))
  const several = names.size > 1 || (names.size === 0 && !isLoopback(host))
  return several ? Math.ceil(maxRuns / 2) : maxRuns
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."))
}

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

  /** Loading takes 100 ms at its first time: others get their turn before and after. */
  async #loadInItsTurn(): Promise<ToolHost & { close(): Promise<void> }> {
    await nextTurn()
    const host = await this.#load()
    await nextTurn()
    return host
  }

  async close(): Promise<void> {
    const host = await this.#loaded
    await host?.close()
  }
}
