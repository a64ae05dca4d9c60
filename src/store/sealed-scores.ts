import type { Score, ScoreFilter } from "../ports/scores.ts"
import { StoreFailure } from "../ports/store.ts"
import type { DataKey, Vault } from "../ports/vault.ts"
import type { Row } from "./sql.ts"

/** The keyed hash by which runs with a score of this value are found. */
export function matchOf(vault: Vault, { name, value }: ScoreFilter): Uint8Array {
  return vault.digest("score", [name, value])
}

/** Nothing where it is damaged: what shows the run goes on without it. */
export function openScore(key: DataKey, row: Row): Score[] {
  try {
    const text = key.open(aboutScore(row["name"] as string, row["author"] as string), row["body"] as Uint8Array)
    return [JSON.parse(text) as Score]
  } catch (error) {
    if (error instanceof StoreFailure) return []
    throw error
  }
}

// What sealed things are about: changing this makes what is stored unreadable.
export const aboutScore = (name: string, author: string): string => `score ${JSON.stringify([name, author])}`
