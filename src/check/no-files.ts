import { FileSpace } from "./file-space.ts"
import type { FileLookup } from "./program.ts"

/** For a source that stands alone. */
export function noFiles(file = "main.wire"): FileLookup {
  return { file, space: new FileSpace(), find: () => ({ kind: "unknown", near: undefined }), version: () => "" }
}
