import type { FastifyInstance } from "fastify"
import { getOrigins, type OriginsAnswer } from "../../api/origins.ts"
import { memoryOf } from "../../base/memory-of.ts"
import { runFollowedBytes } from "../../base/limits.ts"
import { reduce } from "../../log/reduce.ts"
import { initialState, type RunState } from "../../log/run-state.ts"
import type { OriginPath } from "../../origins/origin-paths.ts"
import { keysOf, textOfValue, valueAt } from "../../origins/value-path.ts"
import type { RunStore } from "../../ports/store.ts"
import { readCallRequest } from "../../run/call-request.ts"
import { filesOf } from "../../source/source-files.ts"
import { tenantOf } from "../caller-of.ts"
import { HttpError, refuse, refuseAt } from "../http-error.ts"
import { ownRun } from "../own-run.ts"
import type { RouteDependencies } from "../route-dependencies.ts"
import { serve } from "../serve-route.ts"

/** Where the words of a run's output came from. */
export function originsRoute(app: FastifyInstance, parts: RouteDependencies): void {
  serve(app, getOrigins, async (request) => {
    const { run_id } = await ownRun(parts, request, request.params.run_id)
    const { path, from, to } = request.query
    return parts.answers.make(request, async () => {
      const { source, input, workflow, ...more } = await parts.store.request(run_id)
      const { state, bytes } = await readState(parts.store, run_id)
      const part = partOf(state, path, from, to)
      const job = { source, ...filesOf(more), workflow, input, state, path, part }
      const answer = await parts.compiler.origins(job, bytes, tenantOf(request))
      if ("error" in answer) throw new HttpError(answer.error)
      return { paths: await withRanges(parts.store, run_id, answer.paths ?? []) } satisfies OriginsAnswer
    })
  })
}

/** The state of the run with all that its steps were given and gave. */
async function readState(store: RunStore, run_id: string): Promise<{ state: RunState; bytes: number }> {
  const state = initialState()
  let bytes = 0
  for (;;) {
    const page = await store.read(run_id, state.last_event_id, 200)
    for (const event of page) {
      bytes += memoryOf(event.data)
      reduce(state, event)
    }
    if (bytes > runFollowedBytes) throw refuse("limit_exceeded", "The log of this run is too large to be followed")
    if (page.length === 0 || state.finished_at !== null) return { state, bytes }
  }
}

/** Refuses a path that the output does not have, and a part that its text does not have. */
function partOf(state: RunState, path: string, from: number | undefined, to: number | undefined) {
  const [root, ...keys] = keysOf(path) ?? []
  const value = root === "output" ? valueAt(state.output, keys) : undefined
  if (value === undefined || state.status !== "completed") {
    const hint = state.status === "completed" ? undefined : `The run has no output: it is ${state.status}`
    throw refuseAt("invalid_request", "path", `The output has no ${path}`, hint)
  }
  if (from === undefined && to === undefined) return {}
  if (typeof value === "object" && value !== null) {
    throw refuseAt("invalid_request", from === undefined ? "to" : "from", "Only a text has parts: name a field")
  }
  const { length } = textOfValue(value)
  const end = to ?? length
  if (end > length) throw refuseAt("invalid_request", "to", `The text has ${length} UTF-16 units`)
  if ((from ?? 0) >= end) throw refuseAt("invalid_request", "from", "`from` must be less than `to`")
  return { from: from ?? 0, to: end }
}

const maxText = 2_000

/** Finds the pieces in the requests as they were sent. */
async function withRanges(store: RunStore, run_id: string, paths: readonly OriginPath[]): Promise<OriginPath[]> {
  const bodies = new Map<string, string | null>()
  for (const { kind, at } of paths.flat()) {
    if (kind !== "request" || bodies.has(at)) continue
    bodies.set(at, (await readCallRequest(store, run_id, at.slice("calls/".length)))?.text ?? null)
  }
  return paths.map((path) =>
    path.map((hop) => {
      if (hop.kind !== "request" || hop.text === undefined) return hop
      const written = JSON.stringify(hop.text).slice(1, -1)
      const from = bodies.get(hop.at)?.indexOf(written) ?? -1
      const text = hop.text.slice(0, maxText)
      return from < 0 ? { ...hop, text } : { ...hop, text, range: { from, to: from + written.length } }
    }),
  )
}
