import { Buffer } from "node:buffer"
import { createReadStream } from "node:fs"
import { firstPrev, hashOf, longestLine, readLine } from "./audit-line.ts"

export interface AuditReport {
  /** Lines that fit. */
  readonly lines: number
  /** The hash of the last line that fits: `prev` of the next. */
  readonly hash: string
  /** Lines that the service could not write, as later lines say. */
  readonly lost: number
  /** The first line that does not fit, from 1, and why; null where all do. */
  readonly problem: { readonly line: number; readonly message: string } | null
}

/** Follows the hashes of an audit file. Rejects with the error of the system where it cannot be read. */
export async function verifyAudit(path: string): Promise<AuditReport> {
  let lines = 0
  let lost = 0
  let hash = firstPrev
  const at = (message: string): AuditReport => ({ lines, hash, lost, problem: { line: lines + 1, message } })
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      const bytes = rest.subarray(0, end)
      rest = rest.subarray(end + 1)
      const line = readLine(bytes.toString("utf8"))
      if (line === undefined) return at("it is not a line of an audit trail")
      if (line.prev !== hash) return at(whyNot(lines))
      lines++
      hash = hashOf(bytes)
      if (typeof line["lost"] === "number") lost += line["lost"]
    }
    if (rest.length > longestLine) return at("it is too long for a line of an audit trail")
  }
  return rest.length > 0
    ? at("it is cut: a process died while it wrote it. The next start of the service removes it, and notes that")
    : { lines, hash, lost, problem: null }
}

function whyNot(before: number): string {
  return before === 0
    ? "its `prev` is not that of a first line: lines before it were removed"
    : `its \`prev\` is not the hash of line ${before}: one of the two was changed, or a line between them was removed or added`
}
