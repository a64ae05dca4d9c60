import type * as Syntax from "../syntax/tree.ts"
import type { Checking } from "./checking.ts"
import type { ImportSymbol } from "./program.ts"

/** Enters every declaration under its name, and reports names that are taken. */
export function declare(checking: Checking): void {
  for (const declaration of checking.tree.declarations) {
    switch (declaration.kind) {
      case "input":
        if (checking.inputDeclaration === undefined) checking.inputDeclaration = declaration
        else second(checking, "input", declaration.keyword)
        break
      case "secrets":
        if (checking.secretsDeclaration === undefined) checking.secretsDeclaration = declaration
        else second(checking, "secrets", declaration.keyword)
        break
      case "output":
        if (checking.outputDeclaration === undefined) checking.outputDeclaration = declaration
        else second(checking, "output", declaration.keyword)
        break
      case "schema":
        enter(checking, checking.schemas, "schema", declaration.name, declaration)
        break
      case "provider":
        enter(checking, checking.providers, "provider", declaration.name, declaration)
        break
      case "model":
        enter(checking, checking.models, "model", declaration.name, declaration)
        break
      case "mcp":
        enter(checking, checking.servers, "mcp", declaration.name, declaration)
        break
      case "import":
        enterImport(checking, declaration, declaration.importKind, declaration.source, undefined)
        break
      case "batch":
        for (const item of declaration.body.items) {
          if (item.kind === "batch-item") enterImport(checking, item, item.importKind, declaration.source, declaration)
        }
        break
      case "dynamic":
        declareDynamic(checking, declaration)
        break
      case "agent":
        enter(checking, checking.agentDeclarations, "agent", declaration.name, declaration)
        break
    }
  }
}

function second(checking: Checking, word: string, keyword: Syntax.DynamicDeclaration["keyword"]): void {
  const message = `A workflow has one \`${word}\` block`
  checking.report("duplicate-declaration", word, keyword, message, "Join the two blocks.")
}

function enter<T>(checking: Checking, table: Map<string, T>, kind: string, name: Syntax.Name, value: T): void {
  if (table.has(name.text)) taken(checking, `${kind}.${name.text}`, name)
  else table.set(name.text, value)
}

function taken(checking: Checking, id: string, name: Syntax.Name, path = id): void {
  checking.report("duplicate-declaration", path, name, `${id} is declared already`, "Give one of the two another name.")
}

function declareDynamic(checking: Checking, declaration: Syntax.DynamicDeclaration): void {
  const here = new Set<string>()
  for (const field of declaration.body.items) {
    const name = field.name.text
    if (here.has(name)) {
      checking.report(
        "duplicate-field",
        `dynamic.${name}`,
        field.name,
        `\`${name}\` is here already`,
        "Remove or rename one.",
      )
    } else {
      here.add(name)
      enter(checking, checking.dynamicFields, "dynamic", field.name, field)
    }
  }
}

function enterImport(
  checking: Checking,
  node: Syntax.ImportDeclaration | Syntax.BatchItem,
  kind: Syntax.ImportKind,
  source: Syntax.RemotePath,
  batch: Syntax.BatchDeclaration | undefined,
): void {
  const remote = node.kind === "import" ? source.remote : node.remote
  const symbol: ImportSymbol = {
    name: node.name,
    kind,
    node,
    server: source.server,
    remote: remote?.text ?? node.name.text,
    batch,
    input: undefined,
    output: undefined,
  }
  enter(checking, importTable(checking, kind), kind, node.name, symbol)
}

export function importTable(checking: Checking, kind: Syntax.ImportKind): Map<string, ImportSymbol> {
  return kind === "tool" ? checking.tools : kind === "resource" ? checking.resources : checking.prompts
}
