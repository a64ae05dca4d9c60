import { signal } from "@preact/signals"
import { WireworksError } from "../../src/client/client.ts"
import { client } from "../service/service.ts"
import { place } from "./place.ts"
import { barsOf, spanOf, type Bars } from "./bars.ts"
import { requestOf } from "./run-query.ts"

/** Null before the first answer, and where there is none. */
export const runStats = signal<Bars | null>(null)

let turn = 0

export async function loadStats(): Promise<void> {
  const mine = ++turn
  const { params } = place.peek()
  const now = Date.now()
  const { by, since, until } = spanOf(params, now)
  const { q: _, score: _score, ...filters } = requestOf(params, now)
  try {
    const answer = await client().runStats({ ...filters, by, since: new Date(since), until: new Date(until) })
    if (mine === turn) runStats.value = barsOf(answer, since, until)
  } catch (error) {
    if (mine === turn) runStats.value = null
    // The list says what is wrong with a filter, or that a key is missing.
    if (!(error instanceof WireworksError)) throw error
  }
}
