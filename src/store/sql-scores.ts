import type { Clock } from "../ports/clock.ts"
import {
  inOrderOfTime,
  shownValue,
  textOfValue,
  type NewScore,
  type PutOutcome,
  type Score,
  type ScoreStore,
  type ScoreSum,
  type SumsQuery,
} from "../ports/scores.ts"
import type { Vault } from "../ports/vault.ts"
import type { LogReader } from "./log-reader.ts"
import { scoreState } from "./score-writer.ts"
import type { SqlMedium } from "./sql-medium.ts"
import { aboutScore, matchOf, openScore } from "./sealed-scores.ts"
import { all, type SqlValue, type Steps } from "./sql.ts"

/** Scores as rows. What is found by its value is a keyed hash; the scores are sealed with the keys of their runs. */
export class SqlScores implements ScoreStore {
  readonly #medium: SqlMedium
  readonly #reader: LogReader
  readonly #vault: Vault
  readonly #clock: Clock

  constructor(medium: SqlMedium, reader: LogReader, vault: Vault, clock: Clock) {
    this.#medium = medium
    this.#reader = reader
    this.#vault = vault
    this.#clock = clock
  }

  take(limit: number, leaseMs: number): Promise<readonly string[]> {
    const now = this.#clock.now()
    return this.#medium.send({ kind: "take scored", limit, now, due_at: now + leaseMs, blobs: [] })
  }

  async done(run_id: string): Promise<void> {
    await this.#medium.send({ kind: "end scoring", run_id, blobs: [] })
  }

  reserve(run_id: string, name: string, day: number, cost: number, most: number): Promise<boolean> {
    return this.#medium.send({ kind: "reserve score", run_id, name, day, cost, most, blobs: [] })
  }

  async put(run_id: string, { score, name, by, counted, at, cost }: NewScore): Promise<PutOutcome> {
    const head = await this.#medium.read(this.#reader.head(run_id))
    if (head === undefined) return "gone"
    const author = by === null ? "" : `@${by}`
    const match = counted === null ? null : matchOf(this.#vault, { name, value: shownValue(counted.value) })
    const body = score === null ? null : head.key.seal(aboutScore(name, author), JSON.stringify(score))
    return this.#medium.send({
      kind: "put score",
      run_id,
      name,
      author,
      counted:
        counted === null
          ? null
          : {
              model: counted.model ?? "",
              value: textOfValue(counted, by),
              number: typeof counted.value === "number" ? counted.value : 0,
            },
      at,
      cost,
      blobs: [match, body],
    })
  }

  async of(run_id: string): Promise<readonly Score[]> {
    const head = await this.#medium.read(this.#reader.head(run_id))
    if (head === undefined) return []
    const rows = await this.#medium.read(
      all(
        `SELECT name, author, body FROM run_scores WHERE run = ? AND state <> ${scoreState.reserved}`,
        head.num ?? -1,
      ),
    )
    return inOrderOfTime(rows.flatMap((row) => openScore(head.key, row)))
  }

  async sums(query: SumsQuery): Promise<readonly ScoreSum[]> {
    return this.#medium.read(readSums(query))
  }
}

function* readSums({ by, caller, workflow, name, from, to }: SumsQuery): Steps<ScoreSum[]> {
  const conditions = ["day >= ?", "day < ?"]
  const values: SqlValue[] = [from, to]
  for (const [column, value] of Object.entries({ caller, workflow, name })) {
    if (value === null) continue
    conditions.push(`${column} = ?`)
    values.push(value)
  }
  const rows = yield* all(
    `SELECT name, CAST(${by} AS TEXT) AS key, value, CAST(sum(count) AS TEXT) AS count, CAST(sum(sum) AS TEXT) AS sum
     FROM score_sums WHERE ${conditions.join(" AND ")} GROUP BY name, ${by}, value HAVING sum(count) > 0`,
    ...values,
  )
  return rows.map((row) => ({
    name: row["name"] as string,
    key: row["key"] as string,
    value: row["value"] as string,
    count: Number(row["count"]),
    sum: Number(row["sum"]),
  }))
}
