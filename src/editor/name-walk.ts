import {
  dynamicPlace,
  inAlternative,
  inOperand,
  inText,
  inValue,
  withoutCalls,
  withoutSecrets,
} from "../check/allowance.ts"
import { asksForStatus } from "../check/check-http-tool.ts"
import type { Program } from "../check/program.ts"
import type { Span } from "../source/span.ts"
import { importKindOf, isWorkflow } from "../syntax/import-kinds.ts"
import { branchChain } from "../syntax/match-branch.ts"
import { formOf, isBlockForm, type PropertyForm, type PropertyPlace } from "../syntax/property-table.ts"
import type * as Syntax from "../syntax/tree.ts"
import type {
  ArgumentBlock,
  DeclarationKind,
  DeclaredNode,
  NameRole,
  NameUse,
  PropertyBlock,
  Setting,
} from "./name-use.ts"
import { bindingSetting, blockSetting, constant, propertySetting, settingIn } from "./property-setting.ts"
import { tokensBetween } from "./token-at.ts"

export type Visit = (use: NameUse) => void

/** Visits the names inside properties, types and expressions of one declaration. */
export class NameWalk {
  protected readonly program: Program
  protected readonly declaration: Syntax.Declaration
  readonly #visit: Visit

  constructor(program: Program, declaration: Syntax.Declaration, visit: Visit) {
    this.program = program
    this.declaration = declaration
    this.#visit = visit
  }

  #emit(span: Span, text: string, role: NameRole): void {
    this.#visit({ start: span.start, end: span.end, text, declaration: this.declaration, ...role })
  }

  protected name(name: Syntax.Name | undefined, role: NameRole): void {
    if (name !== undefined) this.#emit(name, name.text, role)
  }

  protected keyword(span: Span): void {
    this.#emit(span, this.program.tree.text.slice(span.start, span.end), { kind: "keyword" })
  }

  /** The words of the grammar that the tree does not keep. */
  protected words(start: number, end: number, words: readonly string[]): void {
    const { tree } = this.program
    for (const token of tokensBetween(tree, start, end)) {
      if (token.kind === "name" && words.includes(tree.text.slice(token.start, token.end))) this.keyword(token)
    }
  }

  protected declared(
    declares: DeclarationKind,
    name: Syntax.Name,
    node: DeclaredNode,
    id = `${declares}.${name.text}`,
  ): void {
    this.name(name, { kind: "declaration", declares, id, node })
  }

  // --------------------------------------------------------------------------------------------------- properties

  protected properties(
    place: PropertyPlace,
    items: readonly Syntax.Property[],
    setting: Setting,
    taker?: ArgumentBlock["import"],
  ): void {
    const block: PropertyBlock = { place, items }
    for (const item of items) this.property(item, block, setting, taker)
  }

  protected property(
    property: Syntax.Property,
    block: PropertyBlock,
    setting: Setting,
    taker: ArgumentBlock["import"],
  ): void {
    this.name(property.name, { kind: "property", property, block })
    const { value } = property
    const name = property.name.text
    switch (value.kind) {
      case "expression":
        this.expression(value.expression, propertySetting(block.place, name, setting))
        break
      case "types":
        this.typeFields(value.block.items, isRemote(block.place))
        break
      case "type":
        if (block.place === "http-tool" && value.type.kind === "type-name" && asksForStatus(property)) {
          this.name(value.type.name, { kind: "http-word", of: "output" })
        } else this.type(value.type, isRemote(block.place))
        break
      case "send":
        for (const node of value.block.items) {
          const { items } = value.block
          this.name(node.name, { kind: "sent", node, block: { items, tool: taker?.name ?? "" } })
          this.name(node.to, { kind: "http-word", of: "send" })
        }
        break
      case "values":
        this.#values(property, value.block.items, block.place, setting, taker)
        break
      case "properties": {
        const form = formOf(block.place, name)
        this.properties(placeOfBlock(form), value.block.items, blockSetting(form, setting))
        break
      }
      case "uses":
        for (const entry of value.entries) this.#use(entry, setting)
        break
      case "configured":
        if (formOf(block.place, name) === "verify") {
          this.#chain(value.reference, propertySetting(block.place, name, setting))
          this.properties("hmac", value.block.items, constant)
        } else this.#model(value, setting)
        break
      case "models":
        for (const entry of value.entries) this.#model(entry, setting)
        break
      case "context":
        if (value.compact !== undefined) this.keyword(value.compact)
        this.#chain(value.reference, { ...setting, expects: value.compact === undefined ? "context" : "agent" })
        if (value.block !== undefined) this.properties("compact", value.block.items, setting)
        break
      case "file":
        this.expression(value.content, setting)
        if (value.block !== undefined) this.properties("short-file", value.block.items, setting)
        break
      case "requirement": {
        const inner: Setting = { ...withoutCalls(setting), judges: true }
        this.expression(value.condition, inner)
        this.words(value.condition.end, value.otherwise?.start ?? property.end, ["else"])
        if (value.otherwise !== undefined) this.expression(value.otherwise, inner)
        break
      }
      case "missing":
        break
    }
  }

  /** `bindings`, `headers`, an agent's `dynamic`, the `input` of a call, the `extra` of `inference`. */
  #values(
    property: Syntax.Property,
    items: readonly Syntax.ValueField[],
    place: PropertyPlace,
    setting: Setting,
    taker: ArgumentBlock["import"],
  ): void {
    const name = property.name.text
    for (const field of items) {
      if (name === "dynamic" && place === "agent") {
        const id = `${setting.node ?? ""}.dynamic.${field.name.text}`
        this.declared("local", field.name, field, id)
        this.expression(field.value, {
          ...settingIn(dynamicPlace, setting.node, setting.agent),
          local: field.name.text,
        })
      } else if (name === "headers" || name === "extra") {
        this.name(field.name, { kind: "foreign-key", node: field, of: name })
        this.expression(field.value, setting)
      } else if (place === "schedule" || place === "webhook") {
        this.name(field.name, { kind: "input-field", node: field })
        this.expression(field.value, setting)
      } else if (name === "secrets" && (place === "file-import" || place === "workflow")) {
        this.name(field.name, { kind: "bound-secret", node: field })
        this.expression(field.value, setting)
      } else if (name === "input" || name === "bindings" || name === "next") {
        this.name(field.name, { kind: "argument", node: field, block: { name, items, import: taker } })
        const inner = name === "bindings" ? bindingSetting(place, taker, setting) : withoutSecrets(setting)
        this.expression(field.value, inner)
      } else {
        this.name(field.name, { kind: "field", node: field, remote: false })
        this.expression(field.value, setting)
      }
    }
  }

  #model({ reference, block }: Pick<Syntax.ModelEntry, "reference" | "block">, setting: Setting): void {
    this.#chain(reference, { ...setting, expects: "model", isListed: true })
    if (block !== undefined) this.properties("configured-model", block.items, constant)
  }

  #use(entry: Syntax.UseEntry, setting: Setting): void {
    this.#chain(entry.reference, { ...setting, expects: "use" })
    if (entry.block !== undefined) this.properties("use", entry.block.items, setting, importOf(entry.reference))
  }

  // -------------------------------------------------------------------------------------------------------- types

  protected typeFields(fields: readonly Syntax.TypeField[], remote: boolean): void {
    for (const field of fields) this.typeField(field, remote)
  }

  protected typeField(field: Syntax.TypeField, remote: boolean): void {
    this.name(field.name, { kind: "field", node: field, remote })
    this.type(field.type, remote)
    if (field.default !== undefined) this.expression(field.default, constant)
  }

  protected type(node: Syntax.TypeNode, remote: boolean): void {
    switch (node.kind) {
      case "type-name":
        this.name(node.name, { kind: "type", node })
        break
      case "type-path":
        for (const [index, segment] of node.segments.entries()) {
          this.name(segment, { kind: "type-segment", segments: node.segments, index })
        }
        break
      case "enum":
        this.keyword(node.keyword)
        for (const value of node.body.items) this.name(value, { kind: "enum-value" })
        break
      case "array-type":
        this.type(node.element, remote)
        break
      case "tuple-type":
        for (const element of node.elements) this.type(element, remote)
        break
      case "group-type":
        this.type(node.type, remote)
        break
      case "object-type":
        this.typeFields(node.body.items, remote)
        break
      case "maybe":
        this.words(node.start, node.type.start, ["maybe"])
        this.type(node.type, remote)
        break
      case "map-type":
        this.words(node.start, node.type.start, ["map"])
        this.type(node.type, remote)
        break
      case "marked":
        this.words(node.start, node.type.start, [node.mark])
        this.type(node.type, remote)
        break
      case "union-type":
        for (const member of node.members) this.type(member, remote)
        break
      case "variant":
        this.keyword(node.keyword)
        this.name(node.tag, { kind: "tag", node })
        for (const one of node.body.items) {
          this.name(one.name, { kind: "case", node: one, variant: node })
          this.typeFields(one.body.items, remote)
        }
        break
      case "type-literal":
      case "missing-type":
        break
    }
  }

  // -------------------------------------------------------------------------------------------------- expressions

  protected expression(node: Syntax.Expression, setting: Setting): void {
    switch (node.kind) {
      case "string":
        for (const one of node.interpolations) this.expression(one, { ...inText(setting), expects: "value" })
        break
      case "word":
        this.keyword(node)
        break
      case "array":
        for (const item of node.items) this.expression(item, inValue(setting))
        break
      case "list":
        this.#list(node, { ...inValue(setting), expects: "value" })
        break
      case "function":
        if (node.receiver !== undefined) this.expression(node.receiver, { ...inOperand(setting), expects: "value" })
        if (node.form === undefined) this.name(node.name, { kind: "function", node, setting })
        for (const item of node.items) this.expression(item, { ...inOperand(setting), expects: "value" })
        break
      case "object":
        for (const field of node.body.items) {
          // The two of `[key]: value` are not written.
          if (field.colon !== undefined) this.name(field.name, { kind: "field", node: field, remote: false })
          this.expression(field.value, { ...inValue(setting), expects: "value" })
        }
        break
      case "group":
        this.expression(node.expression, setting)
        break
      case "chain":
        this.#chain(node, setting)
        break
      case "default":
        this.expression(node.left, inAlternative(setting))
        this.expression(node.right, inAlternative(setting))
        break
      case "binary": {
        const { operator, left, right } = node
        const operand: Setting = { ...inOperand(setting), expects: "value" }
        const isEquality = operator === "==" || operator === "!="
        this.expression(left, isEquality ? { ...operand, compared: { with: right, operator } } : operand)
        if (operator === "contains" || operator === "in") this.keyword(node.sign)
        const isCompared = isEquality || operator === "contains"
        this.expression(right, isCompared ? { ...operand, compared: { with: left, operator } } : operand)
        break
      }
      case "not":
      case "negate":
        this.expression(node.operand, { ...inOperand(setting), expects: "value" })
        break
      case "match":
        this.#emit(node.keyword, "match", { kind: "keyword", match: node })
        this.expression(node.value, { ...inValue(setting), expects: "value" })
        for (const branch of node.body.items) this.#branch(node, branch, inAlternative(setting))
        break
      case "call":
      case "read":
      case "render":
      case "repeat":
        this.#invoke(node, setting)
        break
      case "asset":
        this.#emit(node.keyword, "asset", { kind: "keyword", asset: node })
        this.expression(node.value, inValue(setting))
        if (node.block !== undefined) this.properties("asset", node.block.items, inValue(setting))
        break
      case "exception":
        this.keyword(node.keyword)
        this.expression(node.value, inValue(setting))
        if (node.reason !== undefined) this.words(node.value.end, node.reason.start, ["because"])
        break
      case "observed":
        if (node.not !== undefined) this.keyword(node.not)
        this.keyword(node.keyword)
        this.testedStep(node.target)
        if (node.arguments === undefined) break
        this.words(node.target.end, node.arguments.start, ["with"])
        for (const field of node.arguments.items) {
          this.name(field.name, { kind: "field", node: field, remote: false })
          this.expression(field.value, { ...inValue(setting), expects: "value" })
        }
        break
      case "fail":
        this.keyword(node.keyword)
        this.expression(node.message, { ...inValue(setting), expects: "value" })
        break
      case "fixture":
        this.keyword(node.keyword)
        this.expression(node.path, { ...inValue(setting), expects: "value" })
        break
      case "number":
      case "missing-expression":
        break
    }
  }

  /** `for pattern in list` */
  protected loop(loop: Syntax.Loop, setting: Setting): void {
    const { pattern, index, items } = loop
    this.words(loop.start, pattern.start, ["for"])
    if (pattern.kind === "item") this.name(pattern.name, { kind: "variable", name: pattern.name })
    else {
      for (const field of pattern.body.items) {
        this.name(field.field, { kind: "pattern-field", loop, field })
        if (field.variable !== field.field) this.name(field.variable, { kind: "variable", name: field.variable })
      }
    }
    if (index !== undefined) this.name(index, { kind: "variable", name: index })
    this.words(index?.end ?? pattern.end, items.start, ["in"])
    this.expression(items, setting)
  }

  #list(node: Syntax.ListNode, setting: Setting): void {
    const { value, loop, when, by } = node
    const outer = setting.secrets === "allowed" ? withoutSecrets(setting) : setting
    const own = this.program.lists.get(node) ?? []
    const inner: Setting = { ...outer, variables: new Map([...outer.variables, ...own]) }
    this.expression(value, inner)
    this.loop(loop, outer)
    if (when !== undefined) {
      this.keyword(when.keyword)
      this.expression(when.condition, withoutCalls(inOperand(inner)))
    }
    if (by === undefined) return
    this.keyword(by.keyword)
    this.expression(by.key, withoutCalls(inOperand(inner)))
    if (by.descending !== undefined) this.keyword(by.descending)
  }

  /** `agent.x` after `given`, `ran` and their like. */
  protected testedStep({ base }: Syntax.Chain): void {
    if (base.kind === "name") this.keyword(base)
  }

  #branch(match: Syntax.MatchNode, branch: Syntax.MatchBranch, setting: Setting): void {
    const { value } = branch
    if (branch.case === undefined) {
      this.keyword({ start: branch.start, end: branch.start + 1 })
      this.expression(value, setting)
      return
    }
    this.name(branch.case, { kind: "branch", match, branch, setting })
    const chain = branchChain(branch)
    if (chain === undefined) return this.expression(value, setting)
    this.#steps(chain, setting, true)
    if (value.kind === "default") this.expression(value.right, setting)
  }

  #invoke(node: Syntax.InvokeNode, setting: Setting): void {
    if (node.kind === "repeat" || (node.kind === "call" && isWorkflow(node.target)))
      return this.#workflowCall(node, setting)
    const kind = node.kind === "call" ? "tool" : node.kind === "read" ? "resource" : "prompt"
    this.keyword(node.keyword)
    this.#chain(node.target, { ...setting, expects: kind })
    this.#when(node.when, setting)
    if (node.block === undefined) return
    const inner: Setting = { ...inValue(setting), expects: "value" }
    const target = importOf(node.target)
    this.properties(node.kind, node.block.items, inner, target?.kind === kind ? target : undefined)
  }

  /** The condition of a call. */
  #when(when: Syntax.When | undefined, setting: Setting): void {
    if (when === undefined) return
    this.keyword(when.keyword)
    this.expression(when.condition, { ...withoutCalls(inOperand(setting)), expects: "value" })
  }

  #workflowCall(node: Syntax.InvokeNode, setting: Setting): void {
    this.keyword(node.keyword)
    this.#chain(node.target, { ...setting, expects: "workflow" })
    this.#when(node.when, setting)
    const inner: Setting = { ...inValue(setting), expects: "value" }
    const place = node.kind === "repeat" ? "repeat" : "workflow-call"
    this.properties(place, node.block?.items ?? [], inner, importOf(node.target))
  }

  #chain(chain: Syntax.Chain, setting: Setting): void {
    if (chain.base.kind === "name") this.name(chain.base, { kind: "root", chain, setting })
    else this.expression(chain.base, { ...inValue(setting), expects: "value" })
    this.#steps(chain, setting, false)
  }

  #steps(chain: Syntax.Chain, setting: Setting, matched: boolean): void {
    for (const [index, step] of chain.steps.entries()) {
      if (step.kind !== "index") this.name(step.name, { kind: "step", chain, step, index, setting, matched })
    }
  }
}

function importOf(chain: Syntax.Chain): ArgumentBlock["import"] {
  const { base } = chain
  const [step] = chain.steps
  if (base.kind !== "name" || step?.kind !== "field") return undefined
  const kind = base.text === "workflow" ? base.text : importKindOf(base.text)
  return kind && { kind, name: step.name.text }
}

function placeOfBlock(form: PropertyForm): PropertyPlace {
  if (form === "repeat") return "agent-repeat"
  if (form === "batch") return "agent-batch"
  if (form === "event") return "webhook-event"
  const isOwn = form === "file" || form === "approval" || form === "elicitation" || form === "auth"
  return isBlockForm(form) || isOwn ? form : "unknown"
}

/** Whether the fields of a block's types have the names that a server gave them. */
function isRemote(place: PropertyPlace): boolean {
  return place === "tool" || place === "http-tool"
}
