import { filesOf } from "../../../source/source-files.ts"
import type { FastifyRequest } from "fastify"
import type { JsonObject } from "../../../base/json-value.ts"
import type { ChatFields } from "../../../check/program.ts"
import type { Plan } from "../../../plan/plan-shape.ts"
import type { ChatRequest, RunRequest } from "../../../ports/store.ts"
import { obstacles } from "../../../workflows/workflow-view.ts"
import type { Chosen } from "../../../workflows/releases/releases.ts"
import type { LoadedWorkflow } from "../../../workflows/load-workflow.ts"
import { tenantOf } from "../../caller-of.ts"
import { HttpError } from "../../http-error.ts"
import type { RouteDependencies } from "../../route-dependencies.ts"
import { invalidWorkflow } from "../../invalid-workflow.ts"
import { findExisting } from "../../idempotency-key.ts"

/** A workflow of the server's folder that can be talked to. */
export interface ChatWorkflow {
  readonly name: string
  readonly serving: LoadedWorkflow
  readonly plan: Plan
  readonly chat: ChatFields
  readonly side: Pick<Chosen, "release">
}

/** The names of the workflows that can be talked to. */
export async function chatNames({ folder, serverSecrets }: RouteDependencies): Promise<readonly string[]> {
  await folder?.ready
  return (folder?.list() ?? [])
    .filter((workflow) => {
      const { serving, refused } = workflow
      return serving?.described.chats === true && !refused && obstacles(workflow, serverSecrets).length === 0
    })
    .map(({ name }) => name)
}

/** Null where there is none of that name, or it has no `chat`. */
export async function findChat(
  parts: RouteDependencies,
  request: FastifyRequest,
  name: string,
): Promise<ChatWorkflow | null> {
  await parts.folder?.ready
  const workflow = parts.folder?.get(name)
  if (workflow === undefined || workflow.refused) return null
  const { serving } = workflow
  const wrong = obstacles(workflow, parts.serverSecrets)
  if (serving === null || wrong.length > 0) throw invalidWorkflow(name, wrong)
  const compiled = await parts.planOf({ ...serving, workflow: { name } }, tenantOf(request))
  if ("error" in compiled) throw new HttpError(compiled.error)
  const { plan } = compiled
  return plan.chat === undefined
    ? null
    : { name, serving, plan, chat: plan.chat, side: parts.releases?.ofCurrent(workflow) ?? {} }
}

/** The run that answers a turn; a request that does not fit is refused. */
export async function chatRun(
  parts: RouteDependencies,
  request: FastifyRequest,
  { name, serving, plan, side }: ChatWorkflow,
  input: JsonObject,
  asked: { readonly deltas: boolean; readonly chat: ChatRequest },
): Promise<RunRequest> {
  const options = { cache_key: null, use_cache: true, max_concurrency: null, timeout_ms: null, deltas: asked.deltas }
  const { source, version } = serving
  const files = filesOf(serving)
  const run: RunRequest = {
    source,
    ...files,
    input,
    secrets: {},
    options,
    // A reply is read as the plan says that the conversation was found with: that of the current version.
    workflow: { name, version, ...side },
    chat: asked.chat,
  }
  const misfit = parts.runs.validate(plan, run)
  // The file may have changed since the same request was made: its run is there all the same.
  if (misfit !== null && (await findExisting(parts, request, run)) === null) throw new HttpError(misfit)
  return run
}
