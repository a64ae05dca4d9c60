import type { SQLInputValue, SQLOutputValue } from "node:sqlite"

export type Row = Record<string, SQLOutputValue>

/** Statements of the transaction that is under way. */
export interface Sql {
  run(sql: string, ...values: SQLInputValue[]): { readonly changes: number | bigint }
  get(sql: string, ...values: SQLInputValue[]): Row | undefined
  all(sql: string, ...values: SQLInputValue[]): Row[]
}
