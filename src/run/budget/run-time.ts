import type { WireError } from "../../log/events.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import { wireError } from "../../ports/run-failure.ts"
import type { RunOptions } from "../../ports/store.ts"

/** How long a run may take besides its `limits`, in milliseconds; null where `limits { time_seconds }` of the file says it all. */
export function allowedMs(
  plan: Pick<Plan, "limits">,
  { timeout_ms }: Pick<RunOptions, "timeout_ms">,
  limits: { readonly timeout_ms: number },
): number | null {
  return timeout_ms ?? (plan.limits?.time_seconds === undefined ? limits.timeout_ms : null)
}

interface TooLong {
  readonly path: string
  readonly message: string
  readonly hint: string
}

/** Why a file that asks for this many seconds is not run; null for one that is. */
export function longerThanAllowed(time_seconds: number | undefined, maxRunMs: number): TooLong | null {
  if (time_seconds === undefined || time_seconds * 1000 <= maxRunMs) return null
  const message = `The workflow asks for ${time_seconds} s, and a run may take ${maxRunMs / 1000} s (WIRE_MAX_RUN_TIME)`
  const hint = "Lower `limits { time_seconds }`, or ask the operator to raise WIRE_MAX_RUN_TIME."
  return { path: "limits.time_seconds", message, hint }
}

/** Refuses a run that asks for more time than the operator allows. */
export function refuseTime(
  plan: Pick<Plan, "limits">,
  { timeout_ms }: Pick<RunOptions, "timeout_ms">,
  maxRunMs: number,
): WireError | null {
  const ofFile = longerThanAllowed(plan.limits?.time_seconds, maxRunMs)
  if (ofFile !== null) return wireError("validation_error", [ofFile])
  if (timeout_ms === null || timeout_ms <= maxRunMs) return null
  const message = `A run may take ${maxRunMs} ms at most (WIRE_MAX_RUN_TIME), and ${timeout_ms} ms are asked for`
  return wireError("input_error", [{ path: "options.timeout_ms", message }])
}
