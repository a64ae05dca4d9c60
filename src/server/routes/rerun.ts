import { filesOf } from "../../source/source-files.ts"
import type { FastifyInstance } from "fastify"
import { rerun, type RerunBody } from "../../api/execute.ts"
import { didYouMean } from "../../base/did-you-mean.ts"
import { runCalledLevels } from "../../base/limits.ts"
import { remembered } from "../../base/remembered.ts"
import { levelsOf, planAt, scopeAround } from "../../plan/call-scope.ts"
import type { Plan, AgentNode, AskNode } from "../../plan/plan-shape.ts"
import { callPlaces } from "../../plan/workflows-of.ts"
import type { RunRequest } from "../../ports/store.ts"
import { obstacles } from "../../workflows/workflow-view.ts"
import { invalidWorkflow } from "../invalid-workflow.ts"
import { HttpError, refuse, refuseAt } from "../http-error.ts"
import { ownRun } from "../own-run.ts"
import type { RouteDependencies } from "../route-dependencies.ts"
import { tenantOf } from "../caller-of.ts"
import { readModules, readSource } from "../read-source.ts"
import { serve } from "../serve-route.ts"
import { findExisting } from "../idempotency-key.ts"
import { startRun } from "../start-run.ts"
import { requestOf } from "./execute.ts"
import { validateValue } from "../../types/validate-value.ts"

/** `POST /execute/{run_id}/rerun`: a new run that takes over from an earlier one what did not change. */
export function rerunRoute(app: FastifyInstance, parts: RouteDependencies): void {
  serve(app, rerun, async (request, reply) => {
    const body = request.body ?? {}
    const { run_id, finished_at } = await ownRun(parts, request, request.params.run_id)
    if (finished_at === null) throw refuse("conflict", "The earlier run has not ended: wait for its end, or cancel it")
    const again = rerunOf(run_id, await parts.store.request(run_id), body)
    const run = body.version === "current" ? await asServed(parts, again) : again
    const compiled = await parts.planOf(run, tenantOf(request))
    if ("error" in compiled) throw new HttpError(compiled.error)
    checkFrom(compiled.plan, run.rerun?.from ?? [])
    checkGiven(compiled.plan, run)
    const conflict = await whyNotServed(parts, compiled.plan, run, body.same_version === true)
    const misfit = conflict === null ? parts.runs.validate(compiled.plan, run) : null
    const refusal = misfit === null ? conflict : new HttpError(misfit)
    // The served workflow may have changed since the same request was made: its run still exists.
    if (refusal !== null && (await findExisting(parts, request, run)) === null) throw refusal
    return startRun(parts, request, reply, compiled.plan, run)
  })
}

/** The new run takes what the body leaves out from the earlier run, except secrets: they must be sent again. */
export function rerunOf(run_id: string, earlier: RunRequest, body: RerunBody): RunRequest {
  const { workflow_source, workflow_source_base64 } = body
  if (workflow_source !== undefined && workflow_source_base64 !== undefined) {
    throw refuse("invalid_request", "Send `workflow_source` or `workflow_source_base64`, not both")
  }
  if (earlier.workflow?.release === "shadow") {
    throw refuse("conflict", "A shadow cannot be re-run: re-run the run that it shadows")
  }
  const sendsSource = workflow_source !== undefined || workflow_source_base64 !== undefined
  if (sendsSource && body.same_version === true) {
    throw refuse("invalid_request", "Send a source or `same_version: true`, not both")
  }
  const sent = readModules(body)
  const sendsFiles = sent.file !== undefined || sent.modules !== undefined
  if (sendsFiles && body.same_version === true) {
    throw refuse("invalid_request", "Send `modules` or `same_version: true`, not both")
  }
  if (body.version === "current" && (sendsSource || sendsFiles || body.same_version === true)) {
    throw refuse("invalid_request", 'Send `version: "current"` without a source, `modules` and `same_version`')
  }
  const given = requestOf(body)
  const file = sent.file ?? earlier.file
  // Files that are left out are as they were.
  const { [file ?? "main.wire"]: _, ...modules } = { ...earlier.modules, ...sent.modules }
  return {
    source: sendsSource ? readSource(body) : earlier.source,
    ...filesOf({ file, modules: Object.keys(modules).length === 0 ? undefined : modules }),
    input: body.input === undefined || body.input === null ? earlier.input : given.input,
    secrets: given.secrets,
    options: body.options === undefined || body.options === null ? earlier.options : given.options,
    // The server's secrets go to the workflow that the server has, never to source that a caller sends.
    ...(sendsSource || sendsFiles || earlier.workflow === undefined ? {} : { workflow: earlier.workflow }),
    rerun: { run_id, from: body.from ?? [], ...(body.given && { given: body.given }) },
  }
}

/** The same of the workflow as it is served now. */
async function asServed({ folder, serverSecrets }: RouteDependencies, again: RunRequest): Promise<RunRequest> {
  const { workflow, file: _file, modules: _modules, ...rest } = again
  if (workflow === undefined) {
    throw refuse("conflict", "The earlier run was of a source that was sent, which has no current version")
  }
  const { name } = workflow
  await folder?.ready
  const found = folder?.get(name)
  if (found === undefined || found.refused) throw refuse("conflict", `The workflow ${name} is not served any more`)
  const { serving } = found
  const wrong = obstacles(found, serverSecrets)
  if (serving === null || wrong.length > 0) throw invalidWorkflow(name, wrong)
  return { ...rest, source: serving.source, ...filesOf(serving), workflow: { name, version: serving.version } }
}

/**
 * Why a re-run of a workflow with a name conflicts with what is served: the server's secrets go to a re-run only while it serves a workflow of
 * that name, and with `same_version` nothing but the same version runs.
 */
export async function whyNotServed(
  { folder, serverSecrets }: Pick<RouteDependencies, "folder" | "serverSecrets">,
  plan: Plan,
  { workflow, secrets }: RunRequest,
  sameVersion: boolean,
): Promise<HttpError | null> {
  if (workflow === undefined) return null
  const { name, version } = workflow
  await folder?.ready
  const found = folder?.get(name)
  const serving = found === undefined || found.refused ? null : found.serving
  if (serving !== null && (!sameVersion || serving.version === version)) return null
  if (sameVersion) {
    const now = serving === null ? "is not served any more" : `is served in version ${serving.version}`
    return refuse("conflict", `The earlier run was of version ${version} of ${name}, which ${now}`)
  }
  const declared = plan.secrets.fields.map((field) => field.name).filter((secret) => !Object.hasOwn(secrets, secret))
  const own = Object.keys(serverSecrets.of(name, declared))
  if (own.length === 0) return null
  const list = own.map((secret) => `secrets.${secret}`).join(", ")
  return refuse(
    "conflict",
    `The workflow ${name} is not served any more, so that a re-run does not get the server's secrets: send ${list}`,
  )
}

/** Steps by the names that `from` takes. */
function stepsOf(plan: Plan): string[] {
  return [
    ...plan.nodes.filter(({ kind }) => kind !== "output").map(({ id }) => id),
    ...Object.keys(plan.tools).map((name) => `tool.${name}`),
    ...Object.keys(plan.resources).map((name) => `resource.${name}`),
    ...Object.keys(plan.prompts).map((name) => `prompt.${name}`),
  ]
}

/** The places where a plan calls workflows: `triage@dynamic.first`. */
const placesOfPlans = new WeakMap<Plan, ReadonlySet<string>>()

/** A call of a workflow by its scope, or a step inside it: `triage@dynamic.first/agent.classify`. */
function isInside(plan: Plan, step: string): boolean {
  if (levelsOf(step) > runCalledLevels + 1) return false
  const scope = scopeAround(step)
  const last = step.slice(scope === null ? 0 : scope.length + 1)
  const around = scope === null ? plan : isInside(plan, scope) ? planAt(plan, scope) : undefined
  if (around === undefined) return false
  if (scope !== null && stepsOf(around).includes(last)) return true
  return remembered(placesOfPlans, around, ({ nodes }) => new Set(nodes.flatMap(callPlaces))).has(placeOf(last))
}

/** The place of a call without its positions and count: which item, round or call by a model it is, only a run can tell. */
function placeOf(call: string): string {
  let place = call.replace(/#\d+$/, "")
  for (;;) {
    const open = place.lastIndexOf("[")
    if (open < 0 || !/^\[\d+\]$/.test(place.slice(open))) return place
    place = place.slice(0, open)
  }
}

function checkFrom(plan: Plan, from: readonly string[]): void {
  if (from.length === 0) return
  const known = new Set(stepsOf(plan))
  const at = from.findIndex((step) => !known.has(step) && !isInside(plan, step))
  if (at < 0) return
  const near = didYouMean(from[at] ?? "", known)
  const hint = near === undefined ? undefined : `Did you mean ${near}?`
  throw refuseAt("input_error", `from[${at}]`, `The workflow has no step ${from[at] ?? ""}`, hint)
}

/** Refuses results that a re-run cannot take: of steps that are not there, of another type, or of the server's own workflow. */
function checkGiven(plan: Plan, { workflow, rerun }: RunRequest): void {
  const given = Object.entries(rerun?.given ?? {})
  if (given.length === 0) return
  // The server's secrets and the answers of its people stand behind each of its steps.
  if (workflow !== undefined) {
    throw refuse(
      "forbidden",
      `\`given\` is not for a workflow of the server: send the source of ${workflow.name} with it`,
    )
  }
  const steps = plan.nodes.filter((node) => node.kind === "agent" || node.kind === "ask")
  for (const [key, value] of given) {
    const path = `given.${key}`
    const [, id = "", item] = /^((?:agent|ask)\.\w+)(\[(?:0|[1-9]\d{0,8})\])?$/.exec(key) ?? []
    const node = steps.find((one) => one.id === id)
    if (node === undefined) {
      const near = didYouMean(key, new Set(steps.map((step) => step.id)))
      const hint = near === undefined ? "Name an agent or a question." : `Did you mean ${near}?`
      throw refuseAt("input_error", path, `The workflow has no agent or question ${key}`, hint)
    }
    checkPlace(plan, node, key, item !== undefined, path)
    const [misfit] = validateValue(value, node.output, plan.types, path)
    if (misfit !== undefined) throw refuseAt("input_error", misfit.path, misfit.message, misfit.hint)
  }
}

function checkPlace(plan: Plan, node: AgentNode | AskNode, key: string, isItem: boolean, path: string): void {
  const repeats = node.kind === "agent" && node.repeat !== undefined
  const isLoop = node.loop !== null || repeats
  if (isLoop && !isItem) {
    const hint = `Name ${repeats ? "a round" : "an item"}, such as ${key}[0].`
    throw refuseAt("input_error", path, `${key} is a ${repeats ? "repetition" : "loop"}`, hint)
  }
  if (!isLoop && isItem) throw refuseAt("input_error", path, `${node.id} is not a loop`, `Write ${node.id}.`)
  const next = plan.nodes.find((other) => other.kind === "agent" && `agent.${other.context?.agent ?? ""}` === node.id)
  if (next !== undefined) {
    const hint = `Give the output of ${next.id}, or let ${node.id} run.`
    throw refuseAt("input_error", path, `${next.id} continues the conversation of ${node.id}, which is not given`, hint)
  }
}
