import { isIdentifier } from "../base/identifier.ts"
import { check } from "../check/check.ts"
import { isForeign } from "../check/file-space.ts"
import type { Program } from "../check/program.ts"
import { isError, type Diagnostic } from "../source/diagnostic.ts"
import type { Span } from "../source/span.ts"
import { parseWithTests } from "../syntax/test-parser.ts"
import { applyEdits, offsetsAfter, startsAfter, type Edit } from "./edit.ts"
import { lookUp, rootTexts } from "./explanations.ts"
import type { NameUse } from "./name-use.ts"
import { occurrencesOf, type Occurrence } from "./references.ts"
import { targetsOf, type Target } from "./targets.ts"
import { useAt } from "./use-at.ts"

/** Why nothing can be renamed, in a sentence. */
export interface Refusal {
  readonly problem: string
}

export interface Renamable {
  readonly span: Span
  /** The name as it is now. */
  readonly name: string
}

/** Whether the name at the offset can be renamed at all. */
export function prepareRename(program: Program, offset: number): Renamable | Refusal {
  const found = renamableAt(program, offset)
  if ("problem" in found) return found
  const { use } = found
  return { span: { start: use.start, end: use.end }, name: use.text }
}

export interface Renaming {
  readonly edits: readonly Edit[]
}

/**
 * The edits that rename the thing that is named at the offset, everywhere. Refused when the workflow would
 * not mean the same afterwards: a name that is taken, one that hides another.
 */
export function rename(program: Program, offset: number, newName: string): Renaming | Refusal {
  const found = renamableAt(program, offset)
  if ("problem" in found) return found
  const { use, occurrences } = found
  const refused = misnamed([program], use.text, newName, occurrences[0]?.target.kind)
  if (refused !== undefined) return refused
  if (newName === use.text) return { edits: [] }
  const edits = occurrences.map((occurrence) => renamed(occurrence, newName))
  const problem = changedMeaning(program, edits, occurrences, newName)
  return problem === undefined ? { edits } : { problem }
}

/** Why a thing of some kind cannot have a name, whatever else has it. */
export function misnamed(
  programs: readonly Program[],
  name: string,
  newName: string,
  kind: Target["kind"] | undefined,
): Refusal | undefined {
  if (!isIdentifier(newName)) {
    return { problem: "A name is made of letters, digits and `_`, and does not begin with a digit." }
  }
  const both = kind === "field" && newName !== name ? [name, newName] : []
  const merged = both.find((one) => programs.some(({ tree }) => mergesKey(tree, one)))
  if (merged !== undefined) {
    return { problem: `A \`merge\` sets \`${merged}\`, and would set another field afterwards: rename both by hand.` }
  }
  if (newName === "_" && (kind === "case" || kind === "variable")) {
    return { problem: "`_` stands for all other cases; it is not a name." }
  }
  return undefined
}

/** Whether a call of `merge` is given an object with this key: it replaces the field of that name, whichever declaration that is of. */
function mergesKey(part: unknown, name: string, isMerged = false): boolean {
  if (typeof part !== "object" || part === null) return false
  if (Array.isArray(part)) return part.some((item) => mergesKey(item, name, isMerged))
  const node = part as Readonly<Record<string, unknown>>
  const isField =
    isMerged && node["kind"] === "value-field" && (node["name"] as { text?: unknown } | undefined)?.text === name
  const merges = node["kind"] === "function" && (node["name"] as { text?: unknown } | undefined)?.text === "merge"
  return isField || Object.values(node).some((value) => mergesKey(value, name, isMerged || merges))
}

interface Found {
  readonly use: NameUse
  readonly occurrences: readonly Occurrence[]
}

function renamableAt(program: Program, offset: number): Found | Refusal {
  const use = useAt(program, offset)
  if (use === undefined) return { problem: "There is no name here." }
  // In `for { path } in …` the variable comes first: it is renamed, the field is not.
  const [target] = targetsOf(program, use)
  if (target === undefined) return { problem: notRenamable(use) }
  if (target.kind === "block") return { problem: `\`${use.text}\` is a word of the language.` }
  if (isForeign(target.name)) return { problem: `\`${use.text}\` is declared in another file.` }
  const occurrences = occurrencesOf(program, [target])
  return remoteField(use, occurrences) ?? { use, occurrences }
}

/** A field of a tool's types has the name that its server gave it. */
export function remoteField(use: NameUse, occurrences: readonly Occurrence[]): Refusal | undefined {
  if (!occurrences.some(({ use: one }) => one?.kind === "field" && one.remote)) return undefined
  return { problem: `\`${use.text}\` is what the tool itself calls it: only its server can rename it.` }
}

function notRenamable(use: NameUse): string {
  switch (use.kind) {
    case "keyword":
    case "property":
    case "type":
    case "provider-kind":
    case "remote-kind":
      return `\`${use.text}\` is a word of the language.`
    case "enum-value":
      return `\`${use.text}\` is a value, and may be written anywhere: it is not renamed.`
    case "imported-name":
      return `\`${use.text}\` is declared in another file.`
    case "remote-name":
    case "argument":
    case "foreign-key":
      return `\`${use.text}\` belongs to the server: only it can rename it.`
    case "root":
    case "type-segment":
      if (lookUp(rootTexts, use.text) !== undefined) return `\`${use.text}\` is a word of the language.`
      break
    default:
      break
  }
  return `Nothing is known by the name \`${use.text}\`.`
}

export function renamed({ start, end, use, target }: Occurrence, newName: string): Edit {
  if (use?.kind === "declaration" && "naming" in use.node && use.node.naming === "remote") {
    return { span: { start: end, end }, text: ` as ${newName}` }
  }
  if (use?.kind === "declaration" && use.declaration.kind === "file-import") {
    const item = use.declaration.names.items.find(({ name }) => name.start === start)
    if (item !== undefined && item.name === item.source) return { span: { start: end, end }, text: ` as ${newName}` }
  }
  // The field and the variable of a pattern are written apart when one of them is renamed.
  if (use?.kind === "pattern-field" && use.field.variable === use.field.field) {
    return target.kind === "variable"
      ? { span: { start: end, end }, text: `: ${newName}` }
      : { span: { start, end: start }, text: `${newName}: ` }
  }
  return { span: { start, end }, text: newName }
}

/** The error that the workflow would have after the edits and has not before; undefined if it means the same. */
function changedMeaning(
  program: Program,
  edits: readonly Edit[],
  occurrences: readonly Occurrence[],
  newName: string,
): string | undefined {
  const after = parseWithTests(applyEdits(program.tree.text, edits))
  const checked = check(after.tree, program.files)
  const offsetAfter = offsetsAfter(edits)
  const known = new Set(diagnosticsOf(program).map(({ code, span }) => `${code} ${offsetAfter(span.start)}`))
  for (const found of [...after.diagnostics, ...checked.diagnostics]) {
    const { code, span, message } = found
    if (isError(found) && !known.has(`${code} ${span.start}`)) return `With the name \`${newName}\`: ${message}.`
  }
  const places = startsAfter(edits).map((start, index) => start + (edits[index]?.text.indexOf(newName) ?? 0))
  return sameNames(checked.program, places, occurrences[0]?.target.kind)
    ? undefined
    : `\`${newName}\` would stand for something else in some places.`
}

function diagnosticsOf(program: Program): readonly Diagnostic[] {
  const { tree, diagnostics } = parseWithTests(program.tree.text)
  return [...diagnostics, ...check(tree, program.files).diagnostics]
}

/** Whether the names at these places, and no others, stand for one thing of that kind. */
function sameNames(program: Program, places: readonly number[], kind: Target["kind"] | undefined): boolean {
  const [first] = places
  const use = first === undefined ? undefined : useAt(program, first)
  const targets = use === undefined ? [] : targetsOf(program, use).filter((target) => target.kind === kind)
  const starts = new Set(occurrencesOf(program, targets).map(({ start }) => start))
  return starts.size === places.length && places.every((place) => starts.has(place))
}
