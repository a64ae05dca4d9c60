import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { AuthPlan, RemotePlan, ServerPlan } from "../../plan/plan-shape.ts"
import type { ApiServer, ServerAuth, ToolServer } from "../../ports/tools.ts"
import { failure } from "../../ports/run-failure.ts"
import { resolveEndpoint, resolveHeaders } from "../context/backends.ts"
import { traits } from "../../plan/expression-traits.ts"
import { evaluate } from "../values/evaluate.ts"
import { outerScope, type RunContext } from "../context/run-context.ts"

/** An MCP server as the run reaches it, with these secrets. */
export function serverOf(running: RunContext, name: string, secrets: JsonObject): ToolServer {
  return reached(running, "mcp", name, running.plan.servers[name], secrets)
}

/** An API as the run reaches it, with these secrets. */
export function apiOf(running: RunContext, name: string, secrets: JsonObject): ApiServer {
  const api = running.plan.apis?.[name]
  const server = reached(running, "api", name, api, secrets)
  if (api === undefined) throw new Error(`API ${name} is not in the plan`)
  if (/[?#]/.test(server.endpoint)) {
    const path = `api.${name}.endpoint`
    throw failure("evaluation_error", path, `The value of ${path} has a query or a fragment: paths are added to it`)
  }
  return { ...server, timeoutMs: api.timeout_seconds * 1000, max_retries: api.max_retries }
}

function reached(
  running: RunContext,
  kind: "mcp" | "api",
  name: string,
  server: ServerPlan | undefined,
  secrets: JsonObject,
): ToolServer {
  if (server === undefined) throw new Error(`Server ${name} is not in the plan`)
  const path = `${kind}.${name}`
  const endpointWith = (values: JsonObject): string =>
    resolveEndpoint(running, server.endpoint, `${path}.endpoint`, values)
  return {
    name,
    endpoint: endpointWith(secrets),
    ...(traits(server.endpoint).secrets ? { shownEndpoint: endpointWith(running.named()) } : {}),
    headers: resolveHeaders(running, server.headers, `${path}.headers`, secrets),
    ...(server.auth === undefined ? {} : { auth: resolveAuth(running, server.auth, `${path}.auth`, secrets) }),
    ...(server.elicitation === undefined ? {} : { elicitation: true }),
  }
}

function resolveAuth(
  running: RunContext,
  { values, client_auth }: AuthPlan,
  path: string,
  secrets: JsonObject,
): ServerAuth {
  const found = new Map<string, JsonValue>()
  for (const { key, value } of values) {
    found.set(key, evaluate(value, { ...outerScope(running, `${path}.${key}`), secrets }))
  }
  const text = (key: string): string | null => {
    const value = found.get(key)
    return typeof value === "string" ? value : null
  }
  const scopes = found.get("scopes") ?? []
  return {
    issuer: text("issuer"),
    token_endpoint: text("token_endpoint"),
    client_id: text("client_id") ?? "",
    client_secret: text("client_secret"),
    private_key: text("private_key"),
    key_id: text("key_id"),
    algorithm: text("algorithm"),
    scopes: Array.isArray(scopes) ? scopes.filter((scope) => typeof scope === "string") : [],
    audience: text("audience"),
    resource: text("resource"),
    client_auth,
  }
}

/** What an import comes from: `mcp.name` or `api.name`. */
export function originOf(remote: RemotePlan): string {
  return `${"http" in remote ? "api" : "mcp"}.${remote.server}`
}

/** The server of an import as facts: secrets by name. */
export function namedServer(running: RunContext, remote: RemotePlan): JsonObject {
  const find = "http" in remote ? apiOf : serverOf
  const { name, endpoint, headers, auth } = find(running, remote.server, running.named())
  return {
    name,
    endpoint,
    headers: { ...headers },
    ...(auth === undefined ? {} : { auth: { ...auth, scopes: [...auth.scopes] } }),
  }
}

export function remoteOf(
  running: RunContext,
  kind: "tool" | "resource" | "prompt",
  name: string,
): RemotePlan | undefined {
  const { tools, resources, prompts } = running.plan
  return { tool: tools, resource: resources, prompt: prompts }[kind][name]
}
