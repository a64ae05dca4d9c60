import { readdirSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { isTestFile } from "../compile-tests.ts"

/** A workspace may be a home directory: we look at so many entries, those near its root first. */
const mostEntries = 50_000

/** The addresses of the test files in a folder; with `below`, also in the folders below it that are neither hidden nor installed packages. */
export function testFilesIn(folder: string, below: boolean): readonly string[] {
  const at = URL.parse(folder)
  if (at?.protocol !== "file:" || at.host !== "") return []
  const found: string[] = []
  const folders = [fileURLToPath(at)]
  let looked = 0
  // Grows while it is walked.
  for (const path of folders) {
    for (const entry of entriesOf(path)) {
      if (++looked > mostEntries) return found
      if (entry.isFile() && isTestFile(entry.name)) found.push(pathToFileURL(join(path, entry.name)).href)
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
