import { isUtf8 } from "node:buffer"
import { createHash } from "node:crypto"
import { constants, type Stats } from "node:fs"
import { lstat, open, readlink, realpath, type FileHandle } from "node:fs/promises"
import type { WorkflowIssue } from "../api/workflows.ts"
import type { Compiler } from "../compiler/compiler.ts"
import type { Described } from "../compiler/source-jobs.ts"
import { RunFailure } from "../ports/run-failure.ts"
import { openingComment } from "../source/opening-comment.ts"
import { isInside } from "./scan-folder.ts"
import { sourceBytes } from "../base/limits.ts"

/** One version of a workflow's file. */
export interface LoadedWorkflow {
  readonly source: string
  readonly version: string
  readonly description: string | null
  readonly described: Described
}

export type LoadOutcome =
  | { readonly loaded: LoadedWorkflow }
  /** What keeps it from being compiled; `version` is that of the file, where it could be read. */
  | { readonly issue: WorkflowIssue; readonly version: string | null }

/** The file's bytes; null for one that is no longer there, or not to be read now. `root`: the folder that it must be in, without links. */
export async function readWorkflow(path: string, root: string): Promise<Buffer | WorkflowIssue | null> {
  let file: FileHandle
  try {
    // What was a file when the folder was looked at may be a pipe by now: opening it must not wait for a writer.
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
  // One that has grown is being written: it is looked at again.
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

export async function loadWorkflow(bytes: Buffer, compiler: Compiler): Promise<LoadOutcome> {
  const version = createHash("sha256").update(bytes).digest("hex").slice(0, 12)
  if (!isUtf8(bytes)) return { issue: fileIssue("workflow-encoding", "The file is not valid UTF-8"), version }
  const source = bytes.toString("utf8")
  try {
    const described = await compiler.describe(source)
    return { loaded: { source, version, description: openingComment(source), described } }
  } catch (error) {
    if (!(error instanceof RunFailure)) throw error
    return { issue: fileIssue("workflow-too-large", error.message), version }
  }
}

function fileIssue(code: WorkflowIssue["code"], message: string): WorkflowIssue {
  return { code, severity: "error", path: "", message }
}
