import type { Egress } from "../../src/ports/egress.ts"
import { createEgress } from "../../src/adapters/egress/egress.ts"
import { McpHost } from "../../src/adapters/mcp/mcp-host.ts"
import type { McpHostOptions } from "../../src/adapters/mcp/mcp-host.ts"
import { compile } from "../../src/compile.ts"
import type { Attempt, Outcome } from "./run-plan.ts"
import { runPlan } from "./run-plan.ts"
import { answers, ScriptedModel } from "./scripted-model.ts"

export interface Hosting {
  readonly egress: Egress
  readonly host: McpHost
  /** Runs a workflow from its source, with real connections to its MCP servers. */
  run(source: string, attempt?: Partial<Attempt>): Promise<Outcome>
  close(): Promise<void>
}

/** What a run needs to reach MCP servers. `close` fails when something is left open. */
export function hosting(options: Partial<McpHostOptions> = {}): Hosting {
  const egress = options.egress ?? createEgress({ policy: { kind: "private" } })
  const host = new McpHost({ version: "0.0.0", ...options, egress })
  return {
    egress,
    host,
    async run(source, attempt = {}) {
      const { plan, diagnostics } = compile(source)
      if (plan === undefined) throw new Error(diagnostics.map(({ path, message }) => `${path}: ${message}`).join("\n"))
      const model = attempt.model ?? new ScriptedModel((request) => answers({ message: "done" }, request))
      const outcome = await runPlan(plan, { ...attempt, model, tools: attempt.tools ?? host })
      if (outcome.bugs.length > 0) throw outcome.bugs[0]
      return outcome
    },
    async close() {
      await host.close()
      await egress.close()
    },
  }
}

/** The declarations that a workflow with an agent needs, and a server under the name `s`. */
export function preamble(url: string, headers: Readonly<Record<string, string>> = {}): string {
  const lines = Object.entries(headers).map(([name, value]) => `        ${name}: ${value}`)
  return `
provider p from openai { endpoint: "demo" }
model m from p { id: "demo", assets: ["image"] }
mcp s {
    endpoint: "${url}"
    ${lines.length === 0 ? "" : `headers {\n${lines.join("\n")}\n    }`}
}
`
}
