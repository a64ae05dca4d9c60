/** All files of a version; `file` is the path of the main one. */
export interface VersionText {
  readonly file: string
  readonly source: string
  readonly modules: Readonly<Record<string, string>>
}

/** A version of a workflow of the server's folder, with all files that it needs. */
export interface NewVersion {
  readonly workflow: string
  readonly version: string
  /** The SHA-256 over paths, lengths and texts of all files: what `version` begins, in full. */
  readonly digest: string
  readonly text: VersionText
}

/** A version as it is kept. Times are in milliseconds since 1970. */
export interface KeptVersion {
  readonly version: string
  readonly first_served_at: number
  /** About, for one that is served now: replicas write it down now and then. */
  readonly last_served_at: number
  /** It cannot be executed by callers any more; null where it was not withdrawn. */
  readonly withdrawn_at: number | null
}

/** The place in the list right after this version. */
export type VersionPosition = Pick<KeptVersion, "first_served_at" | "version">

/** What a replica finds in its folder, and what it serves. */
export interface Serving {
  readonly replica: string
  /** By workflow: the version of its file. */
  readonly files: Readonly<Record<string, string>>
  /** By workflow: the version that is served, which a pin may have chosen. */
  readonly served: Readonly<Record<string, string>>
  /** The replica counts as running until then. */
  readonly until: number
}

/** A kept version that is served in place of the file. */
export interface Pin {
  readonly workflow: string
  readonly version: string
  readonly at: number
  /** Versions of the file on all replicas when it was pinned. A replica that finds another one serves its file. */
  readonly files: readonly string[]
}

export interface RunCounts {
  readonly open: number
  readonly waiting: number
  readonly ended: number
}

export const noRuns: RunCounts = { open: 0, waiting: 0, ended: 0 }

/** The versions of the workflows of the server's folder. Each file is kept once, whatever the number of versions that need it. */
export interface VersionStore {
  /** Keeps a version that is served from now on. `clash`: another one with the same 12 digits is kept, and stays. */
  keep(version: NewVersion): Promise<"kept" | "clash">
  /** Newest first. */
  list(workflow: string, limit: number, after: VersionPosition | null): Promise<readonly KeptVersion[]>
  /** Null for one that is not kept. */
  find(workflow: string, version: string): Promise<KeptVersion | null>
  /** The files of a version; null for one that is not kept. */
  text(workflow: string, version: string): Promise<VersionText | null>
  /** The runs of each version of a workflow; `caller` null: those of all callers. */
  runs(workflow: string, caller: string | null): Promise<ReadonlyMap<string, RunCounts>>
  /** False for one that is not kept. */
  withdraw(workflow: string, version: string): Promise<boolean>
  /** A replica tells what it serves. */
  serve(serving: Serving): Promise<void>
  /** Pins a workflow to a kept version, or to its file (null). */
  pin(workflow: string, version: string | null): Promise<Pin | null>
  pins(): Promise<readonly Pin[]>
  /** Deletes versions that were served last before this time, are not pinned, and have no runs; says how many. */
  sweep(before: number): Promise<number>
}
