import { groupDigits } from "../base/group-digits.ts"
import { type Hint, meantReference, meantWord } from "../source/hint.ts"
import { valueHint } from "../syntax/type-parser.ts"
import { cutText } from "../base/cut-text.ts"
import { didYouMean } from "../base/did-you-mean.ts"
import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext, TakenFields } from "./check-context.ts"
import { knownNames } from "./known-list.ts"
import {
  booleanType,
  errorType,
  fileType,
  integerType,
  nullType,
  numberType,
  objectType,
  stringType,
} from "../types/primitives.ts"
import { maybe, union } from "../types/relations.ts"
import { defaultOf } from "./fold-constant.ts"
import { declareUnique, refuseKey } from "./repeated-name.ts"
import { suspiciousLiteral } from "./rules/suspicious-literal.ts"
import { namedField, schemaFieldsInOrder } from "./schema-fields.ts"
import { typeSize } from "../types/type-size.ts"
import { partsOf } from "../types/type-parts.ts"
import type { Field, NamedType, RecordType, Type, VariantCase, VariantType } from "../types/types.ts"
import { isForeign } from "./file-space.ts"
import { sourceArrayLength, sourceCopiedParts, sourceTypeLevels } from "../base/limits.ts"

const builtIn: Readonly<Record<string, Type>> = {
  string: stringType,
  boolean: booleanType,
  null: nullType,
  number: numberType,
  float: numberType,
  integer: integerType,
  object: objectType,
  file: fileType,
}

export function isBuiltInType(name: string): boolean {
  return Object.hasOwn(builtIn, name)
}

/** How other languages spell our types. */
const foreign: Readonly<Record<string, string>> = {
  str: "string",
  text: "string",
  bool: "boolean",
  int: "integer",
  double: "number",
  nil: "null",
  none: "null",
  undefined: "null",
  date: "string",
  datetime: "string",
}

/** A schema of another file as it was resolved. */
interface ResolvedSchema {
  readonly named: NamedType
  readonly fields: TakenFields
  readonly variants: readonly (readonly [VariantType, Syntax.VariantType])[]
}

// Many files may share one copy of a schema's body: its names mean the same in each of them.
const resolvedSchemas = new WeakMap<Syntax.SchemaDeclaration["body"], ResolvedSchema>()

/** All schemas into the type table. Of two with one name the second is only looked at for its mistakes. */
export function resolveSchemas(checking: CheckContext): void {
  const open: Syntax.SchemaDeclaration[] = []
  for (const declaration of checking.declarations) {
    if (declaration.kind !== "schema") continue
    const known = resolvedSchemas.get(declaration.body)
    if (known === undefined) open.push(declaration)
    else enterResolved(checking, declaration, known)
  }
  for (const { field, path } of schemaFieldsInOrder(checking, open)) {
    checking.schemaFields.set(field, resolveType(checking, field.type, path))
  }
  for (const declaration of open) {
    const type = resolveSchema(checking, declaration)
    const named = declaration.doc === undefined ? { type } : { type, doc: declaration.doc }
    if (checking.schemas.get(declaration.name.text) === declaration) checking.types[declaration.name.text] = named
    if (isForeign(declaration)) resolvedSchemas.set(declaration.body, resolvedSchema(checking, named))
  }
}

function enterResolved(
  checking: CheckContext,
  declaration: Syntax.SchemaDeclaration,
  { named, fields, variants }: ResolvedSchema,
): void {
  const name = declaration.name.text
  if (checking.schemas.get(name) === declaration) checking.types[name] = named
  checking.takeFields(fields)
  for (const [variant, node] of variants) checking.variantNodes.set(variant, node)
}

function resolvedSchema({ fieldNodes, variantNodes }: CheckContext, named: NamedType): ResolvedSchema {
  const fields: [Field, Syntax.TypeField][] = []
  const variants: [VariantType, Syntax.VariantType][] = []
  const seen = new Set([named.type])
  for (const type of seen) {
    for (const field of fieldsIn(type)) {
      const node = fieldNodes.get(field)
      if (node?.kind === "type-field") fields.push([field, node])
    }
    const variant = type.kind === "variant" ? variantNodes.get(type) : undefined
    if (type.kind === "variant" && variant !== undefined) variants.push([type, variant])
    for (const part of partsOf(type)) seen.add(part)
  }
  return { named, fields, variants }
}

function fieldsIn(type: Type): readonly Field[] {
  if (type.kind === "variant") return type.cases.flatMap(({ fields }) => fields)
  return type.kind === "record" ? type.fields : []
}

function resolveSchema(checking: CheckContext, declaration: Syntax.SchemaDeclaration): Type {
  const path = `schema.${declaration.name.text}`
  const [only, ...others] = declaration.body.items
  const isVariant = only?.kind === "variant"
  for (const other of others) {
    if (!isVariant && other.kind === "type-field") continue
    const span = other.kind === "variant" ? other.keyword : other.name
    const hint = "Give each variant its own field: `name: variant tag { … }`."
    checking.report("syntax-error", path, span, "A schema holds either fields or one variant", hint)
  }
  if (isVariant) return resolveVariant(checking, only, path)
  return resolveRecord(checking, [declaration.body], path)
}

/** A block of fields as a closed object type; of several blocks that should be one, the first field of a name counts. */
export function resolveRecord(
  checking: CheckContext,
  blocks: readonly Syntax.Block<Syntax.TypeField | Syntax.VariantType | Syntax.Property>[],
  path: string,
): RecordType {
  const fields: Field[] = []
  for (const block of blocks) {
    const written = block.items.filter((item) => item.kind === "type-field")
    const taken = new Set(fields.map(({ name }) => name))
    fields.push(...resolveFields(checking, written, path).filter(({ name }) => !taken.has(name)))
  }
  const record: RecordType = { kind: "record", fields }
  if (blocks.some((block) => checking.skipped.hasNameless(block))) checking.incomplete.add(record)
  return record
}

function resolveFields(checking: CheckContext, fields: readonly Syntax.TypeField[], path: string): Field[] {
  const seen = new Set<string>()
  const resolved: Field[] = []
  for (const field of fields) {
    const name = field.name.text
    const fieldPath = `${path}.${name}`
    const type = checking.schemaFields.get(field) ?? resolveType(checking, field.type, fieldPath)
    suspiciousLiteral(checking, field.type, fieldPath)
    if (refuseKey(checking, field.name, fieldPath) || declareUnique(checking, seen, field.name, fieldPath)) continue
    const entry: Field = { name, type, ...(field.doc !== undefined && { doc: field.doc }), ...defaultOf(field) }
    if (field.default !== undefined) checking.defaults.push({ node: field, type, path: fieldPath })
    checking.writeField(entry, field)
    resolved.push(entry)
  }
  return resolved
}

export function resolveType(checking: CheckContext, node: Syntax.TypeNode, path: string): Type {
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
      return resolveRecord(checking, [node.body], path)
    case "maybe":
      return maybe(resolveType(checking, node.type, path))
    case "map-type":
      return { kind: "map", value: resolveType(checking, node.type, path) }
    case "marked":
      refuseMark(checking, node, path)
      return resolveType(checking, node.type, path)
    case "union-type":
      if (refuseNames(checking, node, path)) return errorType
      return union(node.members.map((member) => resolveType(checking, member, path)))
    case "variant":
      return resolveVariant(checking, node, path)
    case "missing-type":
      return errorType
  }
}

/** A secret goes only where the language lets secrets go, and a value in a function has the labels of the arguments: a word there would say nothing. */
function refuseMark(checking: CheckContext, { mark, start, type }: Syntax.MarkedType, path: string): void {
  const message = path.startsWith("secrets.")
    ? `A secret is not \`${mark}\`: no expression may read it`
    : path.startsWith("function.")
      ? `Values in a function keep the labels of its arguments, so that \`${mark}\` says nothing here`
      : undefined
  if (message === undefined) return
  checking.report("type-mismatch", path, { start, end: type.start }, message, `Remove \`${mark}\`.`)
}

/** `good | bad`: names of no types, which are meant as an enum. */
function refuseNames(checking: CheckContext, node: Syntax.TypeNode & { kind: "union-type" }, path: string): boolean {
  const names = node.members.map((member) => (member.kind === "type-name" ? member.name.text : "null"))
  if (names.some((name) => isBuiltInType(name) || Object.hasOwn(foreign, name.toLowerCase()))) return false
  unknownType(checking, path, node, checking.quote(node), meantWord(`enum { ${names.join(", ")} }`))
  return true
}

function resolveName(checking: CheckContext, name: Syntax.Name, path: string): Type {
  const known = Object.hasOwn(builtIn, name.text) ? builtIn[name.text] : undefined
  if (known !== undefined) return known
  const isValue = isLoopVariable(checking, name.text, path)
  unknownType(checking, path, name, name.text, isValue ? valueHint : suggestType(checking, name))
  return errorType
}

/** Whether a name is a variable of the loop of the agent at `path`. */
function isLoopVariable(checking: CheckContext, name: string, path: string): boolean {
  const [, agent = ""] = /^agent\.(\w+)\./.exec(path) ?? []
  const pattern = checking.declared.agent.get(agent)?.loop?.pattern
  if (pattern === undefined) return false
  const variables = pattern.kind === "item" ? [pattern.name] : pattern.body.items.map(({ variable }) => variable)
  return variables.some(({ text }) => text === name)
}

function suggestType(checking: CheckContext, node: Syntax.Name): Hint {
  const { text: name } = node
  if (checking.schemas.has(name)) return meantReference(`schema.${name}`, node)
  const lower = name.toLowerCase()
  if (lower === "schema") return "Write `schema.name`."
  if (name === "true" || name === "false") return `Write \`boolean\`. ${valueHint}`
  if (lower === "any" || lower === "unknown") return "There is no such type: `object` is any JSON object."
  if (lower === "array" || lower === "list") return "An array is written `[type]`."
  if (["map", "dict", "record", "hashmap"].includes(lower)) return "Write `map type`, with the type of its values."
  if (lower === "optional" || lower === "nullable") return "Write `maybe type`."
  const meant = Object.hasOwn(foreign, lower) ? foreign[lower] : didYouMean(name, Object.keys(builtIn))
  if (meant !== undefined) return meantReference(meant, node)
  const schema = checking.suggest(name, checking.schemas.keys())
  if (schema !== undefined) return meantReference(`schema.${schema}`, node)
  return `Types are ${Object.keys(builtIn).join(", ")}, and \`schema.name\`.`
}

function unknownType(checking: CheckContext, path: string, span: Span, written: string, hint?: Hint): void {
  checking.report("unknown-type", path, span, `Unknown type: ${written}`, hint)
}

/** `schema.name`, or `schema.name.field` for the type of one field. */
function resolvePath(checking: CheckContext, node: Syntax.TypeNode & { kind: "type-path" }, path: string): Type {
  const { segments } = node
  const [root, name, ...fields] = segments
  const show = (names: readonly (Syntax.Name | string)[]): string =>
    names.map((one) => (typeof one === "string" ? one : one.text)).join(".")
  const written = cutText(show(segments), 160)
  if (root?.text !== "schema") {
    const isValue =
      root !== undefined &&
      (["input", "agent", "ask", "wait", "dynamic", "secrets"].includes(root.text) ||
        isLoopVariable(checking, root.text, path))
    const hint = isValue
      ? valueHint
      : root !== undefined && checking.schemas.has(root.text)
        ? meantReference(`schema.${written}`, node)
        : "A named type is written `schema.name`."
    unknownType(checking, path, node, written, hint)
    return errorType
  }
  if (name === undefined) return errorType
  if (!checking.schemas.has(name.text)) {
    if (checking.skipped.isSwallowed("schema", name.text)) return errorType
    const near = checking.suggest(name.text, checking.schemas.keys())
    const meant = near === undefined ? undefined : meantReference(show(["schema", near, ...fields]), node)
    const hint = meant ?? knownNames(checking.schemas.keys())
    unknownType(checking, path, { start: name.start, end: node.end }, written, hint)
    return errorType
  }
  checking.refer(`schema.${name.text}`, name)
  if (fields.length === 0) return { kind: "ref", name: name.text }
  const found = namedField(checking, segments)
  if (found.kind === "missing") {
    const missing = segments[found.index]
    const near = missing && checking.suggest(missing.text, found.known)
    const before = segments.slice(0, found.index)
    const meant =
      near === undefined ? undefined : meantReference(show([...before, near, ...segments.slice(found.index + 1)]), node)
    const hint = meant ?? `${show(before)} has no such field.`
    unknownType(checking, path, { start: missing?.start ?? node.start, end: node.end }, written, hint)
  }
  const type = found.kind === "field" ? checking.schemaField(found.field) : undefined
  if (type !== undefined) return copied(checking, type, node, path)
  // A field that is not resolved yet, though it comes after all that it is made of, is made of this one.
  if (found.kind === "field" || found.kind === "endless") {
    const hint = "Write the type out in one of the places."
    checking.report("infinite-type", path, node, `${written} is made of itself`, hint)
  }
  return errorType
}

/** What `schema.name.field` copies may not grow without bounds: copies of copies would double at every step. */
function copied(checking: CheckContext, type: Type, span: Span, path: string): Type {
  const { parts, depth } = typeSize(type)
  const before = checking.copiedParts
  checking.copiedParts += parts
  if (depth <= sourceTypeLevels && checking.copiedParts <= sourceCopiedParts) return type
  if (before <= sourceCopiedParts) {
    const message =
      depth > sourceTypeLevels ? `This type is more than ${sourceTypeLevels} levels deep` : "Too many types are copied"
    const hint = "Declare the type as a schema, and refer to that."
    checking.report("invalid-value", path, span, message, hint)
  }
  return errorType
}

function resolveEnum(checking: CheckContext, node: Syntax.TypeNode & { kind: "enum" }, path: string): Type {
  const seen = new Set<string>()
  for (const name of node.body.items) declareUnique(checking, seen, name, path)
  // A name may be missing.
  if (checking.skipped.hasError(node.body)) return errorType
  if (seen.size === 0) {
    emptyType(checking, node, path, "An enum needs at least one name")
    return errorType
  }
  return { kind: "enum", values: [...seen] }
}

function emptyType(
  checking: CheckContext,
  node: Syntax.VariantType | (Syntax.TypeNode & { kind: "enum" }),
  path: string,
  message: string,
): void {
  const { open, close } = node.body
  if (close === undefined) return
  // Where something stands between the braces, the parser has reported it.
  const inside = checking.textOf({ start: open.end, end: close.start }).replace(/\/\/.*/g, "")
  if (inside.trim() === "") checking.report("empty-type", path, node, message, "Add at least one.")
}

function resolveArray(checking: CheckContext, node: Syntax.TypeNode & { kind: "array-type" }, path: string): Type {
  const element = resolveType(checking, node.element, path)
  if (node.length === undefined) return { kind: "array", element }
  const { value } = node.length
  if (!Number.isInteger(value) || value < 0 || value > sourceArrayLength) {
    checking.report(
      "invalid-value",
      path,
      node.length,
      `The length of an array is a whole number from 0 to ${groupDigits(sourceArrayLength)}`,
    )
    return { kind: "array", element }
  }
  return { kind: "array", element, length: value }
}

function resolveVariant(checking: CheckContext, node: Syntax.VariantType, path: string): VariantType | Type {
  const seen = new Set<string>()
  const cases: VariantCase[] = []
  if (refuseKey(checking, node.tag, path)) return errorType
  let isBroken = node.tag.text === "" || checking.skipped.hasNameless(node.body)
  for (const one of node.body.items) {
    const name = one.name.text
    const casePath = `${path}.${name}`
    const written = one.body.items.filter((field) => {
      if (field.name.text !== node.tag.text) return true
      const message = `The tag \`${field.name.text}\` is in every case by itself`
      checking.report("duplicate-field", `${casePath}.${field.name.text}`, field.name, message, "Remove the field.")
      return false
    })
    const fields = resolveFields(checking, written, casePath)
    isBroken ||= checking.skipped.hasNameless(one.body)
    if (declareUnique(checking, seen, one.name, casePath)) continue
    cases.push(one.doc === undefined ? { name, fields } : { name, fields, doc: one.doc })
  }
  if (cases.length === 0) {
    emptyType(checking, node, path, "A variant needs at least one case")
    return errorType
  }
  // Which cases and fields it lacks is unknown.
  if (isBroken) return errorType
  const variant: VariantType = { kind: "variant", tag: node.tag.text, cases }
  checking.variantNodes.set(variant, node)
  return variant
}
