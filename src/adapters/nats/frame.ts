import { Damaged, StoreFailure, TooNew } from "../../ports/store.ts"

// What every message of ours looks like: a version, a JSON line of plain facts (numbers, ids, times: nothing that a
// workflow or a caller wrote but the caller's name), then sealed parts, each with its length before it.
//
// While a cluster is upgraded, replicas of two releases read each other's messages. So a release reads its own version and the
// next one, of which it knows this much: the layout stays, facts and parts may be added, and those that it knows keep their
// meaning. Facts, parts and kinds of slots that a release does not know are ignored. A release that cannot keep to this writes the old
// version until no replica of the release before is left.

/** Development versions wrote version 1. */
const version = 2
const newestReadable = version + 1
/** A larger number is not a version but the first byte of something else: letters begin at 65. */
const newestPlausible = 32

export interface Frame<Facts> {
  readonly facts: Facts
  readonly parts: readonly Uint8Array[]
}

export function packFrame(facts: object, parts: readonly Uint8Array[]): Uint8Array {
  const line = Buffer.from(JSON.stringify(facts), "utf8")
  const total = 5 + line.length + parts.reduce((sum, part) => sum + 4 + part.length, 0)
  const frame = Buffer.allocUnsafe(total)
  frame[0] = version
  let at = frame.writeUInt32BE(line.length, 1)
  at += line.copy(frame, at)
  for (const part of parts) {
    at = frame.writeUInt32BE(part.length, at)
    frame.set(part, at)
    at += part.length
  }
  return frame
}

export function unpackFrame<Facts>(subject: string, data: Uint8Array): Frame<Facts> {
  const frame = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  const [found = 0] = frame
  if (frame.length < 5 || found === 0) throw damaged(subject)
  if (found < version) {
    throw new StoreFailure(
      `The message on ${subject} was written by a development version of Wireworks: let that version finish its runs, then delete its ` +
        `streams, or set WIRE_NATS_PREFIX to another prefix`,
    )
  }
  if (found > newestReadable) {
    throw found > newestPlausible
      ? damaged(subject)
      : new TooNew(
          `The message on ${subject} was written by a newer release of Wireworks (version ${found} of its form, and this release reads ` +
            `up to ${newestReadable}): upgrade this replica, too.`,
        )
  }
  const bodyAt = 5 + frame.readUInt32BE(1)
  if (bodyAt > frame.length) throw damaged(subject)
  const parts: Uint8Array[] = []
  for (let at = bodyAt; at < frame.length;) {
    const start = at + 4
    const end = start > frame.length ? Infinity : start + frame.readUInt32BE(at)
    if (end > frame.length) throw damaged(subject)
    parts.push(frame.subarray(start, end))
    at = end
  }
  try {
    return { facts: JSON.parse(frame.toString("utf8", 5, bodyAt)) as Facts, parts }
  } catch {
    throw damaged(subject)
  }
}

/** Cuts a part that is too long for one message into pieces that are not. */
export function cutPart(part: Uint8Array, bytes: number): Uint8Array[] {
  const pieces: Uint8Array[] = []
  for (let at = 0; at < part.length; at += bytes) pieces.push(part.subarray(at, at + bytes))
  return pieces
}

function damaged(subject: string): Damaged {
  return new Damaged(`The message on ${subject} is damaged, or was not written by Wireworks`)
}
