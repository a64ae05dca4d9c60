import type { FastifyRequest } from "fastify"
import { movedAtOnce, moveRuns, type MoveAnswer, type MoveBody, type MovedRun } from "../../api/versions.ts"
import { canonicalJson } from "../../base/canonical-json.ts"
import type { JsonValue } from "../../base/json-value.ts"
import { withoutTexts } from "../../plan/without-texts.ts"
import { allRuns, type ListedRun, type RunPosition } from "../../ports/run-list.ts"
import type { RunRequest, RunRow } from "../../ports/store.ts"
import { filesOf } from "../../source/source-files.ts"
import type { Reach } from "../../trust/reach-shape.ts"
import type { LoadedWorkflow } from "../../workflows/load-workflow.ts"
import type { NamedWorkflow } from "../../workflows/workflow-folder.ts"
import { callerOf, tenantOf } from "../caller-of.ts"
import { HttpError, refuse, refuseAt } from "../http-error.ts"
import { requestCheck } from "../late-validation.ts"
import type { RouteDependencies } from "../route-dependencies.ts"

/** The end of the path of the route. */
export const moveEnd = "/move"

/** `gone`: it does not wait any more. */
type Outcome = MovedRun | "gone"

/** Moves runs that wait to another version of their workflow. */
export class MoveRoute {
  readonly #parts: RouteDependencies
  readonly #load: (name: string, version: string) => Promise<LoadedWorkflow>
  readonly #check = requestCheck(moveRuns.body ?? {}, "body")

  constructor(parts: RouteDependencies, load: (name: string, version: string) => Promise<LoadedWorkflow>) {
    this.#parts = parts
    this.#load = load
  }

  /** The caller is an operator. */
  async move(request: FastifyRequest, { name, serving }: NamedWorkflow): Promise<MoveAnswer> {
    await this.#check(request.body)
    const body = request.body as MoveBody
    const wanted = body.to ?? serving?.version
    if (wanted === undefined) throw refuse("conflict", `The workflow ${name} serves no version now: name one in \`to\``)
    const from = body.from ?? null
    const to = serving?.version === wanted ? serving : await this.#load(name, wanted)
    const named = body.run_ids ?? null
    const page = named === null ? await this.#page(name, from, readCursor(body.after)) : await this.#named(name, named)
    const moving = new Moving(this.#parts, this.#load, request, name, to, body.dry_run === true)
    const runs: MovedRun[] = []
    for (const run of page.runs) {
      const outcome = await moving.move(run, from, named !== null)
      if (outcome !== "gone") runs.push(outcome)
    }
    const count = (outcome: MovedRun["outcome"]): number => runs.filter((run) => run.outcome === outcome).length
    return {
      moved: count("moves"),
      asked_again: count("moves_and_asks_again"),
      stay: count("stays"),
      runs,
      next: page.next,
    }
  }

  async #page(name: string, version: string | null, after: RunPosition | null): Promise<Page> {
    const query = { ...allRuns, workflows: [name], version, status: "waiting", after, limit: movedAtOnce + 1 } as const
    const found = await this.#parts.store.list(query)
    const runs = found.slice(0, movedAtOnce)
    const last = runs.at(-1)
    const rows = await Promise.all(runs.map(({ run_id }) => this.#row(run_id)))
    return {
      runs: rows.filter((row) => row !== null),
      next: found.length > movedAtOnce && last !== undefined ? cursorOf(last) : null,
    }
  }

  async #named(name: string, run_ids: readonly string[]): Promise<Page> {
    const runs: RunRow[] = []
    for (const [at, run_id] of [...new Set(run_ids)].entries()) {
      const row = await this.#row(run_id)
      if (row?.workflow?.name !== name) {
        throw refuseAt("not_found", `run_ids[${at}]`, `There is no run ${run_id} of the workflow ${name}`)
      }
      runs.push(row)
    }
    return { runs, next: null }
  }

  async #row(run_id: string): Promise<RunRow | null> {
    const found = await this.#parts.store.lookup(run_id)
    return found.found === "run" ? found.run : null
  }
}

interface Page {
  readonly runs: readonly RunRow[]
  readonly next: string | null
}

/** One call of the route. */
class Moving {
  readonly #parts: RouteDependencies
  readonly #load: (name: string, version: string) => Promise<LoadedWorkflow>
  readonly #request: FastifyRequest
  readonly #name: string
  readonly #to: LoadedWorkflow
  readonly #dryRun: boolean
  /** By version: what speaks against a move from it. */
  readonly #pairs = new Map<string, Promise<Pair>>()

  constructor(
    parts: RouteDependencies,
    load: (name: string, version: string) => Promise<LoadedWorkflow>,
    request: FastifyRequest,
    name: string,
    to: LoadedWorkflow,
    dryRun: boolean,
  ) {
    this.#parts = parts
    this.#load = load
    this.#request = request
    this.#name = name
    this.#to = to
    this.#dryRun = dryRun
  }

  async move(
    { run_id, caller, created_at, waiting, finished_at, workflow }: RunRow,
    from: string | null,
    isNamed: boolean,
  ): Promise<Outcome> {
    const { runs, store, planOf, audit } = this.#parts
    const stays = (...because: readonly string[]): Outcome => ({ run_id, outcome: "stays", because })
    const version = workflow?.version ?? ""
    const { version: to } = this.#to
    if (from !== null && version !== from) return isNamed ? stays(`it is of version ${version}`) : "gone"
    if (!waiting) return isNamed ? stays(finished_at === null ? "it does not wait" : "it has ended") : "gone"
    if (version === to) return isNamed ? stays(`it is of version ${to} already`) : "gone"
    if (workflow?.release === "shadow") return stays("it is a shadow")
    const request = await store.request(run_id)
    if (request.asked_version === true && !isNamed) {
      return stays("it was started with `version`: name it in `run_ids` to move it")
    }
    const moved = this.#movedRequest(request, version)
    const [before, after] = await Promise.all([
      planOf(request, tenantOf(this.#request)),
      planOf(moved, tenantOf(this.#request)),
    ])
    if ("error" in before) return stays("this release does not accept its version any more")
    if ("error" in after) throw new HttpError(after.error)
    const misfit = runs.validate(after.plan, moved)
    if (misfit !== null) return stays(misfit.message)
    const pair = await this.#pairOf(version)
    const against = [...pair.lost, ...triggerIssues(pair, request)]
    if (against.length > 0) return stays(...against)
    const job = { run_id, caller, created_at, before: before.plan, after: after.plan, request, moved }
    const result = await runs.move({ ...job, dryRun: this.#dryRun })
    if (result.outcome === "gone") return "gone"
    if (result.outcome !== "stays" && !this.#dryRun) {
      audit({ act: "moved", caller: callerOf(this.#request), run_id, workflow: this.#name, version: to })
    }
    return { run_id, outcome: result.outcome, because: [...result.because] }
  }

  #movedRequest({ source: _s, file: _f, modules: _m, ...rest }: RunRequest, from: string): RunRequest {
    const { source, version } = this.#to
    return {
      ...rest,
      source,
      ...filesOf(this.#to),
      workflow: { ...rest.workflow, name: this.#name, version, moved_from: from },
    }
  }

  #pairOf(version: string): Promise<Pair> {
    const known = this.#pairs.get(version)
    if (known !== undefined) return known
    const pair = this.#compare(version)
    this.#pairs.set(version, pair)
    return pair
  }

  async #compare(version: string): Promise<Pair> {
    const { before, why } = await this.#load(this.#name, version).then(
      (loaded) => ({ before: loaded, why: null }),
      (error: unknown) => {
        if (!(error instanceof HttpError)) throw error
        return { before: this.#to, why: `its version ${version} cannot be read any more` }
      },
    )
    const after = this.#to
    if (why !== null) return { before, after, lost: [why] }
    const [old, now] = await Promise.all([this.#reach(before), this.#reach(after)])
    return { before, after, lost: lostLabels(old, now) }
  }

  async #reach(loaded: LoadedWorkflow): Promise<Reach> {
    const { source } = loaded
    const none = { input: undefined, secrets: undefined }
    const job = { kind: "validate", source, ...filesOf(loaded), ...none, reach: true } as const
    const answer = await this.#parts.compiler.validate(job, tenantOf(this.#request))
    const { reach } = JSON.parse(answer) as { readonly reach?: Reach }
    if (reach === undefined) throw refuse("validation_error", `A version of ${this.#name} is not valid on this release`)
    return reach
  }
}

/** Two versions of a workflow. */
interface Pair {
  readonly before: LoadedWorkflow
  readonly after: LoadedWorkflow
  /** What would be trusted, or public, that was not when the run began. */
  readonly lost: readonly string[]
}

/** Labels that a source of values has in the old version, and lacks in the new one, which still reads it. */
function lostLabels(before: Reach, after: Reach): string[] {
  const labels = ({ ways }: Reach): Map<string, { untrusted: boolean; private: boolean }> => {
    const found = new Map<string, { untrusted: boolean; private: boolean }>()
    for (const { from, untrusted, private: isPrivate } of ways) {
      const known = found.get(from)
      found.set(from, {
        untrusted: untrusted || known?.untrusted === true,
        private: isPrivate || known?.private === true,
      })
    }
    return found
  }
  const now = labels(after)
  return [...labels(before)].flatMap(([from, had]) => {
    const has = now.get(from)
    if (has === undefined) return []
    const lost = [
      had.untrusted && !has.untrusted ? ["untrusted"] : [],
      had.private && !has.private ? ["private"] : [],
    ].flat()
    return lost.map((word) => `${from} is ${word} in its version, and not in the new one`)
  })
}

/** What a webhook fills is a stranger's, whatever the new version says of its own webhooks. */
function triggerIssues({ before, after }: Pair, { trigger }: RunRequest): string[] {
  if (trigger === undefined || !("webhook" in trigger)) return []
  const [old, now] = [before, after].map(({ described }) => {
    const found = described.triggers.find(({ kind, name }) => kind === "webhook" && name === trigger.webhook)
    return found === undefined ? null : canonicalJson(withoutTexts(found as object as JsonValue))
  })
  return old === now ? [] : [`webhook ${trigger.webhook}, which started it, is another one in the new version`]
}

function cursorOf({ created_at, run_id }: ListedRun): string {
  return Buffer.from(`${created_at} ${run_id}`).toString("base64url")
}

function readCursor(after: string | null | undefined): RunPosition | null {
  if (after === undefined || after === null) return null
  const [time = "", run_id = ""] = Buffer.from(after, "base64url").toString("utf8").split(" ")
  if (/^\d{1,15}$/.test(time) && run_id !== "") return { created_at: Number(time), run_id }
  throw refuseAt("invalid_request", "after", "`after` must be the `next` of another page")
}
