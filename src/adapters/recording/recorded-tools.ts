import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type {
  AskReply,
  HostedPrompt,
  HostedResource,
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
import type { PromptMessage } from "../../log/messages.ts"
import type { ErrorIssue } from "../../log/events.ts"
import type { TypeTable } from "../../types/types.ts"
import { askFor, type RecordedRun } from "./recorded-run.ts"

/** Makes a tool of a definition as MCP servers publish them, and says how a declared type clashes with it; that of an api needs none. */
export type ReviveTool = (
  definition: JsonObject,
  imported: ImportedTool,
  types: TypeTable,
) => { readonly tool: HostedTool | null; readonly problems: readonly ErrorIssue[] }

/** Tools whose exchanges are recorded, or played from a recording. The demo server is always asked. */
export class RecordedTools implements ToolHost {
  readonly #host: ToolHost
  readonly #run: RecordedRun
  readonly #revive: () => Promise<ReviveTool>

  constructor(host: ToolHost, run: RecordedRun, revive: () => Promise<ReviveTool>) {
    this.#host = host
    this.#run = run
    this.#revive = revive
  }

  async open(request: HostRequest, watch: HostWatch): Promise<HostSession> {
    if (this.#run.recording.mode === "live") return this.#host.open(request, watch)
    const isDemo = ({ endpoint }: ToolServer): boolean => endpoint === "demo"
    const live = part(request, isDemo)
    const recorded = part(request, (server) => !isDemo(server))
    const demo = live.servers.length + live.apis.length === 0 ? null : await this.#host.open(live, watch)
    const session = new RecordedSession(recorded, demo, this.#run, () => this.#host.open(recorded, watch))
    try {
      await session.lookUp(await this.#revive(), watch)
    } catch (error) {
      await session.close()
      throw error
    }
    return session
  }
}

function part(request: HostRequest, wanted: (server: ToolServer) => boolean): HostRequest {
  const servers = request.servers.filter(wanted)
  const apis = request.apis.filter(wanted)
  const names = { mcp: namesOf(servers), api: namesOf(apis) }
  const of = <T extends Imported>(imports: readonly T[]): T[] =>
    imports.filter((one) => names["http" in one ? "api" : "mcp"].has(one.server))
  return {
    ...request,
    servers,
    apis,
    tools: of(request.tools),
    resources: of(request.resources),
    prompts: of(request.prompts),
  }
}

function namesOf(servers: readonly ToolServer[]): ReadonlySet<string> {
  return new Set(servers.map(({ name }) => name))
}

class RecordedSession implements HostSession {
  readonly problems: ErrorIssue[]
  readonly tools: Map<string, HostedTool>
  readonly resources: Map<string, HostedResource>
  readonly prompts: Map<string, HostedPrompt>
  readonly #request: HostRequest
  readonly #demo: HostSession | null
  readonly #run: RecordedRun
  readonly #open: () => Promise<HostSession>
  #real: Promise<HostSession> | null = null

  constructor(request: HostRequest, demo: HostSession | null, run: RecordedRun, open: () => Promise<HostSession>) {
    this.#request = request
    this.#demo = demo
    this.#run = run
    this.#open = open
    this.problems = [...(demo?.problems ?? [])]
    this.tools = new Map(demo?.tools)
    this.resources = new Map(demo?.resources)
    this.prompts = new Map(demo?.prompts)
  }

  /** The connection is made when something is missing, and not before. */
  #connected(): Promise<HostSession> {
    return (this.#real ??= this.#open())
  }

  async lookUp(revive: ReviveTool, watch: HostWatch): Promise<void> {
    const { tools, resources, prompts, servers, types } = this.#request
    for (const imported of tools) {
      if (imported.http !== undefined) {
        // What the workflow declares is all that there is to look up.
        const { tool } = revive({}, imported, types)
        if (tool !== null) this.tools.set(imported.name, tool)
        continue
      }
      const definition = await this.#find("tool", imported, { pin: imported.pin }, (session) => {
        const tool = session.tools.get(imported.name)
        return tool === undefined ? null : definitionOf(tool)
      })
      if (definition === null) continue
      const { tool, problems } = revive(definition, { ...imported, pin: null }, types)
      this.problems.push(...problems)
      if (tool !== null) this.tools.set(imported.name, tool)
    }
    for (const imported of resources) {
      const found = await this.#find("resource", imported, {}, (session) => {
        const resource = session.resources.get(imported.name)
        if (resource === undefined) return null
        const { description, variables, required } = resource
        return { description, variables: [...variables], required: [...required] }
      })
      if (found !== null) this.resources.set(imported.name, found as object as HostedResource)
    }
    for (const imported of prompts) {
      const found = await this.#find("prompt", imported, {}, (session) => {
        const prompt = session.prompts.get(imported.name)
        return prompt === undefined ? null : { arguments: prompt.arguments.map((one) => ({ ...one })) }
      })
      if (found !== null) this.prompts.set(imported.name, found as object as HostedPrompt)
    }
    if (this.#real !== null) {
      // The server's own answer has the problems of the imports.
      const { problems } = await this.#real
      if (problems.length > 0) this.problems.splice(0, this.problems.length, ...problems)
      return
    }
    for (const { name } of servers) {
      const names = tools.filter(({ server }) => server === name).map(({ remote }) => remote)
      watch.connected(name, "recorded", names, 0)
    }
  }

  /** How a server describes an import; null where it does not have it, which is not recorded. */
  async #find(
    kind: "tool" | "resource" | "prompt",
    imported: Imported,
    more: JsonObject,
    describe: (session: HostSession) => JsonObject | null,
  ): Promise<JsonObject | null> {
    const facts = { kind: "mcp definition", server: imported.server, [kind]: imported.remote, ...more }
    let absent = false
    try {
      return await this.#run.exchange<JsonObject>(
        `${kind}.${imported.name}`,
        facts,
        "tool_error",
        async () => {
          const found = describe(await this.#connected())
          if (found === null) absent = true
          if (found === null) throw new Error("The server does not have it")
          return found
        },
        {
          record: (found) => found,
          revive: (recorded) => recorded as JsonObject,
          settle: (_, recorded) => recorded as JsonObject,
        },
      )
    } catch (error) {
      if (absent) return null
      throw error
    }
  }

  /** A recording does not change: what was recorded is what is published. */
  async published(tool: string, signal: AbortSignal): Promise<JsonObject | null> {
    if (this.#demo?.tools.has(tool) === true) return this.#demo.published(tool, signal)
    return this.tools.get(tool)?.definition ?? null
  }

  async call(
    tool: string,
    values: JsonObject,
    call_id: string,
    signal: AbortSignal,
    reply?: AskReply,
  ): Promise<ToolAnswer> {
    const imported = this.#request.tools.find(({ name }) => name === tool)
    if (imported === undefined) return this.#demoSession().call(tool, values, call_id, signal, reply)
    const kind = imported.http === undefined ? "mcp call" : "http call"
    const facts = { kind, server: imported.server, tool: imported.remote, arguments: values, ...repliedWith(reply) }
    return this.#exchange(`tool.${tool}`, facts, signal, async () =>
      (await this.#connected()).call(tool, values, call_id, signal, reply),
    )
  }

  async read(resource: string, values: JsonObject, signal: AbortSignal): Promise<ResourceAnswer> {
    const imported = this.#request.resources.find(({ name }) => name === resource)
    if (imported === undefined) return this.#demoSession().read(resource, values, signal)
    const facts = { kind: "mcp read", server: imported.server, resource: imported.remote, arguments: values }
    return this.#exchange(`resource.${resource}`, facts, signal, async () =>
      (await this.#connected()).read(resource, values, signal),
    )
  }

  async render(prompt: string, values: JsonObject, signal: AbortSignal): Promise<readonly PromptMessage[]> {
    const imported = this.#request.prompts.find(({ name }) => name === prompt)
    if (imported === undefined) return this.#demoSession().render(prompt, values, signal)
    const facts = { kind: "mcp render", server: imported.server, prompt: imported.remote, arguments: values }
    return this.#exchange(`prompt.${prompt}`, facts, signal, async () =>
      (await this.#connected()).render(prompt, values, signal),
    )
  }

  async close(): Promise<void> {
    await this.#demo?.close()
    const real = await this.#real?.catch(() => null)
    await real?.close()
  }

  #exchange<T>(path: string, facts: JsonObject, signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
    return this.#run.exchange<T>(path, facts, "tool_error", () => askFor(signal, ask), {
      record: (answer) => answer as JsonValue,
      revive: (recorded) => recorded as T,
      settle: (_, recorded) => recorded as T,
    })
  }

  #demoSession(): HostSession {
    if (this.#demo === null) throw new Error("There is no demo server in this run")
    return this.#demo
  }
}

/** A call with other answers of people is another one. */
function repliedWith(reply: AskReply | undefined): JsonObject {
  return reply === undefined ? {} : { reply: { responses: reply.responses, state: reply.state } }
}

/** A tool's definition as a server would publish it. */
function definitionOf({ description, parameters, idempotent, result }: HostedTool): JsonObject {
  return {
    description,
    inputSchema: parameters,
    ...(result === undefined ? {} : { outputSchema: result }),
    annotations: { idempotentHint: idempotent },
  }
}
