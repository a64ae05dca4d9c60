import { setTimeout as sleep } from "node:timers/promises"
import pg from "pg"
import type { News } from "../../store/sql-medium.ts"
import { Connection, type ServerTarget } from "./connection.ts"
import { newsIn } from "./news.ts"

const pauseMs = 250
/** A connection that nobody uses may be dead without anybody noticing. */
const lookMs = 5_000

export interface ListenerSettings {
  readonly target: ServerTarget
  readonly channel: string
  readonly writer: number
  readonly lockClass: number
  readonly onTrouble: () => void
}

/**
 * Hears what other processes announce, on a connection of its own. The session also holds the lock that says that this process is alive.
 */
export class Listener {
  readonly #settings: ListenerSettings
  readonly #hear: (news: News) => void
  readonly #stop = new AbortController()
  #connection: Connection
  #lost = new AbortController().signal
  readonly #keeping: Promise<void>

  private constructor(settings: ListenerSettings, connection: Connection, hear: (news: News) => void) {
    this.#settings = settings
    this.#connection = connection
    this.#hear = hear
    this.#attach(connection)
    this.#keeping = this.#keep()
  }

  static async open(settings: ListenerSettings, hear: (news: News) => void): Promise<Listener> {
    const connection = await listen(settings)
    return new Listener(settings, connection, hear)
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#keeping
    await this.#connection.close()
  }

  #attach(connection: Connection): void {
    const lost = new AbortController()
    connection.onLost(() => lost.abort())
    this.#lost = lost.signal
    const writer = String(this.#settings.writer)
    connection.onNotification((payload) => {
      for (const news of newsIn(payload, writer)) this.#hear(news)
    })
  }

  async #keep(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      await sleep(lookMs, undefined, { ref: false, signal: AbortSignal.any([signal, this.#lost]) }).catch(() => {})
      if (signal.aborted) return
      const alive = await this.#connection.query("SELECT 1").then(
        () => true,
        () => false,
      )
      if (!alive) await this.#connectAgain()
    }
  }

  async #connectAgain(): Promise<void> {
    const { signal } = this.#stop
    this.#connection.drop()
    while (!signal.aborted) {
      this.#settings.onTrouble()
      try {
        this.#connection = await listen(this.#settings)
        this.#attach(this.#connection)
        // What was announced meanwhile is lost.
        this.#hear({ what: "all", run_id: "" })
        return
      } catch {
        await sleep(pauseMs, undefined, { ref: false, signal }).catch(() => {})
      }
    }
  }
}

async function listen({ target, channel, writer, lockClass }: ListenerSettings): Promise<Connection> {
  const connection = await Connection.open(target, "listener")
  try {
    await connection.query(`LISTEN ${pg.escapeIdentifier(channel)}`)
    // Shared: the session before, if the server has not noticed its end yet, holds it too.
    await connection.query("SELECT pg_advisory_lock_shared($1, $2)", [lockClass, writer])
    return connection
  } catch (error) {
    connection.drop()
    throw error
  }
}
