import { isIP } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import pg from "pg"
import type { Statement } from "../../store/sql.ts"
import type { PostgresAddress, PostgresProofs } from "./address.ts"
import { ConnectionLost } from "./postgres-error.ts"
import { toPostgres } from "./to-postgres.ts"

export interface ServerTarget {
  readonly address: PostgresAddress
  readonly proofs: PostgresProofs
  readonly schema: string
}

/** How long one answer may take, before the connection counts as lost. */
const answerMs = 15_000
/** How long one may take to be made: after a failover the next attempt should come soon. */
const connectMs = 5_000
/** The same while a process starts: it reads its own code meanwhile, and on a slow machine answers wait for that. */
export const startMs = 15_000
/** How long a server that may be gone is waited for at the end. */
const goodbyeMs = 2_000
/** A process that stands still in a transaction keeps the others waiting no longer than this. */
const idleInTransactionMs = 5_000

/**
 * Every statement has an index to go by (SQLite is told its name). The server would rather read a whole table where it believes the table to be small, or that many
 * rows are wanted.
 */
export const byIndex = "SET enable_seqscan TO off; SET jit TO off"

type Parser = (text: string) => unknown

/** Counts and sums come as numbers, truth as 1 and 0, as SQLite has it. */
const parsers: Readonly<Record<number, Parser>> = {
  16: (text) => (text === "t" ? 1 : 0),
  20: Number,
  1700: Number,
}

const types = {
  getTypeParser: (id: number, format?: string): Parser =>
    parsers[id] ?? (pg.types.getTypeParser(id, format as "text") as Parser),
}

/** One session of the server. Statements are sent at once, one behind the other, and answered in that order. */
export class Connection {
  readonly #client: pg.Client
  /** Statements that have not been answered. */
  pending = 0
  #lost = false

  private constructor(client: pg.Client) {
    this.#client = client
  }

  static async open(
    target: ServerTarget,
    purpose: string,
    { patienceMs = answerMs, withinMs = connectMs }: { readonly patienceMs?: number; readonly withinMs?: number } = {},
  ): Promise<Connection> {
    const { address, proofs, schema } = target
    const options = {
      host: address.host,
      port: address.port,
      user: address.user,
      password: () => address.password ?? "",
      database: address.database,
      ssl: tlsOptions(address, proofs),
      application_name: `wireworks ${purpose}`,
      connectionTimeoutMillis: withinMs,
      query_timeout: patienceMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: 5_000,
      pipeline: true,
      types,
    }
    const client = new pg.Client(options)
    const connection = new Connection(client)
    // Also without statements under way: else the process would end.
    client.on("error", () => (connection.#lost = true))
    client.on("end", () => (connection.#lost = true))
    await client.connect()
    try {
      await client.query(
        `SET search_path TO ${pg.escapeIdentifier(schema)}; SET client_min_messages TO warning; SET bytea_output TO hex; ${byIndex};
         SET statement_timeout TO ${patienceMs}; SET idle_in_transaction_session_timeout TO ${idleInTransactionMs}`,
      )
      const { rows } = await client.query<{ readonly standby: number }>("SELECT pg_is_in_recovery() AS standby")
      if (rows[0]?.standby === 1) throw new ConnectionLost("it is a standby, and takes no writes")
      return connection
    } catch (error) {
      connection.drop()
      throw error
    }
  }

  get isLost(): boolean {
    return this.#lost
  }

  async execute(statement: Statement): Promise<unknown> {
    const { how, values } = statement
    const { name, text } = toPostgres(statement)
    const { rows, rowCount } = await this.#counted(this.#client.query({ name, text, values: values.map(valueOf) }))
    switch (how) {
      case "run":
        return rowCount ?? 0
      case "insert":
        return (rows[0] as { readonly num: number } | undefined)?.num
      case "get":
        return rows[0]
      case "all":
        return rows
    }
  }

  /** In PostgreSQL's own SQL; `$1` for each value. */
  async query<R extends pg.QueryResultRow = pg.QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<pg.QueryResult<R>> {
    // Without values several statements can be sent as one.
    return this.#counted(values.length === 0 ? this.#client.query<R>(text) : this.#client.query<R>(text, [...values]))
  }

  onNotification(listener: (payload: string) => void): void {
    this.#client.on("notification", ({ payload }) => listener(payload ?? ""))
  }

  onLost(listener: () => void): void {
    this.#client.once("end", listener)
  }

  /** Without waiting for anything. */
  drop(): void {
    this.#lost = true
    // There is no other way to end a connection that does not answer.
    const { connection } = this.#client as unknown as { connection: { stream: { destroy(): void } } }
    connection.stream.destroy()
  }

  async close(): Promise<void> {
    if (this.#lost) return
    this.#lost = true
    const gone = sleep(goodbyeMs, "late" as const, { ref: false })
    const ended = this.#client.end().then(
      () => "ended" as const,
      () => "ended" as const,
    )
    if ((await Promise.race([ended, gone])) === "late") this.drop()
  }

  async #counted<T>(answer: Promise<T>): Promise<T> {
    this.pending++
    try {
      return await answer
    } finally {
      this.pending--
    }
  }
}

/** A text of PostgreSQL has no NUL. Nothing is stored under such a name, so that another character finds nothing either. */
function valueOf(value: Statement["values"][number]): unknown {
  return typeof value === "string" && value.includes("\0") ? value.replaceAll("\0", "\u{fffd}") : value
}

function tlsOptions({ tls, host }: PostgresAddress, { ca, cert, key }: PostgresProofs): false | object {
  if (tls === "disable") return false
  return {
    // An address has no place in the handshake, and is still held against the certificate.
    ...(isIP(host) === 0 ? { servername: host } : { host }),
    rejectUnauthorized: tls !== "require",
    ...(tls === "verify-ca" && { checkServerIdentity: () => undefined }),
    ...(ca !== null && { ca }),
    ...(cert !== null && { cert, key }),
  }
}
