import { Buffer } from "node:buffer"
import { createWriteStream, mkdirSync } from "node:fs"
import { extname, join } from "node:path"
import { pipeline } from "node:stream/promises"
import type { JsonValue } from "../../base/json-value.ts"
import { sizeText } from "../../base/size-text.ts"
import { withoutTrailing } from "../../base/without-trailing.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import type { Files } from "../../run/files/files.ts"
import { mapFiles } from "../../run/files/map-files.ts"
import type { FileValue } from "../../types/file-value.ts"
import { WrongValue } from "../terminal/command-failure.ts"
import { errorCode, whyUnwritable } from "./file-errors.ts"

/** The folder of `--out`, made before the run: a wrong one should not cost a run. */
export function openOutFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true })
  } catch (error) {
    const why = errorCode(error) === "EEXIST" ? "is not a folder" : whyUnwritable(error)
    throw new WrongValue(`--out ${folder} ${why}.`)
  }
}

export interface WrittenResult {
  /** The result, in which each file that was written has its `path`. */
  readonly result: JsonValue
  /** A sentence for each file. */
  readonly notes: readonly string[]
  readonly failed: boolean
}

/** Writes the files of a result into a folder; without one it says which there are. Nothing is overwritten. */
export async function writeResultFiles(
  { output, types }: Plan,
  result: JsonValue,
  files: Files,
  folder: string | undefined,
): Promise<WrittenResult> {
  const paths = new Map<string, string | null>()
  const notes: string[] = []
  const write = async (file: FileValue): Promise<string | null> => {
    const about = `${file.name} (${file.media_type}, ${sizeText(file.bytes)})`
    if (folder === undefined) {
      notes.push(`${about} is not written: name a folder with --out.`)
      return null
    }
    try {
      const path = await writeFile(files, file, folder)
      notes.push(`${about} is written to ${path}.`)
      return path
    } catch (error) {
      notes.push(`${about} ${whyUnwritable(error)}.`)
      return null
    }
  }
  const shown = await mapFiles(result, output, types, "output", async (given) => {
    if (given.kind !== "value") throw new Error("A result has files that are not stored")
    const { file } = given
    const known = paths.get(file.file_id)
    const path = known === undefined ? await write(file) : known
    paths.set(file.file_id, path)
    return path === null ? file : { ...file, path }
  })
  return {
    result: shown,
    notes,
    failed: folder !== undefined && [...paths.values()].includes(null),
  }
}

/** Under the file's name, or that name with a number where there is such a file. */
async function writeFile(files: Files, { file_id, name }: FileValue, folder: string): Promise<string> {
  const stored = await files.store.one(file_id)
  if (stored === null) throw new Error(`The file ${file_id} of the result is gone`)
  const [stem, extension] = safeOnDisk(name)
  for (let number = 1; ; number++) {
    const path = join(folder, `${stem}${number === 1 ? "" : `-${number}`}${extension}`)
    try {
      await pipeline(files.read(stored), createWriteStream(path, { flags: "wx" }))
      return path
    } catch (error) {
      if (errorCode(error) !== "EEXIST" || number === 1000) throw error
    }
  }
}

/**
 * Stem and extension. A model or a stranger may have chosen the name: it is not hidden, no device or stream of Windows, and not too long for a disk.
 */
function safeOnDisk(name: string): [string, string] {
  const shown = name.replace(/^[.\s]+/, "").replaceAll(/[<>:"|?*]/g, "_")
  const visible = withoutTrailing(shown, ".").trimEnd()
  const extension = Buffer.byteLength(extname(visible)) <= 20 ? extname(visible) : ""
  let stem = visible.slice(0, visible.length - extension.length)
  while (Buffer.byteLength(stem) > 200) stem = Array.from(stem).slice(0, -1).join("")
  return [/^(?:|(?:con|prn|aux|nul|com\d|lpt\d)(?:[.\s].*)?)$/i.test(stem) ? `file${stem}` : stem, extension]
}
