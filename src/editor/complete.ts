import { headOf } from "../syntax/declaration-start.ts"
import { importKinds } from "../syntax/import-kinds.ts"
import { rowsOf } from "../syntax/property-table.ts"
import { valuesOf } from "../syntax/property-of.ts"
import type { Declaration, FileImportDeclaration, RemotePath } from "../syntax/tree.ts"
import { isIdentifier } from "../base/identifier.ts"
import { isShared, namesOf } from "../check/check-files.ts"
import { isRoute, readRoute } from "../check/http-route.ts"
import type { ImportSymbol, Program } from "../check/program.ts"
import type { Completion, Completions } from "./completion.ts"
import { comparedItems, completeBranch, completeRoots, completeStep, fieldItems } from "./complete-values.ts"
import {
  completeConstants,
  completeDeclarations,
  completeFunctions,
  completeProperties,
  completeSchemas,
  completeTypes,
  keyword,
} from "./complete-words.ts"
import { completionSite, siteInPlaceOf, type CompletionSite, type ListWord, type StrayName } from "./completion-site.ts"
import { describe } from "./describe.ts"
import { eachNameIn } from "./each-name.ts"
import type { NameUse } from "./name-use.ts"
import { elementOf, takenBy } from "./targets.ts"
import { tokenIndexAt } from "./token-at.ts"
import { declarationsAt, useAt } from "./use-at.ts"

/** What could be written at the offset; undefined where nothing can be known (in text, comments and new names). */
export function complete(program: Program, offset: number): Completions | undefined {
  const at = Math.max(0, Math.min(offset, program.tree.text.length))
  const site = completionSite(program, at)
  if (site === undefined) return undefined
  const items = itemsAt(program, site, at)
  return items.length === 0 ? undefined : { span: site.span, items }
}

function itemsAt(program: Program, site: CompletionSite, offset: number): Completion[] {
  switch (site.kind) {
    case "string": {
      const items = stringItems(program, offset)
      return items.length > 0 ? items : comparedStrings(program, site)
    }
    case "stray":
      return strayItems(program, site)
    case "name":
      // A webhook's `query` and `header` have the fields that the file names, and so the one that stands for the cursor. No author may see it.
      return nameItems(site.program, site.use).flatMap((item) => withoutWord(item, site.use.text))
  }
}

/** The item without a remark that shows the word; none where the word is in the item itself. */
function withoutWord(item: Completion, word: string): readonly Completion[] {
  const { detail, doc, ...rest } = item
  if (JSON.stringify(rest).includes(word)) return []
  const isShown = (text: string | undefined): text is string => text !== undefined && !text.includes(word)
  return [{ ...rest, ...(isShown(detail) && { detail }), ...(isShown(doc) && { doc }) }]
}

function nameItems(program: Program, use: NameUse): Completion[] {
  switch (use.kind) {
    case "root":
      return completeRoots(program, use)
    case "function":
      return completeFunctions(program, true)
    case "step":
      return completeStep(program, use)
    case "property":
      return completeProperties(program, use.block, use)
    case "type":
      return completeTypes(program)
    case "type-segment":
      return segmentItems(program, use)
    case "argument":
      return argumentItems(program, use)
    case "input-field": {
      const given = new Set(siblingNames(use.declaration))
      return fieldItems(program, program.input?.type)
        .filter(({ label }) => !given.has(label))
        .map((item) => ({ ...item, insert: `${item.insert}${use.node.colon === undefined ? ": " : ""}` }))
    }
    case "branch":
      return completeBranch(program, use)
    case "field": {
      const { declaration, node } = use
      const isOnly = declaration.kind === "schema" && declaration.body.items.length === 1
      return isOnly && node.colon === undefined ? [keyword("variant", undefined, variantSnippet)] : []
    }
    case "foreign-key":
      return use.of === "headers" ? headerItems(use) : []
    case "pattern-field": {
      const { pattern } = use.loop
      const present = pattern.kind === "fields" ? pattern.body.items.map(({ field }) => field.text) : []
      const fields = fieldItems(program, elementOf(program, program.expressionTypes.get(use.loop.items)))
      return fields.filter(({ label }) => !present.includes(label))
    }
    case "provider-kind":
      return follows(program, use, "from") ? completeConstants("provider-kind", false) : [keyword("from")]
    case "provider-name":
      return follows(program, use, "from") ? providerItems(program) : [keyword("from")]
    case "server-name":
      return serverItems(program, use.source.word, "")
    case "sent": {
      const given = new Set(use.block.items.map(({ name }) => name.text))
      const colon = use.node.colon === undefined ? ": " : ""
      return fieldItems(program, program.tools.get(use.block.tool)?.input)
        .filter(({ label }) => !given.has(label))
        .map((item) => ({ ...item, insert: `${item.insert}${colon}` }))
    }
    case "http-word":
      if (use.of === "output") return [keyword("status")]
      return [keyword("query"), keyword("body"), keyword("header", undefined, 'header "${1:X-Name}"')]
    case "remote-kind": {
      const { declaration } = use
      const all = completeConstants("remote-kind", false)
      return declaration.kind === "import" ? all.filter(({ label }) => label === declaration.importKind) : all
    }
    case "imported-name":
      return importedItems(program, use)
    case "keyword":
    case "declaration":
    case "bound-secret":
    case "enum-value":
    case "tag":
    case "case":
    case "variable":
    case "remote-name":
      return []
  }
}

/** What the file of an import declares. */
function importedItems(program: Program, { declaration, start }: NameUse): Completion[] {
  if (declaration.kind !== "file-import") return []
  const item = declaration.names.items.find(({ source }) => source.start === start)
  const found = program.files.find(declaration.file.texts[0] ?? "")
  if (item === undefined || found.kind !== "found") return []
  const kind = item.word.text
  const names = isShared(kind) ? namesOf(found.program, kind) : []
  const shown = !isShared(kind) ? "value" : kind === "mcp" || kind === "api" ? "server" : kind
  return names.map((name) => ({ label: name, insert: name, kind: shown }))
}

/** The fields that the `input` of a trigger has. */
function siblingNames(declaration: Declaration): string[] {
  if (declaration.kind !== "schedule" && declaration.kind !== "webhook") return []
  return valuesOf(declaration.body, "input").map(({ name }) => name.text)
}

const variantSnippet = "variant ${1:kind} {\n    ${2:case} {\n        ${3:field}: string\n    }\n}"

function follows({ tree }: Program, { start }: NameUse, word: string): boolean {
  const before = tree.tokens[tokenIndexAt(tree, start) - 1]
  return before !== undefined && tree.text.slice(before.start, before.end) === word
}

function providerItems(program: Program): Completion[] {
  return [...program.providers.values()].map((node): Completion => {
    const { detail, doc } = describe(program, { kind: "declaration", declares: "provider", node, name: node.name })
    const { text } = node.name
    return { label: text, kind: "provider", insert: text, detail, ...(doc === undefined ? {} : { doc }) }
  })
}

function serverItems(program: Program, word: "mcp" | "api", prefix: string, suffix = ""): Completion[] {
  const servers = word === "mcp" ? program.servers : program.apis
  return [...servers.values()].map(({ name, doc }): Completion => {
    const label = `${prefix}${name.text}`
    return { label, kind: "server", insert: `${label}${suffix}`, ...(doc === undefined ? {} : { doc }) }
  })
}

function segmentItems(program: Program, { segments, index }: NameUse & { kind: "type-segment" }): Completion[] {
  const [root, name, ...fields] = segments.slice(0, index)
  if (root === undefined) return completeTypes(program)
  if (root.text !== "schema") return []
  if (name === undefined) return completeSchemas(program, "")
  let type = program.types[name.text]?.type
  for (const { text } of fields) {
    const record = type?.kind === "ref" ? program.types[type.name]?.type : type
    type = record?.kind === "record" ? record.fields.find((field) => field.name === text)?.type : undefined
  }
  return fieldItems(program, type)
}

function argumentItems(program: Program, { block, node }: NameUse & { kind: "argument" }): Completion[] {
  const given = new Set(block.items.map(({ name }) => name.text))
  const colon = node.colon === undefined ? ": " : ""
  return fieldItems(program, takenBy(program, block))
    .filter(({ label }) => !given.has(label))
    .map((item) => ({ ...item, insert: `${item.insert}${colon}` }))
}

function headerItems({ node }: NameUse & { kind: "foreign-key" }): Completion[] {
  if (node.colon !== undefined) return []
  const snippet = 'Authorization: "Bearer {{ secrets.${1:token} }}"'
  return [{ label: "Authorization", kind: "property", insert: "Authorization: ", snippet }]
}

// ------------------------------------------------------------------------------------------------- outside of trees

/** Between declarations, and in heads that are only begun. */
const listSnippets: Readonly<Partial<Record<ListWord, string>>> = {
  for: "for ${1:item} in ${2:input}",
  when: "when ${1:condition}",
  by: "by ${1:key}",
}

function strayItems(program: Program, { before, atLineStart, afterLoop, clauses }: StrayName): Completion[] {
  if (clauses.length > 0) return clauses.map((word) => keyword(word, undefined, listSnippets[word]))
  if (afterLoop) return [keyword("when", undefined, "when ${1:condition}")]
  if (atLineStart) return completeDeclarations(program)
  const [last = "", second = "", third = "", fourth = ""] = before.toReversed()
  const importKind = importKinds.find((kind) => kind === third || kind === second)
  if (last === "from" && importKind !== undefined) {
    const apis = importKind === "tool" ? serverItems(program, "api", "api.", '."') : []
    return [...serverItems(program, "mcp", "mcp.", `.${importKind}.`), ...apis]
  }
  if (last === "from") return serverItems(program, "mcp", "mcp.")
  switch (headOf(second)) {
    case "import":
    case "from":
      return [keyword("from")]
    case "step":
      return [
        keyword("for", undefined, "for ${1:item} in ${2:input}"),
        keyword("when", undefined, "when ${1:condition}"),
      ]
    default:
      return second === "for" && headOf(fourth) === "step" && isIdentifier(last) ? [keyword("in")] : []
  }
}

// ---------------------------------------------------------------------------------------------------------- strings

/** Strings that are one of a few words. */
function stringItems(program: Program, offset: number): Completion[] {
  const named = useAt(program, offset)
  if (named?.kind === "remote-name" && named.source.word === "api") return operationItems(program, named.source)
  let around: (NameUse & { kind: "property" }) | undefined
  for (const declaration of declarationsAt(program, offset)) {
    eachNameIn(program, declaration, (use) => {
      if (use.kind === "property" && use.property.start <= offset && offset <= use.property.end) around = use
    })
  }
  if (around === undefined) return []
  const { place } = around.block
  if (around.text === "endpoint") return demoItems(place)
  const words = rowsOf(place).get(around.text)?.words
  return words === undefined ? [] : completeConstants(words, false)
}

/** The requests to an api that tools make: those of this file, and of the file that the api is imported from. */
function operationItems(program: Program, { server, remote }: RemotePath): Completion[] {
  const importedDeclaration = program.importedDeclarations.get(`api.${server?.text}`)
  const from = program.tree.declarations.find(
    (one): one is FileImportDeclaration =>
      one.kind === "file-import" &&
      importedDeclaration?.item !== undefined &&
      one.names.items.includes(importedDeclaration.item),
  )
  const found = from === undefined ? undefined : program.files.find(from.file.texts[0] ?? "")
  const elsewhere =
    found?.kind === "found" && importedDeclaration !== undefined ? toolsOf(found.program, importedDeclaration.name) : []
  const items = new Map<string, Completion>()
  for (const { name, remote: label, node } of [...toolsOf(program, server?.text), ...elsewhere]) {
    if (label === remote?.text || !isRoute(readRoute(label)) || items.has(label)) continue
    const doc = node.doc === undefined ? {} : { doc: node.doc }
    items.set(label, { label, kind: "tool", insert: label, detail: `tool ${name.text}`, ...doc })
  }
  return [...items.values()]
}

function toolsOf(program: Program, api: string | undefined): ImportSymbol[] {
  return [...program.tools.values()].filter(({ origin, server }) => origin === "api" && server?.text === api)
}

/** In `input.tier == ""`: what the other side may be. */
function comparedStrings(program: Program, { token }: CompletionSite & { kind: "string" }): Completion[] {
  const site = siteInPlaceOf(program, token)
  if (site?.kind !== "name" || site.use.kind !== "root") return []
  return comparedItems(site.program, site.use.setting, false)
}

function demoItems(place: string): Completion[] {
  const what = { provider: "demo model", mcp: "demo server, a small library", api: "demo API, a small CRM" }[place]
  if (what === undefined) return []
  return [
    { label: "demo", kind: "constant", insert: "demo", doc: `This service's own ${what}, for trying things out.` },
  ]
}
