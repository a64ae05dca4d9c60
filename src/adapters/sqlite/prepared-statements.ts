import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite"

export type Statement = Pick<StatementSync, "run" | "get" | "all" | "iterate">

/** The statements of a connection, each prepared when it is first used. */
export class PreparedStatements {
  readonly #database: DatabaseSync
  readonly #bySql = new Map<string, Statement>()

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  get(sql: string): Statement {
    let statement = this.#bySql.get(sql)
    if (statement === undefined) {
      statement = prepare(this.#database, sql)
      this.#bySql.set(sql, statement)
    }
    return statement
  }
}

/** Node 22.13 takes `?1` for a name: there the values are given by that name. */
export function prepare(database: DatabaseSync, sql: string): Statement {
  const statement = database.prepare(sql)
  if (!sql.includes("?1") || takesNumbers(database)) return statement
  const named = (values: readonly SQLInputValue[]): Record<string, SQLInputValue> =>
    Object.fromEntries(values.map((value, index) => [`?${index + 1}`, value]))
  return {
    run: (...values: SQLInputValue[]) => statement.run(named(values)),
    get: (...values: SQLInputValue[]) => statement.get(named(values)),
    all: (...values: SQLInputValue[]) => statement.all(named(values)),
    iterate: (...values: SQLInputValue[]) => statement.iterate(named(values)),
  } as Statement
}

let isKnown: boolean | null = null

function takesNumbers(database: DatabaseSync): boolean {
  if (isKnown === null) {
    const statement = database.prepare("SELECT ?1")
    try {
      statement.get(1)
      isKnown = true
    } catch {
      isKnown = false
    }
  }
  return isKnown
}
