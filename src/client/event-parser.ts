import { longestAnswer, UnreadableAnswer } from "./read-json.ts"

/** A server-sent event, with its own id. */
export interface SentEvent {
  readonly id: string | undefined
  readonly event: string | undefined
  readonly data: string
}

interface Receiver {
  onEvent(event: SentEvent): void
  onRetry(ms: number): void
}

/**
 * Reads the server-sent events of a text that comes in pieces, as the HTML standard defines them, but for an id, which
 * counts for its own event alone. Each piece is looked at once,
 * however long a line is. It is here, and small, because browsers load it.
 */
export class EventParser {
  readonly #receiver: Receiver
  /** The line that has begun. */
  #begun: string[] = []
  #isFirstLine = true
  /** The piece before ended with a carriage return: a line feed that follows belongs to it. */
  #endedWithReturn = false
  #id: string | undefined
  #event: string | undefined
  #data: string[] = []
  /** Characters of the event that has begun. */
  #length = 0

  constructor(receiver: Receiver) {
    this.#receiver = receiver
  }

  feed(piece: string): void {
    if (piece === "") return
    this.#length += piece.length
    const ends = /\r\n?|\n/g
    let start = this.#endedWithReturn && piece.startsWith("\n") ? 1 : 0
    this.#endedWithReturn = piece.endsWith("\r")
    ends.lastIndex = start
    for (let end = ends.exec(piece); end !== null; end = ends.exec(piece)) {
      this.#line(this.#begun.join("") + piece.slice(start, end.index))
      this.#begun = []
      start = ends.lastIndex
    }
    if (start < piece.length) this.#begun.push(piece.slice(start))
    if (this.#length > longestAnswer) throw new UnreadableAnswer("An event of the stream is too large")
  }

  #line(text: string): void {
    const line = this.#isFirstLine ? text.replace(/^\uFEFF/, "") : text
    this.#isFirstLine = false
    if (line === "") {
      this.#dispatch()
      return
    }
    const colon = line.indexOf(":")
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1)
    if (name === "data") this.#data.push(value)
    else if (name === "event") this.#event = value === "" ? undefined : value
    else if (name === "id" && !value.includes("\0")) this.#id = value
    else if (name === "retry" && /^\d+$/.test(value)) this.#receiver.onRetry(Number(value))
  }

  #dispatch(): void {
    if (this.#data.length > 0) {
      this.#receiver.onEvent({ id: this.#id, event: this.#event, data: this.#data.join("\n") })
    }
    this.#id = undefined
    this.#event = undefined
    this.#data = []
    this.#length = 0
  }
}
