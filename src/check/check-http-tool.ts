import type { Hint } from "../source/hint.ts"
import type * as Syntax from "../syntax/tree.ts"
import { propertyOf } from "../syntax/property-of.ts"
import { fieldNamed } from "../types/field-named.ts"
import { anyType, integerType, objectType } from "../types/primitives.ts"
import { holdsFile } from "../types/holds-file.ts"
import { resolve } from "../types/relations.ts"
import { showType } from "../types/show-type.ts"
import type { RecordType, Type, TypeTable } from "../types/types.ts"
import type { CheckContext } from "./check-context.ts"
import { blockAs } from "./block-of.ts"
import { isRoute, readRoute, type HttpRoute } from "./http-route.ts"
import { asWritten, knownList } from "./known-list.ts"
import { declareUnique } from "./repeated-name.ts"
import { checkHeaderName } from "./rules/invalid-header.ts"

/** What a tool with `output: status` gives. */
export const statusType: RecordType = {
  kind: "record",
  fields: [
    { name: "status", type: integerType },
    { name: "headers", type: objectType },
    { name: "body", type: anyType },
  ],
}

/** `output: status` */
export function asksForStatus(property: Syntax.Property | undefined): boolean {
  const value = property?.value
  return value?.kind === "type" && value.type.kind === "type-name" && value.type.name.text === "status"
}

/** A tool of an `api`: its method and path, and where its arguments go. */
export function checkHttpTool(
  checking: CheckContext,
  node: Syntax.ImportDeclaration,
  properties: ReadonlyMap<string, Syntax.Property>,
  input: RecordType,
): void {
  const path = `tool.${node.name.text}`
  const { remote } = node.source
  if (remote === undefined) return
  const route = readRoute(remote.text)
  if (!isRoute(route)) return checking.report("type-mismatch", path, remote, route.problem, route.hint)
  checkPathNames(checking, node, route, input)
  checkSend(checking, node, properties.get("send"), route, input)
  checkFileArguments(checking, node, properties.get("send"), route, input)
}

/** A file goes into the body: whole, or as a part of a form. */
function checkFileArguments(
  checking: CheckContext,
  node: Syntax.ImportDeclaration,
  send: Syntax.Property | undefined,
  { method, names }: HttpRoute,
  input: RecordType,
): void {
  const value = send?.value
  const sent = value?.kind === "send" ? value.block.items : []
  const hasWholeBody = sent.some(({ to }) => to?.text === "body")
  for (const field of input.fields) {
    if (!holdsFile(field.type, checking.types) || names.includes(field.name)) continue
    const to = sent.find(({ name }) => name.text === field.name)?.to?.text
    if (to === "header") continue
    const isInBody = to === "body" || (to === undefined && !hasWholeBody && method !== "GET" && method !== "DELETE")
    if (isInBody) continue
    const written = checking.fieldNodes.get(field)
    const span = written?.kind === "type-field" ? written.type : node.name
    const message = "A file is sent in the body of a request, and nowhere else"
    const hint =
      method === "GET" || method === "DELETE"
        ? "Use a route with POST, PUT or PATCH."
        : `Write \`send { ${asWritten(field.name)}: body }\`, or leave \`send\` out: then all arguments are a form.`
    checking.report("type-mismatch", `tool.${node.name.text}.input.${field.name}`, span, message, hint)
  }
}

/** Every `{name}` of the path is an argument that can be written into it. */
function checkPathNames(
  checking: CheckContext,
  node: Syntax.ImportDeclaration,
  { names }: HttpRoute,
  input: RecordType,
): void {
  for (const name of names) {
    const path = `tool.${node.name.text}.input.${name}`
    const field = fieldNamed(input, name)
    if (field === undefined) {
      if (checking.skipped.hasError(node)) continue
      const message = `The path has a part \`{${name}}\`, and \`input { }\` has no field of that name`
      checking.report(
        "missing-property",
        path,
        node.name,
        message,
        `Add \`${asWritten(name)}: string\` to \`input { }\`.`,
      )
    } else if (!isPlain(field.type, checking.types)) {
      const written = checking.fieldNodes.get(field)
      const span = written?.kind === "type-field" ? written.type : node.name
      const message = `A part of a path is a string, a number, a boolean, an enum or a literal, found ${showType(field.type)}`
      checking.report("type-mismatch", path, span, message, "Give it such a type, or take it out of the path.")
    }
  }
}

/** Never in a header that an argument may set. */
const inApi = "Set it in the `headers { }` of the api."
const notForArguments: ReadonlyMap<string, string> = new Map([
  ["authorization", inApi],
  ["cookie", inApi],
  ["proxy-authorization", inApi],
  ["idempotency-key", "Write `idempotent: true`."],
  ["accept-encoding", "Remove it."],
])

/** `send { fields: query, trace: header "X-Trace", text: body }` */
function checkSend(
  checking: CheckContext,
  node: Syntax.ImportDeclaration,
  property: Syntax.Property | undefined,
  { method, names }: HttpRoute,
  input: RecordType,
): void {
  const path = `tool.${node.name.text}.send`
  const block = blockAs(checking, property, path, "send", "send { field: query }")?.block
  const seen = new Set<string>()
  const headers = new Set(headersOf(checking, node))
  let body: Syntax.SendField | undefined
  for (const item of block?.items ?? []) {
    const { name, to, header } = item
    const own = `${path}.${name.text}`
    const wrong = (span: Syntax.Name, message: string, hint: Hint): void =>
      checking.report("type-mismatch", own, span, message, hint)
    declareUnique(checking, seen, name, own)
    const field = fieldNamed(input, name.text)
    if (field === undefined) {
      if (checking.incomplete.has(input)) continue
      wrong(
        name,
        `The tool has no argument \`${name.text}\``,
        knownList(checking, name.text, input.fields, "Its arguments are"),
      )
    } else if (names.includes(name.text)) wrong(name, `\`${name.text}\` is a part of the path`, "Remove it here.")
    switch (to?.text) {
      case undefined:
      case "query":
        break
      case "body":
        if (method === "GET") wrong(to, "A GET has no body", "Write `query`, or use POST.")
        else if (body !== undefined) {
          wrong(
            to,
            `\`${body.name.text}\` is the whole body already`,
            "Leave both out: without them the body is an object of all arguments.",
          )
        } else body = item
        break
      case "header": {
        if (header === undefined) break
        const lower = header.text.toLowerCase()
        const hint = notForArguments.get(lower)
        if (hint !== undefined) {
          const message = `An argument may not set the header \`${header.text}\``
          checking.report("invalid-header", own, header, message, hint)
        } else if (checkHeaderName(checking, header, own) && headers.has(lower)) {
          const message = `The header \`${header.text}\` is here already`
          checking.report("duplicate-field", own, header, message, "Remove one of the two.")
        }
        headers.add(lower)
        if (field !== undefined && !isPlain(field.type, checking.types, true)) {
          wrong(
            name,
            `A header is a string, a number, a boolean, an enum or a literal, found ${showType(field.type)}`,
            "Send it in the query.",
          )
        }
        break
      }
      default:
        if (to !== undefined) wrong(to, `Unknown place: ${to.text}`, 'Write `query`, `body` or `header "Name"`.')
    }
  }
}

/** The headers that the api sets, in lower case. */
function headersOf(checking: CheckContext, node: Syntax.ImportDeclaration): string[] {
  const api = checking.apis.get(node.source.server?.text ?? "")
  const value = propertyOf(api?.body, "headers")?.value
  return value?.kind === "values" ? value.block.items.map(({ name }) => name.text.toLowerCase()) : []
}

/** Whether each value of a type is one word or number, which is what a path and a header take. */
function isPlain(type: Type, types: TypeTable, orNull = false): boolean {
  const resolved = resolve(type, types)
  switch (resolved.kind) {
    case "string":
    case "number":
    case "integer":
    case "boolean":
    case "literal":
    case "enum":
    case "error":
      return true
    case "null":
      return orNull
    case "union":
      return resolved.members.every((member) => isPlain(member, types, orNull))
    default:
      return false
  }
}
