// Rows of files: whose they are, which object has their contents, which runs use them. An object is written before any row names it, and deleted before its row goes, so
// that a crash leaves at most an object that no row names.

/** The facts of a file. */
export interface FileFacts {
  readonly name: string
  readonly media_type: string
  readonly bytes: number
  /** Of the contents, in hex. */
  readonly sha256: string
}

/** An encrypted object, and the key to it. */
export interface FileObject {
  /** Where the contents are. */
  readonly object: string
  readonly key: Uint8Array
}

export interface StoredFile extends FileFacts, FileObject {
  /** Within the store; later files have larger ones. */
  readonly number: number
  readonly file_id: string
  readonly caller: string
  readonly created_at: number
  readonly expires_at: number
}

/** How a run came by a file. */
export interface FileUse {
  readonly origin: "input" | "made"
  /** The step that made it; empty for an input. */
  readonly step: string
}

export interface NewFile extends FileFacts, FileObject {
  readonly file_id: string
  readonly caller: string
  readonly created_at: number
  readonly expires_at: number
  /** The most that the objects of its caller may take. */
  readonly most: number
  /** The run that made it, or got it as an input (`step` is null). Two runs make two files of the same contents, and one run that makes a file again makes the same. */
  readonly made?: { readonly run_id: string; readonly step: string | null }
}

/**
 * `stored`: the file is new. `known`: its caller has had this file, which lives longer now. `full`: nothing was stored. `taken`: a row names the object that was given; else
 * the same contents were there, and the given object is of no use.
 */
export type AddedFile =
  | {
      readonly outcome: "stored" | "known"
      readonly file_id: string
      readonly created_at: number
      readonly taken: boolean
    }
  | { readonly outcome: "full"; readonly taken: false }

/** `used`: a run that has not ended uses it. */
export type FileDeletion = "deleted" | "used" | "gone"

export interface FileTotals {
  /** Of objects, those included whose files were deleted. */
  readonly bytes: number
  readonly files: number
}

export interface FileStore {
  /** Stores a file whose object is there, whole. */
  add(file: NewFile): Promise<AddedFile>
  /** Null: there is none (any more). */
  one(file_id: string): Promise<StoredFile | null>
  /** Files of a caller, newest first. `after`: the number of the last one of the page before; 0 for the first page. */
  list(caller: string, limit: number, after: number): Promise<readonly StoredFile[]>
  /** The files of a run that are still there, in the order in which it got them. */
  ofRun(run_id: string): Promise<readonly (StoredFile & FileUse)[]>
  /**
   * In one step: the run refers to these files, which its step took over from another run, or (`step` is null) got. False, and nothing is stored, where one of them is
   * not the caller's, or is gone.
   */
  use(run_id: string, caller: string, files: readonly string[], step: string | null): Promise<boolean>
  /** The runs that use a file. */
  runsOf(file_id: string): Promise<readonly string[]>
  /** In one step: the file is gone, and its object goes later, unless another file has the same contents. */
  delete(file_id: string): Promise<FileDeletion>
  /** Objects that no file needs, and whose time has come. */
  dueObjects(limit: number): Promise<readonly string[]>
  /** Those of the objects that a row names. */
  named(objects: readonly string[]): Promise<readonly string[]>
  /** These were deleted: nothing counts them any more. */
  forget(objects: readonly string[]): Promise<void>
  totals(caller: string | null): Promise<FileTotals>
}

/** Who began to read a file before it was deleted has this long. */
export const objectGraceMs = 3_600_000
