import { nextTurn } from "../../event-loop/in-turns.ts"
import { filesOf } from "../../source/source-files.ts"
import about from "../../../package.json" with { type: "json" }
import type { McpHttpHandler } from "@modelcontextprotocol/server"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { cutText } from "../../base/cut-text.ts"
import type { SourceToPlan } from "../../compiler/compiler.ts"
import type { Planned } from "../../compiler/source-jobs.ts"
import type { StartedRun, WorkflowOffer } from "../../mcp-server/workflow-server.ts"
import type { TaskRun } from "../../mcp-server/workflow-tasks.ts"
import type { ToolListing } from "../../mcp-server/workflow-tool.ts"
import { ToolPages } from "../../mcp-server/tool-pages.ts"
import type { Audit } from "../../ports/audit.ts"
import type { RunStore } from "../../ports/store.ts"
import type { Question, WireError } from "../../log/events.ts"
import type { Runs } from "../../run/runs.ts"
import { answerQuestion } from "../../run/questions/answer-question.ts"
import { requestPageBytes, runOpenQuestions } from "../../base/limits.ts"
import type { Groups } from "../../server/groups.ts"
import type { McpRoute } from "../../server/route-dependencies.ts"
import { CachedList } from "../../workflows/cached-list.ts"
import type { ServerSecrets } from "../../workflows/server-secrets.ts"
import type { Releases } from "../../workflows/releases/releases.ts"
import type { NamedWorkflow, WorkflowFolder } from "../../workflows/workflow-folder.ts"
import { untilChanged } from "../../workflows/until-changed.ts"
import { mcpName } from "../../workflows/workflow-name.ts"
import { obstacles } from "../../workflows/workflow-view.ts"

export interface McpParts {
  readonly folder: WorkflowFolder
  readonly serverSecrets: ServerSecrets
  readonly releases: Releases
  readonly audit: Audit
  readonly runs: Runs
  readonly store: RunStore
  readonly planOf: (source: SourceToPlan, share: string) => Promise<Planned>
  readonly maxBody: number
  readonly groups: Groups
}

/** `/mcp`: the workflows of the folder as tools, for each caller with its own runs. */
export function mcpRoute(parts: McpParts): McpRoute & { close(): Promise<void> } {
  // One for each name of a key: they are few.
  const handlers = new Map<string, Promise<McpHttpHandler>>()
  const offered = untilChanged(parts.folder, parts.serverSecrets, () => offeredBy(parts))
  const lists = untilChanged(parts.folder, parts.serverSecrets, () => listOf(offered()))
  const pages = new ToolPages(lists)
  let loading: ReturnType<typeof loadCode> | null = null
  const load = async (caller: string): Promise<McpHttpHandler> => {
    const { createMcpHandler, workflowServer } = await (loading ??= loadCode())
    return createMcpHandler(workflowServer(offerOf(parts, offered, pages, caller), about.version), {
      maxRequestBodySize: parts.maxBody,
    })
  }
  return {
    async answer({ caller, body, unread }, incoming, outgoing) {
      await parts.folder.ready
      let handler = handlers.get(caller)
      if (handler === undefined) {
        handler = load(caller)
        handlers.set(caller, handler)
      }
      const { answerWith } = await (loading ??= loadCode())
      const fill = (part: Uint8Array): readonly Uint8Array[] => pages.fill(part)
      const options = { maxBody: parts.maxBody, read: { value: body }, fill, unread }
      await answerWith(await handler, incoming, outgoing, options)
    },
    async close() {
      for (const handler of handlers.values()) await (await handler).close()
    },
  }
}

/** By the first who asks: most services serve no tools. Others have their turn after each part, for each takes a while. */
async function loadCode() {
  const { createMcpHandler } = await import("@modelcontextprotocol/server")
  await nextTurn()
  const { workflowServer } = await import("../../mcp-server/workflow-server.ts")
  await nextTurn()
  const { answerWith } = await import("../../mcp-server/node-handler.ts")
  await nextTurn()
  // Node loads its own when it is first used.
  new Request("http://localhost")
  await nextTurn()
  return { createMcpHandler, workflowServer, answerWith }
}

/** The workflows that are tools, by the names of these. */
type Offered = ReadonlyMap<string, NamedWorkflow>

function offerOf(parts: McpParts, offered: () => Offered, pages: ToolPages, caller: string): WorkflowOffer {
  return {
    list: (cursor) => pages.page(cursor),
    async start(name, input) {
      const workflow = offered().get(name)
      return workflow === undefined ? null : start(parts, workflow, input, caller)
    },
    tasks: {
      find: (task) => findTask(parts, task, caller),
      answer: (question, answer) => answerAs(parts, question, answer, caller),
      cancel: (task) => cancel(parts, task, caller),
    },
  }
}

/** The caller's own run of a named workflow. */
async function findTask({ runs, store, groups }: McpParts, task: string, caller: string): Promise<TaskRun | null> {
  const record = await runs.record(task)
  if (record === null || record.row.caller !== caller || record.row.workflow === null) return null
  const { row, state, status } = record
  const [last] = await store.read(task, state.last_event_id - 1, 1)
  const found = state.finished_at === null ? (await store.questions.ofRun(task, runOpenQuestions, null)).found : []
  const open = found.flatMap(({ question }) => (question.status === "open" ? [question] : []))
  const questions = open.filter(({ to }) => groups.mayAnswer(caller, to, row.caller))
  const { endedResult } = await import("../../mcp-server/workflow-server.ts")
  return {
    run_id: task,
    created_at: row.created_at,
    updated_at: last === undefined ? row.created_at : Date.parse(last.at),
    status: status === "cancelling" ? "running" : status,
    nodes: state.nodes,
    result: status === "cancelling" ? null : endedResult(status, state.output, state.error),
    questions,
    others: open.length - questions.length,
  }
}

async function answerAs(
  { store, planOf, serverSecrets, groups, audit }: McpParts,
  question: Question,
  answer: JsonValue,
  caller: string,
): Promise<readonly string[]> {
  const { run_id, id } = question
  const result = await answerQuestion(
    {
      store,
      planOf: (source) => planOf(source, caller),
      serverSecrets: (workflow, names) => serverSecrets.of(workflow, names),
    },
    question,
    { answer, digest: null, answered_by: { caller: groups.nameOf(caller), by: null } },
  )
  if (result.outcome === "misfit") return result.error.issues.map(({ message }) => message)
  if (result.outcome === "conflict") return [result.message]
  audit({ act: "answered", run_id, caller, question: id })
  return []
}

async function cancel({ runs, audit }: McpParts, run_id: string, caller: string): Promise<void> {
  if (await runs.cancel(run_id)) audit({ act: "cancelled", run_id, caller })
}

/** Workflows that can be executed and have a tool name of their own. */
function offeredBy({ folder, serverSecrets }: McpParts): Offered {
  const able = folder.list().filter((workflow) => {
    const { serving, refused, issues } = workflow
    if (serving === null || refused || obstacles(workflow, serverSecrets).length > 0) return false
    return !issues.some(({ code }) => code === "workflow-tool-name")
  })
  return new Map(able.map((workflow) => [mcpName(workflow.name), workflow]))
}

function listOf(offered: Offered): Promise<CachedList> {
  const sorted = [...offered.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const items = function* () {
    for (const [name, workflow] of sorted) yield { name, value: listingOf(workflow) }
  }
  return CachedList.of(items(), { pageBytes: requestPageBytes, write: (tools) => tools })
}

function listingOf({ name, serving }: NamedWorkflow): ToolListing {
  const { schemas, waits } = serving?.described ?? { schemas: null, waits: false }
  return {
    name: mcpName(name),
    description: cutText(serving?.description ?? `Runs the workflow ${name}.`, 2000),
    inputSchema: { ...schemas?.input, type: "object" },
    ...(waits ? {} : { outputSchema: { ...schemas?.output, type: "object" } }),
  }
}

const options = { cache_key: null, use_cache: true, max_concurrency: null, timeout_ms: null, deltas: false }

async function start(
  parts: McpParts,
  workflow: NamedWorkflow,
  input: JsonObject,
  caller: string,
): Promise<StartedRun | WireError | null> {
  const { runs, store, planOf, releases } = parts
  const { name } = workflow
  const chosen = await releases.choose(workflow, input, null)
  if (chosen === null) return null
  const { serving, ...side } = chosen
  const { source, version } = serving
  const files = filesOf(serving)
  const compiled = await planOf({ source, ...files, workflow: { name } }, caller)
  if ("error" in compiled) return compiled.error
  const request = { source, ...files, input, secrets: {}, options, workflow: { name, version, ...side } }
  const misfit = runs.validate(compiled.plan, request)
  if (misfit !== null) return misfit
  const admission = await runs.admit(compiled.plan, { caller, request, idempotency: null })
  if (admission.outcome === "refused") return admission.error
  const { run_id } = admission
  return {
    run_id,
    isKept: runs.areKept,
    events: (signal) => store.follow(run_id, 0, AbortSignal.any([signal, runs.left])),
    async cancel() {
      if (await runs.clientLeft(run_id)) parts.audit({ act: "cancelled", run_id, caller })
    },
  }
}
