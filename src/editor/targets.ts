import type { ImportSymbol, Program } from "../check/program.ts"
import { elementType } from "../types/element-type.ts"
import { fileFields } from "../types/file-value.ts"
import { fieldNamed } from "../types/field-named.ts"
import { caseRecord, resolve, tagType, withoutNull } from "../types/relations.ts"
import type { Field, RecordType, Type, VariantType } from "../types/types.ts"
import type { Token } from "../syntax/token.ts"
import { branchLabel } from "../syntax/match-branch.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { ArgumentBlock, DeclarationKind, DeclaredNode, NameUse } from "./name-use.ts"

/** What a name refers to. `node` is its identity: two names that refer to the same thing have the same node. */
export type Target =
  | {
      readonly kind: "declaration"
      readonly declares: DeclarationKind
      readonly node: DeclaredNode
      readonly name: Syntax.Name
    }
  | {
      readonly kind: "block"
      readonly node: Syntax.InputDeclaration | Syntax.SecretsDeclaration
      readonly name: Token
    }
  | { readonly kind: "field"; readonly node: Syntax.TypeField | Syntax.ValueField; readonly name: Syntax.Name }
  | { readonly kind: "case"; readonly node: Syntax.VariantCase; readonly name: Syntax.Name }
  | { readonly kind: "tag"; readonly node: Syntax.VariantType; readonly name: Syntax.Name }
  | { readonly kind: "variable"; readonly node: Syntax.Name; readonly name: Syntax.Name }

/**
 * What a name refers to: mostly one thing, nothing for words of the grammar and names that do not resolve, several for
 * a field that the members of a union share. A field in a loop's pattern is also the variable, which comes first.
 */
export function targetsOf(program: Program, use: NameUse): readonly Target[] {
  switch (use.kind) {
    case "declaration":
      return [{ kind: "declaration", declares: use.declares, node: use.node, name: declaredName(use.node) }]
    case "field":
      return [{ kind: "field", node: use.node, name: use.node.name }]
    case "argument":
      return fieldTargets(program, takenBy(program, use.block), use.text)
    case "bound-secret": {
      const node = program.secretNodes.get(use.node)
      return node === undefined ? [] : [{ kind: "field", node, name: node.name }]
    }
    case "input-field":
      return fieldTargets(program, program.input?.type, use.text)
    case "root":
      return rootTargets(program, use)
    case "step":
      return stepTargets(program, use)
    case "branch":
      if (branchLabel(use.branch).kind !== "name") return []
      return [
        ...caseTargets(program, program.expressionTypes.get(use.match.value), use.text),
        ...tagsRead(program, use.match.value).flatMap((node) => caseTarget(node, use.text)),
      ]
    case "type-segment":
      return segmentTargets(program, use.segments.slice(0, use.index + 1))
    case "tag":
      return [{ kind: "tag", node: use.node, name: use.node.tag }]
    case "case":
      return [{ kind: "case", node: use.node, name: use.node.name }]
    case "variable":
      return [{ kind: "variable", node: use.name, name: use.name }]
    case "pattern-field": {
      const { field, variable } = use.field
      const fields = fieldTargets(program, elementOf(program, program.expressionTypes.get(use.loop.items)), use.text)
      return variable === field ? [{ kind: "variable", node: variable, name: variable }, ...fields] : fields
    }
    case "provider-name":
      return declared("provider", program.providers.get(use.text))
    case "server-name":
      return use.source.word === "mcp"
        ? declared("mcp", program.servers.get(use.text))
        : declared("api", program.apis.get(use.text))
    case "sent":
      return fieldTargets(program, program.tools.get(use.block.tool)?.input, use.text)
    case "function":
      return declared("function", program.functions.get(use.text)?.declaration)
    case "keyword":
    case "property":
    case "foreign-key":
    case "type":
    case "enum-value":
    case "provider-kind":
    case "remote-kind":
    case "remote-name":
    case "imported-name":
    case "http-word":
      return []
  }
}

export function importsOf(program: Program, kind: Syntax.ImportKind): ReadonlyMap<string, ImportSymbol> {
  return kind === "tool" ? program.tools : kind === "resource" ? program.resources : program.prompts
}

/** What the arguments of a block are given to. */
export function takenBy(program: Program, { import: taker }: ArgumentBlock): RecordType | undefined {
  if (taker === undefined) return undefined
  if (taker.kind === "workflow") return program.workflows.get(taker.name)?.input
  return importsOf(program, taker.kind).get(taker.name)?.input
}

function declaredName(node: DeclaredNode): Syntax.Name {
  return node.name
}

function declared(declares: DeclarationKind, node: DeclaredNode | undefined): Target[] {
  return node === undefined ? [] : [{ kind: "declaration", declares, node, name: declaredName(node) }]
}

function rootTargets(program: Program, use: NameUse & { kind: "root" }): Target[] {
  if (use.setting.expects !== "value") return []
  const variable = use.setting.variables.get(use.text)
  if (variable?.isBuiltIn === true) return []
  if (variable !== undefined) return [{ kind: "variable", node: variable.name, name: variable.name }]
  const block = use.text === "input" ? program.input : use.text === "secrets" ? program.secrets : undefined
  if (block === undefined) return []
  return [{ kind: "block", node: block.declaration, name: block.declaration.keyword }]
}

function stepTargets(program: Program, use: NameUse & { kind: "step" }): readonly Target[] {
  const { chain, step, index, setting, matched } = use
  const receiver = program.receivers.get(step)
  if (step.kind === "case") return caseTargets(program, receiver, use.text)
  if (index === 0 && !matched && chain.base.kind === "name") {
    const root = chain.base.text
    if (!setting.variables.has(root) || setting.expects !== "value") {
      const named = namedByRoot(program, root, use)
      if (named !== undefined) return named
    }
  }
  if (step.kind === "pluck") return fieldTargets(program, elementOf(program, receiver), use.text)
  return fieldTargets(program, receiver, use.text)
}

/** `agent.x`, `ask.x`, `wait.x`, `dynamic.x`, `model.x`, `tool.x`: undefined for any other root. */
function namedByRoot(program: Program, root: string, use: NameUse & { kind: "step" }): Target[] | undefined {
  switch (root) {
    case "agent":
      return declared("agent", program.agents.get(use.text)?.declaration)
    case "ask":
      return declared("ask", program.asks.get(use.text)?.declaration)
    case "wait":
      return declared("wait", program.waits.get(use.text)?.declaration)
    case "dynamic": {
      const local = use.setting.agent?.locals.get(use.text)
      if (local !== undefined) return declared("local", local.field)
      return declared("dynamic", program.dynamics.get(use.text)?.field)
    }
    case "model":
      return declared("model", program.models.get(use.text))
    case "workflow":
      return declared("workflow", program.workflows.get(use.text)?.declaration)
    case "tool":
    case "resource":
    case "prompt":
      return declared(root, importsOf(program, root).get(use.text)?.node)
    default:
      return undefined
  }
}

/** `schema.name.field`, up to the segment that is asked for. */
function segmentTargets(program: Program, segments: readonly Syntax.Name[]): readonly Target[] {
  const [root, name, ...fields] = segments
  if (root?.text !== "schema" || name === undefined) return []
  const last = fields.pop()
  if (last === undefined) return declared("schema", program.schemas.get(name.text))
  let type: Type | undefined = program.types[name.text]?.type
  for (const field of fields) type = fieldsOf(program, type, field.text)[0]?.type
  return fieldTargets(program, type, last.text)
}

// ------------------------------------------------------------------------------------------------ fields and cases

/** The type without null and references. */
export function plainType(program: Program, type: Type | undefined): Type | undefined {
  if (type === undefined) return undefined
  return resolve(withoutNull(type, program.types), program.types)
}

/** What an array holds. */
export function elementOf(program: Program, type: Type | undefined): Type | undefined {
  const plain = plainType(program, type)
  return plain && elementType(plain, program.types)
}

/** The members of a union, or the type alone; none of them a reference. */
function membersOf(program: Program, type: Type | undefined): readonly Type[] {
  const plain = plainType(program, type)
  if (plain?.kind !== "union") return plain === undefined ? [] : [plain]
  return plain.members.map((member) => resolve(member, program.types))
}

/** The fields of that name: of a record one, of a union one for each member that has it. */
export function fieldsOf(program: Program, type: Type | undefined, name: string): readonly Field[] {
  return membersOf(program, type).flatMap((member) => {
    const record = member.kind === "file" ? fileFields : member
    return (record.kind === "record" ? fieldNamed(record, name) : undefined) ?? []
  })
}

function fieldTargets(program: Program, type: Type | undefined, name: string): Target[] {
  const fields = fieldsOf(program, type, name).flatMap((field): Target[] => {
    const node = nodeOfField(program, field)
    if (node === undefined) return []
    return [node.kind === "variant" ? { kind: "tag", node, name: node.tag } : { kind: "field", node, name: node.name }]
  })
  return [...fields, ...tagTargets(program, type, name)]
}

/** The tags of that name: of a variant one, of a union one for each member that is a variant. */
function tagTargets(program: Program, type: Type | undefined, name: string): Target[] {
  return membersOf(program, type).flatMap((member): Target[] => {
    const node = member.kind === "variant" && member.tag === name ? program.variantNodes.get(member) : undefined
    return node === undefined ? [] : [{ kind: "tag", node, name: node.tag }]
  })
}

/** Where a field is written; a tag is written at the head of its variant. */
export function nodeOfField(
  program: Program,
  field: Field,
): Syntax.TypeField | Syntax.ValueField | Syntax.VariantType | undefined {
  const node = program.fieldNodes.get(field)
  return node ?? (field.type.kind === "literal" ? factsOf(program).tags.get(field) : undefined)
}

function caseTargets(program: Program, type: Type | undefined, name: string): Target[] {
  const variant = plainType(program, type)
  const node = variant?.kind === "variant" ? program.variantNodes.get(variant) : undefined
  return node === undefined ? [] : caseTarget(node, name)
}

function caseTarget(variant: Syntax.VariantType, name: string): Target[] {
  const found = caseNamed(variant, name)
  return found === undefined ? [] : [{ kind: "case", node: found, name: found.name }]
}

/**
 * The variants whose tags an expression may be: `input.state.kind` is the name of a case, and so is a `dynamic` with this value. Every
 * tag has a type of its own, which the checker hands on.
 */
export function tagsRead(program: Program, expression: Syntax.Expression): readonly Syntax.VariantType[] {
  const { variants } = factsOf(program)
  const type = program.expressionTypes.get(expression)
  return [...membersOf(program, type), ...membersOf(program, elementOf(program, type))].flatMap(
    (member) => variants.get(member) ?? [],
  )
}

const casesOfVariants = new WeakMap<Syntax.VariantType, ReadonlyMap<string, Syntax.VariantCase>>()

/** Where a case is written; of two with one name the first. */
export function caseNamed(node: Syntax.VariantType, name: string): Syntax.VariantCase | undefined {
  let cases = casesOfVariants.get(node)
  if (cases === undefined) {
    cases = new Map(node.body.items.toReversed().map((one) => [one.name.text, one]))
    casesOfVariants.set(node, cases)
  }
  return cases.get(name)
}

interface Facts {
  /** The types and comments of fields, by where they are written. */
  readonly fields: ReadonlyMap<Syntax.TypeField | Syntax.ValueField, Field>
  /** The tags that every case of a variant has among its fields. */
  readonly tags: ReadonlyMap<Field, Syntax.VariantType>
  /** Variants by the types of their tags. */
  readonly variants: ReadonlyMap<Type, Syntax.VariantType>
}

const factsOfPrograms = new WeakMap<Program, Facts>()

function factsOf(program: Program): Facts {
  let facts = factsOfPrograms.get(program)
  if (facts === undefined) {
    const fields = new Map([...program.fieldNodes].map(([field, node]) => [node, field]))
    const tags = new Map<Field, Syntax.VariantType>()
    const variants = new Map<Type, Syntax.VariantType>()
    for (const [variant, node] of program.variantNodes) {
      variants.set(tagType(variant), node)
      for (const tag of tagFields(variant)) tags.set(tag, node)
    }
    factsOfPrograms.set(program, (facts = { fields, tags, variants }))
  }
  return facts
}

function tagFields(variant: VariantType): Field[] {
  return variant.cases.flatMap(({ name }) => caseRecord(variant, name)?.fields[0] ?? [])
}

/** The type and comment of a field, from where it is written. */
export function fieldAt(program: Program, node: Syntax.TypeField | Syntax.ValueField): Field | undefined {
  return factsOf(program).fields.get(node)
}
