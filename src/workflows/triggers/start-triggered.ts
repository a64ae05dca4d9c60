import type { JsonObject } from "../../base/json-value.ts"
import type { SourceToPlan } from "../../compiler/compiler.ts"
import type { Planned } from "../../compiler/source-jobs.ts"
import type { RunTrigger, WireError } from "../../log/events.ts"
import type { Clock } from "../../ports/clock.ts"
import type { OutputKeeper } from "../../ports/trigger-store.ts"
import { wireError } from "../../ports/run-failure.ts"
import type { Idempotency } from "../../ports/store.ts"
import type { Runs } from "../../run/runs.ts"
import { filesOf } from "../../source/source-files.ts"
import type { ServerSecrets } from "../server-secrets.ts"
import type { NamedWorkflow } from "../workflow-folder.ts"
import { obstacles } from "../workflow-view.ts"

/** How long it is remembered that a due time or a delivery started a run. */
const rememberedMs = 30 * 24 * 3_600_000

export interface TriggerParts {
  readonly runs: Pick<Runs, "admit" | "validate">
  readonly planOf: (source: SourceToPlan, share: string) => Promise<Planned>
  readonly serverSecrets: Pick<ServerSecrets, "of">
  readonly clock: Clock
  /** The caller that the runs belong to. */
  readonly caller: string
}

export type Started = { readonly run_id: string; readonly isNew: boolean } | { readonly error: WireError }

/** An idempotency key under which only one run is ever started. Callers cannot send it: no header can hold a line break. */
export function keyOf(workflow: string, name: string, what: string): Idempotency {
  return { key: `trigger\n${workflow}\n${name}\n${what}`, fingerprint: "" }
}

/** Starts a run of a workflow for a trigger. `key`: null for one that is started by hand. */
export async function startTriggered(
  parts: TriggerParts,
  workflow: NamedWorkflow,
  input: JsonObject,
  trigger: RunTrigger,
  key: Idempotency | null,
  keeper?: OutputKeeper,
): Promise<Started> {
  const { name, serving } = workflow
  const [wrong] = obstacles(workflow, parts.serverSecrets)
  if (serving === null || wrong !== undefined) {
    const message = wrong?.message ?? `The workflow ${name} is not served`
    return { error: wireError("validation_error", [{ path: wrong?.path ?? "", message }]) }
  }
  const { source, version } = serving
  const request = {
    source,
    ...filesOf(serving),
    input,
    secrets: {},
    options: defaultOptions,
    // A candidate gets none of them.
    workflow: { name, version, ...(workflow.candidate !== undefined && { release: "current" as const }) },
    trigger,
    ...(keeper && { keeper }),
  }
  const compiled = await parts.planOf(request, parts.caller)
  if ("error" in compiled) return { error: compiled.error }
  const misfit = parts.runs.validate(compiled.plan, request)
  if (misfit !== null) return { error: misfit }
  const idempotency = key === null ? null : { ...key, kept_until: parts.clock.now() + rememberedMs }
  const { caller } = parts
  const admitted = await parts.runs.admit(compiled.plan, { caller, request, idempotency })
  if (admitted.outcome === "refused") return { error: admitted.error }
  return { run_id: admitted.run_id, isNew: admitted.outcome === "created" }
}

const defaultOptions = {
  cache_key: null,
  use_cache: true,
  max_concurrency: null,
  timeout_ms: null,
  deltas: false,
}
