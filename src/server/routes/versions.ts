import type { FastifyReply, FastifyRequest } from "fastify"
import { defaultLimit } from "../../api/page.ts"
import {
  listVersions,
  type MoveAnswer,
  type ServeBody,
  serveVersion,
  type ServedAnswer,
  type VersionAnswer,
  type VersionDetail,
  type VersionsAnswer,
} from "../../api/versions.ts"
import { isoTime } from "../../base/iso-time.ts"
import type { WorkflowDiff } from "../../diff/diff-shape.ts"
import { noRuns, type KeptVersion, type RunCounts, type VersionPosition } from "../../ports/version-store.ts"
import type { LoadedWorkflow } from "../../workflows/load-workflow.ts"
import type { ServedVersions } from "../../workflows/served-versions.ts"
import type { NamedWorkflow } from "../../workflows/workflow-folder.ts"
import { callerOf, tenantOf } from "../caller-of.ts"
import { refuse, refuseAt, type HttpError } from "../http-error.ts"
import { invalidWorkflow } from "../invalid-workflow.ts"
import { requestCheck } from "../late-validation.ts"
import { MoveRoute } from "./moves.ts"
import type { RouteDependencies } from "../route-dependencies.ts"

/** A path below a workflow's name, with the name. */
export type VersionPath =
  | { readonly name: string; readonly route: "list" }
  | { readonly name: string; readonly route: "one"; readonly version: string }
  | { readonly name: string; readonly route: "diff"; readonly version: string; readonly other: string }

/** `tickets/triage/versions/7f3a…/diff/91b2…` */
export function versionPath(path: string): VersionPath | null {
  const [, name, version, other] = /^(.+)\/versions(?:\/([^/]+)(?:\/diff\/([^/]+))?)?$/.exec(path) ?? []
  if (name === undefined) return null
  if (version === undefined) return { name, route: "list" }
  return other === undefined ? { name, route: "one", version } : { name, route: "diff", version, other }
}

/** Routes of the versions of a workflow. The name is known by then. */
export class VersionRoutes {
  readonly #parts: RouteDependencies
  readonly #versions: ServedVersions
  readonly #mayOperate: (request: FastifyRequest) => boolean
  readonly #move: MoveRoute
  readonly #checkQuery = requestCheck(listVersions.query ?? {}, "querystring")
  readonly #checkServe = requestCheck(serveVersion.body ?? {}, "body")

  constructor(parts: RouteDependencies, versions: ServedVersions, mayOperate: (request: FastifyRequest) => boolean) {
    this.#parts = parts
    this.#versions = versions
    this.#mayOperate = mayOperate
    this.#move = new MoveRoute(parts, (name, version) => this.loaded(name, version))
  }

  async get(request: FastifyRequest, workflow: NamedWorkflow, path: VersionPath): Promise<object> {
    // What serves since a moment is kept by then.
    await this.#versions.settle()
    if (path.route !== "list" && Object.keys(request.query as object).length > 0) {
      throw refuse("invalid_request", "This route takes no query")
    }
    switch (path.route) {
      case "list":
        return this.#list(request, workflow)
      case "one":
        return this.#one(request, workflow, path.version)
      case "diff":
        return this.#diff(request, workflow.name, path.version, path.other)
    }
  }

  async #list(request: FastifyRequest, workflow: NamedWorkflow): Promise<VersionsAnswer> {
    await this.#checkQuery(request.query)
    const { limit = defaultLimit, after } = request.query as { readonly limit?: number; readonly after?: string }
    const { versions } = this.#parts.store
    const found = await versions.list(workflow.name, limit + 1, after === undefined ? null : readCursor(after))
    const page = found.slice(0, limit)
    const last = page.at(-1)
    const counts = await this.#counts(request, workflow.name)
    return {
      versions: page.map((one) => shown(workflow, one, counts)),
      next: found.length > limit && last !== undefined ? cursorOf(last) : null,
    }
  }

  #counts(request: FastifyRequest, name: string): Promise<ReadonlyMap<string, RunCounts>> {
    return this.#parts.store.versions.runs(name, this.#mayOperate(request) ? null : callerOf(request))
  }

  async #one(request: FastifyRequest, workflow: NamedWorkflow, version: string): Promise<VersionDetail> {
    this.#checkOperator(request)
    const { versions } = this.#parts.store
    const [found, text] = await Promise.all([
      versions.find(workflow.name, version),
      versions.text(workflow.name, version),
    ])
    if (found === null || text === null) throw noSuchVersion(workflow.name, version)
    const { file, source, modules } = text
    const others = Object.keys(modules).length === 0 ? {} : { file, modules }
    return { ...shown(workflow, found, await this.#counts(request, workflow.name)), source, ...others }
  }

  async #diff(request: FastifyRequest, name: string, a: string, b: string): Promise<WorkflowDiff> {
    const { versions } = this.#parts.store
    const [before, after] = await Promise.all([versions.text(name, a), versions.text(name, b)])
    if (before === null || after === null) throw noSuchVersion(name, before === null ? a : b)
    const job = { kind: "validate", ...after, input: undefined, secrets: undefined, compareWith: before } as const
    const answer = await this.#parts.compiler.validate(job, tenantOf(request))
    const { diff } = JSON.parse(answer) as { readonly diff?: WorkflowDiff | null }
    if (diff === undefined || diff === null) {
      throw refuse("validation_error", "One of the versions is not valid on this release, so they cannot be compared")
    }
    return diff
  }

  async withdraw(request: FastifyRequest, workflow: NamedWorkflow, version: string): Promise<VersionAnswer> {
    this.#checkOperator(request)
    const { store, audit } = this.#parts
    if (!(await store.versions.withdraw(workflow.name, version))) throw noSuchVersion(workflow.name, version)
    audit({ act: "withdrew", caller: callerOf(request), workflow: workflow.name, version })
    const found = await store.versions.find(workflow.name, version)
    if (found === null) throw noSuchVersion(workflow.name, version)
    return shown(workflow, found, await this.#counts(request, workflow.name))
  }

  async serve(request: FastifyRequest, reply: FastifyReply, workflow: NamedWorkflow): Promise<FastifyReply> {
    this.#checkOperator(request)
    await this.#checkServe(request.body)
    const { version } = request.body as ServeBody
    const { name } = workflow
    if (version !== null) await this.loaded(name, version)
    await this.#versions.pin(name, version)
    this.#parts.audit({
      act: "served",
      caller: callerOf(request),
      workflow: name,
      ...(version !== null && { version }),
    })
    const now = this.#parts.folder?.get(name) ?? workflow
    const answer: ServedAnswer = {
      name,
      version: now.serving?.version ?? now.version ?? "",
      ...(now.pinned === true && { pinned: true }),
    }
    return reply.send(answer)
  }

  async move(request: FastifyRequest, workflow: NamedWorkflow): Promise<MoveAnswer> {
    this.#checkOperator(request)
    return this.#move.move(request, workflow)
  }

  /** A kept version, compiled; else the request is refused. */
  async loaded(name: string, version: string): Promise<LoadedWorkflow> {
    const found = await this.#versions.load(name, version)
    if (found === "unknown") throw noSuchVersion(name, version)
    if (found === "invalid") throw noLongerValid(name, version)
    return found.loaded
  }

  /** The version that a request for a run asks for. */
  async asked(workflow: NamedWorkflow, version: string): Promise<LoadedWorkflow> {
    const { serving, candidate } = workflow
    if (serving?.version === version) return serving
    if (candidate?.loaded?.version === version) return candidate.loaded
    if (!(await this.#versions.isCallable(workflow.name, version))) throw noSuchVersion(workflow.name, version)
    return this.loaded(workflow.name, version)
  }

  #checkOperator(request: FastifyRequest): void {
    if (!this.#mayOperate(request)) throw forOperators()
  }
}

export function forOperators(): HttpError {
  return refuse("forbidden", "This route is for operators: send a key of WIRE_OPERATOR_KEYS")
}

function noSuchVersion(name: string, version: string): HttpError {
  const message = `There is no version ${version.slice(0, 64)} of ${name} that can be used`
  return refuseAt("not_found", "version", message, `GET /workflows/${name}/versions lists those that are kept.`)
}

function noLongerValid(name: string, version: string): HttpError {
  const message = `Version ${version} of ${name} is not valid on this release of the service`
  return invalidWorkflow(name, [{ code: "type-mismatch", severity: "error", path: "version", message }])
}

function shown(
  { serving, candidate }: NamedWorkflow,
  { version, first_served_at, last_served_at, withdrawn_at }: KeptVersion,
  counts: ReadonlyMap<string, RunCounts>,
): VersionAnswer {
  return {
    version,
    first_served_at: isoTime(first_served_at),
    last_served_at: isoTime(last_served_at),
    serving: serving?.version === version ? "current" : candidate?.loaded?.version === version ? "candidate" : null,
    ...(withdrawn_at !== null && { withdrawn: true }),
    runs: counts.get(version) ?? noRuns,
  }
}

function cursorOf({ first_served_at, version }: VersionPosition): string {
  return Buffer.from(`${first_served_at} ${version}`).toString("base64url")
}

function readCursor(after: string): VersionPosition {
  const [time = "", version = ""] = Buffer.from(after, "base64url").toString("utf8").split(" ")
  if (/^\d{1,15}$/.test(time) && version !== "") return { first_served_at: Number(time), version }
  throw refuseAt("invalid_request", "after", "`after` must be the `next` of another page")
}
