import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import { toJsonSchema } from "../../src/types/json-schema.ts"
import type { RecordType } from "../../src/types/types.ts"
import { validateValue } from "../../src/types/validate-value.ts"
import type { ErrorIssue } from "../../src/log/events.ts"
import type {
  AskReply,
  HostedPrompt,
  HostedResource,
  HostedTool,
  HostRequest,
  HostSession,
  HostWatch,
  ResourceAnswer,
  ToolAnswer,
  ToolHost,
} from "../../src/ports/tools.ts"
import type { PromptMessage } from "../../src/log/messages.ts"

export interface ServedTool {
  /** Read anew each time that the definition is asked for. */
  readonly description?: () => string
  readonly input: RecordType
  readonly output?: RecordType
  readonly idempotent?: boolean
  /** What the server says of it: `readOnlyHint`. */
  readonly annotations?: JsonObject
  readonly call: (
    values: JsonObject,
    callId: string,
    signal: AbortSignal,
    reply?: AskReply,
  ) => ToolAnswer | Promise<ToolAnswer>
}

export interface Served {
  readonly tools?: Readonly<Record<string, ServedTool>>
  readonly resources?: Readonly<
    Record<string, { readonly variables: readonly string[]; readonly read: (values: JsonObject) => ResourceAnswer }>
  >
  readonly prompts?: Readonly<
    Record<string, HostedPrompt & { readonly render: (values: JsonObject) => readonly PromptMessage[] }>
  >
}

/** A server of tools in this process, under their names on it. */
export class InProcessTools implements ToolHost {
  readonly calls: { readonly tool: string; readonly values: JsonObject; readonly callId: string }[] = []
  readonly #served: Served
  opened = 0
  closed = 0
  open_ = 0

  constructor(served: Served) {
    this.#served = served
  }

  async open(request: HostRequest, watch: HostWatch): Promise<HostSession> {
    const { tools = {}, resources = {}, prompts = {} } = this.#served
    this.opened++
    const remotes = new Map<string, string>()
    const problems: ErrorIssue[] = []
    const look = <T, U>(
      imports: readonly { name: string; remote: string }[],
      kind: string,
      served: Readonly<Record<string, T>>,
      make: (found: T) => U,
    ): Map<string, U> =>
      new Map(
        imports.flatMap(({ name, remote }): [string, U][] => {
          const found = served[remote]
          remotes.set(`${kind} ${name}`, remote)
          if (found !== undefined) return [[name, make(found)]]
          problems.push({ path: `${kind}.${name}`, message: `No ${kind} ${remote}` })
          return []
        }),
      )
    const session: HostSession = {
      problems,
      tools: look(request.tools, "tool", tools, hosted),
      resources: look(request.resources, "resource", resources, (found): HostedResource => ({
        description: "",
        variables: found.variables,
        required: found.variables,
      })),
      prompts: look(request.prompts, "prompt", prompts, (found): HostedPrompt => found),
      published: async (tool) => {
        const remote = remotes.get(`tool ${tool}`) ?? ""
        const served = tools[remote]
        return served === undefined ? null : hosted(served).definition
      },
      call: async (tool, values, callId, signal, reply) => {
        this.calls.push({ tool, values, callId })
        this.open_++
        try {
          const served = tools[remotes.get(`tool ${tool}`) ?? ""]
          return (await served?.call(values, callId, signal, reply)) ?? { text: "", is_error: true }
        } finally {
          this.open_--
        }
      },
      read: async (resource, values) => {
        const found = resources[remotes.get(`resource ${resource}`) ?? ""]
        if (found === undefined) throw new Error("unknown resource")
        return found.read(values)
      },
      render: async (prompt, values) => prompts[remotes.get(`prompt ${prompt}`) ?? ""]?.render(values) ?? [],
      close: async () => void this.closed++,
    }
    for (const { name } of request.servers) watch.connected(name, "in-process", Object.keys(tools), 1)
    return session
  }
}

function hosted(tool: ServedTool): HostedTool {
  const problems = (value: JsonValue, type: RecordType) =>
    validateValue(value, type, {}, "value").map(({ path, message }) => ({
      path: path.replace(/^value\.?/, ""),
      message,
    }))
  const parameters = toJsonSchema(tool.input, {})
  return {
    definition: {
      description: tool.description?.() ?? "A tool of the test",
      inputSchema: parameters,
      ...(tool.annotations && { annotations: tool.annotations }),
    },
    description: "A tool of the test",
    parameters,
    typed: tool.output !== undefined,
    idempotent: tool.idempotent ?? false,
    fit: (values) => values,
    checkArguments: (values, partial) => {
      const fields = tool.input.fields.filter(({ name }) => partial === undefined || Object.hasOwn(values, name))
      return problems(values, { kind: "record", fields })
    },
    checkResult: (value) => (tool.output === undefined ? [] : problems(value, tool.output)),
  }
}
