import about from "../../../package.json" with { type: "json" }
import type { McpServerFactory } from "@modelcontextprotocol/server"
import type { Command } from "commander"
import type { JsonObject } from "../../base/json-value.ts"
import { parseDuration } from "../../base/parse-duration.ts"
import type { WorkflowOffer } from "../../mcp-server/workflow-server.ts"
import type { WorkflowTool } from "../../mcp-server/workflow-tool.ts"
import { listing, toolName } from "../../mcp-server/workflow-tool.ts"
import { mayWait } from "../../plan/may-wait.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import { allowedMs } from "../../run/budget/run-time.ts"
import { defaultLimits } from "../../run/context/run-context.ts"
import { exposedByRequest } from "../../run/secrets/secrets-of-run.ts"
import { validateRequest } from "../../run/validate-request.ts"
import type { RunStore } from "../../ports/store.ts"
import type { Runs } from "../../run/runs.ts"
import { count } from "../terminal/count.ts"
import { isLoopback } from "../compose/is-loopback.ts"
import { errorCode } from "./file-errors.ts"
import { listenForMcp } from "./mcp-http.ts"
import { WrongValue, CommandFailure } from "../terminal/command-failure.ts"
import { readValues } from "./given-values.ts"
import type { Settings } from "../compose/settings.ts"
import { stopSignal } from "../terminal/stop-signal.ts"
import { visibleText } from "../../base/visible-text.ts"
import { complain, reportBug } from "../terminal/complain.ts"
import { compileToRun } from "./compile-workflow.ts"
import { usableSettings } from "./usable-settings.ts"

interface ServeFlags {
  readonly http?: true
  readonly host?: string
  readonly port?: string
  readonly secretsFile?: string
  readonly secret?: readonly string[]
  readonly timeout?: string
}

const several = (value: string, before: readonly string[] = []): string[] => [...before, value]
const defaultPort = "13704"

export function addMcpServe(mcp: Command): void {
  mcp
    .command("serve")
    .summary("offer workflows as MCP tools")
    .description(
      "Offers each workflow as a tool of an MCP server: over standard input and output, as desktop clients start it, or over\n" +
        "streamable HTTP. The input block is the tool's input, the output block its output, the comment at the top of the\n" +
        "file its description. Secrets come from here, never from the client.",
    )
    .argument("<file...>", "the workflows; each is a tool named like its file")
    .option("--http", "serve over HTTP instead of standard input and output")
    .option("--host <address>", "with --http: address to listen on (WIRE_HOST, default 127.0.0.1)")
    .option("--port <n>", `with --http: port to listen on, 0 for a free one (default ${defaultPort})`)
    .option("--secrets-file <file>", "secrets as a JSON file")
    .option("--secret <name=env:VARIABLE>", "one secret from a variable, or name=file:PATH; may be repeated", several)
    .option(
      "--timeout <duration>",
      "most time for one run, such as 90s or 1h (default: `limits { time_seconds }` of the workflow, else 10m)",
    )
    .addHelpText(
      "after",
      `
Examples:
  wire mcp serve review.wire --secret api_key=env:OPENAI_API_KEY
  wire mcp serve flows/*.wire --http --port 8080

For a client that starts its servers itself:
  { "mcpServers": { "reviews": { "command": "wire", "args": ["mcp", "serve", "/path/to/review.wire"] } } }

Over HTTP, WIRE_API_KEYS asks for keys, and WIRE_ALLOWED_HOSTS and WIRE_ALLOWED_ORIGINS hold as for wire serve.

A workflow that may wait for people (ask, approval) cannot be served: nobody could answer.

Exit code: 0 after a stop, 1 when a workflow is wrong or it cannot start, 2 for a wrong command line.`,
    )
    .action(async (files: string[], flags: ServeFlags, command: Command) => {
      process.exitCode = await serve(files, flags, command)
    })
}

async function serve(files: readonly string[], flags: ServeFlags, command: Command): Promise<number> {
  if (flags.http !== true && (flags.host !== undefined || flags.port !== undefined)) {
    command.error("error: --host and --port need --http")
  }
  const timeout_ms = flags.timeout === undefined ? null : parseDuration(flags.timeout)
  if (timeout_ms === undefined || timeout_ms === 0) {
    command.error(`error: --timeout must be a duration such as 90s, 15m or 1h`)
  }
  const own = { port: flags.port ?? defaultPort, ...(flags.host === undefined ? {} : { host: flags.host }) }
  const settings = usableSettings(own)
  const compiled = await compileAll(files)
  if (compiled === null) return 1
  const tools = await withSecrets(compiled, flags)
  const unsafe = [...tools.flatMap(whereInputSays), ...(flags.http === true ? openToStrangers(tools, settings) : [])]
  if (unsafe.length > 0) throw new CommandFailure(unsafe.map(visibleText).join("\n"))
  // Loaded now: `wire help` and wrong command lines do not need it.
  const { composeRuns } = await import("../compose/compose-runs.ts")
  const plans = tools.map(({ plan }) => plan)
  const parts = await composeRuns(settings, plans, reportBug, settings.maxRuns)
  try {
    const offer = offerOf(tools, parts.runs, parts.store, timeout_ms)
    const { workflowServer } = await import("../../mcp-server/workflow-server.ts")
    const factory = workflowServer(offer, about.version)
    const what = `${count(tools.length, "workflow")} as MCP tools`
    return await (flags.http === true ? serveHttp(factory, what, settings) : serveStdio(factory, what))
  } finally {
    await parts.close()
  }
}

interface Compiled {
  readonly name: string
  readonly file: string
  readonly source: string
  readonly plan: Plan
}

/** Null when something is wrong and has been reported. */
async function compileAll(files: readonly string[]): Promise<Compiled[] | null> {
  const compiled: Compiled[] = []
  let fine = true
  for (const file of files) {
    try {
      const { plan, text } = await compileToRun(file)
      if (mayWait(plan)) {
        const why = "may wait for people or events (`ask`, `approval`, `wait`), and nobody could answer here"
        throw new CommandFailure(visibleText(`${file} ${why}. Run it with wire run, or serve it with wire serve.`))
      }
      const name = toolName(file)
      const other = compiled.find((one) => one.name === name)
      compiled.push({ name, file, source: text.source, plan })
      if (other !== undefined) {
        const message = `${file} and ${other.file} would both be the tool ${name}: rename one of them.`
        throw new CommandFailure(visibleText(message))
      }
    } catch (error) {
      if (!(error instanceof CommandFailure)) throw error
      complain(error.message)
      fine = false
    }
  }
  return fine ? compiled : null
}

/** Each workflow gets the secrets that it declares. */
async function withSecrets(compiled: readonly Compiled[], flags: ServeFlags): Promise<WorkflowTool[]> {
  const declared = new Set(compiled.flatMap(({ plan }) => plan.secrets.fields.map(({ name }) => name)))
  const nameOf = (assignment: string): string => assignment.split("=", 1)[0] ?? ""
  for (const assignment of flags.secret ?? []) {
    if (!declared.has(nameOf(assignment))) {
      throw new WrongValue(`--secret ${nameOf(assignment)}: no workflow has a secret of that name.`)
    }
  }
  const tools: WorkflowTool[] = []
  for (const { name, file, source, plan } of compiled) {
    const wanted = plan.secrets.fields.map((field) => field.name)
    const { secrets } = await readValues(
      plan,
      {
        ...(flags.secretsFile === undefined ? {} : { secretsFile: flags.secretsFile }),
        secret: (flags.secret ?? []).filter((assignment) => wanted.includes(nameOf(assignment))),
      },
      process.env,
      () => Promise.resolve(""),
      0,
    )
    const own = Object.fromEntries(Object.entries(secrets).filter(([key]) => wanted.includes(key)))
    const missing = validateRequest(plan, {}, own)?.issues.filter(({ path }) => path.startsWith("secrets"))
    if (missing !== undefined && missing.length > 0) {
      const list = missing.map(({ message }) => message).join("; ")
      throw new WrongValue(`${file}: ${list}. Give it with --secret or --secrets-file.`)
    }
    tools.push({ name, source, plan, secrets: own })
  }
  return tools
}

/** The client chooses the input, so that it could have the operator's secrets sent anywhere. */
function whereInputSays({ name, plan, secrets }: WorkflowTool): string[] {
  const given = (_: string, names: readonly string[]): JsonObject =>
    Object.fromEntries(Object.entries(secrets).filter(([secret]) => names.includes(secret)))
  const exposed = exposedByRequest(plan, { secrets: {}, workflow: { name, version: "" } }, given)
  return (exposed?.issues ?? []).map(
    ({ message }) => `${name}: ${message}. Write the endpoint, headers and auth without input.`,
  )
}

function openToStrangers(tools: readonly WorkflowTool[], { host, apiKeys }: Settings): string[] {
  const safe = isLoopback(host) || (apiKeys ?? []).length > 0 || tools.every(({ secrets }) => isEmpty(secrets))
  return safe
    ? []
    : [
        `The workflows have secrets, and would be served on ${host} without asking for keys: everyone who reaches it could ` +
          "run them. Set WIRE_API_KEYS, or --host to 127.0.0.1.",
      ]
}

function isEmpty(secrets: JsonObject): boolean {
  return Object.keys(secrets).length === 0
}

function offerOf(
  tools: readonly WorkflowTool[],
  runs: Runs,
  store: RunStore,
  timeout_ms: number | null,
): WorkflowOffer {
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const listed = tools.map(listing)
  return {
    list: (cursor) => Promise.resolve(cursor === undefined ? { tools: listed } : null),
    async start(name, input) {
      const tool = byName.get(name)
      if (tool === undefined) return null
      const { source, plan, secrets } = tool
      const misfit = validateRequest(plan, input, secrets)
      if (misfit !== null) return misfit
      // Neither the flag nor the file bounds it: nobody may be there to stop it.
      const bound = allowedMs(plan, { timeout_ms }, defaultLimits)
      const options = { cache_key: null, use_cache: false, max_concurrency: null, timeout_ms: bound, deltas: false }
      const request = { source, input, secrets, options }
      const admission = await runs.admit(plan, { caller: "", request, idempotency: null })
      if (admission.outcome === "refused") return admission.error
      const { run_id } = admission
      return {
        run_id,
        isKept: runs.areKept,
        events: followed,
        cancel: async () => void (await runs.cancel(run_id)),
      }
      async function* followed(signal: AbortSignal) {
        yield* store.follow(run_id, 0, signal)
        // No request comes for it again; other requests may still be finishing.
        await store.sweep(Date.now() - 60_000)
      }
    },
  }
}

export async function serveStdio(factory: McpServerFactory, what: string): Promise<number> {
  const stdio = await import("@modelcontextprotocol/server/stdio")
  const stop = stopSignal()
  const transport = new stdio.StdioServerTransport()
  const ended = new Promise<void>((resolve) => process.stdin.once("end", resolve))
  const handle = stdio.serveStdio(factory, { transport })
  complain(`Serving ${what} on standard input and output.`)
  await Promise.race([stop.asked, ended])
  stop.ignore()
  await handle.close()
  return 0
}

async function serveHttp(factory: McpServerFactory, what: string, settings: Settings): Promise<number> {
  const stop = stopSignal()
  try {
    const service = await listenForMcp(factory, settings, reportBug)
    complain(`Serving ${what}; it listens on ${service.address}`)
    if (!service.keyed) complain("It is open to everyone who can reach it: set WIRE_API_KEYS to ask for keys.")
    await stop.asked
    await service.close()
    return 0
  } catch (error) {
    throw new CommandFailure(`Cannot listen on ${settings.host}:${settings.port} (${errorCode(error)}).`)
  } finally {
    stop.ignore()
  }
}
