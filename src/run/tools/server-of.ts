import type { JsonObject } from "../../base/json-value.ts"
import type { ToolServer } from "../../ports/tools.ts"
import { resolveEndpoint, resolveHeaders } from "../backends.ts"
import type { RunContext } from "../run-context.ts"

/** A server as the run reaches it, with these secrets. */
export function serverOf(running: RunContext, name: string, secrets: JsonObject): ToolServer {
  const server = running.plan.servers[name]
  if (server === undefined) throw new Error(`Server ${name} is not in the plan`)
  const path = `mcp.${name}`
  return {
    name,
    endpoint: resolveEndpoint(running, server.endpoint, `${path}.endpoint`, secrets),
    headers: resolveHeaders(running, server.headers, `${path}.headers`, secrets),
  }
}

/** The same as facts: secrets by name. */
export function namedServer(running: RunContext, name: string): JsonObject {
  const { endpoint, headers } = serverOf(running, name, running.named())
  return { name, endpoint, headers: { ...headers } }
}
