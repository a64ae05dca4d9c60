import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import { executeWorkflowBody, noQuery } from "../../api/request-schemas.ts"
import type { ExecuteWorkflowBody, ValidateIssue, WorkflowIssue, WorkflowsAnswer } from "../../api/shapes.ts"
import type { ErrorIssue } from "../../ports/events.ts"
import { wireError } from "../../ports/run-failure.ts"
import { obstacles, workflowAnswer, workflowDetail } from "../../workflows/workflow-view.ts"
import type { NamedWorkflow } from "../../workflows/workflow-folder.ts"
import { HttpError, refuse } from "../http-error.ts"
import type { RouteDependencies } from "../route-dependencies.ts"
import { shareOf } from "../route-dependencies.ts"
import { findExisting, startRun } from "../start-run.ts"
import { requestOf } from "./execute.ts"

/** No name has this segment. */
const executeEnd = "/execute"

interface NameParams {
  readonly "*": string
}

/** The workflows of the server's folder: their list, each of them, and their execution. */
export function workflowRoutes(app: FastifyInstance, parts: RouteDependencies): void {
  const { folder, serverSecrets } = parts
  app.get("/workflows", { schema: { querystring: noQuery } }, async (): Promise<WorkflowsAnswer> => {
    await folder?.ready
    return { workflows: (folder?.list() ?? []).map((workflow) => workflowAnswer(workflow, serverSecrets)) }
  })

  app.get<{ Params: NameParams }>("/workflows/*", { schema: { querystring: noQuery } }, async (request) => {
    await folder?.ready
    const path = request.params["*"]
    if (path.endsWith(executeEnd)) throw wrongMethod(request, "POST")
    return workflowDetail(findWorkflow(parts, path), serverSecrets)
  })

  app.post<{ Params: NameParams }>(
    "/workflows/*",
    { schema: { body: executeWorkflowBody, querystring: noQuery } },
    async (request, reply) => {
      await folder?.ready
      const path = request.params["*"]
      if (!path.endsWith(executeEnd)) throw wrongMethod(request, "GET, HEAD")
      const workflow = findWorkflow(parts, path.slice(0, -executeEnd.length))
      return execute(parts, request, reply, workflow, request.body as ExecuteWorkflowBody)
    },
  )
}

async function execute(
  parts: RouteDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  workflow: NamedWorkflow,
  body: ExecuteWorkflowBody,
): Promise<FastifyReply> {
  const { name, serving, refused } = workflow
  if (refused) throw noSuchWorkflow(name)
  const wrong = obstacles(workflow, parts.serverSecrets)
  if (serving === null || wrong.length > 0) throw invalidWorkflow(name, wrong)
  const { source, version } = serving
  const run = { source, ...requestOf(body), workflow: { name, version } }
  const compiled = await parts.planOf(source, shareOf(request))
  if ("error" in compiled) throw new HttpError(compiled.error)
  const misfit = parts.runs.validate(compiled.plan, run)
  // The file may have changed since the same request was made: its run is there all the same.
  if (misfit !== null && (await findExisting(parts, request, run)) === null) throw new HttpError(misfit)
  return startRun(parts, request, reply, compiled.plan, run)
}

function findWorkflow({ folder }: RouteDependencies, name: string): NamedWorkflow {
  const workflow = folder?.get(name)
  if (workflow === undefined) throw noSuchWorkflow(name)
  return workflow
}

function noSuchWorkflow(name: string): HttpError {
  return refuse("not_found", `There is no workflow ${name.slice(0, 200)}`)
}

function wrongMethod(request: FastifyRequest, allow: string): HttpError {
  const path = request.url.split("?", 1)[0] ?? ""
  return refuse("method_not_allowed", `${path.slice(0, 200)} takes ${allow}`, [], { allow })
}

function invalidWorkflow(name: string, issues: readonly (ValidateIssue | WorkflowIssue)[]): HttpError {
  const [first, ...rest] = issues.map((issue): ErrorIssue => {
    const { path, message, code, hint } = issue
    const range = "range" in issue ? { range: { start: { ...issue.range.start }, end: { ...issue.range.end } } } : {}
    return { path, message, code, ...(hint !== undefined && { hint }), ...range }
  })
  return new HttpError(
    wireError("validation_error", [first ?? { path: "", message: `The workflow ${name} is not valid` }, ...rest]),
  )
}
