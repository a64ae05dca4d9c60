import { createHash } from "node:crypto"
import type { ServerTarget } from "./connection.ts"

/** Shown to operators: without the login. */
export function addressOf({ address: { host, port, database } }: Pick<ServerTarget, "address">): string {
  return `${host}:${port}/${database}`
}

/** "WIRE": our locks among those of other programs on the server. */
const ourLocks = 0x57495245

/** One process writes at a time: whoever holds this lock of the server. */
export function writeLock(schema: string): readonly [number, number] {
  return [ourLocks, numberOf(schema)]
}

/** The first number of the locks that processes hold while they are connected. The second is that of the process. */
export function processLocks(schema: string): number {
  return numberOf(`processes of ${schema}`)
}

/** Names are cut after 63 bytes by the server. */
export function channelOf(schema: string): string {
  return `wire_${createHash("sha256").update(schema).digest("hex").slice(0, 16)}`
}

/** A positive number of 31 bits. */
function numberOf(name: string): number {
  return createHash("sha256").update(name).digest().readUInt32BE() >>> 1
}
