import { headOf } from "../syntax/declaration-start.ts"
import { importKinds } from "../syntax/import-kinds.ts"
import { rowsOf } from "../syntax/property-table.ts"
import { isIdentifier } from "../base/identifier.ts"
import type { Program } from "../check/program.ts"
import type { Completion, Completions } from "./completion.ts"
import { comparedItems, completeBranch, completeRoots, completeStep, fieldItems } from "./complete-values.ts"
import {
  completeConstants,
  completeDeclarations,
  completeProperties,
  completeSchemas,
  completeTypes,
  keyword,
} from "./complete-words.ts"
import type { CompletionSite, StrayName } from "./completion-site.ts"
import { completionSite, siteInPlaceOf } from "./completion-site.ts"
import { describe } from "./describe.ts"
import { eachNameIn } from "./each-name.ts"
import type { NameUse } from "./name-use.ts"
import { elementOf, importsOf } from "./targets.ts"
import { tokenIndexAt } from "./token-at.ts"
import { declarationsAt } from "./use-at.ts"

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
      return nameItems(site.program, site.use)
  }
}

function nameItems(program: Program, use: NameUse): Completion[] {
  switch (use.kind) {
    case "root":
      return completeRoots(program, use)
    case "step":
      return completeStep(program, use)
    case "property":
      return completeProperties(use.block, use)
    case "type":
      return completeTypes(program)
    case "type-segment":
      return segmentItems(program, use)
    case "argument":
      return argumentItems(program, use)
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
      return serverItems(program, "")
    case "remote-kind": {
      const { declaration } = use
      const all = completeConstants("remote-kind", false)
      return declaration.kind === "import" ? all.filter(({ label }) => label === declaration.importKind) : all
    }
    case "keyword":
    case "declaration":
    case "enum-value":
    case "tag":
    case "case":
    case "variable":
    case "remote-name":
      return []
  }
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

function serverItems(program: Program, prefix: string, suffix = ""): Completion[] {
  return [...program.servers.values()].map(({ name, doc }): Completion => {
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
  const taker = block.import && importsOf(program, block.import.kind).get(block.import.name)
  const given = new Set(block.items.map(({ name }) => name.text))
  const colon = node.colon === undefined ? ": " : ""
  return fieldItems(program, taker?.input)
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
function strayItems(program: Program, { before, atLineStart, afterLoop }: StrayName): Completion[] {
  if (afterLoop) return [keyword("when", undefined, "when ${1:condition}")]
  if (atLineStart) return completeDeclarations(program)
  const [last = "", second = "", third = "", fourth = ""] = before.toReversed()
  const importKind = importKinds.find((kind) => kind === third || kind === second)
  if (last === "from" && importKind !== undefined) return serverItems(program, "mcp.", `.${importKind}.`)
  if (last === "from") return serverItems(program, "mcp.")
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

/** In `input.tier == ""`: what the other side may be. */
function comparedStrings(program: Program, { token }: CompletionSite & { kind: "string" }): Completion[] {
  const site = siteInPlaceOf(program, token)
  if (site?.kind !== "name" || site.use.kind !== "root") return []
  return comparedItems(site.program, site.use.setting, false)
}

function demoItems(place: string): Completion[] {
  if (place !== "provider" && place !== "mcp") return []
  const what = place === "provider" ? "demo model" : "demo server, a small library"
  return [
    { label: "demo", kind: "constant", insert: "demo", doc: `This service's own ${what}, for trying things out.` },
  ]
}
