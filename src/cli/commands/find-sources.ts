import { globSync, readdirSync, statSync, type Dirent } from "node:fs"
import { join, normalize, resolve } from "node:path"
import { rootFor } from "../../compiler/folder-texts.ts"
import { findInProject, whyNotInProject } from "../../compiler/project-path.ts"
import { errorCode, whyUnreadable } from "./file-errors.ts"

export interface FoundSource {
  readonly file: string
  /** The folder that was given and holds the file; undefined for a file that was named itself. */
  readonly root: string | undefined
}

export interface FoundSources {
  /** In the order of the arguments, each file once. */
  readonly files: readonly FoundSource[]
  /** Arguments that led to nothing: a sentence each. */
  readonly misses: readonly string[]
  /** Folders that could not be read, links that leave the root, and why: a clause. */
  readonly unreadable: readonly { readonly folder: string; readonly problem: string }[]
}

/**
 * What a user means by a list of paths: a file is itself, whatever its name; a folder is every `.wire` file under it; a
 * pattern that is not a path is every file and folder that it matches. Hidden folders and node_modules are left out unless
 * they are named, links to folders are not followed.
 */
export function findSources(paths: readonly string[]): FoundSources {
  const files = new Map<string, FoundSource>()
  const misses: string[] = []
  const unreadable: { folder: string; problem: string }[] = []

  const add = (file: string, root?: string): void => {
    const key = resolve(file)
    if (!files.has(key)) files.set(key, { file, root })
  }
  const walk = (folder: string, root = folder): void => {
    let entries: Dirent[]
    try {
      entries = readdirSync(folder, { withFileTypes: true })
    } catch (error) {
      unreadable.push({ folder, problem: whyUnreadable(error) })
      return
    }
    entries.sort((a, b) => (a.name < b.name ? -1 : 1))
    for (const entry of entries) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) {
        if (!entry.name.startsWith(".") && entry.name !== "node_modules") walk(path, root)
      } else if (entry.name.endsWith(".wire") && isFile(entry, path)) {
        addFound(path, root)
      }
    }
  }
  /** A file that the user did not name: a link may lead out of the project. */
  const addFound = (path: string, root?: string): void => {
    const within = rootFor(path, root)
    const found = findInProject(within, resolve(path))
    const leaves = "problem" in found && found.problem === "outside"
    if (leaves) unreadable.push({ folder: path, problem: whyNotInProject(within, "outside") })
    else add(path, root)
  }
  const addFolder = (folder: string): void => {
    const before = files.size + unreadable.length
    walk(folder)
    if (files.size + unreadable.length === before) misses.push(`${folder}: no .wire files in this folder`)
  }

  for (const path of paths) {
    const kind = kindOf(path)
    if (kind === "folder") addFolder(normalize(path))
    else if (kind !== "nothing") add(path)
    else {
      const matches = /[*?[{]/.test(path) ? globSync(path, { exclude: isNodeModules }).toSorted() : []
      if (matches.length === 0) misses.push(`${path}: no such file or folder`)
      for (const match of matches) {
        if (kindOf(match) === "folder") walk(match)
        else addFound(match)
      }
    }
  }
  return { files: [...files.values()], misses, unreadable }
}

/** `other`: a device, a pipe or a socket. */
function kindOf(path: string): "file" | "folder" | "nothing" | "other" {
  try {
    const found = statSync(path)
    if (found.isDirectory()) return "folder"
    return found.isFile() ? "file" : "other"
  } catch (error) {
    // Something is there that cannot be looked at: reading it will say why.
    return ["ENOENT", "ENOTDIR", "ENAMETOOLONG"].includes(errorCode(error)) ? "nothing" : "file"
  }
}

/**
 * Also for a link to a file, and for a broken link, so that reading it reports the problem. A device or a pipe is read only when the user
 * names it: reading one may never end.
 */
function isFile(entry: Dirent, path: string): boolean {
  return entry.isFile() || (entry.isSymbolicLink() && ["file", "nothing"].includes(kindOf(path)))
}

function isNodeModules(path: string): boolean {
  return path.split(/[\\/]/).includes("node_modules")
}
