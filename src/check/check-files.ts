import { type Hint, meantReference, meantWord, removeIt } from "../source/hint.ts"
import type { Span } from "../source/span.ts"
import { propertyOf } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import { isAssignable, nullable } from "../types/relations.ts"
import { showType } from "../types/show-type.ts"
import { fieldNamed } from "../types/field-named.ts"
import { blockOf } from "./block-of.ts"
import { notAllowedHint } from "./check-code.ts"
import { boundSecrets, secretNamed } from "./bound-secrets.ts"
import type { CheckContext } from "./check-context.ts"
import { isForeign } from "./file-space.ts"
import { foreignNodes } from "./foreign-nodes.ts"
import {
  eachChainIn,
  importedDeclaration,
  referredTo,
  sharedNode,
  tableOf,
  type SharedNode,
} from "./imported-declaration.ts"
import { infer } from "./infer.ts"
import { knownNames } from "./known-list.ts"
import type { FoundFile, Program, SchemaAlong } from "./program.ts"
import { readProperties } from "./properties.ts"
import { schemaAlong } from "./schemas-along.ts"
import { declareUnique } from "./repeated-name.ts"
import { requestScope } from "./scope.ts"

// Declarations of other files. They are entered beside those of this file before anything is checked; what an import says of secrets
// is checked once the secrets of this file are known.

export type FileUse = Syntax.FileImportDeclaration | Syntax.WorkflowDeclaration

/** A file that could be used, and the secrets that are needed of it. */
export interface UsedFile {
  readonly declaration: FileUse
  readonly program: Program
  /** The first offset of its text among those of other files. */
  readonly base: number
  /** Names of the secrets, as the other file has them. */
  readonly needs: ReadonlySet<string>
  /** Some of what is imported is not there: nobody knows which secrets it would need. */
  readonly isPartial: boolean
}

export type UsableFile = Extract<FoundFile, { kind: "found" }>

const sharedKinds: readonly string[] = [
  ...(["schema", "provider", "model", "mcp", "api"] as const),
  ...(["tool", "resource", "prompt", "function"] as const),
]

export function isShared(word: string): word is Syntax.SharedKind {
  return sharedKinds.includes(word)
}

export function pathOfFile(declaration: FileUse): string {
  if (declaration.kind === "workflow") return `workflow.${declaration.name.text}`
  return `import ${declaration.file.texts[0] ?? ""}`
}

/** Finds the files of all imports, and adds the declarations that they name, with what these need, to those of the program. */
export function importFiles(checking: CheckContext): UsedFile[] {
  const importing = new Importing(checking)
  const imports: { readonly found: UsableFile; readonly declaration: Syntax.FileImportDeclaration }[] = []
  for (const declaration of checking.tree.declarations) {
    if (declaration.kind !== "file-import") continue
    const found = findFile(checking, declaration)
    if (found !== undefined) imports.push({ found, declaration })
    else for (const { word, name } of declaration.names.items) checking.skipped.lost.add(`${word.text}.${name.text}`)
  }
  // Names first: what comes along with another declaration has the name that an import gives it.
  const named = imports.map(({ found, declaration }) => {
    const source = importing.source(found, boundSecrets(declaration))
    const items = declaration.names.items.filter((item) => isThere(checking, found, declaration, item))
    for (const item of items) source.enter(item)
    return { source, items, declaration, found }
  })
  return named.map(({ source, items, declaration, found: { program, base } }) => {
    checking.imported.add(program)
    for (const item of items) source.take(item)
    const needs = new Set(items.flatMap(({ word, source: { text } }) => [...needsOf(program, `${word.text}.${text}`)]))
    return { declaration, program, base, needs, isPartial: items.length < declaration.names.items.length }
  })
}

/** The file that a declaration names; reports why there is none. */
export function findFile(checking: CheckContext, declaration: FileUse): UsableFile | undefined {
  const { file } = declaration
  // The parser has reported it.
  if (file.interpolations.length > 0) return undefined
  const written = file.texts[0] ?? ""
  const path = pathOfFile(declaration)
  const found = checking.files.find(written)
  switch (found.kind) {
    case "found":
      return found
    case "unknown": {
      const rule = /^\.\.?\/.*\.wire$/.test(written)
        ? "A path begins at the folder of the file that imports."
        : "Paths begin with `./` or `../` and end in `.wire`."
      const hint = found.near === undefined ? (found.rootRule ?? rule) : meantWord(found.near)
      const quoted = checking.quote(file)
      const message =
        found.rootRule === undefined ? `There is no file ${quoted}` : `The path ${quoted} leaves the root folder`
      checking.report("unknown-file", path, file, message, hint)
      return undefined
    }
    case "cycle": {
      const message = `The file leads back to itself: ${found.way.join(" → ")}`
      checking.report("import-cycle", path, file, message, "Remove one of these imports or workflows.")
      return undefined
    }
    case "invalid": {
      if (found.refused) {
        const message = `${found.file} has code, which this service does not take from here`
        checking.report("code-not-allowed", path, file, message, notAllowedHint)
        return undefined
      }
      const errors = found.errors === 1 ? "an error" : `${found.errors} errors`
      const first = found.errors === 1 ? found.first : `The first: ${found.first}`
      checking.report("invalid-import", path, file, `${found.file} has ${errors}. ${first}`, `Fix ${found.file}.`)
      return undefined
    }
  }
}

/** Whether the other file declares it, so that it can be imported; reports what cannot. */
function isThere(
  checking: CheckContext,
  { program, file }: UsableFile,
  declaration: FileUse,
  item: Syntax.FileImportItem,
): boolean {
  const { word, source, name } = item
  const path = pathOfFile(declaration)
  const lose = (message: string, hint: Hint): false => {
    checking.skipped.lost.add(`${word.text}.${name.text}`)
    checking.report("unknown-reference", path, item, message, hint)
    return false
  }
  const kind = word.text
  const id = `${kind}.${source.text}`
  if (!isShared(kind)) {
    const isStep = ["agent", "ask", "wait", "dynamic"].includes(kind)
    const hint = isStep
      ? 'Call the file instead: `workflow name from "./file.wire"`, and `call workflow.name`.'
      : `Known kinds are ${sharedKinds.map((one) => `\`${one}\``).join(", ")}.`
    return lose(`${isStep ? "A step" : `\`${kind}\``} cannot be imported`, hint)
  }
  const importedFrom = program.importedDeclarations.get(id)
  if (importedFrom !== undefined) {
    return lose(`${file} imports ${id} itself`, `Import it from ${importedFrom.file}.`)
  }
  if (!tableOf(program, kind).has(source.text)) {
    const known = namesOf(program, kind)
    const near = checking.suggest(source.text, known)
    const hint = near === undefined ? knownNames(known) : meantReference(`${kind}.${near}`, item)
    return lose(`${file} declares no ${id}`, hint)
  }
  const place = reachOf(program, id).input
  if (place !== null) {
    const message = `${id} of ${file} refers to the input of its file, at ${place}`
    checking.skipped.lost.add(`${kind}.${name.text}`)
    checking.report("input-in-import", path, item, message, "Write the value out there, or declare it in this file.")
    return false
  }
  return true
}

/** The names that a file declares itself. */
export function namesOf(program: Program, kind: Syntax.SharedKind): string[] {
  return [...tableOf(program, kind).keys()].filter((name) => !program.importedDeclarations.has(`${kind}.${name}`))
}

// ------------------------------------------------------------------------------------------------------- grafting

/** A file with the bindings of one import. */
interface ImportedSource {
  enter(item: Syntax.FileImportItem): void
  take(item: Syntax.FileImportItem): void
}

class Importing {
  readonly #checking: CheckContext
  /** The names here of what was taken over, by kind, file, name and bindings. */
  readonly #names = new Map<string, string>()
  readonly #instances = new Map<string, number>()
  /** Schemas that an import gives a name, and those that came along without one. */
  readonly #named = new Set<SchemaAlong>()
  readonly #along = new Set<SchemaAlong>()

  constructor(checking: CheckContext) {
    this.#checking = checking
  }

  /** Whether an import that gives a schema a name gives none to what it refers to: then its copy has the names that all files have. */
  #isPlain(along: SchemaAlong): boolean {
    return along.next().every((one) => this.#enterAlong(one))
  }

  /** Takes over a schema with all that it leads to, as it is in all files; false where an import gives one of them another name. */
  #enterAlong(along: SchemaAlong): boolean {
    if (this.#along.has(along)) return true
    const all = along.all()
    for (const named of this.#named) if (all.has(named)) return false
    const { importedDeclarations, declarations } = this.#checking
    for (const one of all) {
      if (this.#along.has(one)) continue
      this.#along.add(one)
      importedDeclarations.set(`schema.${one.name}`, one.symbol)
      declarations.push(one.node)
    }
    return true
  }

  source({ file, program, base }: UsableFile, bound: ReadonlyMap<string, string>): ImportedSource {
    const bind = (secret: string): string | null => bound.get(secret) ?? null
    const alongOf = (kind: Syntax.SharedKind, name: string): SchemaAlong | undefined =>
      kind === "schema" ? schemaAlong({ file, program, base }, name) : undefined
    const identity = (kind: Syntax.SharedKind, name: string): string => {
      const id = `${kind}.${name}`
      const origin = program.importedDeclarations.get(id) ?? { file, name }
      const needs = needsOf(program, id)
      const plain = `${kind} ${origin.file}#${origin.name}`
      if (needs.size === 0) return plain
      return plain + JSON.stringify([...needs].sort().map((secret) => [secret, bind(secret)]))
    }
    const take = (
      kind: Syntax.SharedKind,
      name: string,
      own: Syntax.Name,
      item: Syntax.FileImportItem | undefined,
    ): void => {
      const node = sharedNode(program, kind, name)
      if (node === undefined) return
      const origin = program.importedDeclarations.get(`${kind}.${name}`)
      const declared = origin?.declared ?? shifted(declaredName(node), base)
      const along = alongOf(kind, name)
      const symbol = { file: origin?.file ?? file, name: origin?.name ?? name, declared, item, along }
      const id = `${kind}.${own.text}`
      if (!this.#checking.importedDeclarations.has(id)) this.#checking.importedDeclarations.set(id, symbol)
      if (along !== undefined && item !== undefined && this.#isPlain(along)) {
        this.#checking.declarations.push({ ...along.node, name: own })
        return
      }
      const secrets = program.secrets?.type.fields.map((field) => field.name) ?? []
      this.#checking.declarations.push(importedDeclaration(node, own, base, { of: nameOf, secret: bind, secrets }))
    }
    /** The name here of what a declaration refers to, which is taken over with it. */
    const nameOf = (kind: Syntax.SharedKind, name: string): string => {
      const along = alongOf(kind, name)
      if (along !== undefined && this.#enterAlong(along)) return along.name
      const key = identity(kind, name)
      const known = this.#names.get(key)
      if (known !== undefined) return known
      const origin = program.importedDeclarations.get(`${kind}.${name}`) ?? { file, name }
      const plain = `${origin.file}#${origin.name}`
      const count = (this.#instances.get(`${kind} ${plain}`) ?? 0) + 1
      this.#instances.set(`${kind} ${plain}`, count)
      const text = count === 1 ? plain : `${plain}(${count})`
      this.#names.set(key, text)
      const node = sharedNode(program, kind, name)
      const span = node === undefined ? { start: base, end: base } : shifted(declaredName(node), base)
      take(kind, name, { kind: "name", text, quoted: false, ...span }, undefined)
      return text
    }
    return {
      enter: ({ word, source, name }) => {
        if (!isShared(word.text)) return
        const key = identity(word.text, source.text)
        if (this.#names.has(key)) return
        this.#names.set(key, name.text)
        const along = alongOf(word.text, source.text)
        if (along !== undefined) this.#named.add(along)
      },
      take: (item) => {
        const kind = item.word.text
        if (isShared(kind)) take(kind, item.source.text, item.name, item)
      },
    }
  }
}

function nameIn(node: SharedNode): Syntax.Name | undefined {
  return node.kind === "batch" ? node.body.items.find((item) => item.kind === "batch-item")?.name : node.name
}

function declaredName(node: SharedNode): Span {
  return nameIn(node) ?? node
}

function shifted({ start, end }: Span, by: number): Span {
  return isForeign({ start, end }) ? { start, end } : { start: start + by, end: end + by }
}

/** What a declaration of a program refers to, with all that comes along. */
interface Reaches {
  /** Secrets of its file. */
  readonly secrets: ReadonlySet<string>
  /** The place of the first reference to the input; null without one. */
  readonly input: string | null
}

const nothing: Reaches = { secrets: new Set(), input: null }
const reaches = new WeakMap<Program, Map<string, Reaches>>()

/** Found once for each declaration: files may refer to each other in long chains. */
function reachOf(program: Program, id: string): Reaches {
  if (program.secrets === undefined && program.input === undefined) return nothing
  const known = reaches.get(program) ?? new Map<string, Reaches>()
  reaches.set(program, known)
  const before = known.get(id)
  if (before !== undefined) return before
  const secrets = new Set<string>()
  let input: string | null = null
  const all = program.secrets?.type.fields.map(({ name }) => name) ?? []
  const seen = new Set([id])
  for (const at of seen) {
    const [kind = "", name = ""] = at.split(/\.(.*)/s)
    const node = isShared(kind) ? sharedNode(program, kind, name) : undefined
    if (node === undefined) continue
    eachChainIn(node, (chain) => {
      const root = program.roots.get(chain)?.kind
      if (root === "input") input ??= at
      if (root !== "secrets") return
      const [step] = chain.steps
      for (const one of step?.kind === "field" ? [step.name.text] : all) secrets.add(one)
    })
    for (const [otherKind, other] of referredTo(node)) seen.add(`${otherKind}.${other}`)
  }
  const found = { secrets, input }
  known.set(id, found)
  return found
}

function needsOf(program: Program, id: string): ReadonlySet<string> {
  return reachOf(program, id).secrets
}

// -------------------------------------------------------------------------------------------------------- secrets

/** What the imports say of secrets. */
export function checkFileImports(checking: CheckContext, imports: readonly UsedFile[]): void {
  for (const declaration of checking.tree.declarations) {
    if (declaration.kind !== "file-import") continue
    readProperties(checking, "file-import", declaration.body, pathOfFile(declaration), declaration.file)
  }
  for (const one of imports) checkSecrets(checking, one, " for a declaration that is imported")
}

/** The bindings of a file's secrets: each is one of this file's, and each that is needed is there. */
export function checkSecrets(
  checking: CheckContext,
  { declaration, program, base, needs: needed, isPartial }: UsedFile,
  what = "",
): void {
  const path = pathOfFile(declaration)
  const nodeOf = foreignNodes(program, base)
  const bound = new Set<string>()
  const block = blockOf(checking, propertyOf(declaration.body, "secrets"), `${path}.secrets`)
  for (const binding of block?.items ?? []) {
    const { name, value } = binding
    const fieldPath = `${path}.secrets.${name.text}`
    declareUnique(checking, bound, name, fieldPath)
    const wanted = program.secrets && fieldNamed(program.secrets.type, name.text)
    const node = wanted && nodeOf(wanted)
    if (wanted !== undefined && node !== undefined) {
      checking.writeField(wanted, node)
      checking.secretNodes.set(binding, node)
    }
    if (!needed.has(name.text) && !(isPartial && wanted !== undefined)) {
      const hint = needed.size === 0 ? removeIt() : `Needed are ${[...needed].join(", ")}.`
      checking.report("unknown-property", fieldPath, name, `Nothing needs the secret \`${name.text}\``, hint)
    }
    const type = infer(checking, value, requestScope(fieldPath, "a binding of a secret"))
    if (value.kind === "missing-expression") continue
    const own = secretNamed(value)
    if (own === undefined) {
      const hint = `Write \`${name.text}: secrets.name\`.`
      checking.report("type-mismatch", fieldPath, value, "Expected one of this file's secrets", hint)
      continue
    }
    if (wanted === undefined || isAssignable(type, wanted.type, program.types)) continue
    const message = `\`${name.text}\` is ${showType(wanted.type)}, and secrets.${own} is ${showType(type)}`
    checking.report("type-mismatch", fieldPath, value, message, `Bind a secret of type ${showType(wanted.type)}.`)
  }
  const span = { start: declaration.keyword.start, end: declaration.file.end }
  for (const name of needed) {
    const type = program.secrets && fieldNamed(program.secrets.type, name)?.type
    if (bound.has(name) || type === undefined || nullable(type, program.types)) continue
    const message = `${program.files.file} needs the secret \`${name}\`${what}`
    const own = checking.secrets === undefined ? undefined : fieldNamed(checking.secrets, name)
    const declare = own === undefined ? `, and declare \`${name}: ${showType(type)}\` in this file's \`secrets\`` : ""
    const binding = `${name}: secrets.${name}`
    const add =
      declaration.body === undefined
        ? `\`{ secrets { ${binding} } }\` after the path`
        : `\`${binding}\` to its \`secrets\``
    const data = { kind: "secret", name, type: own === undefined ? showType(type) : undefined } as const
    checking.report("missing-secret", path, span, message, { text: `Add ${add}${declare}.`, data })
  }
}
