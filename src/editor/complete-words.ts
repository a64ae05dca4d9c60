import { parametersOf, functionNames } from "../check/function-table.ts"
import { asWritten } from "../check/known-list.ts"
import { showFunction } from "../check/infer-function.ts"
import { stepFunctionNames } from "../check/step-functions.ts"
import { showType } from "../types/show-type.ts"
import { functionHelp } from "./function-texts.ts"
import type { Program } from "../check/program.ts"
import { importKinds } from "../syntax/import-kinds.ts"
import { declarationWords, isSingle } from "../syntax/declaration-start.ts"
import { rowsOf, takesBlock } from "../syntax/property-table.ts"
import type { Completion } from "./completion.ts"
import { declarationTexts, keywordTexts, lookUp, propertyText, typeTexts, wordTexts } from "./explanations.ts"
import type { NameUse, PropertyBlock } from "./name-use.ts"
import { describe } from "./describe.ts"

// Completions that the grammar gives: declarations, properties, types, constants.

export function completeDeclarations(program: Program): Completion[] {
  const present = new Set(program.tree.declarations.map(({ kind }) => kind as string))
  return declarationWords
    .filter((word) => !isSingle(word) || !present.has(word))
    .map((word) => keyword(word, declarationTexts[word].text, declarationTexts[word].snippet))
}

export function keyword(word: string, doc = lookUp(keywordTexts, word), snippet?: string): Completion {
  return {
    label: word,
    kind: "keyword",
    insert: word,
    ...(doc === undefined ? {} : { doc }),
    ...(snippet === undefined ? {} : { snippet }),
  }
}

/** All functions, one's own first; `called` where the brackets are there already. */
export function completeFunctions(program: Program, called: boolean): Completion[] {
  return [...ownFunctions(program, called), ...builtInFunctions(called)]
}

function ownFunctions({ functions }: Program, called: boolean): Completion[] {
  return [...functions.values()]
    .filter(({ name }) => !name.text.includes("#"))
    .map(({ name: { text: name }, declaration: { doc }, variables, result }): Completion => {
      const detail = `${showFunction(name, variables)}: ${showType(result, 60)}`
      const item = { label: name, kind: "function" as const, detail, ...(doc === undefined ? {} : { doc }) }
      if (called) return { ...item, insert: name }
      const places = [...variables.keys()].map((parameter, at) => `\${${at + 1}:${parameter}}`)
      return { ...item, insert: `${name}(`, snippet: `${name}(${places.join(", ")})` }
    })
}

function builtInFunctions(called: boolean): Completion[] {
  return [...functionNames, ...stepFunctionNames].flatMap((name): Completion | [] => {
    const help = functionHelp(name)
    if (help === undefined) return []
    const { forms, text } = help
    const [form] = forms
    const item = { label: name, kind: "function" as const, detail: forms.join(" or "), doc: text }
    if (called) return { ...item, insert: name }
    const places = parametersOf(form).filter((parameter) => parameter !== "…")
    const snippet = `${name}(${places.map((parameter, at) => `\${${at + 1}:${parameter}}`).join(", ")})`
    return { ...item, insert: `${name}(`, snippet }
  })
}

// ------------------------------------------------------------------------------------------------------ properties

export function completeProperties(
  { lists }: Program,
  { place, items }: PropertyBlock,
  use: NameUse & { kind: "property" },
): Completion[] {
  const present = new Set(items.map((item) => (item.kind === "property" ? item.name.text : "")))
  // Where a colon or a block follows already, the name alone is being changed.
  const alone = use.property.colon !== undefined || use.property.value.kind !== "missing"
  const { declaration } = use
  const isStep = place === "agent" || place === "ask" || place === "wait"
  const loops = isStep
    ? declaration !== undefined && "loop" in declaration && declaration.loop !== undefined
    : [...lists.keys()].some(({ value }) => value.start <= use.start && use.end <= value.end)
  const found = [...rowsOf(place)]
    .filter(([name]) => name !== "concurrency" || loops)
    .filter(([name, { repeated }]) => !present.has(name) || repeated === true)
    .map(([name, { form }]): Completion => {
      const doc = propertyText(place, name)
      const item = { label: name, kind: "property" as const, ...(doc === undefined ? {} : { doc }) }
      if (alone) return { ...item, insert: name }
      if (form === "requirement") {
        const snippet = 'require ${1:result} else "${2:What is wrong}"'
        return { ...item, insert: `${name} `, snippet }
      }
      if (form === "uses") return { ...item, insert: `${name}: [`, snippet: `${name}: [\${1}]` }
      const isWord = form === "approval" || form === "elicitation"
      if (!takesBlock(form) || isWord) return { ...item, insert: `${name}: `, snippet: `${name}: \${1}` }
      return { ...item, detail: "{ … }", insert: `${name} {`, snippet: `${name} {\n    \${1}\n}` }
    })
  if (place === "batch") for (const word of importKinds) found.push(keyword(word))
  return found
}

// ----------------------------------------------------------------------------------------------------------- types

export function completeTypes(program: Program): Completion[] {
  const found: Completion[] = []
  for (const [name, doc] of Object.entries(typeTexts)) found.push({ label: name, kind: "type", insert: name, doc })
  found.push(keyword("maybe", undefined, "maybe ${1:string}"))
  found.push(keyword("map", undefined, "map ${1:string}"))
  found.push(keyword("untrusted", undefined, "untrusted ${1:string}"))
  found.push(keyword("private", undefined, "private ${1:string}"))
  found.push(keyword("enum", undefined, "enum { ${1:first}, ${2:second} }"))
  found.push(
    keyword("variant", undefined, "variant ${1:kind} {\n    ${2:case} {\n        ${3:field}: string\n    }\n}"),
  )
  return [...found, ...completeSchemas(program, "schema.")]
}

export function completeSchemas(program: Program, prefix: string): Completion[] {
  return [...program.schemas.values()].map((node): Completion => {
    const { detail, doc } = describe(program, { kind: "declaration", declares: "schema", node, name: node.name })
    const label = `${prefix}${node.name.text}`
    return { label, kind: "schema", insert: label, detail, ...(doc === undefined ? {} : { doc }) }
  })
}

// ------------------------------------------------------------------------------------------------------- constants

/** `needed`: in quotes where a word is no name. */
export function completeConstants(list: keyof typeof wordTexts, quoted: boolean | "needed"): Completion[] {
  const quote = (word: string): string => (quoted === "needed" ? asWritten(word) : quoted ? JSON.stringify(word) : word)
  return Object.entries(wordTexts[list]).map(([word, doc]): Completion => {
    const item = { label: quote(word), kind: "constant" as const, insert: quote(word) }
    return doc === "" ? item : { ...item, doc }
  })
}
