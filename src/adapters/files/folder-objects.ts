import { randomBytes } from "node:crypto"
import { createReadStream } from "node:fs"
import { mkdir, open, opendir, rename, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import { Readable } from "node:stream"
import { FilesFailure, objectName, type ByteRange, type FoundObject, type ObjectStore } from "../../ports/files.ts"

/** What an object is called until it is whole. */
const unfinished = ".part"

/** Objects as files of a folder, in folders by their first two letters. Processes of many machines may share it. */
export class FolderObjects implements ObjectStore {
  readonly where: string

  constructor(folder: string) {
    this.where = folder
  }

  async put(name: string, body: AsyncIterable<Uint8Array>): Promise<void> {
    const path = this.#path(name)
    const folder = join(this.where, name.slice(0, 2))
    let fromBody = false
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const file = await open(path + unfinished, "wx", 0o600)
      try {
        fromBody = true
        for await (const part of body) {
          fromBody = false
          await file.appendFile(part)
          fromBody = true
        }
        fromBody = false
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(path + unfinished, path)
      await syncFolder(folder)
    } catch (error) {
      await rm(path + unfinished, { force: true }).catch(() => undefined)
      throw fromBody ? error : this.#failure("written", error)
    }
  }

  async *get(name: string, range?: ByteRange): AsyncIterable<Uint8Array> {
    const part = range && { start: range.from, end: range.from + range.bytes - 1 }
    const file = createReadStream(this.#path(name), { ...part, highWaterMark: 256 * 1024 })
    try {
      for await (const bytes of file) yield bytes as Buffer
    } catch (error) {
      throw this.#failure("read", error)
    } finally {
      file.destroy()
    }
  }

  async delete(name: string): Promise<void> {
    try {
      await rm(this.#path(name), { force: true })
      await rm(this.#path(name) + unfinished, { force: true })
    } catch (error) {
      throw this.#failure("deleted", error)
    }
  }

  async *list(): AsyncIterable<FoundObject> {
    for await (const folder of entries(this.where)) {
      if (!/^[A-Za-z0-9]{2}$/.test(folder)) continue
      for await (const entry of entries(join(this.where, folder))) {
        const name = entry.endsWith(unfinished) ? entry.slice(0, -unfinished.length) : entry
        if (!objectName.test(name)) continue
        // It may have been renamed or deleted meanwhile.
        const found = await stat(join(this.where, folder, entry)).catch(() => null)
        if (found !== null) yield { name, written_at: found.mtimeMs }
      }
    }
  }

  /**
   * By an object: machines that share the folder may begin at once, and a sweep finds what one of them leaves. An empty one: a disk that
   * is full keeps no service from starting.
   */
  async probe(): Promise<void> {
    const name = randomBytes(16).toString("hex")
    await this.put(name, Readable.from([], { objectMode: false }))
    await this.delete(name)
  }

  async close(): Promise<void> {}

  #path(name: string): string {
    if (!objectName.test(name)) throw new Error(`${name} is not the name of an object`)
    return join(this.where, name.slice(0, 2), name)
  }

  #failure(what: "written" | "read" | "deleted", error: unknown): FilesFailure {
    const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : ""
    return new FilesFailure(`A file could not be ${what} in ${this.where}${code}`, error)
  }
}

async function* entries(folder: string): AsyncIterable<string> {
  let found
  try {
    found = await opendir(folder)
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return
    throw new FilesFailure(`The folder ${folder} could not be read`, error)
  }
  for await (const { name } of found) yield name
}

/** Its new name is durable. Some file systems cannot sync folders. */
async function syncFolder(folder: string): Promise<void> {
  const opened = await open(folder, "r")
  try {
    await opened.sync().catch(() => undefined)
  } finally {
    await opened.close()
  }
}
