import { didYouMean } from "../base/did-you-mean.ts"
import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Checking } from "./checking.ts"
import { limitType, tooManyMembers } from "./limit-type.ts"
import { maybe, resolve, union } from "./relations.ts"
import { isRepeated } from "./repeated-name.ts"
import type { Field, RecordType, Type, VariantCase, VariantType } from "./types.ts"

const builtIn: Readonly<Record<string, Type>> = {
  string: { kind: "string" },
  boolean: { kind: "boolean" },
  null: { kind: "null" },
  number: { kind: "number" },
  float: { kind: "number" },
  integer: { kind: "integer" },
  object: { kind: "object" },
}

/** How other languages spell our types. */
const foreign: Readonly<Record<string, string>> = {
  str: "string",
  text: "string",
  bool: "boolean",
  int: "integer",
  double: "number",
  dict: "object",
  map: "object",
  record: "object",
  nil: "null",
  none: "null",
}

const errorType: Type = { kind: "error" }

/** How far `schema.a.f` may lead on to `schema.b.f` and so forth. */
const deepestAlias = 100

/** All schemas into the type table. */
export function resolveSchemas(checking: Checking): void {
  // A schema is resolved when it is first needed: `schema.a.field` in another one may come before it.
  for (const [name, declaration] of checking.schemas) resolveSchema(checking, name, declaration)
}

function resolveSchema(checking: Checking, name: string, declaration: Syntax.SchemaDeclaration): Type {
  const known = checking.types[name]
  if (known !== undefined) return known.type
  const path = `schema.${name}`
  const [only] = declaration.body.items
  // While it is being resolved it stands as an error: only `schema.a.a` inside itself can see that.
  const entry = (type: Type) => (declaration.doc === undefined ? { type } : { type, doc: declaration.doc })
  checking.types[name] = entry(errorType)
  if (checking.resolving >= deepestAlias) {
    const message = `schema.${name} is reached through more than ${deepestAlias} fields of other schemas`
    checking.report("invalid-value", path, declaration.name, message, "Refer to a schema as a whole: `schema.name`.")
    return errorType
  }
  let type: Type
  checking.resolving++
  if (only?.kind === "variant") {
    type = resolveVariant(checking, only, path)
    for (const extra of declaration.body.items.slice(1)) {
      const message = "A schema holds either fields or one variant"
      checking.report("syntax-error", path, extra.kind === "variant" ? extra.keyword : extra.name, message)
    }
  } else {
    type = resolveFields(checking, fieldsOf(checking, declaration, path), path)
  }
  checking.resolving--
  type = limitType(checking, type, path, declaration.name)
  checking.types[name] = entry(type)
  return type
}

function fieldsOf(checking: Checking, declaration: Syntax.SchemaDeclaration, path: string): Syntax.TypeField[] {
  return declaration.body.items.flatMap((item) => {
    if (item.kind === "type-field") return [item]
    checking.report("syntax-error", path, item.keyword, "A schema holds either fields or one variant")
    return []
  })
}

/** A whole block of fields (`input`, an agent's `output`) as a closed object type. */
export function resolveBlock(checking: Checking, block: Syntax.Block<Syntax.TypeField>, path: string): RecordType {
  const record = resolveFields(checking, block.items, path)
  return limitType(checking, record, path, block.open).kind === "error" ? { kind: "record", fields: [] } : record
}

function resolveFields(checking: Checking, fields: readonly Syntax.TypeField[], path: string): RecordType {
  const seen = new Set<string>()
  const resolved: Field[] = []
  for (const field of fields) {
    const name = field.name.text
    const fieldPath = `${path}.${name}`
    if (isRepeated(checking, seen, field.name, fieldPath)) continue
    const type = resolveType(checking, field.type, fieldPath)
    const entry: Field = field.doc === undefined ? { name, type } : { name, type, doc: field.doc }
    checking.fieldNodes.set(entry, field)
    resolved.push(entry)
  }
  return { kind: "record", fields: resolved }
}

export function resolveType(checking: Checking, node: Syntax.TypeNode, path: string): Type {
  switch (node.kind) {
    case "type-name":
      return resolveName(checking, node.name, path)
    case "type-path":
      return resolvePath(checking, node, path)
    case "type-literal":
      return { kind: "literal", value: node.value }
    case "enum":
      return resolveEnum(checking, node, path)
    case "array-type":
      return resolveArray(checking, node, path)
    case "tuple-type":
      return { kind: "tuple", elements: node.elements.map((element) => resolveType(checking, element, path)) }
    case "group-type":
      return resolveType(checking, node.type, path)
    case "object-type":
      return resolveFields(checking, node.body.items, path)
    case "maybe":
      return maybe(resolveType(checking, node.type, path))
    case "union-type":
      if (tooManyMembers(checking, node.members.length, path, node)) return errorType
      return union(node.members.map((member) => resolveType(checking, member, path)))
    case "variant":
      return resolveVariant(checking, node, path)
    case "missing-type":
      return errorType
  }
}

function resolveName(checking: Checking, name: Syntax.Name, path: string): Type {
  const known = Object.hasOwn(builtIn, name.text) ? builtIn[name.text] : undefined
  if (known !== undefined) return known
  unknownType(checking, path, name, name.text, suggestType(checking, name.text))
  return errorType
}

function suggestType(checking: Checking, name: string): string | undefined {
  if (checking.schemas.has(name)) return `Did you mean schema.${name}?`
  const lower = name.toLowerCase()
  if (lower === "any" || lower === "unknown") return "There is no such type: `object` is any JSON object."
  if (lower === "array" || lower === "list") return "An array is written `[type]`."
  if (lower === "optional" || lower === "nullable") return "Write `maybe type`."
  const meant = Object.hasOwn(foreign, lower) ? foreign[lower] : didYouMean(name, Object.keys(builtIn))
  if (meant !== undefined) return `Did you mean ${meant}?`
  const schema = didYouMean(name, checking.schemas.keys())
  return schema === undefined ? undefined : `Did you mean schema.${schema}?`
}

function unknownType(checking: Checking, path: string, span: Span, written: string, hint?: string): void {
  checking.report("unknown-type", path, span, `Unknown type: ${written}`, hint)
}

/** `schema.name`, or `schema.name.field` for the type of one field. */
function resolvePath(checking: Checking, node: Syntax.TypeNode & { kind: "type-path" }, path: string): Type {
  const [root, name, ...fields] = node.segments
  const written = node.segments.map((segment) => segment.text).join(".")
  if (root === undefined || root.text !== "schema") {
    const hint = root !== undefined && checking.schemas.has(root.text) ? `Did you mean schema.${written}?` : undefined
    unknownType(checking, path, node, written, hint)
    return errorType
  }
  if (name === undefined) return errorType
  const declaration = checking.schemas.get(name.text)
  if (declaration === undefined) {
    const near = didYouMean(name.text, checking.schemas.keys())
    const meant = near && ["schema", near, ...fields.map((field) => field.text)].join(".")
    unknownType(checking, path, { start: name.start, end: node.end }, written, meant && `Did you mean ${meant}?`)
    return errorType
  }
  checking.refer(`schema.${name.text}`, name)
  if (fields.length === 0) return { kind: "ref", name: name.text }
  let type = resolveSchema(checking, name.text, declaration)
  for (const [index, field] of fields.entries()) {
    const record = resolve(type, checking.types)
    if (record.kind === "error") {
      // Either reported before, or the schema is asking for its own field while that is being resolved.
      if (checking.types[name.text]?.type.kind === "error") {
        const message = `${written} is made of itself`
        checking.report("infinite-type", path, node, message, "Write the type out in one of the places.")
      }
      return errorType
    }
    const found = record.kind === "record" ? record.fields.find((one) => one.name === field.text) : undefined
    if (found === undefined) {
      const near =
        record.kind === "record"
          ? didYouMean(
              field.text,
              record.fields.map((one) => one.name),
            )
          : undefined
      const before = ["schema", name.text, ...fields.slice(0, index).map((one) => one.text)].join(".")
      const hint = near === undefined ? undefined : `Did you mean ${before}.${near}?`
      unknownType(checking, path, { start: field.start, end: node.end }, written, hint)
      return errorType
    }
    type = found.type
  }
  return type
}

function resolveEnum(checking: Checking, node: Syntax.TypeNode & { kind: "enum" }, path: string): Type {
  const seen = new Set<string>()
  for (const name of node.body.items) isRepeated(checking, seen, name, path)
  if (seen.size === 0) {
    if (node.body.close !== undefined) emptyType(checking, node, path, "An enum needs at least one name")
    return errorType
  }
  return { kind: "enum", values: [...seen] }
}

function emptyType(checking: Checking, span: Span, path: string, message: string): void {
  checking.report("empty-type", path, span, message)
}

function resolveArray(checking: Checking, node: Syntax.TypeNode & { kind: "array-type" }, path: string): Type {
  const element = resolveType(checking, node.element, path)
  if (node.length === undefined) return { kind: "array", element }
  const { value } = node.length
  if (!Number.isInteger(value) || value < 0 || value > 10_000) {
    checking.report("invalid-value", path, node.length, "The length of an array is a whole number from 0 to 10,000")
    return { kind: "array", element }
  }
  return { kind: "array", element, length: value }
}

function resolveVariant(checking: Checking, node: Syntax.VariantType, path: string): VariantType | Type {
  const seen = new Set<string>()
  const cases: VariantCase[] = []
  for (const one of node.body.items) {
    const name = one.name.text
    const casePath = `${path}.${name}`
    if (isRepeated(checking, seen, one.name, casePath)) continue
    const fields = one.body.items.filter((field) => {
      if (field.name.text !== node.tag.text) return true
      const message = `The tag \`${field.name.text}\` is in every case by itself`
      checking.report("duplicate-field", `${casePath}.${field.name.text}`, field.name, message, "Remove the field.")
      return false
    })
    const resolved = resolveFields(checking, fields, casePath).fields
    cases.push(one.doc === undefined ? { name, fields: resolved } : { name, fields: resolved, doc: one.doc })
  }
  if (cases.length === 0) {
    if (node.body.close !== undefined) emptyType(checking, node, path, "A variant needs at least one case")
    return errorType
  }
  return { kind: "variant", tag: node.tag.text, cases }
}
