import { isUtf8 } from "node:buffer"
import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import type { WorkflowIssue } from "../api/shapes.ts"
import type { Compiler } from "../compiler/compiler.ts"
import type { Described } from "../compiler/source-jobs.ts"
import { RunFailure } from "../ports/run-failure.ts"
import { maxSourceBytes } from "../source/max-source-bytes.ts"
import { openingComment } from "../source/opening-comment.ts"

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

/** The file's bytes; null for one that is no longer there. */
export async function readWorkflow(path: string): Promise<Buffer | WorkflowIssue | null> {
  try {
    return await readFile(path)
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown"
    return code === "ENOENT" ? null : fileIssue("workflow-unreadable", `The file cannot be read (${code})`)
  }
}

export async function loadWorkflow(bytes: Buffer, compiler: Compiler): Promise<LoadOutcome> {
  const version = createHash("sha256").update(bytes).digest("hex").slice(0, 12)
  if (bytes.length > maxSourceBytes) {
    return { issue: fileIssue("workflow-too-large", `The file has more than ${maxSourceBytes} bytes`), version }
  }
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
