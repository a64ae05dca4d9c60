import type { Program } from "../check/program.ts"
import { importKinds } from "../syntax/import-kinds.ts"
import { declarationWords } from "../syntax/declaration-start.ts"
import { rowsOf, takesBlock } from "../syntax/property-table.ts"
import type { Completion } from "./completion.ts"
import { declarationTexts, keywordTexts, lookUp, propertyText, typeTexts, wordTexts } from "./explanations.ts"
import type { NameUse, PropertyBlock } from "./name-use.ts"
import { describe } from "./describe.ts"

// Completions that the grammar gives: declarations, properties, types, constants.

const declarationSnippets: Readonly<Record<string, string>> = {
  input: "input {\n    ${1:name}: ${2:string}\n}",
  secrets: "secrets {\n    ${1:api_key}: string\n}",
  schema: "schema ${1:name} {\n    ${2:field}: ${3:string}\n}",
  provider:
    'provider ${1:llm} from openai {\n    endpoint: "${2:https://api.openai.com/v1}"\n    api_key: secrets.${3:api_key}\n}',
  model: 'model ${1:fast} from ${2:llm} {\n    id: "${3:gpt-4.1-mini}"\n}',
  mcp: 'mcp ${1:name} {\n    endpoint: "${2:https://example.com/mcp}"\n}',
  tool: "tool ${1:name} from mcp.${2:server}.tool.${3:remote_name}",
  resource: "resource ${1:name} from mcp.${2:server}.resource.${3:remote_name}",
  prompt: "prompt ${1:name} from mcp.${2:server}.prompt.${3:remote_name}",
  from: "from mcp.${1:server} {\n    tool ${2:remote_name}\n}",
  dynamic: "dynamic {\n    ${1:name}: ${2:value}\n}",
  agent:
    'agent ${1:name} {\n    model: model.${2:fast}\n    instruction: "${3:What to do}"\n\n    output {\n        ${4:answer}: string\n    }\n}',
  ask: 'ask ${1:name} {\n    question: "${2:Is this right?}"\n\n    output {\n        ${3:right}: boolean\n    }\n}',
  limits: "limits {\n    ${1:tokens}: ${2:200_000}\n}",
  output: "output {\n    ${1:name}: ${2:value}\n}",
}

const once = new Set(["input", "secrets", "limits", "output"])

export function completeDeclarations(program: Program): Completion[] {
  const present = new Set(program.tree.declarations.map(({ kind }) => kind as string))
  return declarationWords
    .filter((word) => !once.has(word) || !present.has(word))
    .map((word) => keyword(word, lookUp(declarationTexts, word), lookUp(declarationSnippets, word)))
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

// ------------------------------------------------------------------------------------------------------ properties

export function completeProperties({ place, items }: PropertyBlock, use: NameUse & { kind: "property" }): Completion[] {
  const present = new Set(items.map((item) => (item.kind === "property" ? item.name.text : "")))
  // Where a colon or a block follows already, the name alone is being changed.
  const alone = use.property.colon !== undefined || use.property.value.kind !== "missing"
  const found = [...rowsOf(place)]
    .filter(([name, { repeated }]) => !present.has(name) || repeated === true)
    .map(([name, { form }]): Completion => {
      const doc = propertyText(place, name)
      const item = { label: name, kind: "property" as const, ...(doc === undefined ? {} : { doc }) }
      if (alone) return { ...item, insert: name }
      if (form === "uses") return { ...item, insert: `${name}: [`, snippet: `${name}: [\${1}]` }
      if (!takesBlock(form) || form === "approval") return { ...item, insert: `${name}: `, snippet: `${name}: \${1}` }
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

export function completeConstants(list: keyof typeof wordTexts, quoted: boolean): Completion[] {
  const quote = (word: string): string => (quoted ? JSON.stringify(word) : word)
  return Object.entries(wordTexts[list]).map(([word, doc]): Completion => {
    const item = { label: quote(word), kind: "constant" as const, insert: quote(word) }
    return doc === "" ? item : { ...item, doc }
  })
}
