import type { FastifyRequest } from "fastify"
import { actOnRelease, type ReleaseAnswer } from "../../api/releases.ts"
import type { Releases } from "../../workflows/releases/releases.ts"
import { callerOf } from "../caller-of.ts"
import { refuse } from "../http-error.ts"
import { requestCheck } from "../late-validation.ts"
import type { RouteDependencies } from "../route-dependencies.ts"

/** The end of the path of a release. */
export const releaseEnd = "/release"

/** What operators see of a candidate, and do with it. */
export class ReleaseRoutes {
  readonly #parts: Pick<RouteDependencies, "audit" | "log">
  readonly #releases: Releases
  readonly #mayOperate: (request: FastifyRequest) => boolean
  readonly #check = requestCheck(actOnRelease.body ?? {}, "body")

  constructor(
    parts: Pick<RouteDependencies, "audit" | "log">,
    releases: Releases,
    mayOperate: (request: FastifyRequest) => boolean,
  ) {
    this.#parts = parts
    this.#releases = releases
    this.#mayOperate = mayOperate
  }

  async get(request: FastifyRequest, name: string): Promise<ReleaseAnswer> {
    this.#mustOperate(request)
    return this.#show(name)
  }

  async act(request: FastifyRequest, name: string): Promise<ReleaseAnswer> {
    this.#mustOperate(request)
    await this.#check(request.body)
    const { action } = request.body as { readonly action: "stop" | "resume" }
    const stops = action === "stop"
    if (!(await this.#releases.set(name, stops))) throw noCandidate(name)
    const caller = callerOf(request)
    const about = { workflow: name, ...(caller !== "" && { caller }) }
    if (stops) this.#parts.log.info(about, "candidate stopped")
    else this.#parts.log.info(about, "candidate resumed")
    this.#parts.audit({ act: stops ? "stopped_candidate" : "resumed_candidate", caller, workflow: name })
    return this.#show(name)
  }

  async #show(name: string): Promise<ReleaseAnswer> {
    const view = await this.#releases.view(name)
    if (view === null) throw noCandidate(name)
    const { state, candidate_of, current, candidate, agreement, shadows, compared } = view
    const { share, shadow } = candidate_of.release
    return {
      state,
      share,
      shadow,
      version: candidate_of.version,
      issues: [...candidate_of.issues],
      current,
      candidate: { ...candidate, skipped_effects: compared.skipped_effects },
      agreement,
      shadows: { compared: shadows, inconclusive: compared.inconclusive },
      disagreements: compared.disagreements.map((one) => ({ ...one, paths: [...one.paths] })),
    }
  }

  #mustOperate(request: FastifyRequest): void {
    if (!this.#mayOperate(request)) throw refuse("forbidden", "Releases are for operators")
  }
}

function noCandidate(name: string): Error {
  return refuse("not_found", `The workflow ${name.slice(0, 200)} has no candidate`)
}
