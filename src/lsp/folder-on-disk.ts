import { join, relative, resolve, sep } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { FolderTexts, rootOf } from "../compiler/folder-texts.ts"
import { findInProject } from "../compiler/project-path.ts"
import { sourceFilesIn } from "./files-in.ts"
import type { SourceFolder } from "./language-server.ts"

/** The folder of a file: what the editor has open comes before what is stored. Null for a file of another machine, and for none. */
export function folderOnDisk(
  uri: string,
  open: (uri: string) => string | undefined,
  workspace: readonly string[],
): SourceFolder | null {
  const path = pathOf(uri)
  if (path === null) return null
  const root = rootOf(
    path,
    workspace.flatMap((folder) => pathOf(folder) ?? []).map((folder) => resolve(folder)),
  )
  const texts = new FolderTexts(root, (one) => open(pathToFileURL(one).href))
  const uriOf = (file: string): string => pathToFileURL(join(root, file)).href
  const fromRoot = (one: string): string => relative(root, one).split(sep).join("/")
  const holds = (other: string): boolean => {
    const at = pathOf(other)
    return at !== null && "real" in findInProject(root, at)
  }
  return { root, file: fromRoot(path), texts, uriOf, holds, paths: () => sourceFilesIn(root).map(fromRoot) }
}

function pathOf(uri: string): string | null {
  const at = URL.parse(uri)
  return at?.protocol === "file:" && at.host === "" ? fileURLToPath(at) : null
}
