import { readdirSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { isTestFile } from "../compile-tests.ts"

/** A workspace may be a home directory: we look at so many entries, those near its root first. */
const maxEntries = 50_000

/** The addresses of the test files in a folder; with `below`, also in the folders below it that are neither hidden nor installed packages. */
export function testFilesIn(folder: string, below: boolean): readonly string[] {
  const at = URL.parse(folder)
  if (at?.protocol !== "file:" || at.host !== "") return []
  return filesIn(fileURLToPath(at), below, isTestFile).map((path) => pathToFileURL(path).href)
}

/** The paths of the workflows and libraries in a folder and below it. */
export function sourceFilesIn(folder: string): readonly string[] {
  return filesIn(folder, true, (name) => name.endsWith(".wire") && !isTestFile(name))
}

function filesIn(folder: string, below: boolean, isWanted: (name: string) => boolean): string[] {
  const found: string[] = []
  const folders = [folder]
  let looked = 0
  // Grows while it is walked.
  for (const path of folders) {
    for (const entry of entriesOf(path)) {
      if (++looked > maxEntries) return found
      if (entry.isFile() && isWanted(entry.name)) found.push(join(path, entry.name))
      if (below && entry.isDirectory() && !entry.name.startsWith(".") && entry.name !== "node_modules") {
        folders.push(join(path, entry.name))
      }
    }
  }
  return found
}

function entriesOf(path: string) {
  try {
    return readdirSync(path, { withFileTypes: true })
  } catch {
    return []
  }
}
