import { hash } from "node:crypto"
import type { Egress } from "../../ports/egress.ts"
import type { StoredFile } from "../../ports/file-store.ts"
import type { FileValue } from "../../types/file-value.ts"
import type { Files } from "./files.ts"

/** The files of the service, and what fetches those that a caller gives by their address. */
export interface RunFiles {
  readonly files: Files
  readonly egress: Egress
}

/** What a run knows of a stored file. */
export function fileValue({ file_id, name, media_type, bytes, sha256 }: StoredFile): FileValue {
  return { file_id, name, media_type, bytes, sha256 }
}

/** The id of a file that a run makes: made again after a crash, it is the same. */
export function madeFileId(run_id: string, about: readonly (string | number | null)[]): string {
  return `file_${hash("sha256", JSON.stringify([run_id, ...about]), "hex").slice(0, 32)}`
}

/** The file that a value names, where it is the caller's; null where it is not, or is gone. */
export async function ownFile(files: Files, caller: string, file_id: string): Promise<StoredFile | null> {
  const found = await files.store.one(file_id)
  return found === null || found.caller !== caller ? null : found
}

/** Contents that are here already, as they are stored. */
export async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield bytes
}

export const noFiles = "This service keeps no files (WIRE_FILES)"
