import { StoreFailure } from "../../ports/store.ts"
import type { MoveEnd, TableShape } from "../../store/move-store.ts"
import { writeKeyRecord } from "../../store/key-record.ts"
import { runStepsLater } from "../../store/sql.ts"
import type { Connection, ServerTarget } from "./connection.ts"
import { writeLock } from "./names.ts"
import { openAlone } from "./open-alone.ts"
import { failureOf } from "./postgres-error.ts"
import { formatOf, migrate, recordOf, refuseOtherFormats } from "./schema.ts"

/** The tables that rows are read from. No service can write to them until `close`. Rejects with a `StoreFailure`. */
export function openPostgresSource(target: ServerTarget): Promise<MoveEnd> {
  return openEnd(target, async (connection, where) => {
    const format = await formatOf(connection, target.schema)
    refuseOtherFormats(where, target.schema, format)
  })
}

/** The tables that rows are written to: new ones, or those that an earlier move of the same source began. Rejects with a `StoreFailure`. */
export function openPostgresTarget(target: ServerTarget, mark: Uint8Array): Promise<MoveEnd> {
  return openEnd(target, async (connection, where) => {
    await migrate(where, connection, {
      schema: target.schema,
      lock: writeLock(target.schema),
      record: { mark, ring: new Uint8Array() },
    })
    const record = await recordOf(where, connection)
    if (Buffer.compare(record.mark, mark) !== 0) {
      throw new StoreFailure(
        `There are tables of this service in the schema "${target.schema}" at ${where} already: set WIRE_POSTGRES_SCHEMA to another schema, or drop this one`,
      )
    }
  })
}

async function openEnd(
  target: ServerTarget,
  prepare: (connection: Connection, where: string) => Promise<void>,
): Promise<MoveEnd> {
  return openAlone(target, "move", async (connection, where) => {
    await prepare(connection, where)
    return endOf(where, connection)
  })
}

function endOf(where: string, connection: Connection): MoveEnd {
  const sequenceOf = async ({ name, key }: TableShape): Promise<string | null> => {
    const { rows } = await connection.query<{ readonly found: string | null }>(
      "SELECT pg_get_serial_sequence($1, $2) AS found",
      [name, key[0] ?? ""],
    )
    return rows[0]?.found ?? null
  }
  return {
    where,
    async execute(statement) {
      try {
        return await connection.execute(statement)
      } catch (error) {
        throw failureOf(where, error)
      }
    },
    async transaction(work) {
      try {
        await connection.query("BEGIN")
        const result = await work()
        await connection.query("COMMIT")
        return result
      } catch (error) {
        if (!connection.isLost) await connection.query("ROLLBACK").catch(() => undefined)
        throw failureOf(where, error)
      }
    },
    async counter(table) {
      const sequence = await sequenceOf(table)
      if (sequence === null) return 0
      const { rows } = await connection.query<{ readonly last: number; readonly called: number }>(
        `SELECT last_value AS last, is_called AS called FROM ${sequence}`,
      )
      const [row] = rows
      return row?.called === 1 ? row.last : 0
    },
    async setCounter(table, value) {
      const sequence = await sequenceOf(table)
      if (sequence === null) return
      const { rows } = await connection.query<{ readonly most: number }>(
        `SELECT coalesce(max(${table.key[0]}), 0) AS most FROM ${table.name}`,
      )
      const last = Math.max(value, rows[0]?.most ?? 0)
      if (last > 0) await connection.query("SELECT setval($1, $2)", [sequence, last])
    },
    keys: () => recordOf(where, connection),
    setKeys: (record) => runStepsLater(writeKeyRecord(record), (statement) => connection.execute(statement)),
    close: () => connection.close(),
  }
}
