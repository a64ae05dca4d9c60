import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import { checkInference, checkResponseFormat } from "./check-backends.ts"
import { mustBeBlock, typesOf } from "./check-imports.ts"
import type { Checking } from "./checking.ts"
import { positiveInteger } from "./constants.ts"
import { expectType, infer, wordOrString } from "./infer.ts"
import { checkBindings, resolveImport } from "./infer-invoke.ts"
import { unknownReference } from "./infer-steps.ts"
import type { DynamicSymbol, LoopVariable } from "./program.ts"
import { knownList, readProperties } from "./properties.ts"
import { nullable, resolve, union } from "./relations.ts"
import { inReferenceOrder, localType } from "./resolve-root.ts"
import { assetsIn } from "./rules/unsupported-asset.ts"
import type { AgentScope, Scope } from "./scope.ts"
import { showType } from "./show-type.ts"
import type { RecordType, Type } from "./types.ts"

const stringType: Type = { kind: "string" }
const errorType: Type = { kind: "error" }

/** The types of all agents' outputs come first: everything may refer to them. */
export function declareAgents(checking: Checking): void {
  for (const [name, declaration] of checking.agentDeclarations) {
    const property = declaration.body.items.find((item) => item.name.text === "output")
    const output = typesOf(checking, property, `agent.${name}.output`)
    const record: RecordType = output ?? { kind: "record", fields: [] }
    const one: Type = output ?? errorType
    checking.agents.set(name, {
      declaration,
      output: record,
      type: declaration.loop === undefined ? one : { kind: "array", element: one },
      variables: new Map(),
      locals: new Map(),
    })
  }
}

export function checkAgents(checking: Checking): void {
  for (const declaration of checking.tree.declarations) {
    if (declaration.kind === "agent") checkAgent(checking, declaration)
  }
}

function checkAgent(checking: Checking, declaration: Syntax.AgentDeclaration): void {
  const name = declaration.name.text
  const path = `agent.${name}`
  const variables = loopVariables(checking, declaration, baseScope(name, path, undefined))
  const locals = new Map<string, DynamicSymbol>()
  const localFields = declareLocals(checking, declaration, path)
  const agent: AgentScope = { name, variables, localFields, locals }
  const scope = baseScope(name, path, agent)
  const symbol = checking.agents.get(name)
  if (symbol?.declaration === declaration) checking.agents.set(name, { ...symbol, variables, locals })

  const properties = readProperties(checking, "agent", declaration.body.items, path, declaration.name)
  for (const local of inReferenceOrder(localFields)) localType(checking, local, scope, infer)
  const model = checkModelReference(checking, properties.get("model"), `${path}.model`)
  checkInstruction(checking, properties.get("instruction"), scope, model)
  checkUses(checking, properties.get("uses"), scope)
  checkContext(checking, properties.get("context"), scope)
  for (const item of declaration.body.items) if (item.name.text === "file") checkFile(checking, item, scope)
  checkResponseFormat(checking, properties.get("response_format"), `${path}.response_format`)
  positiveInteger(checking, properties.get("max_steps"), `${path}.max_steps`)
  const output = properties.get("output")
  if (
    output !== undefined &&
    output.value.kind !== "types" &&
    output.value.kind !== "type" &&
    output.value.kind !== "missing"
  ) {
    checking.report("type-mismatch", `${path}.output`, output.name, "Expected a block: `output { field: type }`")
  }
}

function baseScope(name: string, path: string, agent: AgentScope | undefined): Scope {
  return {
    path,
    place: "an agent",
    node: `agent.${name}`,
    agent,
    local: undefined,
    secrets: "exposed",
    roots: "all",
    calls: false,
    assets: "none",
  }
}

// --------------------------------------------------------------------------------------------------------- loops

function loopVariables(
  checking: Checking,
  declaration: Syntax.AgentDeclaration,
  scope: Scope,
): Map<string, LoopVariable> {
  const variables = new Map<string, LoopVariable>()
  const { loop } = declaration
  if (loop === undefined) return variables
  const items = infer(checking, loop.items, { ...scope, place: "the list of a loop" })
  const element = elementType(checking, items, loop.items, scope.path)
  if (loop.pattern.kind === "item") {
    variables.set(loop.pattern.name.text, { name: loop.pattern.name, type: element })
    return variables
  }
  for (const { field, variable } of loop.pattern.body.items) {
    if (variables.has(variable.text)) {
      checking.report(
        "duplicate-field",
        scope.path,
        variable,
        `\`${variable.text}\` is here already`,
        "Remove or rename one.",
      )
      continue
    }
    variables.set(variable.text, {
      name: variable,
      type: patternField(checking, element, field, loop.items, scope.path),
    })
  }
  return variables
}

function elementType(checking: Checking, items: Type, span: Syntax.Expression, path: string): Type {
  const resolved = resolve(items, checking.types)
  switch (resolved.kind) {
    case "array":
      return resolved.element
    case "tuple":
      return union(resolved.elements)
    case "any":
      return { kind: "any" }
    case "error":
      return errorType
    default: {
      const written = checking.textOf(span)
      if (nullable(resolved, checking.types)) {
        checking.report("nullable-access", path, span, `\`${written}\` may be null`, `Write \`${written} ?? []\`.`)
      } else {
        checking.report("not-iterable", path, span, `A loop needs an array, found ${showType(items)}`)
      }
      return errorType
    }
  }
}

function patternField(checking: Checking, element: Type, field: Syntax.Name, items: Span, path: string): Type {
  const resolved = resolve(element, checking.types)
  const each = `an element of \`${checking.textOf(items)}\``
  switch (resolved.kind) {
    case "record": {
      const found = resolved.fields.find((one) => one.name === field.text)
      if (found !== undefined) return found.type
      const names = resolved.fields.map((one) => one.name)
      const hint = knownList(field.text, names, "Its fields are")
      checking.report("unknown-reference", path, field, `Unknown reference: ${field.text} of ${each}`, hint)
      return errorType
    }
    case "any":
    case "object":
      return { kind: "any" }
    case "error":
      return errorType
    case "variant": {
      const hint = "Name the whole element, and choose a case with `#case` or `match`."
      checking.report("variant-access", path, field, `${capital(each)} is a variant: which case is meant?`, hint)
      return errorType
    }
    default: {
      if (nullable(resolved, checking.types)) {
        const hint = "Name the whole element, and read its fields with `?.`."
        checking.report("nullable-access", path, field, `${capital(each)} may be null`, hint)
      } else {
        checking.report("type-mismatch", path, field, `${capital(each)} is ${showType(element)} and has no fields`)
      }
      return errorType
    }
  }
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

// -------------------------------------------------------------------------------------------------------- locals

function declareLocals(
  checking: Checking,
  declaration: Syntax.AgentDeclaration,
  path: string,
): Map<string, Syntax.ValueField> {
  const fields = new Map<string, Syntax.ValueField>()
  for (const item of declaration.body.items) {
    if (item.name.text !== "dynamic") continue
    mustBeBlock(checking, item, `${path}.dynamic`)
    if (item.value.kind !== "values") continue
    for (const field of item.value.block.items) {
      const name = field.name.text
      const fieldPath = `${path}.dynamic.${name}`
      if (fields.has(name)) {
        checking.report(
          "duplicate-field",
          fieldPath,
          field.name,
          `\`${name}\` is here already`,
          "Remove or rename one.",
        )
        continue
      }
      if (checking.dynamicFields.has(name)) {
        const message = `dynamic.${name} is declared already at the top level`
        checking.report("duplicate-declaration", fieldPath, field.name, message, "Give one of the two another name.")
      }
      fields.set(name, field)
    }
  }
  return fields
}

// -------------------------------------------------------------------------------------------------------- parts

/** `model.name`, with or without a block; the declaration that it names. */
function checkModelReference(
  checking: Checking,
  property: Syntax.Property | undefined,
  path: string,
): Syntax.ModelDeclaration | undefined {
  if (property === undefined || property.value.kind === "missing") return undefined
  const { value } = property
  if (value.kind === "configured") {
    const properties = readProperties(checking, "configured-model", value.block.items, path, property.name)
    checkInference(checking, properties.get("inference"), `${path}.inference`)
    return resolveModel(checking, value.reference, path)
  }
  if (value.kind === "expression" && value.expression.kind === "chain")
    return resolveModel(checking, value.expression, path)
  const span = value.kind === "expression" ? value.expression : property.name
  checking.report("type-mismatch", path, span, "Expected a model", `Write \`model.${firstOf(checking.models)}\`.`)
  return undefined
}

function resolveModel(checking: Checking, chain: Syntax.Chain, path: string): Syntax.ModelDeclaration | undefined {
  const [step, extra] = chain.steps
  if (chain.base.kind !== "name" || chain.base.text !== "model" || step?.kind !== "field") {
    const message = `Expected a model, found \`${checking.textOf(chain)}\``
    const bare = chain.base.kind === "name" && chain.steps.length === 0 ? chain.base.text : undefined
    const meant = bare !== undefined && checking.models.has(bare) ? bare : firstOf(checking.models)
    checking.report("type-mismatch", path, chain, message, `Write \`model.${meant}\`.`)
    return undefined
  }
  const declaration = checking.models.get(step.name.text)
  if (declaration === undefined) unknownReference(checking, chain, step.name, checking.models.keys(), path)
  else {
    checking.refer(`model.${step.name.text}`, step.name)
    if (extra !== undefined) unknownReference(checking, chain, { ...extra, text: "" }, [], path)
  }
  return declaration
}

function firstOf(table: ReadonlyMap<string, unknown>): string {
  const [first] = table.keys()
  return first ?? "name"
}

function checkInstruction(
  checking: Checking,
  property: Syntax.Property | undefined,
  scope: Scope,
  model: Syntax.ModelDeclaration | undefined,
): void {
  if (property === undefined || property.value.kind === "missing") return
  const path = `${scope.path}.${property.name.text}`
  if (property.value.kind !== "expression") {
    checking.report("type-mismatch", path, property.name, "Expected a string")
    return
  }
  const { expression } = property.value
  expectType(checking, expression, stringType, { ...scope, path, place: "an instruction", assets: "instruction" })
  if (model === undefined) return
  const taken = assetsOfModel(model)
  for (const { node, kind } of assetsIn(checking, expression, scope)) {
    if (kind === undefined || taken.includes(kind)) continue
    const message = `The model \`${model.name.text}\` does not take assets of type "${kind}"`
    const hint = `Add "${kind}" to the \`assets\` of \`model ${model.name.text}\`.`
    checking.report("unsupported-asset", path, node, message, hint)
  }
}

function assetsOfModel(model: Syntax.ModelDeclaration): string[] {
  const property = model.body.items.find((item) => item.name.text === "assets")
  if (property?.value.kind !== "expression" || property.value.expression.kind !== "array") return []
  return property.value.expression.items.flatMap((item) => wordOrString(item) ?? [])
}

function checkUses(checking: Checking, property: Syntax.Property | undefined, scope: Scope): void {
  if (property === undefined || property.value.kind === "missing") return
  const path = `${scope.path}.${property.name.text}`
  if (property.value.kind !== "uses") {
    const span = property.value.kind === "expression" ? property.value.expression : property.name
    checking.report("type-mismatch", path, span, "Expected a list such as `[tool.name]`")
    return
  }
  const seen = new Set<string>()
  for (const entry of property.value.entries) {
    const written = checking.textOf(entry.reference)
    if (seen.has(written)) {
      checking.report(
        "duplicate-field",
        path,
        entry.reference,
        `\`${written}\` is here already`,
        "Remove one of the two.",
      )
    }
    seen.add(written)
    checkUse(checking, entry, { ...scope, path })
  }
}

function checkUse(checking: Checking, entry: Syntax.UseEntry, scope: Scope): void {
  const { base } = entry.reference
  const kind = (["tool", "resource", "prompt"] as const).find((one) => base.kind === "name" && base.text === one)
  if (kind === undefined) {
    if (base.kind !== "name") return
    const bare = (["tool", "resource", "prompt"] as const).find((one) => importNames(checking, one).has(base.text))
    const hint =
      bare === undefined
        ? "A use is `tool.name`, `resource.name` or `prompt.name`."
        : `Did you mean ${bare}.${base.text}?`
    const message = `Expected a tool, resource or prompt, found \`${checking.textOf(entry.reference)}\``
    checking.report("type-mismatch", scope.path, entry.reference, message, hint)
    return
  }
  const symbol = resolveImport(checking, entry.reference, kind, scope.path)
  const [step] = entry.reference.steps
  const name = step?.kind === "field" ? step.name.text : kind
  const path = `${scope.path}.${name}`
  const properties = readProperties(checking, "use", entry.block?.items ?? [], path, entry.reference)
  const bindings = properties.get("bindings")
  if (bindings !== undefined) {
    mustBeBlock(checking, bindings, `${path}.bindings`)
    checkBindings(checking, bindings, symbol, kind, { ...scope, path }, infer)
  }
  positiveInteger(checking, properties.get("max_calls"), `${path}.max_calls`)
}

function importNames(checking: Checking, kind: "tool" | "resource" | "prompt"): ReadonlyMap<string, unknown> {
  return kind === "tool" ? checking.tools : kind === "resource" ? checking.resources : checking.prompts
}

function checkContext(checking: Checking, property: Syntax.Property | undefined, scope: Scope): void {
  if (property === undefined || property.value.kind === "missing") return
  const path = `${scope.path}.context`
  if (property.value.kind !== "context") {
    const span = property.value.kind === "expression" ? property.value.expression : property.name
    checking.report("type-mismatch", path, span, "Expected an agent", "Write `context: agent.name`.")
    return
  }
  const { reference, compact, block, obsolete } = property.value
  if (obsolete) {
    const written = checking.textOf(reference)
    const message = `\`context(${written})\` is now written \`context: ${written}\``
    checking.report("obsolete-syntax", path, property.name, message, `Write \`context: ${written}\`.`)
  }
  checkContextAgent(checking, reference, path, scope)
  if (block === undefined) return
  if (compact === undefined) {
    const message = "Only a compacted context takes a block"
    checking.report(
      "unknown-property",
      path,
      block.open,
      message,
      `Write \`context: compact ${checking.textOf(reference)} { … }\`.`,
    )
    return
  }
  const properties = readProperties(checking, "compact", block.items, path, property.name)
  checkModelReference(checking, properties.get("model"), `${path}.model`)
  const instruction = properties.get("instruction")
  if (instruction?.value.kind === "expression") {
    const inner = { ...scope, path: `${path}.instruction`, place: "an instruction" }
    expectType(checking, instruction.value.expression, stringType, inner)
  }
}

function checkContextAgent(checking: Checking, chain: Syntax.Chain, path: string, scope: Scope): void {
  const [step, extra] = chain.steps
  if (chain.base.kind !== "name") return
  if (chain.base.text !== "agent" || step?.kind !== "field" || extra !== undefined) {
    const message = `Expected an agent, found \`${checking.textOf(chain)}\``
    checking.report("type-mismatch", path, chain, message, "Write `context: agent.name`.")
    return
  }
  const other = checking.agentDeclarations.get(step.name.text)
  if (other === undefined) {
    unknownReference(checking, chain, step.name, checking.agentDeclarations.keys(), path)
    return
  }
  checking.refer(`agent.${step.name.text}`, step.name)
  if (scope.node !== undefined) checking.depend(scope.node, `agent.${step.name.text}`, { span: chain, path })
  if (other.loop !== undefined) {
    const message = `agent.${step.name.text} is a loop: it has as many histories as items, and none to continue`
    checking.report("type-mismatch", path, chain, message, "Continue an agent without `for`.")
  }
}

function checkFile(checking: Checking, property: Syntax.Property, scope: Scope): void {
  const path = `${scope.path}.file`
  if (property.value.kind === "missing") return
  if (property.value.kind !== "properties") {
    checking.report("type-mismatch", path, property.name, 'Expected a block: `file { name: "…" content: … }`')
    return
  }
  const properties = readProperties(checking, "file", property.value.block.items, path, property.name)
  for (const [name, item] of properties) {
    if (item.value.kind !== "expression") continue
    expectType(checking, item.value.expression, stringType, { ...scope, path: `${path}.${name}`, place: "a file" })
  }
}
