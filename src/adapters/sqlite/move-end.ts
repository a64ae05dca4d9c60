import { existsSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { StoreFailure } from "../../ports/store.ts"
import type { KeyRecord } from "../../ports/vault.ts"
import type { MoveEnd, TableShape } from "../../store/move-store.ts"
import { writeKeyRecord } from "../../store/key-record.ts"
import { migrations } from "../../store/schema.ts"
import { runSteps } from "../../store/sql.ts"
import { execute } from "./execute.ts"
import { countHolders } from "./holder.ts"
import { openForWriting, recordOf } from "./open-database.ts"
import { PreparedStatements } from "./prepared-statements.ts"
import { applicationId, readNumber, refuseOtherFormats } from "./schema.ts"
import { failureOf } from "./sqlite-error.ts"

/** The tables of the schema, as SQLite itself describes them. */
export function tableShapes(): readonly TableShape[] {
  const database = new DatabaseSync(":memory:")
  try {
    for (const step of migrations) database.exec(step)
    const tables = database
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
      .all()
    return tables.map(({ name }) => {
      const columns = database.prepare("SELECT name, pk FROM pragma_table_info(?)").all(String(name))
      const key = columns.filter(({ pk }) => Number(pk) > 0).sort((a, b) => Number(a["pk"]) - Number(b["pk"]))
      return {
        name: String(name),
        columns: columns.map((column) => String(column["name"])),
        key: key.map((column) => String(column["name"])),
      }
    })
  } finally {
    database.close()
  }
}

/** The database that rows are read from. It is locked until `close`: no service can begin to write to it. Throws a `StoreFailure`. */
export function openSqliteSource(path: string): MoveEnd {
  if (!existsSync(path)) throw new StoreFailure(`There is no database ${path}`)
  refuseInUse(path)
  try {
    const database = new DatabaseSync(path, { timeout: 1_000 })
    try {
      refuseOtherFormats(path, database)
      database.exec("BEGIN IMMEDIATE")
      return endOf(path, database)
    } catch (error) {
      database.close()
      throw error
    }
  } catch (error) {
    throw failureOf(path, error)
  }
}

/** The database that rows are written to: a new one, or one that an earlier move of the same source began. Throws a `StoreFailure`. */
export function openSqliteTarget(path: string, mark: Uint8Array): MoveEnd {
  if (existsSync(path)) {
    refuseInUse(path)
    const found = new DatabaseSync(path, { readOnly: true })
    try {
      const ours = readNumber(found, "PRAGMA application_id") === applicationId && recordOf(found)
      if (!ours || Buffer.compare(ours.mark, mark) !== 0) {
        throw new StoreFailure(`${path} is there already: name another place, or move the file away`)
      }
    } catch (error) {
      throw failureOf(path, error)
    } finally {
      found.close()
    }
  }
  return endOf(path, openForWriting(path, { mark, ring: new Uint8Array() }))
}

function refuseInUse(path: string): void {
  if (countHolders(path).living > 0) throw new StoreFailure(`${path} is in use: stop the service first`)
}

function endOf(path: string, database: DatabaseSync): MoveEnd {
  const statements = new PreparedStatements(database)
  const counts = (name: string): boolean =>
    database.prepare("SELECT 1 FROM sqlite_schema WHERE name = ? AND sql LIKE '%AUTOINCREMENT%'").get(name) !==
    undefined
  return {
    where: path,
    execute: (statement) => execute(statements, statement),
    async transaction(work) {
      database.exec("BEGIN IMMEDIATE")
      try {
        const result = await work()
        database.exec("COMMIT")
        return result
      } catch (error) {
        if (database.isTransaction) database.exec("ROLLBACK")
        throw failureOf(path, error)
      }
    },
    async counter({ name }) {
      const row = database.prepare("SELECT seq FROM sqlite_sequence WHERE name = ?").get(name)
      return Number(row?.["seq"] ?? 0)
    },
    async setCounter({ name }, value) {
      if (!counts(name) || value === 0) return
      database.prepare("DELETE FROM sqlite_sequence WHERE name = ?").run(name)
      database.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)").run(name, value)
    },
    async keys() {
      const record = recordOf(database)
      if (record === null) throw new StoreFailure(`${path} has lost the record of its keys`)
      return record
    },
    async setKeys(record: KeyRecord) {
      runSteps(writeKeyRecord(record), (statement) => execute(statements, statement))
    },
    async close() {
      if (database.isTransaction) database.exec("ROLLBACK")
      database.close()
    },
  }
}
