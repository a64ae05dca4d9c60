import { filesOf } from "../../source/source-files.ts"
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import { agUi } from "../../api/ag-ui.ts"
import type { ExecuteBody } from "../../api/execute.ts"
import { didYouMean } from "../../base/did-you-mean.ts"
import { anyObject, closed, nullable } from "../../base/typed-schema.ts"
import { executeWorkflow, getWorkflow, listWorkflows } from "../../api/workflows.ts"
import { CachedList } from "../../workflows/cached-list.ts"
import { untilChanged } from "../../workflows/until-changed.ts"
import { obstacles, workflowAnswer, workflowDetail } from "../../workflows/workflow-view.ts"
import type { ServerSecrets } from "../../workflows/server-secrets.ts"
import type { NamedWorkflow, WorkflowFolder } from "../../workflows/workflow-folder.ts"
import { HttpError, refuse, refuseAt } from "../http-error.ts"
import { jsonType } from "../list-page.ts"
import type { RouteDependencies } from "../route-dependencies.ts"
import { callerOf, tenantOf } from "../caller-of.ts"
import type { Chosen } from "../../workflows/releases/releases.ts"
import { releaseEnd, ReleaseRoutes } from "./releases.ts"
import { answerAgUi } from "../protocols/ag-ui/ag-ui-route.ts"
import type { AgUiRequest } from "../protocols/ag-ui/run-input.ts"
import { invalidWorkflow } from "../invalid-workflow.ts"
import { requestCheck } from "../late-validation.ts"
import { notForOperators } from "../callers.ts"
import { moveEnd } from "./moves.ts"
import { versionPath, VersionRoutes } from "./versions.ts"
import { serve } from "../serve-route.ts"
import { findExisting, idempotencyKey } from "../idempotency-key.ts"
import { startRun } from "../start-run.ts"
import { requestOf } from "./execute.ts"
import { requestPageBytes } from "../../base/limits.ts"

/** No name has this segment. */
const executeEnd = "/execute"
const agUiEnd = "/ag-ui"
const serveEnd = "/serve"
const withdrawEnd = "/withdraw"
const postEnds = /\/(?:execute|serve|move|versions\/[^/]+\/withdraw)$/

/** The workflows of the server's folder: their list, each of them, and their execution. */
export function workflowRoutes(
  app: FastifyInstance,
  parts: RouteDependencies,
  mayOperate: (request: FastifyRequest) => boolean,
): void {
  const { folder, serverSecrets } = parts
  const versions = parts.versions === null ? null : new VersionRoutes(parts, parts.versions, mayOperate)
  const releases = parts.releases === null ? null : new ReleaseRoutes(parts, parts.releases, mayOperate)
  const listed = folder === null ? null : untilChanged(folder, serverSecrets, () => listOf(folder, serverSecrets))
  const none = listOf(null, serverSecrets)
  serve(app, listWorkflows, async (request, reply) => {
    const { limit, after } = request.query
    const name = after === undefined ? null : readCursor(after)
    await folder?.ready
    const list = await (listed?.() ?? none)
    const { json } = list.after(name, limit)
    return reply.type(jsonType).send(json)
  })

  const checkNoQuery = requestCheck(closed({}), "querystring")
  serve(app, { ...getWorkflow, query: null }, async (request) => {
    await folder?.ready
    const path = request.params["*"]
    if (postEnds.test(path) && folder?.get(path) === undefined) throw wrongMethod(request, "POST")
    if (releases !== null && path.endsWith(releaseEnd) && folder?.get(path) === undefined) {
      await checkNoQuery(request.query)
      return releases.get(request, findWorkflow(parts, path.slice(0, -releaseEnd.length)).name)
    }
    const ofVersions = folder?.get(path) === undefined ? versionPath(path) : null
    if (ofVersions !== null && versions !== null) {
      return versions.get(request, findWorkflow(parts, ofVersions.name), ofVersions)
    }
    await checkNoQuery(request.query)
    return workflowDetail(findWorkflow(parts, path), serverSecrets)
  })

  // One pattern for both, because a name may have slashes: the end of the path says which.
  const checkExecute = requestCheck(executeWorkflow.body ?? {}, "body")
  const checkAgUi = requestCheck(agUi.body ?? {}, "body")
  const pattern = { ...executeWorkflow, body: nullable(anyObject()), bodyIs: "none", operators: true } as const
  serve(app, pattern, async (request, reply) => {
    await folder?.ready
    const path = request.params["*"]
    const withdrawn = path.endsWith(withdrawEnd) ? versionPath(path.slice(0, -withdrawEnd.length)) : null
    if (versions !== null && withdrawn?.route === "one") {
      return versions.withdraw(request, findWorkflow(parts, withdrawn.name), withdrawn.version)
    }
    if ((request.body ?? null) === null) {
      throw refuse("invalid_request", "The body is missing: a JSON object is expected")
    }
    if (releases !== null && path.endsWith(releaseEnd)) {
      return releases.act(request, findWorkflow(parts, path.slice(0, -releaseEnd.length)).name)
    }
    if (versions !== null && path.endsWith(serveEnd)) {
      return versions.serve(request, reply, findWorkflow(parts, path.slice(0, -serveEnd.length)))
    }
    if (versions !== null && path.endsWith(moveEnd)) {
      return versions.move(request, findWorkflow(parts, path.slice(0, -moveEnd.length)))
    }
    if (request.isOperator) throw notForOperators()
    if (path.endsWith(agUiEnd)) {
      await checkAgUi(request.body)
      return answerAgUi(parts, request, reply, path.slice(0, -agUiEnd.length), request.body as unknown as AgUiRequest)
    }
    if (!path.endsWith(executeEnd)) throw wrongMethod(request, "GET, HEAD")
    await checkExecute(request.body)
    const workflow = findWorkflow(parts, path.slice(0, -executeEnd.length))
    return execute(parts, versions, request, reply, workflow, request.body ?? {})
  })
}

async function execute(
  parts: RouteDependencies,
  versions: VersionRoutes | null,
  request: FastifyRequest,
  reply: FastifyReply,
  workflow: NamedWorkflow,
  body: Pick<ExecuteBody, "input" | "secrets" | "options"> & { readonly version?: string | null },
): Promise<FastifyReply> {
  const { name, refused } = workflow
  if (refused) throw noSuchWorkflow(parts, name)
  const asked = body.version ?? null
  const chosen =
    asked === null || versions === null
      ? await chooseSide(parts, request, workflow, body)
      : { serving: await versions.asked(workflow, asked) }
  const { serving = null, ...side } = chosen ?? {}
  const wrong = obstacles({ ...workflow, serving }, parts.serverSecrets)
  if (serving === null || wrong.length > 0) throw invalidWorkflow(name, wrong)
  const { source, version } = serving
  const named = { workflow: { name, version, ...side }, ...(asked !== null && { asked_version: true as const }) }
  const run = { source, ...filesOf(serving), ...requestOf(body), ...named }
  const compiled = await parts.planOf(run, tenantOf(request))
  if ("error" in compiled) throw new HttpError(compiled.error)
  const misfit = parts.runs.validate(compiled.plan, run)
  // The file may have changed since the same request was made: its run is there all the same.
  if (misfit !== null && (await findExisting(parts, request, run)) === null) throw new HttpError(misfit)
  return startRun(parts, request, reply, compiled.plan, run)
}

/** A request that is sent again with its key stays on its side. */
async function chooseSide(
  { releases }: RouteDependencies,
  request: FastifyRequest,
  workflow: NamedWorkflow,
  { input }: Pick<ExecuteBody, "input">,
): Promise<Chosen | null> {
  const { serving } = workflow
  if (serving === null || releases === null) return serving && { serving }
  const key = idempotencyKey(request)
  const again = key === undefined ? null : JSON.stringify([callerOf(request), key])
  return releases.choose(workflow, input ?? {}, again)
}

function findWorkflow(parts: RouteDependencies, name: string): NamedWorkflow {
  const workflow = parts.folder?.get(name)
  if (workflow === undefined) throw noSuchWorkflow(parts, name)
  return workflow
}

function noSuchWorkflow({ folder }: RouteDependencies, name: string): HttpError {
  const served = (folder?.list() ?? []).flatMap((workflow) => (workflow.refused ? [] : [workflow.name]))
  // Callers forget the folder: `triage` for `tickets/triage`.
  const near = didYouMean(name, served) ?? served.find((known) => known.endsWith(`/${name}`))
  const hint = near === undefined ? "" : `. Did you mean ${near}?`
  return refuse("not_found", `There is no workflow ${name.slice(0, 200)}${hint}`)
}

function wrongMethod(request: FastifyRequest, allow: string): HttpError {
  const path = request.url.split("?", 1)[0] ?? ""
  return refuse("method_not_allowed", `${path.slice(0, 200)} takes ${allow}`, [], { allow })
}

function listOf(folder: WorkflowFolder | null, secrets: ServerSecrets): Promise<CachedList> {
  const items = function* () {
    for (const workflow of folder?.list() ?? []) {
      yield { name: workflow.name, value: workflowAnswer(workflow, secrets) }
    }
  }
  return CachedList.of(items(), { pageBytes: requestPageBytes, write: writePage })
}

function writePage(items: string, next: string | null): string {
  const cursor = next === null ? null : Buffer.from(next).toString("base64url")
  return `{"workflows":[${items}],"next":${JSON.stringify(cursor)}}`
}

function readCursor(after: string): string {
  const name = Buffer.from(after, "base64url").toString("utf8")
  if (Buffer.from(name).toString("base64url") === after) return name
  throw refuseAt("invalid_request", "after", "`after` must be the `next` of another page")
}
