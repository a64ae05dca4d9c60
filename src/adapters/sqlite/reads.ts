import type { DatabaseSync } from "node:sqlite"
import { Damaged } from "../../ports/store.ts"
import { runSteps, type Statement, type Steps } from "../../store/sql.ts"
import { execute } from "./execute.ts"
import { PreparedStatements } from "./prepared-statements.ts"
import { codeOf, failureOf, sqliteCode } from "./sqlite-error.ts"

export type Reads = <T>(steps: Steps<T>) => T

/** Runs steps on a connection that reads. Throws a `StoreFailure`. */
export function readsOf(database: DatabaseSync, path: string): Reads {
  const statements = new PreparedStatements(database)
  const read = (statement: Statement): unknown => {
    try {
      return execute(statements, statement)
    } catch (error) {
      const failure = failureOf(path, error)
      // A damaged page of one run does not affect other runs.
      if (statement.ofRun && codeOf(error) === sqliteCode.corrupt) throw new Damaged(failure.message, error)
      throw failure
    }
  }
  return (steps) => runSteps(steps, read)
}
