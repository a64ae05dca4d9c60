import about from "../../package.json" with { type: "json" }

/**
 * The form of what logs keep for a continuation: the names of call sites, and what `ReplayData` holds. It counts up when a release before
 * could no longer go on from a log, and from then on this release must still read the forms of releases (`test/histories/`).
 * Forms before 4 are those of development versions.
 */
const version = 4

/** Kept by the events with which a process begins to write to a log. */
export interface LogWriter {
  readonly log: number
  /** The release, for people. */
  readonly engine: string
}

export const thisWriter: LogWriter = { log: version, engine: about.version }

/** Why this release cannot go on from a log of that writer; null when it can, or when there is no log yet. */
export function whyNotResumable(writer: LogWriter | null): string | null {
  if (writer === null || writer.log === version) return null
  const form = writer.log > version ? "a newer" : "an older"
  return (
    `Wireworks ${about.version} cannot take up this run: Wireworks ${writer.engine} wrote its log, in ${form} form (${writer.log}, and ` +
    `this release reads ${version}). To go on from it could repeat what has been done.`
  )
}
