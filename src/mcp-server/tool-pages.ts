import { Buffer } from "node:buffer"
import { randomBytes } from "node:crypto"
import type { CachedList } from "../workflows/cached-list.ts"
import type { ToolListing } from "./workflow-tool.ts"

export interface ToolPage {
  readonly tools: readonly ToolListing[]
  readonly nextCursor?: string
}

/** Lists that answers under way may still refer to. */
const recentLists = 4

/**
 * Pages of `tools/list` whose bytes are kept: to write a list of a megabyte anew for each request would take tens of milliseconds. The SDK gets
 * a tool that stands for the page, and `fill` puts the page in its place on the way out.
 */
export class ToolPages {
  readonly #list: () => Promise<CachedList>
  /** Nobody else knows it: no caller can send what stands for a page. */
  readonly #mark = randomBytes(16).toString("hex")
  readonly #standIn = new RegExp(
    `\\{"name":"${this.#mark}\\.(\\d+)\\.([\\w-]*)","inputSchema":\\{"type":"object"\\}\\}`,
  )
  readonly #recent: { readonly number: number; readonly list: CachedList }[] = []
  #lists = 0

  constructor(list: () => Promise<CachedList>) {
    this.#list = list
  }

  /** Null for a cursor that no page has given. */
  async page(cursor: string | undefined): Promise<ToolPage | null> {
    const after = cursor === undefined ? null : readCursor(cursor)
    if (cursor !== undefined && after === null) return null
    const list = await this.#list()
    const { json, next } = list.after(after)
    if (json.length === 0) return { tools: [] }
    const name = [this.#mark, this.#numberOf(list), toCursor(after ?? "")].join(".")
    const standIn: ToolListing = { name, inputSchema: { type: "object" } }
    return { tools: [standIn], ...(next !== null && { nextCursor: toCursor(next) }) }
  }

  /** Part of an answer, with the pages in the place of what stands for them. */
  fill(part: Uint8Array): readonly Uint8Array[] {
    const bytes = Buffer.from(part.buffer, part.byteOffset, part.byteLength)
    if (!bytes.includes(this.#mark)) return [part]
    // Between the matches of a pattern with groups, `split` gives what the groups match.
    const [first = "", ...rest] = bytes.toString("utf8").split(this.#standIn)
    const filled: Uint8Array[] = [Buffer.from(first)]
    for (let at = 0; at + 2 < rest.length; at += 3) {
      const [number, cursor = "", text = ""] = rest.slice(at, at + 3)
      const { list } = this.#recent.find((one) => one.number === Number(number)) ?? {}
      const json = list?.after(readCursor(cursor))?.json ?? ""
      filled.push(typeof json === "string" ? Buffer.from(json) : json, Buffer.from(text))
    }
    return filled
  }

  #numberOf(list: CachedList): number {
    const known = this.#recent.find((one) => one.list === list)
    if (known !== undefined) return known.number
    const number = ++this.#lists
    this.#recent.push({ number, list })
    if (this.#recent.length > recentLists) this.#recent.shift()
    return number
  }
}

function toCursor(name: string): string {
  return Buffer.from(name).toString("base64url")
}

function readCursor(cursor: string): string | null {
  const name = Buffer.from(cursor, "base64url").toString("utf8")
  return name !== "" && toCursor(name) === cursor ? name : null
}
