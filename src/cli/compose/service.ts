import { resolve } from "node:path"
import about from "../../../package.json" with { type: "json" }
import { setFlagsFromString } from "node:v8"
import type { Service } from "./compose.ts"
import { count } from "../terminal/count.ts"
import type { Settings } from "./settings.ts"
import { sendsTraces } from "../../adapters/telemetry/sends-traces.ts"
import { stopSignal } from "../terminal/stop-signal.ts"
import { visibleLines, visibleText } from "../../base/visible-text.ts"
import { withoutLogin } from "./without-login.ts"

/** How long a stop waits for what is under way. */
const graceMs = 10_000

/** Runs the service until it is stopped. Resolves to the exit code. */
export async function serve(settings: Settings): Promise<number> {
  boundHeap()
  const { isRefusal, openStore, tooFewToStart } = await import("./open-store.ts")
  const tooFew = tooFewToStart()
  if (tooFew !== null) {
    process.stderr.write(`${tooFew}\n`)
    return 1
  }
  // The store's thread starts while the larger part of the service is still being read.
  const opening = openStore(settings)
  opening.catch(() => undefined)
  const { compose } = await import("./compose.ts")
  let service: Service
  try {
    service = await compose(settings, opening)
  } catch (error) {
    if (!isRefusal(error)) throw error
    process.stderr.write(`${visibleLines(error.message)}\n`)
    await opening.then(
      ({ store }) => store.close(),
      () => undefined,
    )
    return 1
  }
  const stop = stopSignal()
  let address: string
  try {
    address = await service.listen()
  } catch (error) {
    stop.ignore()
    process.stderr.write(`${whyNotListening(error, settings)}\n`)
    await service.stop(0, null)
    return 1
  }
  const listens = service.bound() ?? address
  process.stdout.write(banner({ address, listens, egress: service.egress }, settings, service.workflows))
  await service.stop(graceMs, await stop.asked)
  return 0
}

const reach = {
  private: "public and private addresses (cloud metadata excluded)",
  public: "public addresses",
  hosts: "",
} as const

/** Where it is, what it keeps, and who may do what: all that an operator should see at a glance. */
function banner(
  {
    address,
    listens,
    egress,
  }: { readonly address: string; readonly listens: string; readonly egress: keyof typeof reach },
  settings: Settings,
  workflows: Service["workflows"],
): string {
  const keys = settings.apiKeys ?? []
  const names = new Set(keys.map(({ name }) => name))
  const rows: [string, string][] = [
    ["store", settings.store === "sqlite" ? `SQLite in ${resolve(settings.dataDir)}` : withoutLogin(settings.store)],
    [
      "callers",
      keys.length === 0
        ? "no keys asked for: open to everyone who can reach it (WIRE_API_KEYS)"
        : `a key is needed: ${[...names].join(", ")}`,
    ],
    ["egress", egress === "hosts" ? `only ${settings.egress ?? ""}` : `${reach[egress]} (WIRE_EGRESS)`],
  ]
  const operators = new Set((settings.operatorKeys ?? []).map(({ name }) => name))
  if (operators.size > 0) rows.push(["operators", `${[...operators].join(", ")} (WIRE_OPERATOR_KEYS)`])
  if (settings.auditFile !== undefined) rows.push(["audit", resolve(settings.auditFile)])
  const traces = tracesRow(process.env)
  if (traces !== null) rows.push(["traces", traces])
  if (workflows !== null) {
    const { files, refused } = workflows
    const names = refused.length === 0 ? "" : `; refused: ${refused.join(", ")}`
    rows.unshift([
      "workflows",
      `${count(files, "file")} of ${resolve(settings.workflows ?? "")} at ${address}/workflows${names}`,
    ])
  }
  if (settings.playground) rows.unshift(["playground", `${address}/playground`])
  const lines = rows.map(([name, value]) => `  ${name.padEnd(12)}${value}`)
  return `Wireworks ${about.version} listens on ${listens}\n${lines.map(visibleText).join("\n")}\n`
}

/** The usual variables of OpenTelemetry that are set, without what may hold a secret; null where none is. */
function tracesRow(environment: NodeJS.ProcessEnv): string | null {
  const given = Object.entries(environment).filter(([name, value]) => name.startsWith("OTEL_") && value !== "")
  if (given.length === 0) return null
  const shown = given.map(([name, value = ""]) =>
    /HEADERS|KEY|TOKEN|SECRET|PASSWORD/.test(name) ? `${name} (not shown)` : `${name}=${withoutLogin(value)}`,
  )
  const list = shown.toSorted().join(", ")
  return sendsTraces(environment)
    ? list
    : `not sent: OTEL_EXPORTER_OTLP_ENDPOINT is not set, or OTEL_SDK_DISABLED is (${list})`
}

function whyNotListening(error: unknown, { host, port }: Settings): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined
  if (code === "EADDRINUSE") return `Port ${port} of ${host} is taken: set WIRE_PORT to another one.`
  if (code === "EACCES") return `Port ${port} needs more rights: set WIRE_PORT to 1024 or more.`
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
    return `${host} is not an address of this machine: set WIRE_HOST to one, or to 0.0.0.0 for all.`
  }
  return `Cannot listen on ${host}:${port}: ${String(error)}`
}

const heapFlag = "--heap-growing-percent"

/**
 * Keeps the heap from growing to more than twice what is alive. V8 lets it grow to four times, of which most are runs that have ended.
 * An operator who gave Node another bound keeps it.
 */
function boundHeap(): void {
  const given = [...process.execArgv, process.env["NODE_OPTIONS"] ?? ""].some((text) => text.includes(heapFlag))
  if (!given) setFlagsFromString(`${heapFlag}=100`)
}
