import type { Dirent, Stats } from "node:fs"
import { readdir, realpath, stat } from "node:fs/promises"
import { join, sep } from "node:path"
import type { WorkflowIssue } from "../api/workflows.ts"
import { candidateOf, isHidden, isHiddenName, whyNotName } from "./workflow-name.ts"

const extension = ".wire"
/** More is not a folder of workflows but a mistake, such as `wire serve /`. */
const maxFiles = 10_000
/** Links may show one folder under many names: so many workflows, folders and links are looked at, by whatever name. */
const maxEntries = 40_000
const deepest = 32
/** Folders that begin with `_` are looked into for files that others import, so many of them in all. */
const maxHiddenFolders = 100

/** A file that may be served. */
export interface FoundFile {
  readonly name: string
  readonly path: string
  /** Differs when the file has been changed or replaced. */
  readonly stamp: string
}

/** A file that is not served, whatever it holds. */
export interface RefusedFile {
  readonly name: string
  readonly issue: WorkflowIssue
}

export interface FolderScan {
  /** The folder itself, without links. */
  readonly root: string
  readonly files: readonly FoundFile[]
  /** Files that are not served because of their names, and that those may import. */
  readonly hidden: readonly FoundFile[]
  readonly refused: readonly RefusedFile[]
  /** Candidates, by the names of their files: `triage.next`. */
  readonly candidates: readonly FoundFile[]
  /** Every folder that was looked into. */
  readonly folders: readonly string[]
}

/** Finds the workflows of a folder. Rejects where the folder itself cannot be read. */
export async function scanFolder(folder: string): Promise<FolderScan> {
  const root = await realpath(folder)
  const files: FoundFile[] = []
  const hidden: FoundFile[] = []
  const refused: RefusedFile[] = []
  const candidates: FoundFile[] = []
  const folders: string[] = []
  /** Looked into at the end, so that the workflows have their places first. */
  const hiddenFolders: (() => Promise<void>)[] = []
  let hiddenLeft = maxHiddenFolders
  let entriesSeen = 0
  let isFull = false

  const refuse = (name: string, code: WorkflowIssue["code"], message: string, hint?: string): void => {
    if (isHiddenName(name)) return
    refused.push({ name, issue: { code, severity: "error", path: "", message, ...(hint !== undefined && { hint }) } })
  }
  /** Said once: there may be millions of them. */
  const refuseMore = (name: string, message: string): void => {
    if (!isFull) refuse(name, "workflow-count", message)
    isFull ||= !isHiddenName(name)
  }

  const addFile = (name: string, path: string, facts: Stats): void => {
    const ofCandidate = candidateOf(name)
    const reason = whyNotName(ofCandidate ?? name)
    if (reason !== null) {
      refuse(name, "workflow-name", `The name is refused: ${reason}`, "Rename the file, or the folder that it is in.")
    } else if (files.length + hidden.length + candidates.length < maxFiles) {
      const list = isHiddenName(name) ? hidden : ofCandidate === null ? files : candidates
      list.push({ name, path, stamp: stampOf(facts) })
    } else {
      refuseMore(name, `A folder can have at most ${maxFiles} workflows: this one, and maybe others, are not served`)
    }
  }

  const addLink = async (name: string, path: string, above: readonly string[]): Promise<void> => {
    const isSource = path.endsWith(extension)
    const shown = isSource ? name.slice(0, -extension.length) : name
    let target: string
    let facts: Stats
    try {
      target = await realpath(path)
      facts = await stat(path)
    } catch {
      if (isSource)
        refuse(
          shown,
          "workflow-link",
          "The link points to a file that does not exist",
          "Point it to a file in the folder.",
        )
      return
    }
    if (!facts.isDirectory() && !(isSource && facts.isFile())) return
    if (!isInside(root, target)) {
      refuse(shown, "workflow-link", "The link points outside the folder", "Copy what it points to into the folder.")
    } else if (!facts.isDirectory()) {
      addFile(shown, path, facts)
    } else if (!above.includes(target)) {
      // A link to a folder that it is in would never end.
      await walk(path, target, name, above)
    }
  }

  const add = async (entry: Dirent, folderPath: string, prefix: string, above: readonly string[]): Promise<void> => {
    const path = join(folderPath, entry.name)
    const name = prefix === "" ? entry.name : `${prefix}/${entry.name}`
    if (entry.isDirectory() && isHidden(entry.name)) hiddenFolders.push(() => walk(path, path, name, above))
    else if (entry.isSymbolicLink()) await addLink(name, path, above)
    else if (entry.isDirectory()) await walk(path, path, name, above)
    else {
      const facts = await stat(path).catch(() => null)
      // Deleted since.
      if (facts !== null) addFile(name.slice(0, -extension.length), path, facts)
    }
  }

  const walk = async (path: string, real: string, prefix: string, above: readonly string[]): Promise<void> => {
    if (above.length >= deepest || (isHiddenName(prefix) && --hiddenLeft < 0)) return
    if (folders.length >= maxFiles || entriesSeen >= maxEntries) {
      const most = `At most ${maxFiles} folders are looked into, with ${maxEntries} workflows, folders and links in them`
      refuseMore(prefix, `${most}: this one, and maybe others, are not`)
      return
    }
    let entries: Dirent[]
    try {
      entries = await readdir(path, { withFileTypes: true })
    } catch (error) {
      if (above.length === 0) throw error
      const code = error instanceof Error && "code" in error ? String(error.code) : "unknown"
      if (code !== "ENOENT") refuse(prefix, "workflow-unreadable", `The folder cannot be read (${code})`)
      return
    }
    folders.push(path)
    const wanted = entries.filter(isOfInterest)
    const looked = wanted.slice(0, Math.max(0, maxEntries - entriesSeen))
    entriesSeen += wanted.length
    if (looked.length < wanted.length) {
      refuseMore(
        prefix === "" ? "." : prefix,
        `At most ${maxEntries} workflows, folders and links are looked at: some in this folder are not`,
      )
    }
    const here = [...above, real]
    await Promise.all(looked.filter((entry) => entry.isFile()).map((entry) => add(entry, path, prefix, here)))
    // One after the other: thousands of folders side by side would keep the event loop busy with what they hold.
    for (const entry of looked) if (!entry.isFile()) await add(entry, path, prefix, here)
  }

  await walk(root, root, "", [])
  for (const look of hiddenFolders) await look()
  const byName = (a: { readonly name: string }, b: { readonly name: string }): number => (a.name < b.name ? -1 : 1)
  return { root, files: files.sort(byName), hidden, refused: refused.sort(byName), candidates, folders }
}

/** It may be a workflow, or lead to one. */
function isOfInterest(entry: Dirent): boolean {
  if (entry.name.startsWith(".") || entry.name.endsWith(`.test${extension}`)) return false
  return entry.isDirectory() || entry.isSymbolicLink() || (entry.isFile() && entry.name.endsWith(extension))
}

/** Whether a path without links is in a folder without links, or is the folder. */
export function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep)
}

export function stampOf({ ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${ino} ${size} ${mtimeMs} ${ctimeMs}`
}

/** The stamp that a file has now; null when it is not there. */
export async function currentStamp(path: string): Promise<string | null> {
  const facts = await stat(path).catch(() => null)
  return facts === null ? null : stampOf(facts)
}
