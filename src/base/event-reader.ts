/** A server-sent event, with its own id. */
export interface SentEvent {
  readonly id: string | undefined
  readonly event: string | undefined
  readonly data: string
}

export interface EventReceiver {
  onEvent(event: SentEvent): void
  onRetry?(ms: number): void
  /** An event is longer than it may be. Nothing more is read. */
  onTooLong(): void
}

/**
 * Reads the server-sent events of a text that comes in pieces, as the HTML standard defines them, but for an id, which counts for its
 * own event alone. Takes linear time, however long a line is and however lines end: servers that we do not trust write them. It is
 * small, because browsers load it.
 */
export class EventReader {
  readonly #receiver: EventReceiver
  /** Characters of one event. */
  readonly #most: number
  /** The line that has begun. */
  readonly #begun: string[] = []
  /** Characters that are kept of the line, and of the data before it. */
  #held = 0
  /** The piece before ended with a carriage return: a line feed that follows belongs to it. */
  #endedWithReturn = false
  #id: string | undefined
  #event: string | undefined
  #data: string | undefined
  #isOver = false

  constructor(receiver: EventReceiver, most: number) {
    this.#receiver = receiver
    this.#most = most
  }

  /** The next piece, without a byte order mark: a `TextDecoder` leaves it out. */
  feed(piece: string): void {
    if (piece === "" || this.#isOver) return
    let start = this.#endedWithReturn && piece.startsWith("\n") ? 1 : 0
    this.#endedWithReturn = piece.endsWith("\r")
    let feed = piece.indexOf("\n", start)
    let back = piece.indexOf("\r", start)
    while (feed >= 0 || back >= 0) {
      const end = back < 0 || (feed >= 0 && feed < back) ? feed : back
      if (this.#begun.length === 0) this.#line(piece, start, end)
      else this.#endLine(piece.slice(start, end))
      start = end === back && feed === end + 1 ? end + 2 : end + 1
      // Each is searched for once: the text is read twice, not once for every line.
      if (feed >= 0 && feed < start) feed = piece.indexOf("\n", start)
      if (back >= 0 && back < start) back = piece.indexOf("\r", start)
    }
    if (start < piece.length) {
      this.#begun.push(piece.slice(start))
      this.#held += piece.length - start
    }
    if (this.#held <= this.#most) return
    this.#isOver = true
    this.#begun.length = 0
    this.#data = undefined
    this.#receiver.onTooLong()
  }

  /** Characters that are kept of an event that has begun. */
  get held(): number {
    return this.#held
  }

  /** The text has ended. An event whose last line lacks its blank line is taken all the same. */
  end(): void {
    this.feed("\n\n")
  }

  #endLine(rest: string): void {
    const text = this.#begun.join("") + rest
    this.#held -= text.length - rest.length
    this.#begun.length = 0
    this.#line(text, 0, text.length)
  }

  #line(text: string, start: number, end: number): void {
    if (start === end) this.#dispatch()
    else if (text.startsWith("data:", start)) this.#addData(valueAt(text, start + 5, end))
    else {
      const line = text.slice(start, end)
      const colon = line.indexOf(":")
      this.#field(colon < 0 ? line : line.slice(0, colon), colon < 0 ? "" : valueAt(text, start + colon + 1, end))
    }
  }

  #field(name: string, value: string): void {
    if (name === "event") this.#event = value === "" ? undefined : value
    else if (name === "data") this.#addData(value)
    else if (name === "id" && !value.includes("\0")) this.#id = value
    else if (name === "retry" && /^\d+$/.test(value)) this.#receiver.onRetry?.(Number(value))
  }

  #addData(value: string): void {
    this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`
    this.#held += value.length + 1
  }

  #dispatch(): void {
    const [id, event, data] = [this.#id, this.#event, this.#data]
    this.#id = undefined
    this.#event = undefined
    this.#data = undefined
    this.#held = 0
    if (data !== undefined) this.#receiver.onEvent({ id, event, data })
  }
}

/** One space after the colon does not belong to the value. */
function valueAt(text: string, start: number, end: number): string {
  return text.slice(text.charCodeAt(start) === 0x20 ? start + 1 : start, end)
}
