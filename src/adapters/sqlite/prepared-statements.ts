import type { DatabaseSync, StatementSync } from "node:sqlite"

/** The statements of a connection, each prepared when it is first used. */
export class PreparedStatements {
  readonly #database: DatabaseSync
  readonly #bySql = new Map<string, StatementSync>()

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  get(sql: string): StatementSync {
    let statement = this.#bySql.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare(sql)
      this.#bySql.set(sql, statement)
    }
    return statement
  }
}
