import type {
  CallToolResult,
  ClientCapabilities,
  Server,
  ServerContext,
  StandardSchemaV1,
} from "@modelcontextprotocol/server"
import {
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
} from "@modelcontextprotocol/server"
import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { Question } from "../log/events.ts"
import type { NodeState, RunState } from "../log/run-state.ts"
import { formIn } from "../log/elicitation-answer.ts"
import { fromJsonSchema } from "../types/from-json-schema.ts"
import { nullable, resolve, withoutNull } from "../types/relations.ts"
import type { Field, TypeTable } from "../types/types.ts"

// The Tasks extension of MCP (SEP-2663): a run that takes longer is a task, whose id is the run's.

export const tasksExtension = "io.modelcontextprotocol/tasks"

/** A run that takes longer is answered with a task. */
export const taskAfterMs = 1_000
const pollMs = 1_000

/** A run of the caller's as a task. */
export interface TaskRun {
  readonly run_id: string
  readonly created_at: number
  readonly updated_at: number
  readonly status: RunState["status"]
  readonly nodes: readonly NodeState[]
  /** Result of a run that has ended, as the call would have given it. */
  readonly result: CallToolResult | null
  /** Open questions that the caller may answer, and the number of the others. */
  readonly questions: readonly Question[]
  readonly others: number
}

export interface TaskOffer {
  /** Null where the caller has no such run. */
  find(task: string): Promise<TaskRun | null>
  /** Resolves to the sentences that say why the answer is refused; none where it is stored. */
  answer(question: Question, answer: JsonValue): Promise<readonly string[]>
  cancel(task: string): Promise<void>
}

/** `tasks/get`, `tasks/update` and `tasks/cancel`. */
export function serveTasks(server: Server, offer: TaskOffer): void {
  const params = { params: anyObject }
  const found = async (given: JsonObject, context: ServerContext): Promise<TaskRun> => {
    requireTasks(context)
    const { taskId } = given
    const run = typeof taskId === "string" ? await offer.find(taskId) : null
    if (run === null) throw new ProtocolError(ProtocolErrorCode.InvalidParams, "Unknown task")
    return run
  }
  server.setRequestHandler("tasks/get", params, async (given, context) =>
    taskDetails(await found(given, context), takesForms(context)),
  )
  server.setRequestHandler("tasks/update", params, async (given, context) => {
    const { questions } = await found(given, context)
    // The SDK has taken them out of the parameters.
    const responses = (context.mcpReq.inputResponses ?? {}) as object as JsonObject
    for (const question of questions) {
      const answer = answerIn(question, Object.hasOwn(responses, question.id) ? responses[question.id] : null)
      const refused = answer === undefined ? [] : await offer.answer(question, answer)
      if (refused.length > 0) throw new ProtocolError(ProtocolErrorCode.InvalidParams, refused.join("; "))
    }
    return {}
  })
  server.setRequestHandler("tasks/cancel", params, async (given, context) => {
    await offer.cancel((await found(given, context)).run_id)
    return {}
  })
}

/** What the call is answered with: the task, without what only `tasks/get` says. */
export function createdTask(run: TaskRun, context: ServerContext): JsonObject {
  const { inputRequests: _, result: __, ...task } = taskDetails(run, takesForms(context))
  return { ...task, resultType: "task" }
}

export function declaresTasks(context: ServerContext): boolean {
  return capabilitiesOf(context)?.extensions?.[tasksExtension] !== undefined
}

function requireTasks(context: ServerContext): void {
  if (declaresTasks(context)) return
  throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [tasksExtension]: {} } } })
}

function takesForms(context: ServerContext): boolean {
  const elicitation = capabilitiesOf(context)?.elicitation
  // A client that declares neither takes forms.
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
}

function capabilitiesOf({ mcpReq }: ServerContext): ClientCapabilities | undefined {
  const envelope = mcpReq.envelope as Readonly<Record<string, unknown>> | undefined
  return envelope?.[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined
}

function taskDetails(run: TaskRun, forms: boolean): JsonObject {
  const { run_id, created_at, updated_at, result, questions } = run
  const asked = forms ? questions.flatMap(inputRequest) : []
  const status = statusOf(run, asked.length)
  return {
    taskId: run_id,
    status,
    statusMessage: messageOf(run, questions.length - asked.length),
    createdAt: new Date(created_at).toISOString(),
    lastUpdatedAt: new Date(updated_at).toISOString(),
    ttlMs: null,
    pollIntervalMs: pollMs,
    ...(status === "input_required" && { inputRequests: Object.fromEntries(asked) }),
    ...(status === "completed" && result !== null && { result: result as object as JsonObject }),
  }
}

function statusOf({ status, result }: TaskRun, asked: number): string {
  if (status === "cancelled") return "cancelled"
  // A run that failed is a tool that reports an error: the protocol keeps `failed` for errors of its own.
  if (result !== null) return "completed"
  return asked > 0 ? "input_required" : "working"
}

/** The steps, and where people answer what the client cannot. */
function messageOf({ run_id, status, nodes, result, others }: TaskRun, unanswerable: number): string {
  if (status === "cancelled") return "The run was cancelled."
  if (result !== null) return result.isError === true ? "The run failed." : "The run has completed."
  const done = nodes.filter((node) => node.state === "completed" || node.state === "skipped").length
  const running = nodes.filter((node) => node.state === "running").map(({ id }) => id)
  const steps = nodes.length === 0 ? "The run has not begun." : `${done} of ${nodes.length} steps are done.`
  const now = running.length === 0 ? "" : ` Running ${running.slice(0, 10).join(", ")}.`
  const open = unanswerable + others
  const where =
    open === 0 ? "" : ` ${open === 1 ? "A question waits" : `${open} questions wait`}: /execute/${run_id}/questions`
  return `${steps}${now}${where}`
}

function inputRequest(question: Question): [string, JsonObject][] {
  const requestedSchema = taskForm(question)
  if (requestedSchema === null) return []
  const params = { mode: "form", message: question.question, requestedSchema }
  return [[question.id, { method: "elicitation/create", params }]]
}

/** What a client's response says to a question; undefined where it leaves it open. */
function answerIn(question: Question, response: JsonValue | undefined): JsonValue | undefined {
  if (!isJsonObject(response) || taskForm(question) === null) return undefined
  if (question.kind === "elicitation") return response
  return response["action"] === "accept" ? (response["content"] ?? {}) : undefined
}

/** For methods whose handlers judge their parameters themselves. */
const anyObject: StandardSchemaV1<unknown, JsonObject> = {
  "~standard": {
    version: 1,
    vendor: "wireworks",
    validate: (value) => (isJsonObject(value) ? { value } : { issues: [{ message: "expected an object" }] }),
  },
}

/** The form that a question is to an MCP client: one level of strings, numbers, booleans and enums. Null for other questions. */
function taskForm({ kind, schema }: Question): JsonObject | null {
  // An approval is never a form: whoever approves must see the call.
  if (kind === "approval") return null
  if (kind === "elicitation") return formIn(schema)
  const { type, types } = fromJsonSchema(schema)
  const record = resolve(type, types)
  if (record.kind !== "record") return null
  const fields: [string, JsonObject][] = []
  for (const field of record.fields) {
    const plain = plainSchema(field, types)
    if (plain === null) return null
    fields.push([field.name, plain])
  }
  const required = record.fields.filter((field) => !nullable(field.type, types)).map(({ name }) => name)
  return { type: "object", properties: Object.fromEntries(fields), required }
}

function plainSchema({ type, doc }: Field, types: TypeTable): JsonObject | null {
  const plain = resolve(withoutNull(type, types), types)
  const description = doc === undefined ? {} : { description: doc }
  switch (plain.kind) {
    case "string":
    case "number":
    case "integer":
    case "boolean":
      return { type: plain.kind, ...description }
    case "enum":
      return { type: "string", enum: [...plain.values], ...description }
    case "literal":
      return { type: "string", enum: [plain.value], ...description }
    default:
      return null
  }
}
