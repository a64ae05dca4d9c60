import type { Command } from "commander"
import { findSources } from "./find-sources.ts"
import { readSource, type FileVersion } from "./read-source.ts"
import { readStdin, stdinName } from "./read-stdin.ts"
import type { Output } from "../terminal/terminal.ts"

export interface SourceFile {
  readonly file: string
  /** The folder that was given and holds the file. */
  readonly root?: string | undefined
  readonly text: string
  /** Missing for standard input. */
  readonly version?: FileVersion
}

/** What to do with the sources of a command line. */
export interface SourceVisitor {
  /** For the progress line: "Checked". */
  readonly done: string
  source(source: SourceFile): void | Promise<void>
  /** A file or folder that could not be read: which, and why as a clause. */
  unreadable(file: string, problem: string): void
  /** An argument that led to nothing: a sentence. */
  miss(sentence: string): void
}

/** Visits standard input, or every source that the paths mean. A command line with both or neither is refused. */
export async function eachSource(
  command: Command,
  paths: readonly string[],
  stdin: boolean,
  output: Output,
  visitor: SourceVisitor,
): Promise<void> {
  if (stdin && paths.length > 0) command.error("error: give files or --stdin, not both")
  if (!stdin && paths.length === 0) command.error("error: missing required argument 'file'")
  if (!stdin) return eachFile(paths, output, visitor)
  const read = await readStdin()
  if (read.text === null) visitor.unreadable(stdinName, read.problem)
  else await visitor.source({ file: stdinName, text: read.text })
}

/** One after the other. What cannot be read is reported, and the rest goes on. */
async function eachFile(paths: readonly string[], output: Output, visitor: SourceVisitor): Promise<void> {
  const { files, misses, unreadable } = findSources(paths)
  for (const sentence of misses) visitor.miss(sentence)
  for (const { folder, problem } of unreadable) visitor.unreadable(folder, problem)
  for (const [index, { file, root }] of files.entries()) {
    const read = readSource(file)
    if (read.text === null) visitor.unreadable(file, read.problem)
    else await visitor.source({ file, root, text: read.text, version: read.version })
    output.progress(visitor.done, index + 1, files.length)
  }
  output.clearProgress()
}
