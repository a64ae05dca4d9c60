import { hash } from "node:crypto"
import type { JsonObject } from "../base/json-value.ts"
import { compile } from "../compile.ts"
import type { WireError } from "../log/events.ts"
import type { RunState } from "../log/run-state.ts"
import { originPaths, type OriginPath } from "../origins/origin-paths.ts"
import type { TextRange } from "../origins/shared-words.ts"
import { LineMap } from "../source/line-map.ts"
import { reachOf } from "../trust/reach.ts"
import { rulesOf, sourceError, type SourceToCompile } from "./source-jobs.ts"

/** A run that is followed backwards from a part of its output. */
export interface OriginsJob extends SourceToCompile {
  readonly kind: "origins"
  readonly input: JsonObject
  readonly state: RunState
  readonly path: string
  readonly part: Partial<TextRange>
}

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
