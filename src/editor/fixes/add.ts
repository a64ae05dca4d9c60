import { wordLists } from "../../syntax/property-table.ts"
import { asWritten } from "../../check/known-list.ts"
import type { Program } from "../../check/program.ts"
import type { Diagnostic } from "../../source/diagnostic.ts"
import type { Span } from "../../source/span.ts"
import type * as Syntax from "../../syntax/tree.ts"
import type { Type } from "../../types/types.ts"
import type { Edit } from "../edit.ts"
import { branchLabels } from "../complete-values.ts"
import { plainType } from "../targets.ts"
import { useAt } from "../use-at.ts"
import { indentAt, insertAt, type Fix } from "./fix.ts"

const step = "    "

/** A property that a declaration lacks. */
export function addProperty(program: Program, { span, path }: Diagnostic): readonly Fix[] {
  const use = useAt(program, span.start)
  const name = path.slice(path.lastIndexOf(".") + 1)
  if (use?.kind !== "declaration" || !("body" in use.node) || use.node.body === undefined) return []
  // A field of a block inside of it is none of its properties.
  if (path.split(".").length > 3) return []
  const { body } = use.node
  if (use.node.kind === "schema" || use.node.kind === "batch-item") return []
  const value = propertyCode(program, name, use.node.kind)
  if (value === undefined) return []
  return [{ title: `Add \`${name}\``, edits: [atStart(program.tree.text, body, value)], preferred: true }]
}

function propertyCode(program: Program, name: string, kind: string): string | undefined {
  const [model = "name"] = program.models.keys()
  switch (name) {
    case "model":
      return `model: model.${model}`
    case "output":
      return `output {\n${step}answer: string\n}`
    case "instruction":
    case "question":
    case "id":
      return `${name}: ""`
    case "cron":
      return 'cron: "0 9 * * *"'
    case "input": {
      const fields = program.input?.type.fields ?? []
      const lines = fields.map(({ name, type }) => {
        const value = kind === "webhook" ? `body.${asWritten(name)}` : firstValue(program, name, type)
        return `${step}${asWritten(name)}: ${value}\n`
      })
      return `input {\n${lines.join("")}}`
    }
    case "endpoint":
      return 'endpoint: "https://"'
    default:
      return undefined
  }
}

/** A value of a type, as it is written in a schedule. */
function firstValue(program: Program, name: string, type: Type): string {
  const plain = plainType(program, type) ?? type
  switch (plain.kind) {
    case "string":
      return /date|day/i.test(name) ? "due.date" : /time|_at$|^at$/i.test(name) ? "due.at" : '""'
    case "integer":
    case "number":
      return "0"
    case "boolean":
      return "false"
    case "array":
      return "[]"
    case "enum":
      return `"${plain.values[0] ?? ""}"`
    case "record":
      return `{ ${plain.fields.map((field) => `${asWritten(field.name)}: ${firstValue(program, field.name, field.type)}`).join(", ")} }`
    default:
      return "null"
  }
}

/** The kind of an asset, for one whose source does not tell it. */
export function addAssetType(program: Program, { span }: Diagnostic): readonly Fix[] {
  const use = useAt(program, span.start)
  if (use?.kind !== "keyword" || use.asset === undefined) return []
  const { value, block } = use.asset
  return wordLists.asset.words.map((kind) => {
    const code = `type: "${kind}"`
    const edit = block === undefined ? insertAt(value.end, ` { ${code} }`) : insertAt(block.open.end, ` ${code}`)
    return { title: `Add \`${code}\``, edits: [edit], preferred: kind === "image" }
  })
}

/** Puts an item on the first line of a block. */
export function atStart(text: string, block: Syntax.Block<unknown>, code: string): Edit {
  const indent = indentAt(text, block.open.start)
  const lines = code.split("\n").map((line) => `\n${indent}${step}${line}`)
  const rest = text.slice(block.open.end, block.close?.start ?? block.end)
  const inLine = !/^[^\S\n\r]*(?:\/\/[^\n\r]*)?[\n\r]/.test(rest)
  return insertAt(block.open.end, `${lines.join("")}${inLine ? `\n${indent}${rest.trim() === "" ? "" : step}` : ""}`)
}

/** The cases that a match leaves out, or one branch for all of them. */
export function addBranches(program: Program, { span }: Diagnostic): readonly Fix[] {
  const use = useAt(program, span.start)
  if (use?.kind !== "keyword" || use.match === undefined) return []
  const { match } = use
  const variant = plainType(program, program.expressionTypes.get(match.value))
  const taken = new Set(
    match.body.items.map((branch) => branch.case && program.tree.text.slice(branch.case.start, branch.case.end)),
  )
  const labels = branchLabels(program, match)
  const missing = labels.filter((label) => !taken.has(label))
  if (labels.length === 0) return []
  const rest: Fix = {
    title: "Add `_`",
    edits: [atEnd(program.tree.text, match.body, ["_ null"])],
    preferred: missing.length === 0,
  }
  if (missing.length === 0) return [rest]
  const lines = missing.map((label) => {
    if (variant?.kind !== "variant") return `${label}: null`
    const [first] = variant.cases.find(({ name }) => asWritten(name) === label)?.fields ?? []
    return first === undefined ? label : `${label}.${asWritten(first.name)}`
  })
  const title = missing.length === 1 ? "Add the missing case" : "Add the missing cases"
  return [{ title, edits: [atEnd(program.tree.text, match.body, lines)], preferred: true }, rest]
}

/** Puts items after the last one of a block. */
export function atEnd(text: string, block: Syntax.Block<Span>, items: readonly string[]): Edit {
  const last = block.items.at(-1)
  const inside = text.slice(block.open.end, block.close?.start ?? block.end)
  if (!/[\n\r]/.test(inside)) {
    const at = last?.end ?? block.open.end
    return insertAt(at, ` ${items.join(" ")}`)
  }
  const indent = last === undefined ? `${indentAt(text, block.open.start)}${step}` : indentAt(text, last.start)
  return insertAt(last?.end ?? block.open.end, items.map((item) => `\n${indent}${item}`).join(""))
}

/** A result for a workflow that has none: the output of its last agent, the last answer, or the last value. */
export function addOutput(program: Program): readonly Fix[] {
  const { text } = program.tree
  const { agents, asks, waits, dynamics } = program
  const [value] = Object.entries({ agent: agents, ask: asks, wait: waits, dynamic: dynamics }).flatMap(
    ([kind, table]) => {
      const name = [...table.keys()].at(-1)
      return name === undefined ? [] : [`${kind}.${name}`]
    },
  )
  if (value === undefined) return []
  const gap = text.endsWith("\n") ? "\n" : "\n\n"
  const code = `${gap}output {\n${step}result: ${value}\n}\n`
  return [{ title: "Add an `output` block", edits: [insertAt(text.length, code)], preferred: true }]
}

/** A price for a model that a limit on cost governs. The numbers are the author's to fill in. */
export function addPrice(program: Program, { span }: Diagnostic): readonly Fix[] {
  const reference = program.tree.text.slice(span.start, span.end)
  const model = program.models.get(/^model\s*\.\s*(\w+)/.exec(reference)?.[1] ?? "")
  if (model === undefined) return []
  const code = `price {\n${step}input: 0\n${step}output: 0\n}`
  const title = `Add a price to \`model ${model.name.text}\``
  return [{ title, edits: [atStart(program.tree.text, model.body, code)], preferred: false }]
}

/** A kind of asset that a model does not list. */
export function addAssetKind(program: Program, { data }: Diagnostic<"unsupported-asset">): readonly Fix[] {
  const model = data?.kind === "asset" ? program.models.get(data.model) : undefined
  if (data?.kind !== "asset" || model === undefined) return []
  const { asset: kind } = data
  const title = `Add "${kind}" to \`model ${model.name.text}\``
  const property = model.body.items.find((item) => item.name.text === "assets")
  if (property === undefined) {
    return [{ title, edits: [atStart(program.tree.text, model.body, `assets: ["${kind}"]`)], preferred: true }]
  }
  const list = property.value.kind === "expression" ? property.value.expression : undefined
  if (list?.kind !== "array") return []
  const last = list.items.at(-1)
  const edit = last === undefined ? insertAt(list.start + 1, `"${kind}"`) : insertAt(last.end, `, "${kind}"`)
  return [{ title, edits: [edit], preferred: true }]
}
