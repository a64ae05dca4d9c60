import about from "../../../package.json" with { type: "json" }
import { randomUUID } from "node:crypto"
import { httpTool } from "../../adapters/http-tools/http-tool.ts"
import { createEgress } from "../../adapters/egress/egress.ts"
import type { ListedTool, ServerContents } from "../../adapters/mcp/inspect-server.ts"
import { MemoryStore, openMemoryStore } from "../../adapters/memory/memory-store.ts"
import { recordedModel } from "../../adapters/recording/recorded-model.ts"
import { RecordedRun } from "../../adapters/recording/recorded-run.ts"
import { RecordedTools, type ReviveTool } from "../../adapters/recording/recorded-tools.ts"
import type { Exchanges, RecordingMode } from "../../adapters/recording/recording.ts"
import { readRecording, Recording, writeRecording } from "../../adapters/recording/recording.ts"
import { systemRandom } from "../../adapters/system/system-random.ts"
import { systemClock } from "../../adapters/system/system-clock.ts"
import type { JsonObject } from "../../base/json-value.ts"
import { planSource } from "../../compiler/source-jobs.ts"
import { startDemoServer } from "../../demo/demo-server.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import { plansIn } from "../../plan/plans-in.ts"
import type { LogEvent } from "../../log/events.ts"
import type { RunStore } from "../../ports/store.ts"
import type { ToolServer } from "../../ports/tools.ts"
import { Deadlines } from "../../run/budget/deadlines.ts"
import { defaultLimits, type RunLimits, type RunPorts } from "../../run/context/run-context.ts"
import { Rates } from "../../run/budget/rates.ts"
import { Runs } from "../../run/runs.ts"
import { redactor } from "../../run/secrets/redact.ts"
import type { TestEngine } from "../../testing/run-once.ts"
import { codeHost } from "./code-host.ts"
import type { Files } from "../../run/files/files.ts"
import { inlineFiles } from "../../run/files/inline-files.ts"
import { filesInMemory } from "./open-files.ts"
import { egressPolicy, joinPorts } from "./join-ports.ts"
import { leaseMs } from "./open-store.ts"
import { openPrices, openRates } from "./price-file.ts"
import type { Settings } from "./settings.ts"

// What commands run without a service: workflows, tests, a look at what an MCP server offers.

export { readRecording, writeRecording }
export type { Exchanges, ListedTool, Recording, RecordingMode, ServerContents }

export interface ComposedRuns {
  readonly runs: Runs
  readonly store: RunStore
  /** They end with it. */
  readonly files: Files
  readonly close: () => Promise<void>
}

/** What runs workflows without a service; the demo model is started where one of them may call it. Throws a `StartRefusal`. */
export async function composeRuns(
  settings: Settings,
  plans: readonly Plan[],
  bug: (error: unknown) => void,
  maxRuns = 1,
  recorded: RecordedRun | null = null,
): Promise<ComposedRuns> {
  const policy = egressPolicy(settings)
  const store = openMemoryStore(systemClock)
  const demo = plans.some(mayUseDemo) ? await startDemoServer({ batchSeconds: settings.demoBatchSeconds }) : null
  const code = codeHost(settings.codeMs)
  const files = filesInMemory(settings, store.files, systemClock)
  const joined = joinPorts(policy, store, systemClock, demo, null, bug)
  const ports = {
    ...joined,
    model: inlineFiles(joined.model, files),
    files: { files, egress: joined.egress },
    code: code.host,
    ...openPrices(settings),
    rates: new Rates(systemClock, { list: openRates(settings) }),
  }
  const runs = new Runs(
    recorded === null ? ports : withRecording(ports, recorded),
    // The command has checked the code of its file.
    async (source) => planSource({ ...source, maxCalled: settings.maxCalled, code: {} }),
    {
      owner: randomUUID(),
      leaseMs,
      isVolatile: true,
      maxRuns: maxRuns,
      maxQueued: 0,
      limits: { ...limitsOf(settings), timeout_ms: unbounded, maxRunMs: unbounded },
    },
  )
  return {
    runs,
    store,
    files,
    async close() {
      await runs.drain(0)
      await code.close()
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
  /** `asksAt`: where a model is asked what is not recorded, though the rest is played. */
  recording(mode: RecordingMode, exchanges: Exchanges, asksAt?: (path: string) => boolean): Recording
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
  const demo = plans.some(mayUseDemo) ? await startDemoServer({ batchSeconds: settings.demoBatchSeconds }) : null
  const ports = joinPorts(egressPolicy(settings), openMemoryStore(systemClock), systemClock, demo, null, bug)
  const deadlines = new Deadlines(systemClock)
  const code = codeHost(settings.codeMs)
  const limits = limitsOf(settings)
  return {
    engine: (recording, sample) => ({
      clock: systemClock,
      random: systemRandom,
      limits,
      deadlines,
      bug,
      open(secrets) {
        const store = new WatchedMemoryStore(systemClock)
        const run = new RecordedRun(recording, sample, redactor(secrets))
        const files = filesInMemory(settings, store.files, systemClock)
        const { model, tools } = withRecording({ ...ports, model: inlineFiles(ports.model, files) }, run)
        return {
          store,
          files: { files, egress: ports.egress },
          events: store.appended,
          model,
          tools,
          code: code.host,
          misses: run.misses,
          close: () => store.close(),
        }
      },
    }),
    recording: (mode, exchanges, asksAt) => new Recording(mode, exchanges, asksAt),
    read: readRecording,
    write: writeRecording,
    async close() {
      deadlines.close()
      await code.close()
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
  const { reviveTool } = await import("../../adapters/mcp/hosted-tool.ts")
  return (definition, imported, types) =>
    imported.http === undefined
      ? reviveTool(definition, imported, types)
      : { tool: httpTool(imported, imported.http, types), problems: [] }
}

/** A store of one run. Its creator can read the events with everything that is kept with them. */
class WatchedMemoryStore extends MemoryStore {
  readonly appended: LogEvent[] = []

  override async append(...args: Parameters<MemoryStore["append"]>): Promise<void> {
    await super.append(...args)
    this.appended.push(...args[1])
  }
}

/** A command that someone waits for takes as long as it takes. */
const unbounded = Number.MAX_SAFE_INTEGER

function mayUseDemo(plan: Plan): boolean {
  return plansIn(plan).some(({ providers, servers, apis = {} }) =>
    [...Object.values(providers), ...Object.values(servers), ...Object.values(apis)].some(
      ({ endpoint }) => endpoint !== null && (endpoint.op !== "literal" || endpoint.value === "demo"),
    ),
  )
}

/** What an MCP server offers, asked as a run would ask. Rejects with a `RunFailure`. */
export async function inspectMcp(settings: Settings, server: ToolServer, signal: AbortSignal): Promise<ServerContents> {
  const egress = createEgress({ policy: egressPolicy(settings), userAgent: `wireworks/${about.version}` })
  const { inspectServer } = await import("../../adapters/mcp/inspect-server.ts")
  const { defaultMcpLimits } = await import("../../adapters/mcp/mcp-host.ts")
  try {
    return await inspectServer(server, { egress, version: about.version, limits: defaultMcpLimits }, signal)
  } finally {
    await egress.close()
  }
}

function limitsOf({ maxIterations, maxCalled, codeMsPerRun }: Settings): RunLimits {
  return { ...defaultLimits, maxIterations: maxIterations, maxCalled: maxCalled, codeMs: codeMsPerRun }
}
