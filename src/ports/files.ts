import { StoreFailure } from "./store.ts"

// Objects: the encrypted contents of files, under random names. Which of them are in use, and for whom, is in the store (`FileStore`).

/** What an object has in a place that holds many. */
export interface FoundObject {
  readonly name: string
  /** When it was written, in milliseconds since the epoch, by the clock of the place. */
  readonly written_at: number
}

/** Part of an object: from an offset on, this many bytes. */
export interface ByteRange {
  readonly from: number
  readonly bytes: number
}

/** The place cannot be used now. The message is a sentence for the operator. */
export class FilesFailure extends StoreFailure {
  constructor(message: string, cause?: unknown) {
    super(message, cause)
    this.name = "FilesFailure"
  }
}

/** The place has no room for the object, and nothing is wrong with it. */
export class ObjectsFull extends FilesFailure {}

/**
 * A place for objects: a folder, a bucket, memory. Names are letters and digits, and never given twice. Every method may reject with a `FilesFailure`. Contents
 * stream: no object is whole in memory, except in the place that is memory.
 */
export interface ObjectStore {
  /** For sentences. */
  readonly where: string
  /**
   * Writes an object. It is there, whole and durable, when this resolves. Where it rejects (`body` throws, the place fails), or the process dies, nothing is there under
   * the name, or a rest that `list` gives.
   */
  put(name: string, body: AsyncIterable<Uint8Array>): Promise<void>
  /** The bytes of an object, or of a part that lies within it. Throws a `FilesFailure` where the object is not there. */
  get(name: string, range?: ByteRange): AsyncIterable<Uint8Array>
  /** Harmless where it is not there. */
  delete(name: string): Promise<void>
  /** All objects, and rests of those that were never whole, in any order. */
  list(): AsyncIterable<FoundObject>
  /** Rejects with a `FilesFailure` where objects cannot be written and deleted now. */
  probe(): Promise<void>
  close(): Promise<void>
}

export const objectName = /^[A-Za-z0-9]{16,64}$/
