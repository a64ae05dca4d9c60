import type { SourceText } from "../source/source-files.ts"
import { Files } from "../compile.ts"
import { isUtf8 } from "node:buffer"
import { createHash } from "node:crypto"
import type { ValidateIssue } from "../api/issue.ts"
import { currentOf } from "../base/candidate-path.ts"
import type { ReleasePlan } from "../plan/plan-release.ts"
import { withoutRelease } from "../syntax/without-release.ts"
import { constants, type Stats } from "node:fs"
import { lstat, open, readlink, realpath, type FileHandle } from "node:fs/promises"
import type { WorkflowIssue } from "../api/workflows.ts"
import { versionOf } from "../compiler/version-of.ts"
import type { Compiler } from "../compiler/compiler.ts"
import type { Described } from "../compiler/source-jobs.ts"
import { RunFailure } from "../ports/run-failure.ts"
import { openingComment } from "../source/opening-comment.ts"
import { isInside } from "./scan-folder.ts"
import { sourceBytes } from "../base/limits.ts"

/** One version of a workflow's file. */
export interface LoadedWorkflow extends SourceText {
  /** The other files that it uses, there or not, by their paths from the folder. */
  readonly uses: ReadonlySet<string>
  readonly version: string
  readonly description: string | null
  readonly described: Described
}

export type LoadOutcome =
  | { readonly loaded: LoadedWorkflow }
  /** The problem that keeps it from being compiled; `version` is that of the file, where it could be read. */
  | { readonly issue: WorkflowIssue; readonly version: string | null }

/** The file's bytes; null for one that is no longer there, or not to be read now. `root`: the folder that it must be in, without links. */
export async function readWorkflow(path: string, root: string): Promise<Buffer | WorkflowIssue | null> {
  let file: FileHandle
  try {
    // A path that was a file when the folder was scanned may be a pipe by now: opening it must not wait for a writer.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    return unreadable(error)
  }
  try {
    return await readOpen(file, path, root)
  } catch (error) {
    return unreadable(error)
  } finally {
    await file.close()
  }
}

async function readOpen(file: FileHandle, path: string, root: string): Promise<Buffer | WorkflowIssue | null> {
  const facts = await file.stat()
  if (!facts.isFile()) return null
  // The path, or a folder in it, may be a link to elsewhere by now: what counts is the file that is open.
  if (!(await isOpenInside(file, facts, path, root))) {
    return fileIssue("workflow-link", "The link points outside the folder")
  }
  if (facts.size > sourceBytes) return tooLarge()
  const bytes = Buffer.alloc(facts.size + 1)
  let length = 0
  for (let read = 1; read > 0 && length < bytes.length; length += read) {
    read = (await file.read(bytes, length)).bytesRead
  }
  // A file that has grown is being written: it is read again.
  return length > facts.size ? null : bytes.subarray(0, length)
}

async function isOpenInside(file: FileHandle, { dev, ino }: Stats, path: string, root: string): Promise<boolean> {
  const opened = await readlink(`/proc/self/fd/${file.fd}`).catch(() => null)
  if (opened !== null) return isInside(root, opened)
  const real = await realpath(path)
  const found = await lstat(real)
  return isInside(root, real) && found.dev === dev && found.ino === ino
}

function unreadable(error: unknown): WorkflowIssue | null {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown"
  return code === "ENOENT" ? null : fileIssue("workflow-unreadable", `The file cannot be read (${code})`)
}

function tooLarge(): WorkflowIssue {
  return fileIssue("workflow-too-large", `The file has more than ${sourceBytes} bytes`)
}

/** `path` is that of the file from the folder; `others` gives the bytes of other files of the folder. */
export async function loadWorkflow(
  bytes: Buffer,
  path: string,
  others: (path: string) => Buffer | undefined,
  compiler: Compiler,
): Promise<LoadOutcome> {
  if (!isUtf8(bytes)) {
    return { issue: notUtf8, version: versionOf([bytes]) }
  }
  const source = bytes.toString("utf8")
  const { uses, modules } = filesAround(path, source, others)
  const paths = [path, ...Object.keys(modules)].sort()
  const version = versionOf(paths.map((one) => (one === path ? source : (modules[one] ?? ""))))
  const text = paths.length === 1 && uses.size === 0 ? { source } : { source, file: path, modules }
  try {
    const described = await compiler.describe(text)
    return { loaded: { ...text, uses, version, description: openingComment(source), described } }
  } catch (error) {
    if (!(error instanceof RunFailure)) throw error
    return { issue: fileIssue("workflow-too-large", error.message), version }
  }
}

/** A file that may take the place of the current one of its workflow. */
export interface Candidate {
  /** The version that runs, without the `release` block; null where it has errors, or is not compatible. */
  readonly loaded: LoadedWorkflow | null
  readonly release: ReleasePlan
  /** Another one after each change of the file. */
  readonly digest: string
  /** Of the file, where it could be read. */
  readonly version: string | null
  readonly issues: readonly (ValidateIssue | WorkflowIssue)[]
}

const noTraffic: ReleasePlan = { share: 0, by: null, shadow: 0, agree_on: [], stop_when: null, names: [] }

/** One that could not be read. */
export const unreadCandidate = { loaded: null, release: noTraffic, digest: "", version: null, uses: new Set<string>() }

/** `current`: the version that is served; null where none is, and undefined where there is no file. */
export async function loadCandidate(
  bytes: Buffer,
  path: string,
  others: (path: string) => Buffer | undefined,
  compiler: Compiler,
  current: LoadedWorkflow | null | undefined,
): Promise<Candidate> {
  const digest = createHash("sha256").update(bytes).digest("hex")
  const nothing = { loaded: null, release: noTraffic, digest }
  if (!isUtf8(bytes)) return { ...nothing, version: null, issues: [notUtf8] }
  const written = bytes.toString("utf8")
  const source = withoutRelease(written)
  const { uses, modules } = filesAround(path, written, others)
  // As it is once it has become the current file. One that uses the current file cannot become it.
  const own = Object.hasOwn(modules, currentOf(path)) ? path : currentOf(path)
  const paths = [own, ...Object.keys(modules)].sort()
  const version = versionOf(paths.map((one) => (one === own ? source : (modules[one] ?? ""))))
  try {
    const described = await compiler.describe(
      { source: written, file: path, modules },
      current === undefined ? null : (current ?? undefined),
    )
    const { issues, valid, release } = described
    const text = paths.length === 1 && uses.size === 0 ? { source } : { source, file: own, modules }
    const loaded = { ...text, uses, version, description: openingComment(source), described }
    return { loaded: valid ? loaded : null, release: release ?? noTraffic, digest, version, issues }
  } catch (error) {
    if (!(error instanceof RunFailure)) throw error
    return { ...nothing, version, issues: [fileIssue("workflow-too-large", error.message)] }
  }
}

/** The files that a source leads to, and the texts of those that are there. */
function filesAround(
  path: string,
  source: string,
  others: (path: string) => Buffer | undefined,
): { readonly uses: ReadonlySet<string>; readonly modules: Readonly<Record<string, string>> } {
  // Parsing takes its time: most workflows name no other file.
  if (!/\.(?:wire|js|ts)"/.test(source)) return { uses: new Set(), modules: {} }
  const read = (one: string): string | undefined => {
    const bytes = one === path ? undefined : others(one)
    return one === path ? source : bytes === undefined || !isUtf8(bytes) ? undefined : bytes.toString("utf8")
  }
  const files = new Files({ read, near: () => [] })
  const { [path]: _, ...modules } = Object.fromEntries(files.needed(path))
  return { uses: files.named(path), modules }
}

const notUtf8 = fileIssue("workflow-encoding", "The file is not valid UTF-8")

function fileIssue(code: WorkflowIssue["code"], message: string): WorkflowIssue {
  return { code, severity: "error", path: "", message }
}
