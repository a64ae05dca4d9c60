// First, so that a bundle has the parser in one piece: it compresses better.
import { groupDigits } from "./base/group-digits.ts"
import { parse, type Parsed } from "./syntax/parser.ts"
import { runCalledWorkflows } from "./base/limits.ts"
import { didYouMean } from "./base/did-you-mean.ts"
import { remembered } from "./base/remembered.ts"
import { leavesRoot, resolveCode, resolveModule, writtenPath } from "./base/module-path.ts"
import { check, inSourceOrder } from "./check/check.ts"
import { FileSpace, isForeign } from "./check/file-space.ts"
import type { FileLookup, FoundCode, FoundFile, Program } from "./check/program.ts"
import { importsIn, isCodePath, type CheckedCode, type CodeFiles } from "./source/code-files.ts"
import { calledWorkflows } from "./plan/called-workflows.ts"
import { plan } from "./plan/plan.ts"
import type { Plan } from "./plan/plan-shape.ts"
import { diagnostic, isError, type Diagnostic, type Related } from "./source/diagnostic.ts"
import type { SourceFiles } from "./source/source-files.ts"
import { contentPlan } from "./trust/content-plan.ts"
import { checkTrust } from "./trust/trust.ts"

export interface Compiled {
  readonly program: Program
  /** Everything that is wrong, in source order. */
  readonly diagnostics: readonly Diagnostic[]
  /** There is one when no diagnostic is an error. */
  readonly plan: Plan | undefined
}

/** The spine up to the run: text → tree → program → plan. `files`: those that it may import, and where it stands among them. */
export function compile(
  text: string,
  files: SourceFiles = alone,
  digest?: Digest,
  maxCalled?: number,
  code?: CodeRules,
): Compiled {
  return new Files(new ModuleTexts(files.modules ?? {}), digest, maxCalled, code).compile(text, files.file)
}

/** Whether a source may have code, and what is known of the code files that were loaded. */
export interface CodeRules {
  readonly allowed: boolean
  readonly checked?: ((code: CodeFiles) => CheckedCode | undefined) | undefined
}

/** Makes the version of some texts. */
export type Digest = (texts: readonly string[]) => string

const alone: SourceFiles = {}

/** Where the texts of files come from. */
export interface FileTexts {
  /** The text of a file by its path from the root, to the letter; undefined where there is none that may be read. */
  read(path: string): string | undefined
  /** Paths of files of its kind that may have been meant by one that is not there. */
  near(path: string): Iterable<string>
  /** Whether a link leads from the path out of the root. */
  leaves?(path: string): boolean
  /** Says what the root is, to an author whose path leaves it. */
  readonly rootRule?: string
}

class ModuleTexts implements FileTexts {
  readonly #modules: Readonly<Record<string, string>>

  constructor(modules: Readonly<Record<string, string>>) {
    this.#modules = modules
  }

  read(path: string): string | undefined {
    return Object.hasOwn(this.#modules, path) ? this.#modules[path] : undefined
  }

  near(): Iterable<string> {
    return Object.keys(this.#modules)
  }
}

interface CheckedFile {
  readonly program: Program
  readonly diagnostics: readonly Diagnostic[]
}

/** Files that import each other. Each is parsed and checked once. */
export class Files {
  readonly #texts: FileTexts
  readonly #digest: Digest
  readonly #maxCalled: number
  readonly #code: CodeRules
  readonly #space = new FileSpace()
  readonly #parsed = new Map<string, Parsed | undefined>()
  readonly #checked = new Map<string, CheckedFile>()
  readonly #reached = new Map<string, ReadonlySet<string>>()
  readonly #nexts = new Map<string, readonly string[]>()
  /** By the path of the file that a function names. */
  readonly #codeTexts = new Map<string, CodeFiles | undefined>()

  /** `digest` makes the versions of called files, which only a plan that is run needs. `maxCalled`: the workflows that one run may call. */
  constructor(
    texts: FileTexts,
    digest: Digest = () => "",
    maxCalled = runCalledWorkflows,
    code: CodeRules = { allowed: true },
  ) {
    this.#code = code
    this.#texts = texts
    this.#digest = digest
    this.#maxCalled = maxCalled
  }

  /** A text in place of what the file holds. */
  compile(text: string, file = "main.wire"): Compiled {
    if (this.#parsed.get(file)?.tree.text !== text) {
      this.changed(file)
      this.#parsed.set(file, parse(text))
    }
    const { program, diagnostics } = this.#check(file)
    if (diagnostics.some(isError)) return { program, diagnostics, plan: undefined }
    const made = plan(program)
    const problem = tooManyCalls(program, made, this.#maxCalled)
    const content = problem === undefined ? contentPlan(program, made) : undefined
    if (problem === undefined) {
      return { program, diagnostics, plan: content === undefined ? made : { ...made, content } }
    }
    return { program, diagnostics: inSourceOrder([...diagnostics, problem]), plan: undefined }
  }

  /** A file as it is checked among the others; undefined where there is none. */
  checked(file: string): CheckedFile | undefined {
    return this.#parse(file) === undefined ? undefined : this.#check(file)
  }

  /** The files that one needs, and itself, by path; those that are not there are left out. */
  needed(file: string): ReadonlyMap<string, string> {
    const found = new Map<string, string>()
    const code = this.codeOf(file)
    for (const path of [file, ...this.#reach(file), ...this.#codePaths(file)].sort()) {
      const text = isCodePath(path)
        ? code.find(({ texts }) => path in texts)?.texts[path]
        : this.#parse(path)?.tree.text
      if (text !== undefined) found.set(path, text)
    }
    return found
  }

  /** The code files whose functions a file declares, and those of the files that it needs, each with all that it may import. */
  codeOf(file: string): readonly CodeFiles[] {
    const entries = [...new Set([file, ...this.#reach(file)].flatMap((one) => this.#codeIn(one)))]
    return entries.flatMap((entry) => this.#codeFiles(entry) ?? [])
  }

  /** Paths of code files that a file leads to, there or not. */
  #codePaths(file: string): ReadonlySet<string> {
    const paths = new Set<string>()
    for (const one of [file, ...this.#reach(file)]) {
      for (const entry of this.#codeIn(one)) {
        paths.add(entry)
        const texts = this.#codeFiles(entry)?.texts ?? {}
        for (const path in texts) {
          paths.add(path)
          for (const written of importsIn(texts[path] ?? "")) paths.add(resolveCode(path, written) ?? path)
        }
      }
    }
    return paths
  }

  /** The code files that a file names. */
  #codeIn(file: string): string[] {
    const declarations = this.#parse(file)?.tree.declarations ?? []
    return declarations.flatMap((declaration) => {
      if (declaration.kind !== "function-declaration" || declaration.file === undefined) return []
      return resolveCode(file, declaration.file.texts[0] ?? "") ?? []
    })
  }

  #codeFiles(entry: string): CodeFiles | undefined {
    if (!this.#code.allowed) return undefined
    if (!this.#codeTexts.has(entry)) {
      const texts: Record<string, string> = Object.create(null) as Record<string, string>
      const paths = new Set([entry])
      for (const path of paths) {
        const text = this.#texts.read(path)
        if (text === undefined) continue
        texts[path] = text
        for (const written of importsIn(text)) paths.add(resolveCode(path, written) ?? entry)
      }
      this.#codeTexts.set(entry, entry in texts ? { entry, texts: { ...texts } } : undefined)
    }
    return this.#codeTexts.get(entry)
  }

  #findCode(from: string, written: string): FoundCode {
    if (!this.#code.allowed) return { kind: "refused" }
    const entry = resolveCode(from, written)
    const files = entry === null ? undefined : this.#codeFiles(entry)
    if (files !== undefined) return { kind: "found", files, checked: this.#code.checked?.(files) }
    const wanted = entry ?? written.replace(/^(?:\.\.?\/)+/, "")
    const near = [...this.#texts.near(wanted)].filter((one) => isCodePath(one) && one !== wanted)
    const other = wanted.endsWith(".ts") ? wanted.replace(/ts$/, "js") : wanted.replace(/js$/, "ts")
    const meant = near.includes(other)
      ? other
      : (didYouMean(wanted, near) ?? near.find((path) => baseName(path) === baseName(wanted)))
    return { kind: "unknown", near: meant === undefined ? undefined : writtenPath(from, meant) }
  }

  /** All files that one leads to, there or not. */
  named(file: string): ReadonlySet<string> {
    return new Set([...this.#reach(file), ...this.#codePaths(file)])
  }

  /** What depends on a file is checked again. */
  changed(file: string): void {
    if (isCodePath(file)) {
      this.#codeTexts.clear()
      this.#checked.clear()
      return
    }
    const users = [...this.#parsed.keys()].filter((path) => path === file || this.#reach(path).has(file))
    for (const path of users) {
      this.#checked.delete(path)
      this.#reached.delete(path)
    }
    this.#parsed.delete(file)
    this.#nexts.delete(file)
  }

  #parse(file: string): Parsed | undefined {
    if (!this.#parsed.has(file)) {
      const text = this.#texts.read(file)
      this.#parsed.set(file, text === undefined ? undefined : parse(text))
    }
    return this.#parsed.get(file)
  }

  #check(file: string): CheckedFile {
    const known = this.#checked.get(file)
    if (known !== undefined) return known
    const { tree, diagnostics: syntax } = this.#parse(file) ?? parse("")
    const { program, diagnostics: found } = check(tree, this.#lookup(file))
    // Other mistakes come first: labels can be followed in a sound program only.
    const isSound = ![...syntax, ...found].some(isError)
    const trust = isSound ? checkTrust(program).map((one) => placedHere(one, program)) : []
    const checked = { program, diagnostics: inSourceOrder([...syntax, ...found, ...trust]) }
    this.#checked.set(file, checked)
    return checked
  }

  #lookup(file: string): FileLookup {
    const version = (called: string): string => this.#digest([...this.needed(called).values()])
    const code = (from: string, written: string): FoundCode => this.#findCode(from, written)
    return { file, space: this.#space, find: (written) => this.#find(file, written), code, version }
  }

  #find(from: string, written: string): FoundFile {
    const file = resolveModule(from, written)
    const parsed = file === null ? undefined : this.#parse(file)
    if (file === null || parsed === undefined) {
      const leaves = file === null ? leavesRoot(from, written) : this.#texts.leaves?.(file) === true
      const { rootRule = "Imports stay within the root: the folder of `modules`, or the one that is served." } =
        this.#texts
      return { kind: "unknown", near: this.#near(from, written), ...(leaves && { rootRule }) }
    }
    if (file === from || this.#reach(file).has(from)) return { kind: "cycle", way: this.#wayBack(from, file) }
    const { program, diagnostics } = this.#check(file)
    const errors = diagnostics.filter(isError)
    const [first] = errors
    if (first !== undefined) {
      const refused = errors.every(({ code }) => code === "code-not-allowed")
      return { kind: "invalid", file, errors: errors.length, first: first.message, refused }
    }
    return { kind: "found", file, program, base: this.#space.add(file, parsed.tree.text) }
  }

  #near(from: string, written: string): string | undefined {
    const plain = written
      .trim()
      .replaceAll(/[\\/]+/g, "/")
      .replaceAll(/^\/|\/$/g, "")
    const whole = `${plain.replace(/\.[a-z]{1,5}$/, "")}.wire`
    const fromRoot = whole.replace(/^(?:\.\.?\/)+/, "")
    const wanted = resolveModule(from, /^\.\.?\//.test(whole) ? whole : `./${whole}`) ?? fromRoot
    const exact = [wanted, fromRoot].find((path) => path !== from && this.#texts.read(path) !== undefined)
    // A file that is there and cannot be read is a link that leaves the root.
    const near = [...new Set([...this.#texts.near(wanted), ...this.#texts.near(fromRoot)])].filter(
      (one) => one !== from && one !== wanted && one !== fromRoot && !isCodePath(one),
    )
    const meant = exact ?? didYouMean(wanted, near) ?? near.find((path) => baseName(path) === baseName(wanted))
    return meant === undefined ? undefined : writtenPath(from, meant)
  }

  /** The files that a file names, there or not. */
  #next(file: string): readonly string[] {
    return remembered(this.#nexts, file, () => {
      const declarations = this.#parse(file)?.tree.declarations ?? []
      return declarations.flatMap((declaration) => {
        if (declaration.kind !== "file-import" && declaration.kind !== "workflow") return []
        const path = resolveModule(file, declaration.file.texts[0] ?? "")
        return path === null ? [] : [path]
      })
    })
  }

  /** All files that a file leads to; the file itself where it leads back. */
  #reach(file: string): ReadonlySet<string> {
    const known = this.#reached.get(file)
    if (known !== undefined) return known
    const reached = new Set(this.#next(file))
    for (const path of reached) for (const next of this.#next(path)) reached.add(next)
    this.#reached.set(file, reached)
    return reached
  }

  /** The shortest way from a file over another one back to it. */
  #wayBack(from: string, over: string): string[] {
    const before = new Map<string, string>([[over, from]])
    for (const [path] of before) {
      if (path === from) break
      for (const next of this.#next(path)) if (!before.has(next)) before.set(next, path)
    }
    const way = [from]
    for (
      let at = over === from ? undefined : before.get(from);
      at !== undefined;
      at = at === over ? undefined : before.get(at)
    )
      way.unshift(at)
    return [from, ...way]
  }
}

/** At the first workflow that it calls: a few files that call each other many times ask for millions of calls. */
function tooManyCalls({ workflows }: Program, made: Plan, most: number): Diagnostic | undefined {
  const calls = calledWorkflows(made)
  const [first] = workflows.values()
  if (calls <= most || first === undefined) return undefined
  const message = `A run would call ${groupDigits(calls)} workflows, nested ones included; at most ${most} are allowed`
  return diagnostic("invalid-value", `workflow.${first.name.text}`, first.name, message, "Call fewer workflows.")
}

/** Reports a mistake at a declaration of another file at the import. Places elsewhere that belong to it name their file. */
function placedHere(found: Diagnostic, { tree, files }: Program): Diagnostic {
  const { related = [], ...rest } = found
  const places = related.flatMap((one): Related[] => {
    if (!isForeign(one.span)) return [one]
    const place = files.space.locate(one.span)
    if (place === undefined) return []
    return [{ message: one.message, span: place.span, elsewhere: { file: place.file, text: place.text } }]
  })
  const kept: Diagnostic = places.length === 0 ? rest : { ...rest, related: places }
  if (!isForeign(found.span)) return kept
  const first = tree.declarations.find(({ kind }) => kind === "file-import")
  return { ...kept, span: { start: first?.start ?? 0, end: first?.end ?? 0 } }
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1)
}
