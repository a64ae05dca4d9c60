import type { FastifyRequest } from "fastify"
import type { RunRow } from "../ports/store.ts"
import { refuse, type HttpError } from "./http-error.ts"
import type { RouteDependencies } from "./route-dependencies.ts"
import { callerOf } from "./caller-of.ts"
import { runExpired } from "./start-run.ts"

/** A run of another caller is reported as not found. */
export async function ownRun(parts: RouteDependencies, request: FastifyRequest, run_id: string): Promise<RunRow> {
  const caller = callerOf(request)
  const found = await parts.store.lookup(run_id)
  if (found.found === "run" && found.run.caller === caller) return found.run
  if (found.found === "expired" && found.caller === caller) {
    throw runExpired()
  }
  throw noSuchRun()
}

export function noSuchRun(): HttpError {
  return refuse("not_found", "There is no such run")
}
