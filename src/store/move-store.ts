import { createHash, type Hash } from "node:crypto"
import { StoreFailure } from "../ports/store.ts"
import type { KeyRecord } from "../ports/vault.ts"
import { tableRules } from "./left-behind.ts"
import type { Row, SqlValue, Statement } from "./sql.ts"

// Two databases with the same tables: what is sealed in one can be opened in the other with the same key, so that rows are copied as they are.

/** A table of the schema, and the columns of its primary key. */
export interface TableShape {
  readonly name: string
  readonly columns: readonly string[]
  readonly key: readonly string[]
}

/** One of the two databases, with nobody else writing to it. */
export interface MoveEnd {
  /** For sentences. */
  readonly where: string
  execute(statement: Statement): unknown
  /** Work that is stored whole or not at all. */
  transaction<T>(work: () => Promise<T>): Promise<T>
  /** The highest number that a table has given to a row, whether or not the row is still there; 0 for a table that counts nothing. */
  counter(table: TableShape): Promise<number>
  setCounter(table: TableShape, value: number): Promise<void>
  keys(): Promise<KeyRecord>
  setKeys(record: KeyRecord): Promise<void>
  close(): Promise<void>
}

export interface MoveProgress {
  readonly verb: "Copying" | "Comparing"
  readonly table: string
  readonly done: number
  readonly total: number
}

const pageRows = 64
const pagesTogether = 16

/** The mark of a store that is being filled. No key has it, so that no service opens the store; the same source goes on where it stopped. */
export function movingMark({ mark }: KeyRecord): Uint8Array {
  return createHash("sha256").update("wireworks store move\0").update(mark).digest()
}

/**
 * Copies every table, page by page in the order of its key, compares all rows, and then lets services open the target. After a break it goes on behind the last row
 * that the target has. Resolves to the count of rows; rejects with a `StoreFailure`.
 */
export async function moveStore(
  from: MoveEnd,
  to: MoveEnd,
  tables: readonly TableShape[],
  tell: (progress: MoveProgress) => void,
): Promise<{ readonly rows: number; readonly resumed: boolean }> {
  const moved = tableRules.flatMap(({ table }) => {
    const shape = tables.find(({ name }) => name === table)
    if (shape === undefined) throw new Error(`The schema has no table ${table}`)
    // The record of the keys comes last: with it services may open the target.
    return table === "store" ? [] : [shape]
  })
  let rows = 0
  let resumed = false
  for (const table of moved) {
    const total = await countOf(from, table)
    const before = await countOf(to, table)
    resumed ||= before > 0
    rows += total
    await copy(from, to, table, (more) => tell({ verb: "Copying", table: table.name, done: before + more, total }))
    await to.setCounter(table, await from.counter(table))
  }
  for (const table of moved) {
    const total = await countOf(from, table)
    const seen = (done: number): void => tell({ verb: "Comparing", table: table.name, done, total })
    const [theirs, ours] = [await digestOf(from, table, seen), await digestOf(to, table, () => undefined)]
    if (theirs === ours) continue
    throw new StoreFailure(
      `The table ${table.name} at ${to.where} is not that of ${from.where}, which was in use since the copy began: remove what is at ${to.where}, and move again`,
    )
  }
  await to.setKeys(await from.keys())
  return { rows, resumed }
}

async function copy(from: MoveEnd, to: MoveEnd, table: TableShape, tell: (done: number) => void): Promise<void> {
  const { name, columns, key } = table
  const values = columns.map(() => "?").join(", ")
  const sql = `INSERT INTO ${name} (${columns.join(", ")}) VALUES (${values})`
  const order = key.map((column) => `${column} DESC`).join(", ")
  let after = keyOf(
    table,
    await one(to, {
      how: "get",
      sql: `SELECT ${key.join(", ")} FROM ${name} ORDER BY ${order} LIMIT 1`,
      values: [],
      ofRun: false,
    }),
  )
  for (let done = 0, isOver = false; !isOver;) {
    await to.transaction(async () => {
      for (let page = 0; page < pagesTogether && !isOver; page++) {
        const rows = await pageOf(from, table, after)
        await Promise.all(
          rows.map((row) =>
            to.execute({ how: "run", sql, values: columns.map((column) => row[column] as SqlValue), ofRun: false }),
          ),
        )
        after = keyOf(table, rows.at(-1)) ?? after
        done += rows.length
        isOver = rows.length < pageRows
      }
    })
    tell(done)
  }
}

async function pageOf(
  end: MoveEnd,
  { name, columns, key }: TableShape,
  after: readonly SqlValue[] | undefined,
): Promise<readonly Row[]> {
  const listed = key.join(", ")
  const where = after === undefined ? "" : `WHERE (${listed}) > (${key.map(() => "?").join(", ")}) `
  const sql = `SELECT ${columns.join(", ")} FROM ${name} ${where}ORDER BY ${listed} LIMIT ${pageRows}`
  return (await end.execute({ how: "all", sql, values: after ?? [], ofRun: false })) as readonly Row[]
}

function keyOf({ key }: TableShape, row: Row | undefined): readonly SqlValue[] | undefined {
  return row && key.map((column) => row[column] as SqlValue)
}

async function one(end: MoveEnd, statement: Statement): Promise<Row | undefined> {
  return (await end.execute(statement)) as Row | undefined
}

async function countOf(end: MoveEnd, { name }: TableShape): Promise<number> {
  const row = await one(end, { how: "get", sql: `SELECT count(*) AS total FROM ${name}`, values: [], ofRun: false })
  return (row?.["total"] as number | undefined) ?? 0
}

/** A hash of all rows, in the order of their key. */
async function digestOf(end: MoveEnd, table: TableShape, tell: (done: number) => void): Promise<string> {
  const hash = createHash("sha256")
  let after: readonly SqlValue[] | undefined
  for (let done = 0; ;) {
    const rows = await pageOf(end, table, after)
    for (const row of rows) for (const column of table.columns) addValue(hash, row[column])
    done += rows.length
    tell(done)
    if (rows.length < pageRows) return hash.digest("hex")
    after = keyOf(table, rows.at(-1))
  }
}

function addValue(hash: Hash, value: unknown): void {
  if (value instanceof Uint8Array) hash.update(`b${value.length} `).update(value)
  else hash.update(`${typeof value} ${JSON.stringify(value ?? null)} `)
}
