import { Damaged } from "../../ports/store.ts"
import type { Broker } from "./broker.ts"
import { cutPart, packFrame, unpackFrame } from "./frame.ts"
import type { Stored, Write } from "./transport.ts"

/** What one message of ours holds at most; more is stored in pieces beside it. */
const inlineBytes = 96 * 1024
const pieceBytes = 512 * 1024
/** How many messages are read or removed side by side. */
export const together = 16
/** From so many on, messages are removed by a pattern, which makes the broker look at every message that it has. */
const manySubjects = 256

/** A row as it is stored. Parts that are stored in pieces are empty until `whole` has read them. */
export interface Row<Facts> {
  readonly subject: string
  readonly seq: number
  readonly facts: Facts
  readonly parts: readonly Uint8Array[]
}

interface Pieces {
  readonly run_id: string
  readonly token: string
  /** How many pieces each part has; a part with 0 is in the row itself. */
  readonly cut: readonly number[]
}

/** Rows: the messages on subjects of their own, each replaced as a whole. */
export class Rows {
  readonly #broker: Broker

  constructor(broker: Broker) {
    this.#broker = broker
  }

  /** What to write for a row of a run: its pieces, if it needs any, and then itself. */
  pack(
    run_id: string,
    subject: string,
    facts: object,
    parts: readonly Uint8Array[],
    how: Pick<Write, "expected" | "ttlMs"> = {},
  ): Write[] {
    const room = this.#broker.maxPayload - 8_192
    const limit = Math.min(inlineBytes, room)
    let rest = parts.reduce((sum, part) => sum + part.length, 0)
    if (rest <= limit) return [{ subject, data: packFrame(facts, parts), ...how }]
    const token = this.#broker.token(9)
    const cut = parts.map(() => 0)
    const inline = [...parts]
    const pieces: Uint8Array[] = []
    // The largest first: what every reader of the row needs is small, and stays in it.
    const tooLarge = new Set<Uint8Array>()
    for (const part of parts.toSorted((a, b) => b.length - a.length)) {
      if (rest <= limit) break
      rest -= part.length
      tooLarge.add(part)
    }
    for (const [index, part] of parts.entries()) {
      if (!tooLarge.has(part)) continue
      const own = cutPart(part, Math.min(pieceBytes, room))
      cut[index] = own.length
      inline[index] = new Uint8Array(0)
      pieces.push(...own)
    }
    const stored: Pieces = { run_id, token, cut }
    return [
      ...pieces.map((data, index) => ({ subject: this.#broker.names.piece(run_id, token, index), data })),
      { subject, data: packFrame({ ...facts, pieces: stored }, inline), ...how },
    ]
  }

  /** As the leader has it. */
  async read<Facts>(subject: string): Promise<Row<Facts> | null> {
    const stored = await this.#broker.row(subject)
    return stored === null ? null : open<Facts>(stored)
  }

  /** The row with so many of its parts at least; null where it was deleted meanwhile. */
  async whole<Facts>(row: Row<Facts>, count: number): Promise<Row<Facts> | null> {
    const pieces = piecesOf(row.facts)
    if (pieces === null) return row
    const parts = [...row.parts]
    let next = 0
    for (const [index, many] of pieces.cut.entries()) {
      const first = next
      next += many
      if (many === 0 || index >= count) continue
      const found: (Stored | null)[] = []
      for (let at = first; at < next; at += together) {
        const some = Array.from({ length: Math.min(together, next - at) }, (_, more) =>
          this.#broker.get("rows", this.#broker.names.piece(pieces.run_id, pieces.token, at + more), "sure"),
        )
        found.push(...(await Promise.all(some)))
      }
      if (found.includes(null)) return await this.#missing(row)
      parts[index] = Buffer.concat(found.flatMap((piece) => piece?.data ?? []))
    }
    return { ...row, parts }
  }

  /** A row is deleted before its pieces are. */
  async #missing({ subject, seq }: Row<unknown>): Promise<null> {
    if ((await this.#broker.at(seq)) === null) return null
    throw new Damaged(`A piece of the message on ${subject} is missing`)
  }

  /** Removes rows that are not made again. */
  async remove(...subjects: readonly string[]): Promise<void> {
    await inTurns(subjects, (subject) => this.#broker.purge("rows", subject))
  }

  async removeAll(filter: string): Promise<void> {
    const subjects = await this.#broker.list("rows", filter)
    if (subjects.length < manySubjects) await this.remove(...subjects)
    else await this.#broker.purge("rows", filter)
  }
}

export function open<Facts>({ subject, seq, data }: Stored): Row<Facts> {
  return { subject, seq, ...unpackFrame<Facts>(subject, data) }
}

/** Whether some parts of a row are stored apart from it. */
export function isCut({ facts }: Row<unknown>): boolean {
  return piecesOf(facts) !== null
}

/** About what a row takes, its pieces included. */
export function bytesOf({ facts, parts }: Row<unknown>): number {
  const cut = piecesOf(facts)?.cut ?? []
  return parts.reduce((sum, part) => sum + part.length, 0) + cut.reduce((sum, many) => sum + many * pieceBytes, 0)
}

function piecesOf(facts: unknown): Pieces | null {
  return (facts as { readonly pieces?: Pieces }).pieces ?? null
}

/** Some at a time, in order. */
export async function inTurns<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let at = 0; at < items.length; at += together) {
    results.push(...(await Promise.all(items.slice(at, at + together).map(work))))
  }
  return results
}
