/** What a statement takes. */
export type SqlValue = string | number | Uint8Array | null

export type Row = Readonly<Record<string, unknown>>

/**
 * One statement, in SQL that SQLite takes as it stands; an adapter for another database translates it. Parameters are `?` or `?1`. `run` answers how many rows
 * changed, `insert` the number (`num`) of the row that was inserted.
 */
export interface Statement {
  readonly how: "run" | "insert" | "get" | "all"
  readonly sql: string
  readonly values: readonly SqlValue[]
  /** It reads the data of one run: damage that it meets is of that run alone. */
  readonly ofRun: boolean
}

/**
 * Statements one after the other, each made with the answers to those before. A generator, so that the same code runs on a database that answers at once
 * (SQLite) and on one that answers later (PostgreSQL).
 */
export type Steps<T> = Generator<Statement, T, unknown>

export function* run(sql: string, ...values: SqlValue[]): Steps<number> {
  return (yield { how: "run", sql, values, ofRun: false }) as number
}

export function* insert(sql: string, ...values: SqlValue[]): Steps<number> {
  return (yield { how: "insert", sql, values, ofRun: false }) as number
}

export function* get(sql: string, ...values: SqlValue[]): Steps<Row | undefined> {
  return (yield { how: "get", sql, values, ofRun: false }) as Row | undefined
}

export function* all(sql: string, ...values: SqlValue[]): Steps<readonly Row[]> {
  return (yield { how: "all", sql, values, ofRun: false }) as readonly Row[]
}

/** Reads data of one run. */
export function* getOfRun(sql: string, ...values: SqlValue[]): Steps<Row | undefined> {
  return (yield { how: "get", sql, values, ofRun: true }) as Row | undefined
}

export function* allOfRun(sql: string, ...values: SqlValue[]): Steps<readonly Row[]> {
  return (yield { how: "all", sql, values, ofRun: true }) as readonly Row[]
}

/** Runs steps on a database that answers at once. */
export function runSteps<T>(steps: Steps<T>, execute: (statement: Statement) => unknown): T {
  let step = steps.next()
  while (step.done !== true) {
    let answer: unknown
    try {
      answer = execute(step.value)
    } catch (error) {
      step = steps.throw(error)
      continue
    }
    step = steps.next(answer)
  }
  return step.value
}

/** Runs steps on a database that answers later. */
export async function runStepsLater<T>(
  steps: Steps<T>,
  execute: (statement: Statement) => Promise<unknown>,
): Promise<T> {
  let step = steps.next()
  while (step.done !== true) {
    let answer: unknown
    try {
      answer = await execute(step.value)
    } catch (error) {
      step = steps.throw(error)
      continue
    }
    step = steps.next(answer)
  }
  return step.value
}
