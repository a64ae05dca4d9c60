import { nextTurn, YieldTimer } from "../../event-loop/in-turns.ts"
import { isInputRequiredResult, ProtocolError } from "@modelcontextprotocol/client"
import { cutText } from "../../base/cut-text.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import { hasDotSegment } from "../../base/has-dot-segment.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { Egress } from "../../ports/egress.ts"
import type { ErrorIssue } from "../../log/events.ts"
import type {
  AskReply,
  CallRequests,
  HostedTool,
  HostRequest,
  HostSession,
  HostWatch,
  Imported,
  ImportedTool,
  ResourceAnswer,
  ToolAnswer,
  ToolHost,
  ToolServer,
} from "../../ports/tools.ts"
import type { SentRequest } from "../../ports/sent-request.ts"
import type { PromptMessage } from "../../log/messages.ts"
import { RunFailure, failure, wireError } from "../../ports/run-failure.ts"
import { cleanLine } from "./clean-text.ts"
import { explainFailure } from "./explain-failure.ts"
import { findPrompt, findResource, findTool, nameOf, type PromptFound, type ResourceFound } from "./find-imports.ts"
import { hostTool, type ToolBudgets } from "./hosted-tool.ts"
import { readInputRequests } from "./input-requests.ts"
import { KnownServers } from "./known-servers.ts"
import { readPromptResult, readResourceResult, readToolResult } from "./read-content.ts"
import type { McpLimits } from "./connect-to.ts"
import { ServerConnection } from "./server-connection.ts"
import type { Tokens } from "../oauth/tokens.ts"
import { withToken } from "../oauth/with-token.ts"
import { StepBudget } from "./step-budget.ts"
import type { UriTemplate } from "./uri-template.ts"
import { publishedPart } from "./tool-pin.ts"
import { ValidationBudget } from "./validation-budget.ts"
import {
  mcpAnswerBytes,
  mcpCallMs,
  mcpConnectMs,
  mcpListBytes,
  mcpLookUpSteps,
  mcpProblems,
  mcpSilenceMs,
} from "../../base/limits.ts"

export interface McpHostOptions {
  readonly egress: Egress
  /** What `endpoint: "demo"` means, and an egress that reaches it and nothing else; null where it is switched off. */
  readonly demo?: { readonly endpoint: string; readonly egress: Egress } | null
  /** Version of this service, for servers that ask who calls. */
  readonly version: string
  readonly limits?: Partial<McpLimits>
  /** Goes along in `_meta` with every request of a run to this address: the trace that it belongs to. */
  readonly meta?: (run_id: string, endpoint: string) => JsonObject
  /** Egress for one run's calls, which adds the headers of its trace. */
  readonly traced?: (egress: Egress, run_id: string) => Egress
  /** For servers that are signed in to. */
  readonly tokens?: Tokens
}

export const defaultMcpLimits: McpLimits = {
  connectMs: mcpConnectMs,
  silenceMs: mcpSilenceMs,
  callMs: mcpCallMs,
  max_bytes: mcpAnswerBytes,
  maxListBytes: mcpListBytes,
}

/** Tools, resources and prompts of MCP servers. */
export class McpHost implements ToolHost {
  readonly #options: McpHostOptions
  readonly #known = new KnownServers()
  readonly #sessionEnds = new Set<Promise<void>>()

  constructor(options: McpHostOptions) {
    this.#options = options
  }

  async open(request: HostRequest, watch: HostWatch): Promise<HostSession> {
    const imported = new Set<string>()
    for (const imports of [request.tools, request.resources, request.prompts]) {
      for (const { server } of imports) imported.add(server)
    }
    const session = new McpSession(
      request,
      request.servers
        .filter(({ name }) => imported.has(name))
        .map((server) => this.#connection(server, request, watch)),
      (sessionEnd) => this.#waitForSessionEnd(sessionEnd),
    )
    try {
      await session.open(watch)
    } catch (error) {
      await session.close()
      throw error
    }
    return session
  }

  /** Waits until the servers' sessions are closed. */
  async close(): Promise<void> {
    await Promise.all(this.#sessionEnds)
  }

  #connection(wanted: ToolServer, { run_id, owner }: HostRequest, watch: HostWatch): OpenServer {
    const { gate, arrivals, hide, requests } = watch
    const { version, limits, meta = () => ({}) } = this.#options
    const { server, egress } = this.#serverAndEgress(wanted, run_id, owner, hide)
    const stale = new Set<string>()
    const known = this.#known.of(server)
    const connection = new ServerConnection(server, {
      egress,
      gate,
      arrivals,
      version,
      limits: { ...defaultMcpLimits, ...limits },
      known,
      ...(requests !== undefined && { sent: (...sent) => reportCall(requests, wanted, ...sent) }),
      meta: () => ({ ...meta(run_id, wanted.endpoint), "wireworks/run_id": run_id }),
      changed: (list) => {
        known.lists.delete(`${list}/list`)
        if (list === "resources") known.lists.delete("resources/templates/list")
        stale.add(list)
      },
    })
    const forget = (): void => {
      known.lists.delete("tools/list")
      stale.add("tools")
    }
    return { connection, stale, forget, definitions: new Map(), refreshing: null }
  }

  /** The MCP server, and the egress for calls to it. */
  #serverAndEgress(
    server: ToolServer,
    run_id: string,
    owner: HostRequest["owner"],
    hide: HostWatch["hide"],
  ): { readonly server: ToolServer; readonly egress: Egress } {
    const { egress, demo = null, traced, tokens } = this.#options
    if (server.endpoint !== "demo") {
      const own = traced?.(egress, run_id) ?? egress
      const { auth, endpoint, name } = server
      const origin = URL.parse(endpoint)?.origin
      if (auth === undefined || origin === undefined || tokens === undefined) return { server, egress: own }
      const resource = auth.resource ?? endpoint
      const use = { auth: { ...auth, resource }, origin, path: `mcp.${name}`, owner, hide }
      return { server, egress: withToken(own, tokens, use) }
    }
    if (demo === null) throw failure("tool_error", `mcp.${server.name}`, "The demo is switched off (WIRE_DEMO).")
    return { server: { ...server, endpoint: demo.endpoint }, egress: demo.egress }
  }

  #waitForSessionEnd(sessionEnd: Promise<void>): void {
    this.#sessionEnds.add(sessionEnd)
    void sessionEnd.finally(() => this.#sessionEnds.delete(sessionEnd))
  }
}

/** A server that a run is connected to. */
interface OpenServer {
  readonly connection: ServerConnection
  /** Lists that have changed. */
  readonly stale: Set<string>
  /** Forgets the list of tools, also the one that was kept for other runs. */
  readonly forget: () => void
  /** Imported tools as the server publishes them, by their name in the workflow. */
  readonly definitions: Map<string, JsonObject>
  refreshing: Promise<void> | null
}

/** Where `_meta` of a tool call names it. */
const callIdKey = "wireworks/call_id"

/** Tells of the request of a tool call, and what may be seen of it. */
function reportCall(requests: CallRequests, server: ToolServer, message: JsonObject, request: SentRequest): void {
  const params = isJsonObject(message["params"]) ? message["params"] : {}
  const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {}
  const call_id = meta[callIdKey]
  if (typeof call_id !== "string") return
  const headers = { ...request.headers, ...(server.auth !== undefined && { authorization: "Bearer $KEY" }) }
  const sent = { ...request, headers }
  const named = requests.shownArguments(call_id)
  if (named === undefined && server.shownEndpoint === undefined) return requests.sent(call_id, sent)
  const body =
    named === undefined ? request.body : JSON.stringify({ ...message, params: { ...params, arguments: named } })
  requests.sent(call_id, sent, { url: server.shownEndpoint ?? request.url, body })
}

const headerMismatch = -32_020

class McpSession implements HostSession {
  readonly problems: ErrorIssue[] = []
  readonly tools = new Map<string, HostedTool>()
  readonly resources = new Map<string, ResourceFound>()
  readonly prompts = new Map<string, PromptFound>()
  readonly #request: HostRequest
  readonly #tools: ReadonlyMap<string, ImportedTool>
  readonly #servers: ReadonlyMap<string, OpenServer>
  readonly #imports: Readonly<Record<"tool" | "resource" | "prompt", ReadonlyMap<string, Imported>>>
  readonly #onSessionEnd: (sessionEnd: Promise<void>) => void
  readonly #budgets: ToolBudgets = {
    lookUp: new StepBudget(mcpLookUpSteps),
    validation: new ValidationBudget(),
  }

  constructor(request: HostRequest, servers: readonly OpenServer[], onSessionEnd: (sessionEnd: Promise<void>) => void) {
    this.#request = request
    this.#servers = new Map(servers.map((server) => [server.connection.server.name, server]))
    this.#tools = byName(request.tools)
    this.#imports = { tool: this.#tools, resource: byName(request.resources), prompt: byName(request.prompts) }
    this.#onSessionEnd = onSessionEnd
  }

  /** All servers side by side. */
  async open(watch: HostWatch): Promise<void> {
    const servers = [...this.#servers.values()]
    const outcomes = await Promise.allSettled(servers.map((server) => this.#lookUp(server, watch)))
    watch.signal.throwIfAborted()
    const failures = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason as unknown] : []))
    const [first] = failures
    if (first !== undefined) throw unreachable(failures)
    if (this.problems.length > 1) this.#sortProblems()
  }

  /** In the order of the source, whichever server was the fastest. */
  #sortProblems(): void {
    const order = new Map<string, number>()
    for (const [kind, imports] of Object.entries(this.#imports)) {
      for (const name of imports.keys()) order.set(`${kind}.${name}`, order.size)
    }
    const rank = ({ path }: ErrorIssue): number => order.get(path.split(".").slice(0, 2).join(".")) ?? -1
    this.problems.sort((a, b) => rank(a) - rank(b))
  }

  async call(
    tool: string,
    values: JsonObject,
    call_id: string,
    signal: AbortSignal,
    reply?: AskReply,
  ): Promise<ToolAnswer> {
    const server = this.#serverOf("tool", tool)
    const imported = this.#tools.get(tool)
    if (imported === undefined) throw new Error(`Tool ${tool} is not imported`)
    const { connection } = server
    const meta = { [callIdKey]: call_id }
    return this.#asking(connection.server, async () => {
      for (let again = false; ; again = true) {
        if (server.stale.has("tools")) await this.#refresh(server, signal)
        const definition = server.definitions.get(tool)
        if (definition === undefined) {
          return failed(`mcp.${imported.server} no longer offers the tool ${imported.remote}`)
        }
        try {
          const result = await connection.callTool(nameOf(definition), values, definition, meta, signal, reply)
          // It may have megabytes, and it took a turn of the event loop to parse it.
          await nextTurn()
          return isInputRequiredResult(result)
            ? { text: "", is_error: false, asks: readInputRequests(result) }
            : readToolResult(result)
        } catch (error) {
          if (!(error instanceof ProtocolError) || signal.aborted) throw error
          // The server wants other arguments in headers than it did when it was asked for its tools.
          if (error.code === headerMismatch && !again) server.stale.add("tools")
          // An error instead of a result is an answer too: the model may correct its request.
          else return failed(cutText(cleanLine(error.message, 2000), 2000))
        }
      }
    })
  }

  async published(tool: string, signal: AbortSignal): Promise<JsonObject | null> {
    const server = this.#serverOf("tool", tool)
    return this.#asking(server.connection.server, async () => {
      // A refresh that is under way may show the definitions as they were before this call.
      await server.refreshing?.catch(() => undefined)
      server.forget()
      await this.#refresh(server, signal)
      const definition = server.definitions.get(tool)
      return definition === undefined ? null : publishedPart(definition)
    })
  }

  async read(resource: string, values: JsonObject, signal: AbortSignal): Promise<ResourceAnswer> {
    const { connection } = this.#serverOf("resource", resource)
    const found = this.resources.get(resource)
    if (found === undefined) throw new Error(`Resource ${resource} was not found`)
    const uri = typeof found.uri === "string" ? found.uri : expand(found.uri, values, resource)
    return this.#asking(connection.server, async () => readResourceResult(await connection.readResource(uri, signal)))
  }

  async render(prompt: string, values: JsonObject, signal: AbortSignal): Promise<readonly PromptMessage[]> {
    const { connection } = this.#serverOf("prompt", prompt)
    const found = this.prompts.get(prompt)
    if (found === undefined) throw new Error(`Prompt ${prompt} was not found`)
    return this.#asking(connection.server, async () =>
      readPromptResult(await connection.getPrompt(found.remote, asTexts(values), signal)),
    )
  }

  async close(): Promise<void> {
    await Promise.all(
      [...this.#servers.values()].map(async ({ connection }) => {
        const { sessionEnd } = await connection.close()
        this.#onSessionEnd(sessionEnd)
      }),
    )
  }

  async #lookUp(server: OpenServer, watch: HostWatch): Promise<void> {
    const { connection } = server
    const { name } = connection.server
    const startedAt = performance.now()
    const of = <T extends { readonly server: string }>(imports: readonly T[]): T[] =>
      imports.filter((one) => one.server === name)
    const { signal } = watch
    const imported = of(this.#request.tools)
    const resources = of(this.#request.resources)
    const prompts = of(this.#request.prompts)
    await this.#asking(connection.server, async () => {
      await connection.open(signal)
      const none = Promise.resolve<readonly JsonObject[]>([])
      const [tools, listed, templates, offered] = await Promise.all([
        imported.length > 0 || connection.offers("tools") ? connection.list("tools/list", signal) : none,
        resources.length === 0 ? none : connection.list("resources/list", signal),
        resources.length === 0 ? none : connection.list("resources/templates/list", signal),
        prompts.length === 0 ? none : connection.list("prompts/list", signal),
      ])
      const timer = new YieldTimer(20)
      for (const tool of imported) {
        if (this.problems.length >= mcpProblems) break
        this.#report(this.#takeTool(server, tool, tools))
        await timer.yieldIfDue()
      }
      for (const resource of resources) {
        if (this.problems.length >= mcpProblems) break
        const outcome = findResource(resource, listed, templates)
        if ("found" in outcome) this.resources.set(resource.name, outcome.found)
        else this.#report([outcome.problem])
        await timer.yieldIfDue()
      }
      for (const prompt of prompts) {
        if (this.problems.length >= mcpProblems) break
        const outcome = findPrompt(prompt, offered)
        if ("found" in outcome) this.prompts.set(prompt.name, outcome.found)
        else this.#report([outcome.problem])
        await timer.yieldIfDue()
      }
      const names = tools.slice(0, maxNames).map((tool) => cleanLine(nameOf(tool), 128))
      watch.connected(name, connection.protocol, names, Math.round(performance.now() - startedAt))
    })
  }

  #report(problems: readonly ErrorIssue[]): void {
    this.problems.push(...problems.slice(0, mcpProblems - this.problems.length))
  }

  #takeTool(server: OpenServer, imported: ImportedTool, tools: readonly JsonObject[]): readonly ErrorIssue[] {
    const outcome = findTool(imported, tools)
    server.definitions.delete(imported.name)
    if ("problem" in outcome) return [outcome.problem]
    const modern = server.connection.protocol >= firstModern
    const { tool, problems } = hostTool(outcome.found, imported, this.#request.types, modern, this.#budgets)
    if (tool !== null) {
      this.tools.set(imported.name, tool)
      server.definitions.set(imported.name, outcome.found)
    }
    return problems
  }

  /** A server whose tools have changed is looked at again before the next call: a pin holds for the whole run. */
  async #refresh(server: OpenServer, signal: AbortSignal): Promise<void> {
    server.refreshing ??= (async () => {
      const { connection } = server
      server.stale.delete("tools")
      const tools = await connection.list("tools/list", signal)
      const imports = this.#request.tools.filter((one) => one.server === connection.server.name)
      // One that is gone fails when it is called, not before.
      const here = imports.filter((imported) => "found" in findTool(imported, tools))
      const remaining = new Set(here)
      for (const imported of imports) if (!remaining.has(imported)) server.definitions.delete(imported.name)
      const [first, ...rest] = here.flatMap((imported) => this.#takeTool(server, imported, tools))
      if (first !== undefined) {
        server.stale.add("tools")
        throw new RunFailure(wireError("validation_error", [first, ...rest]))
      }
    })().finally(() => (server.refreshing = null))
    return server.refreshing
  }

  async #asking<T>(server: ToolServer, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask()
    } catch (error) {
      throw explainFailure(error, server)
    }
  }

  #serverOf(kind: "tool" | "resource" | "prompt", name: string): OpenServer {
    const server = this.#servers.get(this.#imports[kind].get(name)?.server ?? "")
    if (server === undefined) throw new Error(`${kind}.${name} has no server`)
    return server
  }
}

function byName<T extends Imported>(imports: readonly T[]): ReadonlyMap<string, T> {
  const table = new Map<string, T>()
  for (const one of imports) table.set(one.name, one)
  return table
}

const maxNames = 1000

/** The first revision without sessions; revisions are dates. */
const firstModern = "2026-07-28"

function failed(text: string): ToolAnswer {
  return { text, is_error: true }
}

/** A value must not lead to another path than the template's. */
function expand(template: UriTemplate, values: JsonObject, resource: string): string {
  const texts = asTexts(values)
  const uri = template.expand(texts)
  if (!hasDotSegment(uri) || hasDotSegment(template.expand(plainTexts(template)))) return uri
  const message = `An argument of resource.${resource} makes a segment \`.\` or \`..\` of the URI, which would lead to another resource`
  throw failure("evaluation_error", `resource.${resource}`, message)
}

function plainTexts({ variables }: UriTemplate): Record<string, string> {
  return Object.fromEntries(variables.map((name) => [name, "x"]))
}

/** Prompts and URI templates take texts only. */
function asTexts(values: JsonObject): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values)
      .filter(([, value]) => value !== null)
      .map(([name, value]) => [name, asText(value)]),
  )
}

function asText(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value)
}

/** Everything that kept servers from being reached, as one failure. A forbidden destination outdoes the rest. */
function unreachable(failures: readonly unknown[]): unknown {
  const known = failures.filter((error) => error instanceof RunFailure)
  if (known.length < failures.length) return failures.find((error) => !(error instanceof RunFailure))
  const blocked = known.filter(({ error }) => error.kind === "blocked_destination")
  const kind = blocked.length > 0 ? "blocked_destination" : "tool_error"
  const [first, ...rest] = (blocked.length > 0 ? blocked : known).flatMap(({ error }) => error.issues)
  return first === undefined ? failures[0] : new RunFailure(wireError(kind, [first, ...rest]))
}
