import type { CallToolResult, McpServerFactory, ServerContext } from "@modelcontextprotocol/server"
import { ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server"
import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { LogEvent, WireError } from "../log/events.ts"
import { initialState, type RunState } from "../log/run-state.ts"
import { reduce } from "../log/reduce.ts"
import { runIsLost } from "../run/run-is-lost.ts"
import type { ToolPage } from "./tool-pages.ts"
import type { TaskOffer } from "./workflow-tasks.ts"
import { createdTask, declaresTasks, serveTasks, taskAfterMs, tasksExtension } from "./workflow-tasks.ts"

/** The workflows that a server offers, as they are now. */
export interface WorkflowOffer {
  /** A page of them: the first without a cursor. Null for a cursor that no page has given. */
  list(cursor: string | undefined): Promise<ToolPage | null>
  /** Starts the one with this name; an error when the input does not fit or there is no room for it, null for an unknown name. */
  start(name: string, input: JsonObject): Promise<StartedRun | WireError | null>
  /** Absent where runs end with the process. */
  readonly tasks?: TaskOffer
}

export interface StartedRun {
  readonly run_id: string
  /** It goes on after a stop of the service. */
  readonly isKept: boolean
  /** Every event, to the last, or until `signal` aborts. */
  events(signal: AbortSignal): AsyncIterable<LogEvent>
  /** Its caller has left, or does not want it any more. */
  cancel(): Promise<void>
}

/** An MCP server whose tools are workflows. One for each connection or request, of either era. */
export function workflowServer(offer: WorkflowOffer, version: string): McpServerFactory {
  return () => {
    const { tasks } = offer
    const extensions = tasks === undefined ? {} : { extensions: { [tasksExtension]: {} } }
    const server = new Server({ name: "wireworks", version }, { capabilities: { tools: {}, ...extensions } })
    if (tasks !== undefined) serveTasks(server, tasks)
    server.setRequestHandler("tools/list", async ({ params }) => {
      const page = await offer.list(params?.cursor)
      if (page === null) throw new ProtocolError(ProtocolErrorCode.InvalidParams, "Unknown cursor")
      return { ...page, tools: [...page.tools] }
    })
    server.setRequestHandler("tools/call", async ({ params }, context) => {
      const given = params.arguments ?? {}
      const asTask = tasks !== undefined && declaresTasks(context)
      const started = await offer.start(params.name, isJsonObject(given) ? given : {})
      if (started === null) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${params.name}`)
      if ("kind" in started) return failed(started)
      return asTask ? taskOrResult(started, tasks, context) : endOf(started, context)
    })
    return server
  }
}

/** The result of a run that ends soon, else its task. */
async function taskOrResult(started: StartedRun, tasks: TaskOffer, context: ServerContext): Promise<CallToolResult> {
  const soon = new AbortController()
  const timer = setTimeout(() => soon.abort(), taskAfterMs)
  try {
    const result = await resultOf(started, context, soon.signal)
    if (result !== null) return result
  } finally {
    clearTimeout(timer)
  }
  const run = await tasks.find(started.run_id)
  if (run === null) throw new Error(`Run ${started.run_id} is not there`)
  // The SDK's type does not know the extension's answer, and passes it on.
  return createdTask(run, context) as object as CallToolResult
}

async function endOf(started: StartedRun, context: ServerContext): Promise<CallToolResult> {
  const result = await resultOf(started, context, null)
  return result ?? failed({ kind: "overloaded", message: unended(started), issues: [] })
}

function unended({ run_id, isKept }: StartedRun): string {
  if (!isKept) return runIsLost
  return `The service is shutting down, and the run goes on when it is back. Ask for it later: GET /execute/${run_id}`
}

const cancelledResult: CallToolResult = {
  content: [{ type: "text", text: "The run was cancelled." }],
  isError: true,
}

/** How a run ended, as a result; null for one that has not. */
export function endedResult(
  status: RunState["status"],
  output: JsonValue,
  error: WireError | null,
): CallToolResult | null {
  if (status === "completed") return completed(output)
  if (status === "cancelled") return cancelledResult
  return status === "failed" && error !== null ? failed(error) : null
}

/** Follows the run to its end. `soon`: or until this aborts, or the run waits for people; null then, and where the service stops before. */
async function resultOf(
  started: StartedRun,
  context: ServerContext,
  soon: AbortSignal | null,
): Promise<CallToolResult | null> {
  const { signal } = context.mcpReq
  const stop = (): void => void started.cancel()
  if (signal.aborted) stop()
  else signal.addEventListener("abort", stop, { once: true })
  try {
    const state = initialState()
    let reported = 0
    for await (const event of started.events(soon ?? new AbortController().signal)) {
      reduce(state, event)
      if (event.type === "workflow_completed") return completed(event.data.output.result)
      if (event.type === "workflow_failed") return failed(event.data.error)
      if (event.type === "workflow_cancelled") return cancelledResult
      if (event.type === "run_waiting") return soon === null ? waiting(started.run_id, state) : null
      const done = doneOf(state)
      // Reported progress must grow.
      if (done > reported) await tell(context, (reported = done), state, event)
    }
    return null
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
const maxQuestionText = 256 * 1024

/** The run goes on without the caller: here is where people answer it. */
function waiting(run_id: string, { questions, waiting_for }: RunState): CallToolResult {
  const open = questions.filter(({ status }) => status === "open")
  let characters = 0
  const waits = waiting_for?.waits ?? []
  const shown = open.filter(({ question }) => (characters += question.length) <= maxQuestionText)
  const answer = {
    run_id,
    status: "waiting",
    record: `/execute/${run_id}`,
    questions: shown.map(({ id, question }) => ({ id, question, answer_at: `/execute/${run_id}/questions/${id}` })),
    ...(waits.length > 0 && { waits }),
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
