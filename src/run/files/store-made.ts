import { hash } from "node:crypto"
import type { FileValue } from "../../types/file-value.ts"
import type { Files } from "./files.ts"
import { fileValue, madeFileId, oneChunk, ownFile } from "./run-files.ts"

export interface MadeFile {
  readonly caller: string
  readonly run_id: string
  /** Which step makes it. */
  readonly step: string
  /** Where in the step. With the contents it decides the id. */
  readonly place: readonly (string | number | null)[]
  readonly name: string
  readonly media_type: string
  readonly bytes: Uint8Array
}

/** Stores a file that a run makes. Made again, after a crash or by another evaluation, it is the same. Rejects with a `FileRefusal`. */
export async function storeMade(
  files: Files,
  { caller, run_id, step, place, name, media_type, bytes }: MadeFile,
  call: <T>(work: () => Promise<T>) => Promise<T>,
): Promise<FileValue> {
  const file_id = madeFileId(run_id, [step, ...place, name, media_type, hash("sha256", bytes, "hex")])
  const known = await ownFile(files, caller, file_id)
  if (known !== null) return fileValue(known)
  const about = { name, media_type, bytes: bytes.length }
  const put = await call(() => files.put(caller, about, oneChunk(bytes), { file_id, run_id, step }))
  return fileValue(put.file)
}
