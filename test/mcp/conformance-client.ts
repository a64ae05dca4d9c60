// The client that the conformance suite tests: workflows that use whatever the server offers, run by the engine. The suite
// starts it with the server's address as its argument, and may have calls for it in the environment.

import { inspectServer } from "../../src/adapters/mcp/inspect-server.ts"
import type { ServerContents } from "../../src/adapters/mcp/inspect-server.ts"
import { defaultMcpLimits } from "../../src/adapters/mcp/mcp-host.ts"
import { Tokens } from "../../src/adapters/oauth/tokens.ts"
import { withToken } from "../../src/adapters/oauth/with-token.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { isJsonObject } from "../../src/base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import { formIn } from "../../src/log/elicitation-answer.ts"
import type { Question } from "../../src/log/events.ts"
import { Desk } from "../support/people.ts"
import { hosting } from "../support/run-source.ts"

interface Call {
  readonly name: string
  readonly arguments: JsonObject
}

interface Context {
  readonly toolCalls?: readonly Call[]
  readonly client_id?: string
  readonly client_secret?: string
  readonly private_key_pem?: string
}

const [url = ""] = process.argv.slice(2)
const context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as Context
const { client_id, client_secret = null, private_key_pem = null } = context

const tokens = new Tokens(systemClock)
const here = hosting({ tokens })
const signal = new AbortController().signal
const server = { name: "s", endpoint: url, headers: {} }
const issuer = client_id === undefined ? null : await issuerOf(url)

for (const use of usesOf(await contents())) {
  const failed = await run(`mcp s { endpoint: "${url}" elicitation: ask ${authBlock()} }\n${use}`)
  // A tool that must not be called, or not with these arguments, is refused before anything is sent.
  if (failed === null || failed.kind === "validation_error" || failed.kind === "evaluation_error") continue
  console.error(JSON.stringify(failed))
  process.exitCode = 1
}
await here.close()

/** Runs a workflow, and answers what its server asks. */
async function run(source: string): Promise<{ readonly kind: string } | null> {
  const desk = await new Desk(source, { tools: here.host }).open()
  const run_id = await desk.start({
    secrets:
      issuer === null
        ? {}
        : { client_id: client_id ?? "", client_secret: client_secret ?? "", private_key: private_key_pem ?? "" },
  })
  for (let after = 0; ;) {
    const last = (await desk.until(run_id, "run_waiting", after)).at(-1)
    if (last?.type !== "run_waiting") {
      await desk.close()
      return last?.type === "workflow_failed" ? last.data.error : null
    }
    after = last.id
    for (const question of await desk.waiting(run_id)) await desk.answer(run_id, question, answerTo(question))
  }
}

function answerTo({ schema }: Question): JsonObject {
  const form = formIn(schema)
  if (form === null) return { action: "accept" }
  const fields = Object.entries(isJsonObject(form["properties"]) ? form["properties"] : {})
  const content = fields.map(([name, field]): [string, JsonValue] => [
    name,
    isJsonObject(field) ? valueOf(field) : null,
  ])
  return { action: "accept", content: Object.fromEntries(content) }
}

function valueOf({ type, enum: values, default: usual }: JsonObject): JsonValue {
  if (usual !== undefined) return usual
  if (Array.isArray(values)) return values[0] ?? ""
  if (type === "boolean") return true
  return type === "string" ? "x" : type === "array" ? [] : 1
}

/** An operator would look it up once, and write it down: no workflow lets a server choose where its secret goes. */
async function issuerOf(address: string): Promise<string> {
  const { origin, pathname } = new URL(address)
  const response = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`)
  const { authorization_servers } = (await response.json()) as { readonly authorization_servers: readonly string[] }
  return authorization_servers[0] ?? ""
}

function authBlock(): string {
  if (issuer === null) return ""
  const key = private_key_pem === null ? "client_secret: secrets.client_secret" : "private_key: secrets.private_key"
  return `auth { issuer: "${issuer}" client_id: secrets.client_id ${key} }`
}

/** What the server offers. */
function contents(): Promise<ServerContents> {
  const { egress } = here
  const own = { version: "0.0.0", limits: defaultMcpLimits }
  if (issuer === null) return inspectServer(server, { egress, ...own }, signal)
  const auth = {
    issuer,
    token_endpoint: null,
    client_id: client_id ?? "",
    client_secret,
    private_key: private_key_pem,
    key_id: null,
    algorithm: null,
    scopes: [],
    audience: null,
    resource: url,
    client_auth: "basic",
  } as const
  const use = { auth, origin: new URL(url).origin, path: "mcp.s", owner: [], hide: () => undefined }
  return inspectServer(server, { egress: withToken(egress, tokens, use), ...own }, signal)
}

function usesOf({ tools, resources, prompts }: ServerContents): string[] {
  const calls = context.toolCalls ?? tools.flatMap(({ name, input }) => callOf(name, input, tools))
  return [
    ...calls.map(({ name, arguments: values }) =>
      workflow(`tool t from mcp.s.tool.${quoted(name)}`, `call tool.t { input { ${fields(values)} } }`),
    ),
    ...resources.map(({ uri }) => workflow(`resource r from mcp.s.resource.${quoted(uri)}`, "read resource.r")),
    ...prompts.map(({ name }) => workflow(`prompt p from mcp.s.prompt.${quoted(name)}`, "render prompt.p")),
  ]
}

function callOf(name: string, input: JsonObject, tools: ServerContents["tools"]): Call[] {
  if (name === "add_numbers") return [{ name, arguments: { a: 5, b: 3 } }]
  if (name === "json_schema_echo") {
    const focal = tools.find((tool) => tool.name === "json_schema_2020_12_tool")
    return [{ name, arguments: { schema: focal?.input ?? {} } }]
  }
  const required = Array.isArray(input["required"]) ? input["required"] : []
  return [{ name, arguments: Object.fromEntries(required.map((key) => [typeof key === "string" ? key : "", "x"])) }]
}

function workflow(declaration: string, expression: string): string {
  const secrets = "secrets { client_id: string  client_secret: string  private_key: string }"
  return `${issuer === null ? "" : secrets}\n${declaration}\ndynamic { used: ${expression} }\noutput { used: dynamic.used }\n`
}

function fields(values: JsonObject): string {
  return Object.entries(values)
    .map(([key, value]) => `${quoted(key)}: ${literal(value)}`)
    .join(", ")
}

function literal(value: JsonValue): string {
  if (typeof value === "string") return quoted(value)
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  return Array.isArray(value) ? `[${value.map(literal).join(", ")}]` : `{ ${fields(value)} }`
}

function quoted(text: string): string {
  const escaped = JSON.stringify(text).slice(1, -1)
  return `"${escaped
    .replaceAll(/\\u([0-9a-f]{4})/g, "\\u{$1}")
    .replaceAll("{", "\\{")
    .replaceAll("}", "\\}")}"`
}
