import { Buffer } from "node:buffer"
import { hash, randomBytes } from "node:crypto"
import type { ApiName } from "../check/provider-kinds.ts"
import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"

/** Input tokens that were read from the cache, and that went into it. */
export interface CacheUse {
  readonly cached: number
  readonly written: number
}

interface Looked extends CacheUse {
  /** Keeps it, once the answer has begun. */
  keep(): void
}

const keptMs = 5 * 60_000
const tokensPerBlock = 64
/** UTF-8 bytes: about four make a token. */
const blockBytes = tokensPerBlock * 4
/** Vendors keep nothing that is shorter. */
const leastBlocks = 1024 / tokensPerBlock
const mostBlocks = 16_384
const mostKept = 100_000

const seam = randomBytes(16).toString("hex")
const nothing: Looked = { cached: 0, written: 0, keep: () => undefined }

/** The beginnings of prompts that the demo model has read in the last five minutes, in blocks of 64 tokens. */
export class DemoPromptCache {
  readonly #now: () => number
  /** By the hash of a beginning: until when it is kept. */
  readonly #kept = new Map<string, number>()

  constructor(now: () => number) {
    this.#now = now
  }

  /** `/messages` keeps what is marked, the others keep all. */
  look(api: ApiName, body: JsonObject, model = ""): Looked {
    const text = JSON.stringify(api === "anthropic" ? mapped(body, sewn) : body)
    const pieces = text.split(new RegExp(`,"~":"${seam}"|${seam}`))
    const bytes = Buffer.from(`${pieces.join("")}`)
    let end = 0
    const marks = pieces.slice(0, -1).map((piece) => (end += Buffer.byteLength(piece)))
    const ends = (api === "anthropic" ? marks : [bytes.length]).map((mark) => Math.floor(mark / blockBytes))
    const last = Math.min(Math.max(0, ...ends), mostBlocks)
    if (last < leastBlocks) return nothing
    const hashes: string[] = []
    let before = hash("sha256", model)
    for (let block = 0; block < last; block++) {
      const piece = bytes.subarray(block * blockBytes, (block + 1) * blockBytes)
      hashes.push((before = hash("sha256", Buffer.concat([Buffer.from(before), piece]))))
    }
    const now = this.#now()
    const isKept = (name: string): boolean => (this.#kept.get(name) ?? 0) > now
    const found = hashes.findLastIndex((name, at) => at + 1 >= leastBlocks && isKept(name)) + 1
    const kept =
      api === "anthropic" ? ends.flatMap((mark) => (mark < leastBlocks ? [] : (hashes[mark - 1] ?? []))) : hashes
    return {
      cached: found * tokensPerBlock,
      written: (last - found) * tokensPerBlock,
      keep: () => this.#keep(found === 0 ? kept : [...kept, hashes[found - 1] ?? ""]),
    }
  }

  #keep(names: readonly string[]): void {
    const until = this.#now() + keptMs
    for (const name of names) {
      this.#kept.delete(name)
      this.#kept.set(name, until)
    }
    for (const [oldest] of this.#kept) {
      if (this.#kept.size <= mostKept) break
      this.#kept.delete(oldest)
    }
  }
}

/** A body of `/messages` without its marks: what was cut in two at one is whole again. */
export function withoutMarks(body: JsonObject): JsonObject {
  return mapped(body, (blocks) => joined(blocks, false))
}

function sewn(blocks: readonly JsonValue[]): JsonValue[] {
  return joined(blocks, true)
}

function mapped(body: JsonObject, blocksOf: (blocks: readonly JsonValue[]) => JsonValue[]): JsonObject {
  const made: Record<string, JsonValue> = {}
  for (const [key, value] of Object.entries(body)) {
    if (!Array.isArray(value)) made[key] = value
    else if (key === "tools" || key === "system") made[key] = blocksOf(value)
    else if (key !== "messages") made[key] = value
    else {
      made[key] = value.map((message) =>
        isJsonObject(message) && Array.isArray(message["content"])
          ? { ...message, content: blocksOf(message["content"]) }
          : message,
      )
    }
  }
  return made
}

function joined(blocks: readonly JsonValue[], sews: boolean): JsonValue[] {
  const made: JsonValue[] = []
  let isCut = false
  for (const block of blocks) {
    if (!isJsonObject(block)) {
      made.push(block)
      continue
    }
    const { cache_control: mark, ...rest } = block
    const end = mark !== undefined && mark !== null && sews ? seam : ""
    const text = rest["type"] === "text" ? rest["text"] : undefined
    const last = made.at(-1)
    if (typeof text !== "string") made.push(end === "" ? rest : { ...rest, "~": end })
    else if (isCut && isJsonObject(last) && typeof last["text"] === "string")
      made[made.length - 1] = { ...last, text: `${last["text"]}${text}${end}` }
    else made.push({ ...rest, text: `${text}${end}` })
    isCut = mark !== undefined && mark !== null && typeof text === "string"
  }
  return made
}
