import { codePlace } from "./code-places.ts"
import type { Span } from "../source/span.ts"
import { openingComment } from "../source/opening-comment.ts"
import { textAt } from "../check/file-space.ts"
import { showFunction } from "../check/infer-function.ts"
import type { Program } from "../check/program.ts"
import { showName, showType } from "../types/show-type.ts"
import type { Field, Type } from "../types/types.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { DeclarationKind, DeclaredNode } from "./name-use.ts"
import { fieldAt, importsOf, type Target } from "./targets.ts"

/** What can be said about a declaration, field, case or variable. */
export interface Description {
  /** How it would be declared, in the language itself: a line, or a few. */
  readonly code: string
  /** The author's comment. */
  readonly doc?: string
  /** Its type on one line, for lists. */
  readonly detail: string
}

/** Width at which a type goes over several lines. */
const lineWidth = 80
const detailWidth = 60

export function describe(program: Program, target: Target): Description {
  switch (target.kind) {
    case "declaration":
      return describeDeclaration(program, target.declares, target.node)
    case "block": {
      const type = target.node.kind === "input" ? program.input?.type : program.secrets?.type
      return withDoc(target.node.doc, `${target.node.kind} ${body(type?.fields ?? [])}`, target.node.kind)
    }
    case "field": {
      const field = fieldAt(program, target.node)
      const type = field?.type ?? program.expressionTypes.get(valueOf(target.node))
      return withDoc(target.node.doc, typed(target.name.text, type), detailOf(type))
    }
    case "case":
      return withDoc(target.node.doc, `${showName(target.name.text)} ${body(fieldsIn(program, target.node))}`, "case")
    case "tag": {
      const names = target.node.body.items.map((one) => showName(one.name.text))
      return { code: `${target.name.text}: enum { ${names.join(", ")} }`, detail: "tag" }
    }
    case "variable": {
      const type = variableType(program, target.node)
      return { code: typed(target.name.text, type), detail: detailOf(type) }
    }
  }
}

function valueOf(node: Syntax.TypeField | Syntax.ValueField): Syntax.Expression {
  return node.kind === "value-field" ? node.value : { kind: "missing-expression", start: node.start, end: node.start }
}

function withDoc(doc: string | undefined, code: string, detail: string): Description {
  return doc === undefined ? { code, detail } : { code, doc, detail }
}

export function detailOf(type: Type | undefined): string {
  return type === undefined ? "unknown" : showType(type, detailWidth)
}

function describeDeclaration(program: Program, declares: DeclarationKind, node: DeclaredNode): Description {
  const name = node.name.text
  const { doc } = node
  switch (node.kind) {
    case "schema": {
      const type = program.types[name]?.type
      const code = type?.kind === "record" ? `schema ${name} ${body(type.fields)}` : variantCode(name, type)
      return withDoc(doc, code, detailOf(type))
    }
    case "provider":
      return withDoc(doc, `provider ${name} from ${node.providerKind?.text ?? "…"}`, "provider")
    case "model": {
      const id = idOf(program, node)
      const code = `model ${name} from ${node.provider?.text ?? "…"}`
      return withDoc(doc, id === undefined ? code : `${code} { id: ${id} }`, id ?? "model")
    }
    case "mcp":
      return withDoc(doc, `mcp ${name}`, "MCP server")
    case "api":
      return withDoc(doc, `api ${name}`, "HTTP API")
    case "schedule":
    case "webhook":
      return withDoc(doc, `${node.kind} ${name}`, node.kind)
    case "workflow": {
      const symbol = program.workflows.get(name)
      const head = `workflow ${name} from ${program.tree.text.slice(node.file.start, node.file.end)}`
      if (symbol === undefined) return withDoc(doc, head, "workflow")
      const { input, output } = symbol
      const code = `${head}\ninput ${body(input.fields)}\noutput ${body(output.fields)}`
      return withDoc(openingComment(symbol.program.tree.text) ?? doc, code, detailOf(output))
    }
    case "function-declaration": {
      const symbol = program.functions.get(name)
      if (symbol === undefined) return withDoc(doc, `function ${name}(…)`, "function")
      const form = showFunction(name, symbol.variables)
      const written = doc ?? (symbol.code && codePlace(symbol.code).doc)
      return withDoc(written, `function ${form}: ${showType(symbol.result, lineWidth)}`, detailOf(symbol.result))
    }
    case "import":
    case "batch-item":
      return describeImport(program, node, doc)
    case "agent": {
      const type = program.agents.get(name)?.type
      return withDoc(doc, typed(`agent.${name}`, type), detailOf(type))
    }
    case "ask": {
      const type = program.asks.get(name)?.type
      return withDoc(doc, typed(`ask.${name}`, type), detailOf(type))
    }
    case "wait": {
      const type = program.waits.get(name)?.type
      return withDoc(doc, typed(`wait.${name}`, type), detailOf(type))
    }
    case "score": {
      const { value, output } = program.scores.get(name) ?? {}
      const type = value ?? output
      return withDoc(doc, typed(`score.${name}`, type), detailOf(type))
    }
    case "value-field": {
      const type = program.expressionTypes.get(node.value)
      return withDoc(doc, typed(declares === "local" ? `dynamic.${name}` : `${declares}.${name}`, type), detailOf(type))
    }
  }
}

function variantCode(name: string, type: Type | undefined): string {
  if (type?.kind !== "variant") return `schema ${name}`
  const cases = type.cases.map(
    (one) => `        ${showName(one.name)} ${showType({ kind: "record", fields: one.fields })}`,
  )
  return `schema ${name} {\n    variant ${showName(type.tag)} {\n${cases.join("\n")}\n    }\n}`
}

function idOf(program: Program, node: Syntax.ModelDeclaration): string | undefined {
  const id = node.body.items.find((item) => item.name.text === "id")
  if (id?.value.kind !== "expression") return undefined
  return textAt(program.tree, program.files.space, id.value.expression)
}

function describeImport(
  program: Program,
  node: Syntax.ImportDeclaration | Syntax.BatchItem,
  doc: string | undefined,
): Description {
  const { importKind } = node
  const symbol = importsOf(program, importKind).get(node.name.text)
  const written = (span: Span): string => textAt(program.tree, program.files.space, span)
  const source =
    node.kind === "import"
      ? written(node.source)
      : `mcp.${symbol?.server?.text ?? "…"}.${importKind}.${written(node.remote)}`
  const lines = [`${importKind} ${node.name.text} from ${source}`]
  if (symbol?.input !== undefined) lines.push(`input ${body(symbol.input.fields)}`)
  if (symbol?.output !== undefined) lines.push(`output ${showType(symbol.output, lineWidth * 3)}`)
  return withDoc(doc, lines.join("\n"), symbol?.output === undefined ? importKind : detailOf(symbol.output))
}

/** `name: type`, over several lines if it is long. */
export function typed(name: string, type: Type | undefined): string {
  if (type === undefined) return name
  const line = showType(type, lineWidth)
  if (type.kind !== "record" || !line.includes("…")) return `${name}: ${line}`
  return `${name}: ${body(type.fields)}`
}

/** `{ a: string }`, on one line if it fits. */
function body(fields: readonly Field[]): string {
  const record: Type = { kind: "record", fields }
  const line = showType(record, lineWidth)
  if (!line.includes("…")) return line
  const most = 24
  const lines = fields.slice(0, most).map(({ name, type }) => `    ${showName(name)}: ${showType(type, lineWidth)}`)
  if (fields.length > most) lines.push("    …")
  return `{\n${lines.join("\n")}\n}`
}

function fieldsIn(program: Program, node: Syntax.VariantCase): Field[] {
  return node.body.items.flatMap((item) => fieldAt(program, item) ?? [])
}

function variableType(program: Program, name: Syntax.Name): Type | undefined {
  const ofSteps = [...program.agents.values(), ...program.asks.values(), ...program.waits.values()].map(
    ({ variables }) => variables,
  )
  const ofFunctions = [...program.functions.values()].map(({ variables }) => variables)
  for (const variables of [...ofSteps, ...program.lists.values(), ...ofFunctions]) {
    const known = variables.get(name.text)
    if (known?.name === name) return known.type
  }
  return undefined
}
