import { resolve } from "node:path"
import about from "../../../package.json" with { type: "json" }
import { sendsTraces } from "../../adapters/telemetry/sends-traces.ts"
import { visibleText } from "../../base/visible-text.ts"
import { count } from "../terminal/count.ts"
import type { Listening } from "./processes/messages.ts"
import type { Settings } from "./settings.ts"
import { withoutLogin } from "./without-login.ts"

const reach = {
  private: "public and private addresses (cloud metadata excluded)",
  public: "public addresses",
  hosts: "",
} as const

/** Where it is, what it keeps, and who may do what: all that an operator should see at a glance. */
export function banner({ address, listens, egress, workflows }: Listening, settings: Settings): string {
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
  if (settings.processes > 1) rows.push(["processes", `${settings.processes} (WIRE_PROCESSES)`])
  if (settings.playground) rows.unshift(["playground", `${address}/playground`])
  const lines = rows.map(([name, value]) => `  ${name.padEnd(12)}${value}`)
  return `Wireworks ${about.version} listens on ${listens}\n${lines.map(visibleText).join("\n")}`
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
