import type { ApiError } from "./read-question.ts"
import { hashText } from "./seeded.ts"

interface Spell {
  failures: number
  /** Set when it has recovered: until then the same question is answered. */
  wellUntil: number | null
}

/** Questions remembered; the oldest are forgotten. */
const most = 10_000
/** After an answer the same question is answered for so long, then it fails again at first. */
const wellFor = 2_000

const failures: readonly (readonly number[])[] = [[429], [503], [429, 500], [502]]

/**
 * Which attempts of `demo-flaky` fail: the first one or two at each question of a caller, always the same ones. What one
 * caller asks side by side in the same words shares its failures, so that none of it fails more often than it would alone.
 */
export class Flakiness {
  readonly #retry_after: number
  readonly #now: () => number
  readonly #spells = new Map<string, Spell>()

  constructor(retry_after: number, now: () => number) {
    this.#retry_after = retry_after
    this.#now = now
  }

  /** How the next attempt at this question fails; null when it does not. */
  next(caller: string, question: string): { readonly error: ApiError; readonly retry_after: number } | null {
    const pattern = hashText(question)
    const key = `${caller} ${pattern}`
    const now = this.#now()
    let spell = this.#spells.get(key)
    if (spell === undefined || (spell.wellUntil !== null && spell.wellUntil < now))
      spell = { failures: 0, wellUntil: null }
    this.#spells.delete(key)
    this.#spells.set(key, spell)
    const [oldest] = this.#spells.keys()
    if (this.#spells.size > most && oldest !== undefined) this.#spells.delete(oldest)
    const status = failures[pattern % failures.length]?.[spell.failures]
    if (status === undefined) {
      spell.wellUntil = now + wellFor
      return null
    }
    spell.failures++
    return { error: errorOf(status), retry_after: this.#retry_after }
  }
}

function errorOf(status: number): ApiError {
  return status === 429
    ? {
        status,
        message: "The demo is flaky: rate limit reached.",
        type: "requests",
        param: null,
        code: "rate_limit_exceeded",
      }
    : {
        status,
        message: "The demo is flaky: the server had an error.",
        type: "server_error",
        param: null,
        code: "server_error",
      }
}
