import type { SeenEvent } from "../contract/http/read-stream.ts"
import { eventsOf, isEnd } from "../contract/http/read-stream.ts"

/** A client that reads one run, and comes back with its last id whenever the connection breaks or is refused. */
export class ReconnectingReader {
  readonly events: SeenEvent[] = []
  run_id = ""
  connections = 0
  readonly #origin: string
  readonly #deadline: number

  constructor(origin: string, deadline_ms: number) {
    this.#origin = origin
    this.#deadline = Date.now() + deadline_ms
  }

  /** Starts the run. Resolves when the service has admitted it. */
  async start(body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<{ end: Promise<void> }> {
    const response = await fetch(`${this.#origin}/execute`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream", ...headers },
      body: JSON.stringify(body),
    })
    if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`)
    this.run_id = response.headers.get("x-service-run-id") ?? ""
    return { end: this.#toEnd(response) }
  }

  async #toEnd(first: Response): Promise<void> {
    for (let response: Response | null = first; ; response = await this.#again()) {
      if (response !== null) await this.#read(response)
      if (this.events.some(isEnd)) return
      if (Date.now() > this.#deadline) throw new Error(`Run ${this.run_id} did not end: ${this.events.at(-1)?.type}`)
    }
  }

  async #again(): Promise<Response | null> {
    await new Promise((resolve) => setTimeout(resolve, 100))
    try {
      const last = this.events.at(-1)?.id ?? 0
      const response = await fetch(`${this.#origin}/execute/${this.run_id}/events`, {
        headers: { "last-event-id": String(last) },
      })
      if (response.status === 200) return response
      if (response.status < 500) throw new Error(`The service answered ${response.status}: ${await response.text()}`)
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
    }
    return null
  }

  async #read(response: Response): Promise<void> {
    this.connections++
    try {
      for await (const event of eventsOf(response)) this.events.push(event)
    } catch (error) {
      // What `fetch` says of a connection that breaks.
      if (!(error instanceof TypeError)) throw error
    }
  }
}
