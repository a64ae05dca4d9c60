import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { isFunction } from "./function-table.ts"
import type { ImportSymbol } from "./program.ts"
import { declareUnique } from "./repeated-name.ts"

/** Enters every declaration under its name, and reports names that are taken. */
export function declare(checking: CheckContext): void {
  for (const declaration of checking.declarations) {
    switch (declaration.kind) {
      // Its names are those of declarations that come from the other file.
      case "file-import":
        break
      case "input":
      case "secrets":
      case "output":
      case "limits":
      case "chat":
      case "release": {
        const same: Syntax.Declaration[] = checking.blocks[declaration.kind]
        if (same.push(declaration) > 1) second(checking, declaration)
        break
      }
      case "schema":
      case "provider":
      case "model":
      case "mcp":
      case "api":
      case "agent":
      case "ask":
      case "wait": {
        const same: Map<string, Syntax.Declaration> = checking.declared[declaration.kind]
        enter(checking, same, declaration.kind, declaration.name, declaration)
        break
      }
      case "function-declaration":
        declareFunction(checking, declaration)
        break
      case "workflow":
        enter(checking, checking.workflowNodes, "workflow", declaration.name, declaration)
        break
      case "score":
        enter(checking, checking.scoreNodes, "score", declaration.name, declaration)
        break
      case "schedule":
      case "webhook":
        enter(checking, checking.triggerNodes, declaration.kind, declaration.name, declaration, ({ kind }) => kind)
        break
      case "import":
        enterImport(checking, declaration, declaration.importKind, declaration.source, undefined)
        break
      case "batch":
        for (const item of declaration.body.items) {
          if (item.kind === "batch-item") enterImport(checking, item, item.importKind, declaration.source, declaration)
          else if (item.value.kind === "missing") checking.skipped.kindless.add(item.name.text.replaceAll("-", "_"))
        }
        break
      case "dynamic":
        declareDynamic(checking, declaration)
        break
      // Their names are for people: two may be the same.
      case "test":
      case "tests":
        break
    }
  }
}

function second(checking: CheckContext, { kind, keyword }: Syntax.Declaration): void {
  const message = `A workflow has one \`${kind}\` block`
  checking.report("duplicate-declaration", kind, keyword, message, "Join the two blocks.")
}

/** `kindOf`: where a table has several kinds. */
function enter<T>(
  checking: CheckContext,
  table: Map<string, T>,
  kind: string,
  name: Syntax.Name,
  value: T,
  kindOf: (known: T) => string = () => kind,
): void {
  const known = table.get(name.text)
  if (known === undefined) {
    table.set(name.text, value)
    return
  }
  const message = `${kindOf(known)}.${name.text} is declared already`
  checking.report("duplicate-declaration", `${kind}.${name.text}`, name, message, "Give one of the two another name.")
}

function declareFunction(checking: CheckContext, declaration: Syntax.FunctionDeclaration): void {
  const { name } = declaration
  if (!isFunction(name.text)) return enter(checking, checking.functionNodes, "function", name, declaration)
  const message = `\`${name.text}\` is a function of the language`
  checking.report("duplicate-declaration", `function.${name.text}`, name, message, "Give this one another name.")
}

function declareDynamic(checking: CheckContext, declaration: Syntax.DynamicDeclaration): void {
  const here = new Set<string>()
  if (checking.skipped.hasNameless(declaration.body)) checking.skipped.nameless.add("dynamic")
  for (const field of declaration.body.items) {
    const name = field.name.text
    if (!declareUnique(checking, here, field.name, `dynamic.${name}`)) {
      enter(checking, checking.dynamicFields, "dynamic", field.name, field)
    }
    if (checking.dynamicFields.get(name) !== field) checking.repeatedDynamics.push(field)
  }
}

function enterImport(
  checking: CheckContext,
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
    origin: source.word,
    server: source.server,
    remote: remote?.text ?? node.name.text,
    batch,
    input: undefined,
    output: undefined,
  }
  enter(checking, checking.imports(kind), kind, node.name, symbol)
}

const ownWork: ReadonlySet<Syntax.Declaration["kind"]> = new Set([
  "agent",
  "ask",
  "wait",
  "dynamic",
  "output",
  "test",
  "tests",
])

/** Whether a file has neither steps nor an output (nor tests): it declares for other files. */
export function isLibrary({ declarations }: Syntax.Tree): boolean {
  return !declarations.some(({ kind }) => ownWork.has(kind))
}
