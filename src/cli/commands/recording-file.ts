import { existsSync, renameSync, rmSync } from "node:fs"
import type { Exchanges, RecordingMode } from "../compose/compose-runs.ts"
import { WrongValue } from "../terminal/command-failure.ts"
import { whyUnwritable } from "./file-errors.ts"
import { readBeside, withContents, withoutContents, writeBeside } from "./recorded-files.ts"
import { readFoundFile, readRegular } from "./read-file.ts"
import { writeScratch } from "./write-scratch.ts"

/** A recording file that cannot be used: a sentence. */
export class WrongRecording extends WrongValue {}

/** `triage.test.wire` → `triage.test.recording.json` */
export function recordingPath(testFile: string): string {
  return testFile.replace(/\.wire$/, ".recording.json")
}

/** What a recording file holds; nothing where there is none. `read` is `readRecording` of the adapter; `root` of the tests that it belongs to, null where the user named it. */
export function readRecordingFile(
  path: string,
  mode: RecordingMode,
  read: (text: string) => Exchanges | null,
  root: string | null = null,
): Exchanges {
  if (mode === "live" || !existsSync(path)) return {}
  const file = root === null ? readRegular(path) : readFoundFile(path, root)
  if (file.text === null) throw new WrongRecording(`${path} ${file.problem}.`)
  const found = read(file.text)
  if (found === null) throw new WrongRecording(`${path} is not a recording: delete it, and record anew.`)
  return withContents(found, (sha256) => {
    const beside = readBeside(path, sha256, root)
    if ("problem" in beside) throw new WrongRecording(`${path} ${beside.problem}: record anew.`)
    return beside
  })
}

/** Writes exchanges, and what is large in them beside the file. Where `write` gives null there is no file. */
export function writeExchanges(path: string, all: Exchanges, write: (exchanges: Exchanges) => string | null): void {
  const { exchanges, contents } = withoutContents(all)
  try {
    // Contents first: a recording names what is there.
    if (contents.size > 0) writeBeside(path, contents, "add")
    writeRecordingFile(path, write(exchanges))
    writeBeside(path, contents, "tidy")
  } catch (error) {
    throw error instanceof WrongRecording ? error : new WrongRecording(`${path} ${whyUnwritable(error)}.`)
  }
}

/** Replaces the file in one step; an empty recording has no file. */
export function writeRecordingFile(path: string, text: string | null): void {
  let scratch: string | null = null
  try {
    const isThere = existsSync(path)
    if (text === null ? !isThere : isThere && readRegular(path).text === text) return
    if (text === null) rmSync(path, { force: true })
    else {
      scratch = writeScratch(path, text)
      renameSync(scratch, path)
      scratch = null
    }
  } catch (error) {
    throw new WrongRecording(`${path} ${whyUnwritable(error)}.`)
  } finally {
    if (scratch !== null) rmSync(scratch, { force: true })
  }
}
