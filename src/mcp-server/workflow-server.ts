import type { CallToolResult, McpServerFactory, ServerContext } from "@modelcontextprotocol/server"
import { ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server"
import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { LogEvent, WireError } from "../log/events.ts"
import type { RunState } from "../log/run-state.ts"
import { reduce } from "../log/reduce.ts"
import { initialState } from "../log/run-state.ts"
import type { ToolPage } from "./tool-pages.ts"

/** The workflows that a server offers, as they are now. */
export interface WorkflowOffer {
  /** A page of them: the first without a cursor. Null for a cursor that no page has given. */
  list(cursor: string | undefined): Promise<ToolPage | null>
  /** Starts the one with this name; an error when the input does not fit or there is no room for it, null for an unknown name. */
  start(name: string, input: JsonObject): Promise<StartedRun | WireError | null>
}

export interface StartedRun {
  readonly run_id: string
  /** Every event, to the last. */
  readonly events: AsyncIterable<LogEvent>
  cancel(): Promise<void>
}

/** An MCP server whose tools are workflows. One for each connection or request, of either era. */
export function workflowServer(offer: WorkflowOffer, version: string): McpServerFactory {
  return () => {
    const server = new Server({ name: "wireworks", version }, { capabilities: { tools: {} } })
    server.setRequestHandler("tools/list", async ({ params }) => {
      const page = await offer.list(params?.cursor)
      if (page === null) throw new ProtocolError(ProtocolErrorCode.InvalidParams, "Unknown cursor")
      return { ...page, tools: [...page.tools] }
    })
    server.setRequestHandler("tools/call", async ({ params }, context) => {
      const given = params.arguments ?? {}
      const started = await offer.start(params.name, isJsonObject(given) ? given : {})
      if (started === null) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${params.name}`)
      return "kind" in started ? failed(started) : resultOf(started, context)
    })
    return server
  }
}

async function resultOf(started: StartedRun, context: ServerContext): Promise<CallToolResult> {
  const { signal } = context.mcpReq
  const stop = (): void => void started.cancel()
  if (signal.aborted) stop()
  else signal.addEventListener("abort", stop, { once: true })
  try {
    const state = initialState()
    let reported = 0
    for await (const event of started.events) {
      reduce(state, event)
      if (event.type === "workflow_completed") return completed(event.data.output.result)
      if (event.type === "workflow_failed") return failed(event.data.error)
      if (event.type === "workflow_cancelled") break
      if (event.type === "run_waiting") return waiting(started.run_id, state)
      const done = doneOf(state)
      // Reported progress must grow.
      if (done > reported) await tell(context, (reported = done), state, event)
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

/** Characters of questions that one result shows. */
const mostQuestionText = 256 * 1024

/** The run goes on without the caller: here is where people answer it. */
function waiting(run_id: string, { questions }: RunState): CallToolResult {
  const open = questions.filter(({ status }) => status === "open")
  let characters = 0
  const shown = open.filter(({ question }) => (characters += question.length) <= mostQuestionText)
  const answer = {
    run_id,
    status: "waiting",
    record: `/execute/${run_id}`,
    questions: shown.map(({ id, question }) => ({ id, question, answer_at: `/execute/${run_id}/questions/${id}` })),
    ...(shown.length < open.length && { all_questions: `/execute/${run_id}/questions` }),
  }
  return { content: [{ type: "text", text: JSON.stringify(answer) }], structuredContent: answer }
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
