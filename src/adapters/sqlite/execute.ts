import type { Statement } from "../../store/sql.ts"
import type { PreparedStatements } from "./prepared-statements.ts"

export function execute(statements: PreparedStatements, { how, sql, values }: Statement): unknown {
  const statement = statements.get(sql)
  switch (how) {
    case "run":
      return Number(statement.run(...values).changes)
    case "insert":
      return Number(statement.run(...values).lastInsertRowid)
    case "get":
      return statement.get(...values)
    case "all":
      return statement.all(...values)
  }
}
