import { example, meantReference } from "../source/hint.ts"
import { importKindOf } from "../syntax/import-kinds.ts"
import { wordsIn } from "../syntax/property-table.ts"
import type * as Syntax from "../syntax/tree.ts"
import { wordOrString } from "../syntax/property-of.ts"
import { checkApproval } from "./check-approval.ts"
import { asksForStatus, checkHttpTool, statusType } from "./check-http-tool.ts"
import type { CheckContext } from "./check-context.ts"
import { fieldNamed } from "../types/field-named.ts"
import { infer } from "./infer.ts"
import { checkBindings, isHttpTool } from "./infer-invoke.ts"
import { knownNames } from "./known-list.ts"
import { mustFit } from "./must-fit.ts"
import type { ImportNode, ImportSymbol } from "./program.ts"
import { readProperties } from "./properties.ts"
import { requestScope } from "./scope.ts"
import { typesOf } from "./types-of.ts"
import type { RecordType } from "../types/types.ts"
import { sourceSharedBindings } from "../base/limits.ts"

const noFields: RecordType = { kind: "record", fields: [] }

/** Tools, resources and prompts: their servers, declared types, bindings and limits. */
export function checkImports(checking: CheckContext): void {
  for (const declaration of checking.declarations) {
    if (declaration.kind === "import") {
      checkSource(checking, declaration)
      checkImport(checking, declaration, undefined)
    } else if (declaration.kind === "batch") {
      checkBatch(checking, declaration)
    }
  }
}

function checkSource(checking: CheckContext, { source, importKind, name }: Syntax.ImportDeclaration): void {
  const path = `${importKind}.${name.text}`
  checkServer(checking, source, path)
  const { kindWord } = source
  if (source.word === "api" && importKind !== "tool") {
    const message = `An api has tools only, and this is a ${importKind}`
    checking.report("type-mismatch", path, source, message, example(`tool ${name.text} from …`))
  }
  if (kindWord !== undefined && importKindOf(kindWord.text) && kindWord.text !== importKind) {
    const message = `Expected a ${importKind}, found a ${kindWord.text}`
    const hint = `Write \`${importKind}\` here, or import a ${kindWord.text}.`
    checking.report("type-mismatch", path, kindWord, message, hint)
  }
}

function checkServer(checking: CheckContext, source: Syntax.RemotePath, path: string): void {
  const { word, server, kindWord } = source
  const servers = word === "mcp" ? checking.servers : checking.apis
  const message = `Unknown reference: ${checking.quote(source)}`
  if (server === undefined) return
  if (servers.has(server.text)) checking.refer(`${word}.${server.text}`, server)
  else if (!checking.skipped.isSwallowed(word, server.text)) {
    const near = checking.suggest(server.text, servers.keys())
    const rest = checking.quote({ start: server.end, end: source.end })
    const hint = near === undefined ? knownNames(servers.keys()) : meantReference(`${word}.${near}${rest}`, source)
    checking.report("unknown-reference", path, { start: server.start, end: source.end }, message, hint)
    return
  }
  if (kindWord !== undefined && importKindOf(kindWord.text) === undefined) {
    const hint = "After the server comes `tool`, `resource` or `prompt`."
    checking.report("unknown-reference", path, { start: kindWord.start, end: source.end }, message, hint)
  }
}

function checkImport(
  checking: CheckContext,
  node: ImportNode,
  batch: Syntax.BatchDeclaration | undefined,
): ImportSymbol | undefined {
  const kind = node.importKind
  const path = `${kind}.${node.name.text}`
  const isHttp = isHttpTool(node)
  const properties = readProperties(checking, isHttp ? "http-tool" : kind, node.body, path, node.name)
  const declared = typesOf(checking, properties.get("input"), `${path}.input`)
  // The server of an HTTP tool says nothing about its arguments: there are those that are declared, and no others.
  const input = declared ?? (isHttp ? noFields : undefined)
  const isStatus = isHttp && asksForStatus(properties.get("output"))
  const output = isStatus ? statusType : typesOf(checking, properties.get("output"), `${path}.output`)
  if (isHttp) checkHttpTool(checking, node, properties, input ?? noFields)
  if (input !== undefined) checkRequiredArguments(checking, properties.get("requires"), input, path)
  const table = checking.imports(kind)
  const known = table.get(node.name.text)
  const symbol = known?.node === node ? { ...known, input, output, batch } : undefined
  if (symbol !== undefined) table.set(node.name.text, symbol)
  const scope = requestScope(path, "a binding of an import")
  checkBindings(checking, properties.get("bindings"), symbol, kind, scope, infer)
  checkApproval(checking, properties.get("approval"), requestScope(path, "an approval"), infer)
  return symbol
}

/** `requires: [to]`: a misspelt name would protect nothing. */
function checkRequiredArguments(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  { fields }: RecordType,
  path: string,
): void {
  const value = property?.value.kind === "expression" ? property.value.expression : undefined
  if (value?.kind !== "array") return
  const names = fields.map(({ name }) => name)
  for (const item of value.items) {
    const written = wordOrString(item)
    if (written === undefined || names.includes(written)) continue
    const near = checking.suggest(written, names)
    const word = wordsIn("requires").words.includes(written) ? `Write \`requires: ${written}\`.` : undefined
    const hint = word ?? (near === undefined ? `Name a field of \`input { }\` of ${path}.` : meantReference(near, item))
    checking.report("unknown-property", `${path}.requires`, item, `${path} has no argument ${written}`, hint)
  }
}

/** `from mcp.server { … }` */
function checkBatch(checking: CheckContext, declaration: Syntax.BatchDeclaration): void {
  const { source, body, keyword } = declaration
  const server = source.server?.text ?? ""
  const path = `mcp.${server}`
  checkServer(checking, source, path)
  const items = body.items.filter((item) => item.kind === "batch-item")
  const properties = readProperties(checking, "batch", body, path, keyword)
  // What all items share may hold a secret only if none of them is a prompt.
  const kind = items.some((item) => item.importKind === "prompt") ? "prompt" : "tool"
  const scope = requestScope(path, "a binding of an import")
  const bindings = properties.get("bindings")
  const bound = checkBindings(checking, bindings, undefined, kind, scope, infer)
  checkApproval(checking, properties.get("approval"), requestScope(path, "an approval"), infer)
  if (bindings !== undefined && bound.size * items.length > sourceSharedBindings) {
    const message = `${items.length} imports share ${bound.size} bindings, which is more than a workflow can hold`
    checking.report("invalid-value", `${path}.bindings`, bindings.name, message, "Bind less, or in smaller batches.")
    return
  }
  for (const item of items) {
    const only = source.kindWord?.text
    if (only !== undefined && importKindOf(only) && only !== item.importKind) {
      const message = `\`from mcp.${server}.${only}\` imports ${only}s only`
      const hint = `Write \`${only}\`, or \`from mcp.${server} { … }\`.`
      checking.report("type-mismatch", `${item.importKind}.${item.name.text}`, item.keyword, message, hint)
    }
    const symbol = checkImport(checking, item, declaration)
    if (symbol !== undefined) sharedMustFit(checking, bindings, symbol)
  }
}

/** What a batch binds against the declared input of one of its tools, which may bind it otherwise itself. */
function sharedMustFit(checking: CheckContext, bindings: Syntax.Property | undefined, symbol: ImportSymbol): void {
  const { name, input, node } = symbol
  if (input === undefined || bindings?.value.kind !== "values") return
  const own = node.body?.items.find((item) => item.name.text === "bindings")?.value
  const ownNames = new Set(own?.kind === "values" ? own.block.items.map((field) => field.name.text) : [])
  for (const field of bindings.value.block.items) {
    const wanted = fieldNamed(input, field.name.text)
    if (wanted === undefined || ownNames.has(field.name.text)) continue
    mustFit(checking, field.value, wanted.type, `tool.${name.text}.bindings.${field.name.text}`)
  }
}
