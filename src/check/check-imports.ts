import type * as Syntax from "../syntax/tree.ts"
import type { Checking } from "./checking.ts"
import { constantProperty, positiveInteger } from "./constants.ts"
import { didYouMean } from "../base/did-you-mean.ts"
import { importTable } from "./declare.ts"
import { infer } from "./infer.ts"
import { checkBindings } from "./infer-invoke.ts"
import type { ImportNode, ImportSymbol } from "./program.ts"
import { readProperties } from "./properties.ts"
import { resolveBlock, resolveType } from "./resolve-types.ts"
import type { Scope } from "./scope.ts"
import type { RecordType, Type } from "./types.ts"

/** Tools, resources and prompts: their servers, declared types, bindings and limits. */
export function checkImports(checking: Checking): void {
  for (const declaration of checking.tree.declarations) {
    if (declaration.kind === "import") {
      checkSource(
        checking,
        declaration.source,
        declaration.importKind,
        `${declaration.importKind}.${declaration.name.text}`,
      )
      checkImport(checking, declaration, undefined)
    } else if (declaration.kind === "batch") {
      checkBatch(checking, declaration)
    }
  }
}

function checkSource(
  checking: Checking,
  source: Syntax.RemotePath,
  kind: Syntax.ImportKind | undefined,
  path: string,
): void {
  const { server, kindWord } = source
  if (server !== undefined) {
    if (checking.servers.has(server.text)) checking.refer(`mcp.${server.text}`, server)
    else {
      const written = checking.textOf(source)
      const near = didYouMean(server.text, checking.servers.keys())
      const rest = checking.tree.text.slice(server.end, source.end)
      const hint = near === undefined ? undefined : `Did you mean mcp.${near}${rest}?`
      const span = { start: server.start, end: source.end }
      checking.report("unknown-reference", path, span, `Unknown reference: ${written}`, hint)
    }
  }
  if (kindWord === undefined) return
  const kinds = ["tool", "resource", "prompt"]
  if (!kinds.includes(kindWord.text)) {
    checking.report(
      "unknown-reference",
      path,
      { start: kindWord.start, end: source.end },
      `Unknown reference: ${checking.textOf(source)}`,
      "After the server comes `tool`, `resource` or `prompt`.",
    )
  } else if (kind !== undefined && kindWord.text !== kind) {
    checking.report(
      "type-mismatch",
      path,
      kindWord,
      `Expected a ${kind}, found a ${kindWord.text}`,
      `Write \`${kind}\` here, or import a ${kindWord.text}.`,
    )
  }
}

function importScope(path: string): Scope {
  return {
    path,
    place: "a binding of an import",
    node: undefined,
    agent: undefined,
    local: undefined,
    secrets: "allowed",
    roots: "request",
    calls: false,
    assets: "none",
  }
}

function checkImport(checking: Checking, node: ImportNode, batch: Syntax.BatchDeclaration | undefined): void {
  const kind = node.importKind
  const path = `${kind}.${node.name.text}`
  const properties = readProperties(checking, kind, node.body?.items ?? [], path, node.name)
  const input = typesOf(checking, properties.get("input"), `${path}.input`)
  const output = typesOf(checking, properties.get("output"), `${path}.output`)
  const table = importTable(checking, kind)
  const known = table.get(node.name.text)
  let symbol: ImportSymbol | undefined
  if (known?.node === node) {
    symbol = { ...known, input, output, batch }
    table.set(node.name.text, symbol)
  }
  const bindings = properties.get("bindings")
  if (bindings !== undefined) {
    mustBeBlock(checking, bindings, `${path}.bindings`)
    checkBindings(checking, bindings, symbol, kind, importScope(path), infer)
  }
  positiveInteger(checking, properties.get("max_calls"), `${path}.max_calls`)
  constantProperty(
    checking,
    properties.get("description"),
    `${path}.description`,
    "a string",
    (value) => typeof value === "string",
  )
  constantProperty(
    checking,
    properties.get("idempotent"),
    `${path}.idempotent`,
    "`true` or `false`",
    (value) => typeof value === "boolean",
  )
  constantProperty(
    checking,
    properties.get("pin"),
    `${path}.pin`,
    '"sha256:" and 64 hex digits',
    (value) => typeof value === "string" && /^sha256:[0-9a-f]{64}$/.test(value),
  )
}

export function mustBeBlock(checking: Checking, property: Syntax.Property, path: string): void {
  if (property.value.kind === "values" || property.value.kind === "missing") return
  checking.report("type-mismatch", path, property.name, `Expected a block: \`${property.name.text} { … }\``)
}

/** A block of types; `output: string` and its like are an old spelling. */
export function typesOf(
  checking: Checking,
  property: Syntax.Property | undefined,
  path: string,
): RecordType | undefined {
  if (property?.value.kind === "types") return resolveBlock(checking, property.value.block, path)
  if (property?.value.kind !== "type") return undefined
  const { type } = property.value
  const name = property.name.text
  const resolved: Type = resolveType(checking, type, path)
  if (resolved.kind === "error" && type.kind === "missing-type") return undefined
  const message = `\`${name}: type\` is now written \`${name} { field: type }\``
  checking.report(
    "obsolete-syntax",
    path,
    property.name,
    message,
    `Write \`${name} { value: ${checking.textOf(type)} }\`.`,
  )
  return undefined
}

function checkBatch(checking: Checking, declaration: Syntax.BatchDeclaration): void {
  const { source } = declaration
  const path = `mcp.${source.server?.text ?? ""}`
  checkSource(checking, source, undefined, path)
  const items = declaration.body.items.filter((item) => item.kind === "batch-item")
  const shared = declaration.body.items.filter((item) => item.kind === "property")
  const properties = readProperties(checking, "batch", shared, path, declaration.keyword)
  const bindings = properties.get("bindings")
  if (bindings !== undefined) {
    mustBeBlock(checking, bindings, `${path}.bindings`)
    // What all items share may hold a secret only if none of them is a prompt.
    const kind = items.some((item) => item.importKind === "prompt") ? "prompt" : "tool"
    checkBindings(checking, bindings, undefined, kind, importScope(path), infer)
  }
  positiveInteger(checking, properties.get("max_calls"), `${path}.max_calls`)
  for (const item of items) {
    const only = source.kindWord?.text
    if (only !== undefined && ["tool", "resource", "prompt"].includes(only) && only !== item.importKind) {
      const message = `\`from mcp.${source.server?.text ?? ""}.${only}\` imports ${only}s only`
      checking.report("type-mismatch", `${item.importKind}.${item.name.text}`, item.keyword, message)
    }
    checkImport(checking, item, declaration)
  }
}
