import type { ModelClient } from "../../ports/model.ts"

/** The same client; `took` hears how long each call that streams waited for its first text. */
export function timeFirstToken(
  client: ModelClient,
  now: () => number,
  took: (api: string, duration_ms: number) => void,
): ModelClient {
  return {
    turn(request, watch) {
      if (!request.deltas) return client.turn(request, watch)
      let askedAt = now()
      let seen = 0
      return client.turn(request, {
        ...watch,
        signal: watch.signal,
        gate: () => {
          askedAt = now()
          return watch.gate()
        },
        delta(attempt, text) {
          if (attempt !== seen) {
            seen = attempt
            took(request.backend.api, now() - askedAt)
          }
          watch.delta(attempt, text)
        },
      })
    },
  }
}
