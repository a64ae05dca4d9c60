import { hash } from "node:crypto"
import { compile } from "../compile.ts"
import type { WireError } from "../log/events.ts"
import { originPaths, type OriginPath } from "../origins/origin-paths.ts"
import { LineMap } from "../source/line-map.ts"
import { reachOf } from "../trust/reach.ts"
import { rulesOf, sourceError, type OriginsJob } from "./source-jobs.ts"

/** `paths` is null where the output has no such path. */
export type FollowedOrigins = { readonly paths: readonly OriginPath[] | null } | { readonly error: WireError }

export function followOrigins(job: OriginsJob): FollowedOrigins {
  const { source, file = "main.wire", input, state, path, part } = job
  const { program, plan, diagnostics } = compile(source, job, undefined, job.maxCalled, rulesOf(job))
  if (plan === undefined) return { error: sourceError(source, diagnostics) }
  const { ways } = reachOf(program, (text) => hash("sha256", text))
  const traced = { program, plan, lines: new LineMap(source) }
  return { paths: originPaths({ traced, file, input, state, ways }, path, part) }
}
