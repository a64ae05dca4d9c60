import type { Origin, Piece } from "../../src/origins/origin.ts"

/** More pieces than this would only slow the page down. */
const maxPieces = 500
const maxOrigins = 20

/** What pieces have in common that are marked together: all that the source says, or one origin. */
export function keyOf({ kind, label }: Origin): string {
  return kind === "source" ? kind : `${kind} ${label}`
}

/** The pieces that are marked, and the rest of the text as one that is not. */
export function shownPieces(pieces: readonly Piece[]): readonly Piece[] {
  if (pieces.length <= maxPieces) return pieces
  const rest = pieces.slice(maxPieces).map(({ text }) => text)
  return [...pieces.slice(0, maxPieces), { text: rest.join(""), origin: null }]
}

/** Each origin of a text once; lines of the source as one: `lines 13–40`. */
export function legendOf(pieces: readonly Piece[]): readonly Origin[] {
  const origins = new Map<string, Origin>()
  for (const { origin } of pieces) if (origin !== null) origins.set(keyOf(origin), origins.get(keyOf(origin)) ?? origin)
  const lines = pieces.flatMap(({ origin }) => (origin?.kind === "source" ? (origin.line ?? []) : []))
  if (lines.length > 0) origins.set("source", linesOrigin(lines))
  return [...origins.values()].slice(0, maxOrigins)
}

function linesOrigin(lines: readonly number[]): Origin {
  const first = lines.reduce((least, line) => Math.min(least, line))
  const last = lines.reduce((most, line) => Math.max(most, line))
  return { kind: "source", label: first === last ? `line ${first}` : `lines ${first}–${last}`, line: first }
}
