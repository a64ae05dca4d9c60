import type { FastifyRequest } from "fastify"
import type { WireError } from "../run/events.ts"
import type { Plan } from "../plan/plan-shape.ts"
import type { RunStore } from "../run/ports.ts"
import type { Runs } from "../run/runs.ts"
import type { EventStreams } from "./event-stream.ts"

/** What the routes share. */
export interface Parts {
  readonly runs: Runs
  readonly store: RunStore
  readonly streams: EventStreams
  /** Compiled once and kept. */
  readonly planOf: (source: string) => { readonly plan: Plan } | { readonly error: WireError }
  readonly log: ServerLog
}

/** Run ids and outcomes, never payloads. */
export interface ServerLog {
  info(about: Readonly<Record<string, unknown>>, message: string): void
  error(about: Readonly<Record<string, unknown>>, message: string): void
}

const callers = new WeakMap<FastifyRequest, string>()

/** Remembers, after authentication, whose request it is. */
export function setCaller(request: FastifyRequest, caller: string): void {
  callers.set(request, caller)
}

export function callerOf(request: FastifyRequest): string {
  const caller = callers.get(request)
  if (caller === undefined) throw new Error("A route ran before its caller was known")
  return caller
}
