import { execFileSync } from "node:child_process"
import { posix } from "node:path"
import { sourceBytes } from "../../base/limits.ts"
import type { FileTexts } from "../../compile.ts"
import { CommandFailure } from "../terminal/command-failure.ts"
import { decodeSource } from "./read-source.ts"

/** The files of a commit, as those that import each other see them. Nothing of the work tree is read. */
export class GitTexts implements FileTexts {
  readonly rootRule = "Imports stay within the repository, or the folder in it that has `wireworks.json`."
  readonly #commit: string
  /** Of the project in the repository, with a slash at its end; empty for all of it. */
  readonly #root: string
  readonly #paths: ReadonlySet<string>

  constructor(commit: string, root: string, paths: ReadonlySet<string>) {
    this.#commit = commit
    this.#root = root
    this.#paths = paths
  }

  read(path: string): string | undefined {
    const whole = `${this.#root}${path}`
    if (!this.#paths.has(whole)) return undefined
    return decodeSource(git(["cat-file", "blob", `${this.#commit}:${whole}`])).text ?? undefined
  }

  *near(path: string): Iterable<string> {
    const folder = posix.dirname(path)
    for (const whole of this.#paths) {
      if (!whole.startsWith(this.#root) || !whole.endsWith(".wire")) continue
      const own = whole.slice(this.#root.length)
      if (posix.dirname(own) === folder) yield own
    }
  }
}

/** What `git:REF:path` means. */
export interface GitPlace {
  readonly texts: GitTexts
  /** Paths of workflow files from the root, those under the given path, or the one that it is. */
  readonly files: readonly string[]
  readonly isFolder: boolean
  /** The given path from the root, with a slash at its end; empty for the root. */
  readonly folder: string
}

export function readGitPlace(argument: string): GitPlace {
  const [, ref = "", path = ""] = /^git:([^:]+):(.*)$/s.exec(argument) ?? []
  if (ref === "") throw new CommandFailure(`${argument}: write git:REF:path, such as git:main:flows/triage.wire`, 2)
  const commit = commitOf(ref)
  const prefix = git(["rev-parse", "--show-prefix"]).toString().trim()
  const normal = posix.normalize(posix.join(prefix, path === "" ? "." : path)).replace(/\/$/, "")
  if (normal === ".." || normal.startsWith("../"))
    throw new CommandFailure(`${argument}: the path leaves the repository`)
  const whole = normal === "." ? "" : normal
  const paths = new Set(git(["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit]).toString().split("\0"))
  const isFile = paths.has(whole)
  const under = whole === "" ? "" : `${whole}/`
  const found = isFile ? [whole] : [...paths].filter((one) => one.startsWith(under) && one.endsWith(".wire"))
  if (found.length === 0) throw new CommandFailure(`${argument}: ${ref} has no such file, and no .wire file below it`)
  const root = rootIn(paths, isFile ? posix.dirname(whole) : whole)
  return {
    texts: new GitTexts(commit, root, paths),
    files: found.map((one) => one.slice(root.length)),
    isFolder: !isFile,
    folder: under.slice(root.length),
  }
}

/** The nearest folder above with `wireworks.json`, as for files on disk; else the repository. */
function rootIn(paths: ReadonlySet<string>, folder: string): string {
  for (let at = folder === "." ? "" : folder; at !== ""; at = posix.dirname(at) === "." ? "" : posix.dirname(at)) {
    if (paths.has(`${at}/wireworks.json`)) return `${at}/`
  }
  return ""
}

function commitOf(ref: string): string {
  try {
    return git(["rev-parse", "--verify", "--quiet", "--end-of-options", `${ref}^{commit}`])
      .toString()
      .trim()
  } catch (error) {
    if (error instanceof CommandFailure) throw error
    throw new CommandFailure(`git knows no commit \`${ref}\`, or this folder is in no repository`)
  }
}

function git(words: readonly string[]): Buffer {
  try {
    return execFileSync("git", words, { maxBuffer: 64 * sourceBytes, stdio: ["ignore", "pipe", "pipe"] })
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") {
      throw new CommandFailure("git is not installed, or not on the PATH")
    }
    throw error
  }
}
