import { FilesFailure, ObjectsFull, type ByteRange, type FoundObject, type ObjectStore } from "../../ports/files.ts"

/** Objects in memory, up to a number of bytes. */
export class MemoryObjects implements ObjectStore {
  readonly where = "memory"
  readonly #most: number
  readonly #now: () => number
  readonly #objects = new Map<string, { readonly parts: readonly Uint8Array[]; readonly written_at: number }>()
  #bytes = 0

  constructor(most: number, now: () => number) {
    this.#most = most
    this.#now = now
  }

  async put(name: string, body: AsyncIterable<Uint8Array>): Promise<void> {
    const parts: Uint8Array[] = []
    let bytes = 0
    try {
      for await (const part of body) {
        if (this.#bytes + part.length > this.#most) {
          throw new ObjectsFull(`The files in memory take all of the ${this.#most} bytes that they may`)
        }
        this.#bytes += part.length
        bytes += part.length
        parts.push(Uint8Array.from(part))
      }
    } catch (error) {
      this.#bytes -= bytes
      throw error
    }
    this.#objects.set(name, { parts, written_at: this.#now() })
  }

  async *get(name: string, range?: ByteRange): AsyncIterable<Uint8Array> {
    const object = this.#objects.get(name)
    if (object === undefined) throw new FilesFailure(`The object ${name} is not in memory`)
    let { from, bytes } = range ?? { from: 0, bytes: Number.POSITIVE_INFINITY }
    for (const part of object.parts) {
      if (bytes <= 0) return
      if (from < part.length) {
        const piece = part.subarray(from, from + bytes)
        bytes -= piece.length
        yield piece
      }
      from = Math.max(0, from - part.length)
    }
  }

  async delete(name: string): Promise<void> {
    const object = this.#objects.get(name)
    if (object === undefined) return
    this.#objects.delete(name)
    for (const part of object.parts) this.#bytes -= part.length
  }

  async *list(): AsyncIterable<FoundObject> {
    for (const [name, { written_at }] of this.#objects) yield { name, written_at }
  }

  async probe(): Promise<void> {}

  async close(): Promise<void> {
    this.#objects.clear()
  }
}
