// Functions compute the defaults of inputs.
import "../run/values/functions/apply-function.ts"
import { existsSync } from "node:fs"
import { basename, dirname, join, relative, resolve, sep } from "node:path"
import { currentOf, isCandidatePath } from "../base/candidate-path.ts"
import { compiledBeside } from "../diff/check-candidate.ts"
import { sourceBytes } from "../base/limits.ts"
import type { CodeHost } from "../ports/code.ts"
import { checkAll } from "./check-code.ts"
import { Files, type Compiled, type FileTexts } from "../compile.ts"
import { isCodePath, type CheckedCode, type CodeFiles } from "../source/code-files.ts"
import type { SourceText } from "../source/source-files.ts"
import { findInProject, isInside, listNames, type ProjectPath } from "./project-path.ts"
import { readRegularFile } from "./read-regular-file.ts"
import { versionOf } from "./version-of.ts"

/** The files of a folder on disk, as those of it that import each other see them. */
export class FolderTexts implements FileTexts {
  readonly #root: string
  readonly #overlay: (path: string) => string | undefined
  readonly #listed = new Map<string, ReadonlySet<string>>()

  /** `overlay` has texts that count in place of the files': those that an editor has open. */
  constructor(root: string, overlay: (path: string) => string | undefined = () => undefined) {
    this.#root = root
    this.#overlay = overlay
  }

  read(path: string): string | undefined {
    const open = this.#overlay(join(this.#root, path))
    if (open !== undefined) return open
    const found = this.#find(path)
    if ("problem" in found) return undefined
    try {
      const bytes = readRegularFile(found.real, sourceBytes)
      return bytes === null ? undefined : new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
    } catch {
      return undefined
    }
  }

  leaves(path: string): boolean {
    const found = this.#find(path)
    return "problem" in found && found.problem === "outside"
  }

  #find(path: string): ProjectPath {
    return findInProject(this.#root, path, (folder) => this.#names(folder))
  }

  get rootRule(): string {
    return `Paths stay within ${this.#root}: give the command a folder above it, or mark one with \`wireworks.json\`.`
  }

  *near(path: string): Iterable<string> {
    const folder = dirname(path) === "." ? "" : dirname(path)
    const folders = new Set([folder, "", "lib", ...(folder === "" ? [] : [dirname(folder).replace(/^\.$/, "")])])
    for (const one of folders) {
      for (const name of this.#names(resolve(this.#root, one)))
        if (name.endsWith(".wire") || isCodePath(name)) yield one === "" ? name : `${one}/${name}`
    }
  }

  #names(folder: string): ReadonlySet<string> {
    let names = this.#listed.get(folder)
    if (names === undefined) {
      names = listNames(folder)
      this.#listed.set(folder, names)
    }
    return names
  }
}

/**
 * The folder that a file's imports stay in: the nearest above it with `.git` or `wireworks.json`, or that the editor has open; else its
 * own.
 */
export function rootOf(file: string, open: readonly string[] = []): string {
  const own = dirname(resolve(file))
  for (let folder = own; ; folder = dirname(folder)) {
    if (open.includes(folder)) return folder
    if (existsSync(join(folder, ".git")) || existsSync(join(folder, "wireworks.json"))) return folder
    if (dirname(folder) === folder) return own
  }
}

/** The same for a file of a command. `given`: the folder that the command was given, which is the root of its files. */
export function rootFor(file: string, given: string | undefined): string {
  return given !== undefined && isInside(resolve(given), resolve(file)) ? resolve(given) : rootOf(file)
}

/** A source on disk with the files that it needs. */
export interface CompiledFile extends Compiled {
  readonly text: SourceText
  /** Their paths on disk, its own first. */
  readonly paths: readonly string[]
}

/** The path of a file from the root. */
export function pathFrom(root: string, file: string): string {
  return relative(root, resolve(file)).split(sep).join("/") || basename(file)
}

/** Compiles the text of a file with the files around it, without loading its code. `given` as for `rootFor`. */
export function compileFile(file: string, source: string, given?: string): CompiledFile {
  return filesOf(file, source, given).compiled()
}

/** The same, with the code of the file loaded in the sandbox. */
export async function compileFileAndCode(
  file: string,
  source: string,
  host: () => Promise<CodeHost>,
  given?: string,
): Promise<CompiledFile> {
  const { code, compiled } = filesOf(file, source, given)
  return compiled(code.length === 0 ? {} : await checkAll(code, await host(), ""))
}

function filesOf(
  file: string,
  source: string,
  given: string | undefined,
): {
  readonly code: readonly CodeFiles[]
  readonly compiled: (checked?: Readonly<Record<string, CheckedCode>>) => CompiledFile
} {
  const root = rootFor(file, given)
  const path = pathFrom(root, file)
  let known: Readonly<Record<string, CheckedCode>> = {}
  const rules = { allowed: true, checked: ({ entry }: CodeFiles) => known[entry] }
  const texts = new FolderTexts(root)
  const own: FileTexts = {
    read: (one) => (one === path ? source : texts.read(one)),
    near: (one) => texts.near(one),
    leaves: (one) => texts.leaves(one),
    rootRule: texts.rootRule,
  }
  const files = new Files(own, versionOf, undefined, rules)
  return {
    code: files.codeOf(path),
    compiled: (checked = {}) => {
      known = checked
      return compiledFrom(files, texts, root, file, source)
    },
  }
}

/** Compiles the text of a file; that of a candidate with the current file beside it. */
export function compileBeside(files: Files, texts: FileTexts, path: string, source: string): Compiled {
  const compiled = files.compile(source, path)
  if (!isCandidatePath(path)) return compiled
  const current = texts.read(currentOf(path))
  return compiledBeside(compiled, current === undefined ? undefined : files.compile(current, currentOf(path)))
}

function compiledFrom(files: Files, texts: FileTexts, root: string, file: string, source: string): CompiledFile {
  const path = pathFrom(root, file)
  const compiled = compileBeside(files, texts, path, source)
  const { [path]: _, ...modules } = Object.fromEntries(files.needed(path))
  const others = Object.keys(modules)
  const text = others.length === 0 ? { source } : { source, file: path, modules }
  return { ...compiled, text, paths: [file, ...others.map((other) => join(root, other))] }
}
