import type { FastifyRequest } from "fastify"
import type { RedactedRun, RunRow } from "../ports/store.ts"
import { refuse, runExpired, type HttpError } from "./http-error.ts"
import type { RouteDependencies } from "./route-dependencies.ts"
import { reaches } from "./caller-of.ts"

/** A run, also one whose private values were deleted. */
export async function ownRecord(
  parts: RouteDependencies,
  request: FastifyRequest,
  run_id: string,
): Promise<RunRow | RedactedRun> {
  const found = await parts.store.lookup(run_id)
  if (found.found === "expired" && found.redacted !== undefined && reaches(request, found.caller)) return found.redacted
  return ownRun(parts, request, run_id)
}

/** A run of another caller is reported as not found, except to operators. */
export async function ownRun(parts: RouteDependencies, request: FastifyRequest, run_id: string): Promise<RunRow> {
  const found = await parts.store.lookup(run_id)
  if (found.found === "run" && reaches(request, found.run.caller)) return found.run
  if (found.found === "expired" && reaches(request, found.caller)) throw runExpired()
  throw noSuchRun()
}

export function noSuchRun(): HttpError {
  return refuse("not_found", "There is no such run")
}
