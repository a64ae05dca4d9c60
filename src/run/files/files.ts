import { createHash, randomBytes } from "node:crypto"
import { safeFileName } from "../../base/file-name.ts"
import { isLie, readMediaType, telltaleBytes } from "../../base/media-type.ts"
import type { Clock } from "../../ports/clock.ts"
import { FilesFailure, ObjectsFull, type ByteRange, type ObjectStore } from "../../ports/files.ts"
import type { FileStore, StoredFile } from "../../ports/file-store.ts"
import { openPieces, sealPieces } from "./sealed-pieces.ts"

export interface FileLimits {
  /** Bytes of one file, and of all files of a caller. */
  readonly file: number
  readonly perCaller: number
  readonly retentionMs: number
}

export interface FilePorts {
  readonly objects: ObjectStore
  readonly store: FileStore
  readonly clock: Pick<Clock, "now">
}

export type FileRefusalKind = "payload_too_large" | "storage_full" | "unsupported_media_type"

/** A file that is not taken. */
export class FileRefusal extends Error {
  readonly kind: FileRefusalKind

  constructor(kind: FileRefusalKind, message: string) {
    super(message)
    this.name = "FileRefusal"
    this.kind = kind
  }
}

/** What a sender says of a file. */
export interface GivenFile {
  readonly name: string | null
  readonly media_type: string | null
  /** Bytes that are to come; null where nobody says. */
  readonly bytes: number | null
}

export interface PutFile {
  readonly file: StoredFile
  /** False: the caller had it. */
  readonly isNew: boolean
}

/** How many objects are looked at together. */
const page = 100
/** An object that no row names is a leftover when it is older: an upload does not take as long. */
const leftoverMs = 24 * 3_600_000

/** The files of all callers: takes them, gives them, and deletes what nobody needs. */
export class Files {
  readonly #ports: FilePorts
  readonly #limits: FileLimits
  #added = 0

  constructor(ports: FilePorts, limits: FileLimits) {
    this.#ports = ports
    this.#limits = limits
  }

  get store(): FileStore {
    return this.#ports.store
  }

  get limits(): FileLimits {
    return this.#limits
  }

  /** Files that this process has stored. */
  get added(): number {
    return this.#added
  }

  /** Throws a `FileRefusal` where a file of this size cannot be taken, before any of it is read. */
  async admit(caller: string, bytes: number | null): Promise<void> {
    if (bytes !== null && bytes > this.#limits.file) throw this.#tooLarge()
    const { bytes: before } = await this.#ports.store.totals(caller)
    if (before + Math.max(1, bytes ?? 1) > this.#limits.perCaller) throw this.#full()
  }

  /**
   * Stores a file: its object first, then its rows, so that nothing refers to half a file. `made`: by a step of a run, or fetched for its input (`step` is null); the run
   * refers to it from then on. Rejects with a
   * `FileRefusal`, a `StoreFailure`, or the error of the body.
   */
  async put(
    caller: string,
    given: GivenFile,
    body: AsyncIterable<Uint8Array>,
    made?: { readonly file_id: string; readonly run_id: string; readonly step: string | null },
  ): Promise<PutFile> {
    const { objects, store, clock } = this.#ports
    const media_type = readMediaType(given.media_type ?? "application/octet-stream")
    if (media_type === null) throw new FileRefusal("unsupported_media_type", "The media type of the file is not one")
    const name = safeFileName(given.name)
    const object = randomBytes(16).toString("hex")
    const key = randomBytes(32)
    const hash = createHash("sha256")
    let bytes = 0
    const counted = (part: Uint8Array): void => {
      bytes += part.length
      if (bytes > this.#limits.file) throw this.#tooLarge()
      hash.update(part)
    }
    const plain = checked(body, media_type, counted)
    await objects
      .put(object, sealPieces({ key, about: aboutObject(caller, object) }, plain))
      .catch((error: unknown) => {
        throw error instanceof ObjectsFull ? new FileRefusal("storage_full", `${error.message}: delete some`) : error
      })
    const sha256 = hash.digest("hex")
    const created_at = clock.now()
    const expires_at = created_at + this.#limits.retentionMs
    const file_id = made?.file_id ?? `file_${randomBytes(16).toString("hex")}`
    const row = { file_id, caller, object, key, name, media_type, bytes, sha256, created_at, expires_at }
    const { perCaller: most } = this.#limits
    // Where this fails it may have been stored all the same: the object stays, and the sweep decides.
    const added = await store.add({ ...row, most, ...(made !== undefined && { made }) })
    if (!added.taken) await objects.delete(object).catch(() => undefined)
    if (added.outcome === "full") throw this.#full()
    if (added.outcome === "stored") this.#added++
    const file = await store.one(added.file_id)
    if (file === null) throw new FilesFailure("The file was deleted while it was stored")
    return { file, isNew: added.outcome === "stored" }
  }

  /** The contents of a file, or a part that lies within them. */
  read(file: StoredFile, range?: ByteRange): AsyncIterable<Uint8Array> {
    const { object, caller, key, bytes } = file
    const read = (part: ByteRange): AsyncIterable<Uint8Array> => this.#ports.objects.get(object, part)
    return openPieces({ key, about: aboutObject(caller, object) }, bytes, read, range)
  }

  /** The contents, whole. */
  async readAll(file: StoredFile): Promise<Buffer> {
    const parts: Uint8Array[] = []
    for await (const part of this.read(file)) parts.push(part)
    return Buffer.concat(parts)
  }

  /** Deletes the objects that no file needs; says how many. */
  async sweepObjects(): Promise<number> {
    const { objects, store } = this.#ports
    for (let deleted = 0; ;) {
      const due = await store.dueObjects(page)
      for (const name of due) await objects.delete(name)
      await store.forget(due)
      deleted += due.length
      if (due.length < page) return deleted
    }
  }

  /** Deletes objects that no row names: of processes that died between the two. It looks at all objects; says how many were deleted. */
  async sweepLeftovers(): Promise<number> {
    const { objects, store, clock } = this.#ports
    let deleted = 0
    let found: string[] = []
    const drop = async (): Promise<void> => {
      const named = new Set(await store.named(found))
      for (const name of found) {
        if (named.has(name)) continue
        await objects.delete(name)
        deleted++
      }
      found = []
    }
    for await (const { name, written_at } of objects.list()) {
      if (written_at < clock.now() - leftoverMs) found.push(name)
      if (found.length === page) await drop()
    }
    await drop()
    return deleted
  }

  close(): Promise<void> {
    return this.#ports.objects.close()
  }

  #tooLarge(): FileRefusal {
    return new FileRefusal("payload_too_large", `The file is larger than ${this.#limits.file} bytes (WIRE_MAX_FILE)`)
  }

  #full(): FileRefusal {
    return new FileRefusal(
      "storage_full",
      `Your files take the ${this.#limits.perCaller} bytes that they may (WIRE_MAX_FILES_PER_CALLER): delete some. The room of a deleted file is free after an hour`,
    )
  }
}

function aboutObject(caller: string, object: string): string {
  return `${object} of ${caller}`
}

/** The body as it comes, counted. Throws a `FileRefusal` where its first bytes are not those of its type. */
async function* checked(
  body: AsyncIterable<Uint8Array>,
  mediaType: string,
  counted: (part: Uint8Array) => void,
): AsyncGenerator<Uint8Array, void> {
  let head: Buffer | null = Buffer.alloc(0)
  const check = (bytes: Uint8Array): void => {
    if (!isLie(mediaType, bytes)) return
    throw new FileRefusal("unsupported_media_type", `The contents of the file are not ${mediaType}`)
  }
  for await (const part of body) {
    counted(part)
    if (head === null) {
      yield part
      continue
    }
    head = Buffer.concat([head, part])
    if (head.length < telltaleBytes) continue
    check(head.subarray(0, telltaleBytes))
    yield head
    head = null
  }
  if (head === null) return
  check(head)
  yield head
}
