import type { CallToolResult, McpServerFactory, ServerContext } from "@modelcontextprotocol/server"
import { ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server"
import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { LogEvent, WireError } from "../run/events.ts"
import { validateRequest } from "../run/fit-request.ts"
import type { RunState } from "../run/reduce.ts"
import { initialState, reduce } from "../run/reduce.ts"
import type { WorkflowTool } from "./workflow-tool.ts"
import { listing } from "./workflow-tool.ts"

/** Runs workflows for the server. */
export interface WorkflowRunner {
  /** Starts one; an error when there is no room for it. */
  start(tool: WorkflowTool, input: JsonObject): Promise<StartedRun | WireError>
}

export interface StartedRun {
  /** Every event, to the last. */
  readonly events: AsyncIterable<LogEvent>
  cancel(): Promise<void>
}

/** An MCP server whose tools are workflows. One for each connection or request, of either era. */
export function workflowServer(
  tools: readonly WorkflowTool[],
  runner: WorkflowRunner,
  version: string,
): McpServerFactory {
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const listed = { tools: tools.map(listing) }
  return () => {
    const server = new Server({ name: "wireworks", version }, { capabilities: { tools: {} } })
    server.setRequestHandler("tools/list", () => listed)
    server.setRequestHandler("tools/call", async ({ params }, context) => {
      const tool = byName.get(params.name)
      if (tool === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${params.name}`)
      const input = params.arguments ?? {}
      const misfit = isJsonObject(input) ? validateRequest(tool.plan, input, tool.secrets) : null
      return misfit === null ? runTool(tool, input as JsonObject, runner, context) : failed(misfit)
    })
    return server
  }
}

async function runTool(
  tool: WorkflowTool,
  input: JsonObject,
  runner: WorkflowRunner,
  context: ServerContext,
): Promise<CallToolResult> {
  const started = await runner.start(tool, input)
  if ("kind" in started) return failed(started)
  const { signal } = context.mcpReq
  const stop = (): void => void started.cancel()
  if (signal.aborted) stop()
  else signal.addEventListener("abort", stop, { once: true })
  try {
    const state = initialState()
    let told = 0
    for await (const event of started.events) {
      reduce(state, event)
      if (event.type === "workflow_completed") return completed(event.data.output.result)
      if (event.type === "workflow_failed") return failed(event.data.error)
      if (event.type === "workflow_cancelled") break
      const done = doneOf(state)
      // Reported progress must grow.
      if (done > told) await tell(context, (told = done), state, event)
    }
    return { content: [{ type: "text", text: "The run was cancelled." }], isError: true }
  } finally {
    signal.removeEventListener("abort", stop)
  }
}

/** Steps that are done, those of a loop in parts. */
function doneOf({ nodes }: RunState): number {
  let done = 0
  for (const { state, loop } of nodes) {
    if (state === "completed") done++
    else if (loop !== null && loop.total > 0) done += loop.completed / (loop.total + 1)
  }
  return done
}

async function tell(context: ServerContext, progress: number, state: RunState, event: LogEvent): Promise<void> {
  const progressToken = context.mcpReq._meta?.progressToken
  if (progressToken === undefined) return
  const running = state.nodes.filter((node) => node.state === "running").map(({ id }) => id)
  const message = running.length === 0 ? event.type.replaceAll("_", " ") : `Running ${running.join(", ")}`
  await context.mcpReq.notify({
    method: "notifications/progress",
    params: { progressToken, progress, total: state.nodes.length, message },
  })
}

function completed(result: JsonValue): CallToolResult {
  return { content: [{ type: "text", text: JSON.stringify(result) }], structuredContent: result }
}

/** The caller learns what is wrong: a model may correct its arguments. */
function failed({ kind, message, issues }: WireError): CallToolResult {
  const lines = issues.map((issue) => {
    const place = issue.path === "" || issue.message.includes(issue.path) ? "" : `${issue.path}: `
    return `- ${place}${issue.message}${issue.hint === undefined ? "" : ` (${issue.hint})`}`
  })
  const text =
    lines.length > 1
      ? [`${kind}: ${message}`, ...lines].join("\n")
      : `${kind}: ${(lines[0] ?? message).replace(/^- /, "")}`
  return { content: [{ type: "text", text }], isError: true }
}
