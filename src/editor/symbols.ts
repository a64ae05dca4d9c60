import { asWritten } from "../check/known-list.ts"
import type { Program } from "../check/program.ts"
import { showType } from "../types/show-type.ts"
import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import { fieldAt } from "./targets.ts"

export type SymbolKind =
  | "test"
  | "input"
  | "secrets"
  | "schema"
  | "provider"
  | "model"
  | "server"
  | Syntax.ImportKind
  | "imports"
  | "workflow"
  | "function"
  | "dynamic"
  | "value"
  | "agent"
  | "ask"
  | "wait"
  | "limits"
  | "chat"
  | "release"
  | "score"
  | "trigger"
  | "output"
  | "field"
  | "case"

/** An entry of the outline. */
export interface DocumentSymbol {
  readonly name: string
  readonly kind: SymbolKind
  readonly detail?: string
  /** All of it. */
  readonly span: Span
  /** Its name. */
  readonly selection: Span
  readonly children: readonly DocumentSymbol[]
}

/** The outline of the workflow, in source order. */
export function symbols(program: Program): readonly DocumentSymbol[] {
  return program.tree.declarations.map((declaration) => declarationSymbol(program, declaration))
}

/** The names of the symbols around the one at the offset, from its declaration on: `agent`, `review`, `findings`. */
export function pathTo(program: Program, { start, end }: Span): readonly string[] {
  const declaration = program.tree.declarations.find((one) => one.start <= start && end <= one.end)
  if (declaration === undefined) return []
  let symbol: DocumentSymbol | undefined = declarationSymbol(program, declaration)
  const path = symbol.name === symbol.kind ? [symbol.name] : [symbol.kind, symbol.name]
  for (;;) {
    symbol = symbol.children.find(({ span }) => span.start <= start && end <= span.end)
    if (symbol === undefined || (symbol.span.start === start && symbol.span.end === end)) return path
    path.push(asWritten(symbol.name))
  }
}

/** `(amount: number)`, as it is written. */
function signature({ tree }: Program, { name, result, parameters }: Syntax.FunctionDeclaration): string {
  const end = result?.end ?? parameters.at(-1)?.end ?? name.end
  const text = tree.text.slice(name.end, end).replace(/\s+/g, " ")
  return result !== undefined ? text : parameters.length === 0 ? "()" : `${text})`
}

function fieldsIn({ body }: Syntax.InputDeclaration | Syntax.SecretsDeclaration): Syntax.TypeField[] {
  const items: readonly (Syntax.TypeField | Syntax.Property)[] = body.items
  return items.filter((item) => item.kind === "type-field")
}

function declarationSymbol(program: Program, declaration: Syntax.Declaration): DocumentSymbol {
  const entry = symbolOf.bind(null, declaration)
  switch (declaration.kind) {
    case "tests":
      return entry("test", declaration.keyword, "tests", [], declaration.file.texts[0])
    case "test":
      return entry("test", declaration.title, declaration.title.texts[0] ?? "", [])
    case "input":
    case "secrets":
      return entry(declaration.kind, declaration.keyword, declaration.kind, typeFields(program, fieldsIn(declaration)))
    case "schema":
      return entry("schema", declaration.name, declaration.name.text, schemaParts(program, declaration))
    case "provider":
      return entry("provider", declaration.name, declaration.name.text, [], declaration.providerKind?.text)
    case "model":
      return entry("model", declaration.name, declaration.name.text, [], declaration.provider?.text)
    case "mcp":
    case "api":
      return entry("server", declaration.name, declaration.name.text, [])
    case "import": {
      const source = program.tree.text.slice(declaration.source.start, declaration.source.end)
      return entry(declaration.importKind, declaration.name, declaration.name.text, [], source)
    }
    case "batch": {
      const { source } = declaration
      const items = declaration.body.items.filter((item) => item.kind === "batch-item")
      const children = items.map((item) => symbolOf(item, item.importKind, item.name, item.name.text, []))
      return entry("imports", source, program.tree.text.slice(source.start, source.end), children)
    }
    case "file-import": {
      const children = declaration.names.items.map((item) => {
        return symbolOf(item, importedKind(item.word.text), item.name, item.name.text, [])
      })
      return entry("imports", declaration.file, declaration.file.texts[0] ?? "", children)
    }
    case "workflow":
      return entry("workflow", declaration.name, declaration.name.text, [], declaration.file.texts[0])
    case "function-declaration":
      return entry("function", declaration.name, declaration.name.text, [], signature(program, declaration))
    case "dynamic":
      return entry("dynamic", declaration.keyword, "dynamic", valueFields(program, declaration.body.items, "value"))
    case "agent":
    case "ask":
    case "wait":
      return entry(
        declaration.kind,
        declaration.name,
        declaration.name.text,
        stepParts(program, declaration),
        loopOf(program, declaration),
      )
    case "score":
      return entry("score", declaration.name, declaration.name.text, [])
    case "schedule":
    case "webhook":
      return entry("trigger", declaration.name, declaration.name.text, [], declaration.kind)
    case "limits":
    case "chat":
    case "release":
      return entry(declaration.kind, declaration.keyword, declaration.kind, [])
    case "output":
      return entry("output", declaration.keyword, "output", valueFields(program, declaration.body.items, "field"))
  }
}

function importedKind(word: string): SymbolKind {
  switch (word) {
    case "schema":
    case "provider":
    case "model":
    case "tool":
    case "resource":
    case "prompt":
    case "function":
      return word
    default:
      return "server"
  }
}

function symbolOf(
  { start, end }: Span,
  kind: SymbolKind,
  name: Span,
  text: string,
  children: readonly DocumentSymbol[],
  detail?: string,
): DocumentSymbol {
  const base = { name: text === "" ? '""' : text, kind, span: { start, end } }
  const rest = { selection: { start: name.start, end: name.end }, children }
  return detail === undefined ? { ...base, ...rest } : { ...base, detail, ...rest }
}

const detailWidth = 60

function loopOf(program: Program, { loop }: Syntax.StepDeclaration): string | undefined {
  return loop && program.tree.text.slice(loop.start, loop.end).replace(/\s+/g, " ")
}

function stepParts(program: Program, { body }: Syntax.StepDeclaration): DocumentSymbol[] {
  return body.items.flatMap(({ name, value }): readonly DocumentSymbol[] => {
    if (name.text === "output" && value.kind === "types") return typeFields(program, value.block.items)
    if (name.text === "dynamic" && value.kind === "values") return valueFields(program, value.block.items, "value")
    return []
  })
}

function schemaParts(program: Program, { body }: Syntax.SchemaDeclaration): DocumentSymbol[] {
  return body.items.flatMap((item) => (item.kind === "variant" ? cases(program, item) : typeFields(program, [item])))
}

function cases(program: Program, variant: Syntax.VariantType): DocumentSymbol[] {
  return variant.body.items.map((one) => {
    return symbolOf(one, "case", one.name, one.name.text, typeFields(program, one.body.items))
  })
}

function typeFields(program: Program, fields: readonly Syntax.TypeField[]): DocumentSymbol[] {
  return fields.map((field) => {
    const type = fieldAt(program, field)?.type
    const detail = type && showType(type, detailWidth)
    return symbolOf(field, "field", field.name, field.name.text, partsOf(program, field.type), detail)
  })
}

/** The fields inside of a field's type, through arrays and `maybe`. */
function partsOf(program: Program, type: Syntax.TypeNode): DocumentSymbol[] {
  switch (type.kind) {
    case "object-type":
      return typeFields(program, type.body.items)
    case "variant":
      return cases(program, type)
    case "array-type":
      return partsOf(program, type.element)
    case "maybe":
    case "map-type":
    case "marked":
    case "group-type":
      return partsOf(program, type.type)
    default:
      return []
  }
}

function valueFields(program: Program, fields: readonly Syntax.ValueField[], kind: SymbolKind): DocumentSymbol[] {
  return fields.map((field) => {
    const type = program.expressionTypes.get(field.value)
    const detail = type && showType(type, detailWidth)
    return symbolOf(field, kind, field.name, field.name.text, [], detail)
  })
}
