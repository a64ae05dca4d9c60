import { isJsonObject } from "../../base/is-json-object.ts"
import { cutText } from "../../base/cut-text.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { AgentNode, RemotePlan } from "../../plan/plan-shape.ts"
import type { Entry, Expression } from "../../plan/expression.ts"
import { evaluate } from "../values/evaluate.ts"
import type { ErrorIssue } from "../../log/events.ts"
import { children, traits } from "../../plan/expression-traits.ts"
import type { ApiServer, HostedTool, HostSession, ImportedTool, ToolServer } from "../../ports/tools.ts"
import { RunFailure, wireError } from "../../ports/run-failure.ts"
import { inTurns } from "../../event-loop/in-turns.ts"
import { isFileOrFiles } from "./sent-files.ts"
import { redactHost } from "./redact-host.ts"
import { callOut, outerScope, type RunContext } from "../context/run-context.ts"
import { hideAddress } from "../secrets/hide-address.ts"
import { apiOf, namedServer, originOf, remoteOf, serverOf } from "./server-of.ts"

/**
 * Connects to the servers of a run and looks up everything that it imports; null for a run without servers. A missing or
 * mistyped binding is found here, before any model is called.
 */
export function openServers(running: RunContext): Promise<void> | null {
  const { servers, apis = {} } = running.plan
  const names = Object.keys(servers)
  const apiNames = Object.keys(apis)
  return names.length + apiNames.length === 0 ? null : open(running, names, apiNames)
}

async function open(running: RunContext, names: readonly string[], apiNames: readonly string[]): Promise<void> {
  const { plan, ports, log, past, signal } = running
  const places = placesOf(running)
  const secretive = new Set<string | undefined>()
  await inTurns(places, (part) => {
    for (const place of part) if (sendsSecrets(running, place)) secretive.add(originName(running, place))
  })
  const servers: (ToolServer & { readonly secretBodies: boolean })[] = []
  await inTurns(names, (part) =>
    running.work.together(() => {
      for (const name of part) {
        const server = serverOf(running, name, running.secrets)
        servers.push({ ...server, secretBodies: secretive.has(`mcp.${name}`) })
        hideAddress(running.redactor, running.secrets, server.endpoint)
      }
    }),
  )
  const apis: ApiServer[] = []
  await inTurns(apiNames, (part) =>
    running.work.together(() => {
      for (const name of part) {
        const api = apiOf(running, name, running.secrets)
        apis.push(api)
        hideAddress(running.redactor, running.secrets, api.endpoint)
      }
    }),
  )
  const tools: ImportedTool[] = []
  await inTurns(Object.keys(plan.tools), (part) => {
    for (const name of part) {
      const tool = plan.tools[name]
      if (tool === undefined) continue
      const { server, remote, input, output, pin, requires, http, description, idempotent } = tool
      const request = http === undefined ? {} : { http: { ...http, description, idempotent } }
      tools.push({ name, server, remote, input, output, pin, ...(requires && { requires }), ...request })
    }
  })
  const imports = (remotes: typeof plan.resources) =>
    Object.entries(remotes).map(([name, { server, remote }]) => ({ name, server, remote }))
  try {
    const host = await callOut(running, () =>
      ports.tools.open(
        {
          run_id: running.runId,
          owner: [running.caller, running.workflow],
          servers,
          apis,
          types: plan.types,
          tools,
          resources: imports(plan.resources),
          prompts: imports(plan.prompts),
        },
        {
          signal,
          gate: running.gate,
          arrivals: running.arrivals,
          hide: (token) => running.redactor.alsoHide("access_token", token),
          ...(running.requests === null ? {} : { requests: running.requests.ofTools }),
          connected: (server, protocol, tools, duration_ms) => {
            // A resumed run connects again; the log has said so once.
            if (past.servers.has(server)) return
            log.add("mcp_server_connected", running.redactor.redact({ server, protocol, tools, duration_ms }))
          },
        },
      ),
    )
    running.host = redactHost(host, running.redactor)
  } catch (error) {
    throw error instanceof RunFailure ? new RunFailure(running.redactor.redact(error.error)) : error
  }
  const { host } = running
  const issues = new BindingIssues(running, host)
  await inTurns(places, (part) => running.work.together(() => part.forEach((place) => issues.look(place))))
  const [first, ...rest] = [...host.problems, ...issues.found]
  if (first !== undefined) throw new RunFailure(wireError("validation_error", [first, ...rest]))
}

/** What a cache key has to know of the servers behind an agent's tools: secrets by name. */
export function serverFacts(running: RunContext, node: AgentNode): JsonValue[] {
  const remotes = new Map<string, RemotePlan>()
  for (const { kind, name } of node.uses) {
    const remote = remoteOf(running, kind, name)
    if (remote !== undefined && !remotes.has(originOf(remote))) remotes.set(originOf(remote), remote)
  }
  return [...remotes.values()].map((remote) => namedServer(running, remote))
}

/** Whether a place sends secrets among the arguments of a tool, resource or prompt. */
function sendsSecrets(running: RunContext, { kind, name, bindings, given }: Place): boolean {
  const sends = ({ value }: Entry): boolean => traits(value).secrets
  const own = remoteOf(running, kind, name)?.bindings ?? []
  return own.some(sends) || bindings.some(sends) || (given ?? []).some(sends)
}

function originName(running: RunContext, { kind, name }: Place): string | undefined {
  const remote = remoteOf(running, kind, name)
  return remote && originOf(remote)
}

/** A place that names an import: what it binds, and what else it gives (null: others give the rest). */
interface Place {
  readonly kind: "tool" | "resource" | "prompt"
  readonly name: string
  readonly bindings: readonly Entry[]
  readonly given: readonly Entry[] | null
  /** A model calls it. */
  readonly use: boolean
}

/** More than these are not useful. */
const maxIssues = 1000

/** Problems of bindings: missing, unknown and mistyped arguments. */
class BindingIssues {
  readonly #running: RunContext
  readonly #host: HostSession
  readonly #issues = new Map<string, ErrorIssue>()

  constructor(running: RunContext, host: HostSession) {
    this.#running = running
    this.#host = host
  }

  get found(): ErrorIssue[] {
    return [...this.#issues.values()]
  }

  look(place: Place): void {
    if (this.#issues.size >= maxIssues) return
    const parameters = parametersOf(this.#running, this.#host, place)
    // One that was not found is a problem already.
    if (parameters === null) return
    const report = (at: string, message: string): void => {
      this.#issues.set(`${at} ${message}`, { path: at, message })
    }
    const own = remoteOf(this.#running, place.kind, place.name)?.bindings ?? []
    const bindings = new Map([...own, ...place.bindings].map(({ key, value }) => [key, value]))
    const path = `${place.kind}.${place.name}`
    const { names, required } = parameters
    for (const key of bindings.keys()) {
      if (names !== null && !names.includes(key)) {
        const known = names.length === 0 ? "it takes no arguments" : `it takes ${cutText(shownNames(names), 500)}`
        report(`${path}.bindings.${key}`, `${place.name} has no argument ${key}: ${known}`)
        // The server's schema would refuse it once more.
        bindings.delete(key)
      }
    }
    const given = place.given?.map(({ key }) => key) ?? parameters.given
    if (given !== null) {
      const there = [...bindings.keys(), ...given]
      for (const key of required) {
        if (!there.includes(key)) report(`${path}.bindings.${key}`, `${place.name} needs the argument ${key}`)
      }
    }
    const hosted = place.kind === "tool" ? this.#host.tools.get(place.name) : undefined
    if (hosted !== undefined) mistyped(this.#running, path, hosted, bindings, report)
  }
}

/** Names that a server gives: without characters that could steer a terminal. */
function shownNames(names: readonly string[]): string {
  return names
    .slice(0, 100)
    .join(", ")
    .replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu, "")
}

/** Checks the values that do not depend on what the run finds out. */
function mistyped(
  running: RunContext,
  path: string,
  hosted: HostedTool,
  bindings: ReadonlyMap<string, Expression>,
  report: (path: string, message: string) => void,
): void {
  const known: JsonObject = {}
  for (const [key, value] of bindings) {
    if (!traits(value).known || readsItem(value)) continue
    const found = evaluate(value, outerScope(running, `${path}.bindings.${key}`))
    // A file is sent in another form, which is checked with the call.
    if (!isFileOrFiles(found)) known[key] = found
  }
  for (const problem of hosted.checkArguments(known, "partial")) {
    const key = Object.keys(known).find((name) => isBelow(problem.path, name))
    const expression = key === undefined ? undefined : bindings.get(key)
    const secret = expression !== undefined && traits(expression).secrets
    const at = problem.path === "" ? "" : `.${problem.path}`
    // A validator's sentence may quote the value.
    report(`${path}.bindings${at}`, secret ? `The value of ${problem.path} does not fit` : problem.message)
  }
}

/** Whether it may refer to an item of the list that the call stands in, which is there once the list is. */
function readsItem(expression: Expression): boolean {
  if (expression.op === "reference") return expression.root.kind === "item" || expression.root.kind === "matched"
  return children(expression).some(readsItem)
}

function isBelow(path: string, name: string): boolean {
  return path === name || path.startsWith(`${name}.`) || path.startsWith(`${name}[`)
}

interface Parameters {
  /** Null: any. */
  readonly names: readonly string[] | null
  readonly required: readonly string[]
  /** What a model can give, where the place itself gives nothing; null: anything. */
  readonly given: readonly string[] | null
}

function parametersOf(running: RunContext, host: HostSession, place: Place): Parameters | null {
  const { kind, name, use } = place
  if (kind === "resource") {
    const resource = host.resources.get(name)
    return resource === undefined ? null : { names: resource.variables, required: resource.required, given: null }
  }
  if (kind === "prompt") {
    const prompt = host.prompts.get(name)
    if (prompt === undefined) return null
    const required = prompt.arguments.filter((argument) => argument.required).map((argument) => argument.name)
    return { names: prompt.arguments.map((argument) => argument.name), required, given: null }
  }
  const tool = host.tools.get(name)
  if (tool === undefined) return null
  const schema = tool.parameters
  const properties = schema["properties"] ?? null
  const required = schema["required"] ?? []
  // A schema that allows more than it names, or names more elsewhere, cannot say that a binding is wrong.
  const open =
    (schema["additionalProperties"] !== undefined && schema["additionalProperties"] !== false) ||
    ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "patternProperties"].some((key) => schema[key] !== undefined)
  const declared = running.plan.tools[name]?.input ?? null
  return {
    names: isJsonObject(properties) && !open ? Object.keys(properties) : null,
    required: Array.isArray(required) ? required.filter((key) => typeof key === "string") : [],
    given: use && declared?.kind === "record" ? declared.fields.map((field) => field.name) : null,
  }
}

function placesOf(running: RunContext): Place[] {
  const { plan, prepared } = running
  const declared = (kind: Place["kind"], remotes: { readonly [name: string]: unknown }): Place[] =>
    Object.keys(remotes).map((name) => ({ kind, name, bindings: [], given: null, use: false }))
  const uses = plan.nodes.flatMap((node) =>
    node.kind === "agent"
      ? node.uses.map(({ kind, name, bindings }) => ({
          kind,
          name,
          bindings,
          given: kind === "prompt" ? [] : null,
          use: true,
        }))
      : [],
  )
  const effects = prepared.effects.map((expression): Place => {
    switch (expression.op) {
      case "call":
        return {
          kind: "tool",
          name: expression.tool,
          bindings: expression.bindings,
          given: expression.input,
          use: false,
        }
      case "read":
        return { kind: "resource", name: expression.resource, bindings: expression.bindings, given: [], use: false }
      case "render":
        return { kind: "prompt", name: expression.prompt, bindings: expression.bindings, given: [], use: false }
    }
  })
  return [
    ...declared("tool", plan.tools),
    ...declared("resource", plan.resources),
    ...declared("prompt", plan.prompts),
    ...uses,
    ...effects,
  ]
}
