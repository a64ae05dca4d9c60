import about from "../../../package.json" with { type: "json" }
import type { McpHttpHandler } from "@modelcontextprotocol/server"
import type { JsonObject } from "../../base/json-value.ts"
import { cutText } from "../../base/cut-text.ts"
import type { Planned } from "../../compiler/source-jobs.ts"
import type { StartedRun, WorkflowOffer } from "../../mcp-server/workflow-server.ts"
import type { ToolListing } from "../../mcp-server/workflow-tool.ts"
import { ToolPages } from "../../mcp-server/tool-pages.ts"
import type { RunStore } from "../../ports/store.ts"
import type { WireError } from "../../log/events.ts"
import type { Runs } from "../../run/runs.ts"
import { requestPageBytes } from "../../base/limits.ts"
import type { McpRoute } from "../../server/route-dependencies.ts"
import { KeptList } from "../../workflows/kept-list.ts"
import type { ServerSecrets } from "../../workflows/server-secrets.ts"
import type { NamedWorkflow, WorkflowFolder } from "../../workflows/workflow-folder.ts"
import { untilChanged } from "../../workflows/until-changed.ts"
import { mcpName } from "../../workflows/workflow-name.ts"
import { obstacles } from "../../workflows/workflow-view.ts"

export interface McpParts {
  readonly folder: WorkflowFolder
  readonly serverSecrets: ServerSecrets
  readonly runs: Runs
  readonly store: RunStore
  readonly planOf: (source: string, share: string) => Promise<Planned>
  readonly maxBody: number
}

/** `/mcp`: the workflows of the folder as tools, for each caller with its own runs. */
export function mcpRoute(parts: McpParts): McpRoute & { close(): Promise<void> } {
  // One for each name of a key: they are few.
  const handlers = new Map<string, Promise<McpHttpHandler>>()
  const offered = untilChanged(parts.folder, parts.serverSecrets, () => offeredBy(parts))
  const lists = untilChanged(parts.folder, parts.serverSecrets, () => listOf(offered()))
  const pages = new ToolPages(lists)
  const load = async (caller: string): Promise<McpHttpHandler> => {
    const { createMcpHandler } = await import("@modelcontextprotocol/server")
    const { workflowServer } = await import("../../mcp-server/workflow-server.ts")
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
      const { answerWith } = await import("../../mcp-server/node-handler.ts")
      const fill = (part: Uint8Array): readonly Uint8Array[] => pages.fill(part)
      const options = { maxBody: parts.maxBody, read: { value: body }, fill, unread }
      await answerWith(await handler, incoming, outgoing, options)
    },
    async close() {
      for (const handler of handlers.values()) await (await handler).close()
    },
  }
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
  }
}

/** Those that can be executed, and whose tool has a name of its own. */
function offeredBy({ folder, serverSecrets }: McpParts): Offered {
  const able = folder.list().filter((workflow) => {
    const { serving, refused, issues } = workflow
    if (serving === null || refused || obstacles(workflow, serverSecrets).length > 0) return false
    return !issues.some(({ code }) => code === "workflow-tool-name")
  })
  return new Map(able.map((workflow) => [mcpName(workflow.name), workflow]))
}

function listOf(offered: Offered): Promise<KeptList> {
  const sorted = [...offered.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const items = function* () {
    for (const [name, workflow] of sorted) yield { name, value: listingOf(workflow) }
  }
  return KeptList.of(items(), { pageBytes: requestPageBytes, write: (tools) => tools })
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
  { runs, store, planOf }: McpParts,
  { name, serving }: NamedWorkflow,
  input: JsonObject,
  caller: string,
): Promise<StartedRun | WireError | null> {
  if (serving === null) return null
  const { source, version } = serving
  const compiled = await planOf(source, caller)
  if ("error" in compiled) return compiled.error
  const request = { source, input, secrets: {}, options, workflow: { name, version } }
  const misfit = runs.validate(compiled.plan, request)
  if (misfit !== null) return misfit
  const admission = await runs.admit(compiled.plan, { caller, request, idempotency: null, resumable: false })
  if (admission.outcome === "refused") return admission.error
  const { run_id } = admission
  return {
    run_id,
    events: store.follow(run_id, 0, new AbortController().signal),
    cancel: async () => void (await runs.cancel(run_id)),
  }
}
