import { cutText } from "../base/cut-text.ts"
import { constantOf, numberIn } from "../check/constants.ts"
import { assetKindsIn } from "../check/asset-kind.ts"
import { textAt } from "../check/file-space.ts"
import { isStepFunction } from "../check/step-functions.ts"
import { isValueFunction } from "../check/function-table.ts"
import type { FailureSymbol, Program, ResolvedRoot } from "../check/program.ts"
import type { Span } from "../source/span.ts"
import { isArithmetic } from "../syntax/operator-parser.ts"
import { isWorkflow } from "../syntax/import-kinds.ts"
import { branchLabel } from "../syntax/match-branch.ts"
import { isWordOf } from "../syntax/property-table.ts"
import type * as Syntax from "../syntax/tree.ts"
import { plainType } from "../types/relations.ts"
import type {
  ApprovalPlan,
  AssetExpression,
  CallExpression,
  Entry,
  Expression,
  FunctionPlan,
  ListExpression,
  LoopPlan,
  MatchBranch,
  RepeatPlan,
  Root,
  Step,
  WorkflowCallExpression,
} from "./expression.ts"
import { traits } from "./expression-traits.ts"
import { isUntyped } from "../types/type-parts.ts"
import { defaultExpirySeconds, demandOf } from "./approval-demand.ts"
import type { AssetKind, RequirementPlan } from "./plan-shape.ts"
import { expressionIn, skipsFailure, valuesOf, type Properties } from "../syntax/property-of.ts"

export type FunctionPlans = Readonly<Record<string, FunctionPlan>>

/** What an expression of a test calls a file that the test names. */
export function fixtureVariable(path: string): string {
  return `file ${path}`
}

/** Turns checked expressions into those of the plan: names resolved, constants folded, source forgotten. */
export class Lowering {
  /** Files that a test names, by their paths as they are written. */
  readonly fixtures = new Map<string, Span>()
  readonly #program: Program
  /** How many call sites of each name exist so far. */
  readonly #sites = new Map<string, number>()
  /** Where the calls stand that may fail. */
  readonly #callSites = new Map<Syntax.InvokeNode, string>()
  /** In a requirement: what it refers to besides `result`. */
  #captures: Expression[] | null = null
  /** The least that the calls in the value of a list allow at a time. */
  #concurrency = Infinity

  readonly #functions: FunctionPlans
  /** Inside a function of one's own. */
  readonly #parameters: readonly string[]

  constructor(program: Program, functions: FunctionPlans, parameters: readonly string[] = []) {
    this.#program = program
    this.#functions = functions
    this.#parameters = parameters
  }

  /** The expression of a property; null where the block does not have it. */
  optional(block: Properties | undefined, name: string, place: string): Expression | null {
    const expression = expressionIn(block, name)
    return expression === undefined ? null : this.expression(expression, place)
  }

  required(block: Properties, name: string, place: string): Expression {
    return this.optional(block, name, place) ?? unchecked(`a missing ${name}`)
  }

  /** `place` names where the expression stands, for the calls in it: `dynamic.related`. */
  expression(node: Syntax.Expression, place: string): Expression {
    const constant = constantOf(node)
    if (constant !== undefined) return { op: "literal", value: constant }
    switch (node.kind) {
      case "string":
        return { op: "text", parts: this.#parts(node, place) }
      case "array":
        return { op: "array", items: node.items.map((item) => this.expression(item, place)) }
      case "list":
        return this.#list(node, place)
      case "object":
        return { op: "object", entries: this.entries(node.body.items, place) }
      case "group":
        return this.expression(node.expression, place)
      case "chain":
        return this.#chain(node, place)
      case "default":
        return { op: "default", left: this.#defaulted(node.left, place), right: this.expression(node.right, place) }
      case "binary": {
        const left = this.expression(node.left, place)
        const right = this.expression(node.right, place)
        const { operator } = node
        const text = this.#text(node)
        if (!isArithmetic(operator)) return { op: "binary", operator, left, right, text }
        const integer = this.#program.expressionTypes.get(node)?.kind === "integer"
        return { op: "arithmetic", operator, left, right, integer, text }
      }
      case "not":
        return { op: "not", value: this.expression(node.operand, place), text: this.#text(node) }
      case "negate":
        return { op: "negate", value: this.expression(node.operand, place), text: this.#text(node) }
      case "function":
        return this.#function(node, place)
      case "match":
        return this.#match(node, place)
      case "call":
      case "read":
      case "render":
      case "repeat":
        return this.#invoke(node, place)
      case "asset":
        return this.#asset(node, place)
      // Labels are the checker's; the run has the value.
      case "exception":
        return this.expression(node.value, place)
      case "observed":
        return this.#observed(node, place)
      // A test's runner reads the file.
      case "fixture": {
        const path = node.path.texts[0] ?? ""
        const text = fixtureVariable(path)
        this.fixtures.set(path, node.path)
        return { op: "reference", root: { kind: "variable", name: text }, text }
      }
      case "fail":
      case "number":
      case "word":
      case "missing-expression":
        throw new Error(`A checked workflow has no ${node.kind} here`)
    }
  }

  /** A test's runner knows it by the words that it is written with. */
  #observed(node: Syntax.ObservedNode, place: string): Expression {
    const step = this.#text(node.target)
    const observed = (word: string): Expression => {
      const text = `${word} ${step}`
      return { op: "reference", root: { kind: "variable", name: text }, text }
    }
    const { arguments: values, word } = node
    const isCalled = values === undefined ? observed(word) : this.#calledWith(observed("calls_of"), values, place)
    return node.not === undefined ? isCalled : { op: "not", value: isCalled, text: this.#text(node) }
  }

  /** Whether one of the calls has these arguments. */
  #calledWith(calls: Expression, { items, start, end }: Syntax.Block<Syntax.ValueField>, place: string): Expression {
    const text = this.#textAt({ start, end })
    const name = "a call"
    const call: Expression = { op: "reference", root: { kind: "item", name }, text }
    const equal = this.entries(items, place).map(({ key, value }): Expression => {
      const steps = [{ step: "field", name: key, optional: false } as const]
      const left: Expression = { op: "chain", base: call, steps, lenient: true, text }
      return { op: "binary", operator: "==", left, right: value, text }
    })
    const always: Expression = { op: "literal", value: true }
    const when = equal.reduce((left, right) => ({ op: "binary", operator: "&&", left, right, text }), always)
    const loop = { items: calls, pattern: { kind: "item", variable: name } } as const
    const found: Expression = { op: "list", loop, when, by: null, value: always, text }
    return { op: "binary", operator: "contains", left: found, right: always, text }
  }

  /** What a requirement refers to besides `result` stands apart, so that it can be evaluated before there is a result. */
  requirement({ condition, otherwise }: Syntax.RequirementValue): RequirementPlan {
    const captures: Expression[] = []
    this.#captures = captures
    // Nothing is called in it: the place names no site.
    const lowered = this.expression(condition, "")
    const message = otherwise === undefined ? null : this.expression(otherwise, "")
    this.#captures = null
    const text = this.#program.tree.text.slice(condition.start, condition.end)
    return { condition: lowered, message, text, captures }
  }

  /** A requirement of the input, which sees nothing else. */
  ofInput({ condition, otherwise }: Syntax.RequirementValue): RequirementPlan {
    const message = otherwise === undefined ? null : this.expression(otherwise, "")
    const text = this.#program.tree.text.slice(condition.start, condition.end)
    return { condition: this.expression(condition, ""), message, text, captures: [] }
  }

  entries(fields: readonly Syntax.ValueField[], place: string): Entry[] {
    return fields.map((field) => ({ key: field.name.text, value: this.expression(field.value, place) }))
  }

  loop({ pattern, index, items }: Syntax.Loop, place: string): LoopPlan {
    const list = this.expression(items, place)
    const at = index === undefined ? {} : { index: index.text }
    if (pattern.kind === "item") return { items: list, ...at, pattern: { kind: "item", variable: pattern.name.text } }
    const fields = pattern.body.items.map(({ field, variable }) => ({ field: field.text, variable: variable.text }))
    return { items: list, ...at, pattern: { kind: "fields", fields } }
  }

  #list(node: Syntax.ListNode, place: string): ListExpression {
    const { value, loop, when, by } = node
    const list = {
      op: "list" as const,
      loop: this.loop(loop, place),
      when: when === undefined ? null : this.expression(when.condition, place),
      by: by === undefined ? null : { key: this.expression(by.key, place), descending: by.descending !== undefined },
    }
    const around = this.#concurrency
    this.#concurrency = Infinity
    const made = this.expression(value, place)
    const concurrency = this.#concurrency === Infinity ? {} : { concurrency: this.#concurrency }
    this.#concurrency = around
    return { ...list, value: made, ...concurrency, text: this.#text(node) }
  }

  /** The left side of `??`: what the fields of a chain lack is null there. */
  #defaulted(node: Syntax.Expression, place: string): Expression {
    if (node.kind === "group") return this.#defaulted(node.expression, place)
    return node.kind === "chain" ? this.#chain(node, place, true) : this.expression(node, place)
  }

  /** Literal pieces and expressions in turn, empty pieces left out. */
  #parts(node: Syntax.StringNode, place: string): (string | Expression)[] {
    const parts: (string | Expression)[] = []
    for (const [index, text] of node.texts.entries()) {
      if (text !== "") parts.push(text)
      const interpolation = node.interpolations[index]
      if (interpolation !== undefined) parts.push(this.expression(interpolation, place))
    }
    return parts
  }

  #chain(node: Syntax.Chain, place: string, isDefaulted = false): Expression {
    const text = this.#text(node)
    // A value of a known type lacks nothing.
    const isUntyped = node.steps.some(
      (step) => this.#program.receivers.get(step)?.kind === "any" || isOpen(this.#program, step),
    )
    const lenient = isDefaulted && isUntyped ? { lenient: true as const } : {}
    if (node.base.kind !== "name") {
      return { op: "chain", base: this.expression(node.base, place), steps: this.#steps(node.steps), ...lenient, text }
    }
    const root = this.#program.roots.get(node)
    if (root === undefined) throw new Error(`The checker left ${text} unresolved`)
    if (root.kind === "model") return { op: "literal", value: root.name }
    if (root.kind === "history") {
      const rest = this.#steps(node.steps.slice(1))
      const base = this.#captured(historyOf(root.name, text), text)
      return rest.length === 0 ? base : { op: "chain", base, steps: rest, ...lenient, text }
    }
    const named = ["agent", "ask", "wait", "dynamic", "local"].includes(root.kind)
    const steps = this.#steps(named ? node.steps.slice(1) : node.steps)
    const end = named ? node.steps[0]?.end : node.base.end
    const reference: Expression = {
      op: "reference",
      root: this.#rootOf(root),
      text: this.#textAt({ start: node.start, end: end ?? node.end }),
    }
    const lowered: Expression =
      steps.length === 0 ? reference : { op: "chain", base: reference, steps, ...lenient, text }
    return isCaptured(root.kind) ? this.#captured(lowered, text) : lowered
  }

  /** A parameter is known by its position, so that another name changes nothing. */
  #rootOf(root: ValueRoot): Root {
    const at = root.kind === "variable" ? this.#parameters.indexOf(root.name) : -1
    return at < 0 ? planRoot(root) : { kind: "item", name: `#${at}` }
  }

  #steps(steps: readonly Syntax.ChainStep[]): Step[] {
    return steps.map((step): Step => {
      switch (step.kind) {
        case "field":
          return { step: "field", name: step.name.text, optional: step.optional }
        case "index":
          return { step: "index", index: step.index?.value ?? 0, optional: step.optional }
        case "pluck": {
          const nulls = step.stars === 1 ? "keep" : step.stars === 2 ? "drop" : "refuse"
          return { step: "pluck", name: step.name.text, nulls, optional: step.optional }
        }
        case "case":
          return { step: "case", tag: this.#program.tags.get(step) ?? null, name: step.name.text, optional: true }
      }
    })
  }

  #function(node: Syntax.FunctionNode, place: string): Expression {
    const name = node.name.text
    if (isStepFunction(name)) return this.#captured(this.#rounds(node), this.#text(node))
    const failing = this.#program.failures.get(node)
    if (failing !== undefined) return this.#failure(failing, this.#text(node))
    if (this.#program.functions.has(name)) return this.#ownFunction(node, place)
    if (!isValueFunction(name) || node.receiver !== undefined) return unchecked(`the function ${name}`)
    const items = node.items.map((item) => this.expression(item, place))
    const integer = this.#program.expressionTypes.get(node)?.kind === "integer"
    return { op: "function", name, items, integer, text: this.#text(node) }
  }

  #failure({ chain, call, depth }: FailureSymbol, text: string): Expression {
    const root = this.#program.roots.get(chain)
    const site = call === undefined ? null : this.#callSites.get(call)
    // What fails comes before what asks about it, in the plan too.
    if (root === undefined || root.kind === "model" || root.kind === "history" || site === undefined)
      return unchecked(`an unknown step in ${text}`)
    const of = { op: "reference" as const, root: planRoot(root), text: this.#text(chain) }
    const lowered: Expression = { op: "failure", of, site, depth, text }
    return this.#captured(lowered, text)
  }

  /** In a requirement, what is known before there is a result. */
  #captured(lowered: Expression, text: string): Expression {
    if (this.#captures === null) return lowered
    const index = this.#captures.push(lowered) - 1
    return { op: "reference", root: { kind: "captured", index }, text }
  }

  #ownFunction(node: Syntax.FunctionNode, place: string): Expression {
    const name = node.name.text
    const { expressionTypes, types } = this.#program
    const called = this.#functions[name] ?? unchecked(`the function ${name}`)
    const code = called.code === undefined ? traits(called.value).code : 1
    return {
      op: "own-function",
      name,
      items: node.items.map((item) => this.expression(item, place)),
      version: called.version,
      loops: traits(called.value).lists,
      ...(code === 0 ? {} : { code }),
      untyped: node.items.some((item) => isUntyped(expressionTypes.get(item), types)),
      text: this.#text(node),
    }
  }

  #rounds(node: Syntax.FunctionNode): Expression {
    const [agent] = node.items
    if (agent?.kind !== "chain") return unchecked("rounds of nothing")
    return { op: "reference", root: { kind: "rounds", name: targetName(agent) }, text: this.#text(node) }
  }

  #match(node: Syntax.MatchNode, place: string): Expression {
    const { items } = node.body
    // What follows `_` is never chosen.
    const rest = items.findIndex((branch) => branch.case === undefined)
    const reachable = rest === -1 ? items : items.slice(0, rest + 1)
    const tag = this.#program.tags.get(node) ?? null
    return {
      op: "match",
      value: this.expression(node.value, place),
      tag,
      branches: reachable.map((branch) => {
        return { takes: takes(branch, tag !== null), value: this.expression(branch.value, place) }
      }),
      text: this.#text(node),
    }
  }

  /** With a condition: a match that makes the call, or is null. */
  #invoke(node: Syntax.InvokeNode, place: string): Expression {
    const { block, when } = node
    this.#concurrency = Math.min(this.#concurrency, numberIn(block, "concurrency") ?? Infinity)
    if (when === undefined) return this.#made(node, place)
    return {
      op: "match",
      value: this.expression(when.condition, place),
      tag: null,
      branches: [
        { takes: { kind: "value", value: true }, value: this.#made(node, place) },
        { takes: { kind: "value", value: false }, value: { op: "literal", value: null } },
      ],
      isCondition: true,
      text: this.#text(when.condition),
    }
  }

  #made(node: Syntax.InvokeNode, place: string): Expression {
    const { kind, target, block } = node
    if (kind === "repeat" || (kind === "call" && isWorkflow(target))) return this.#workflowCall(node, place)
    if (kind === "call") return this.#call(node, place)
    const name = targetName(target)
    const site = this.#siteOf(node, this.site(place, kind, name))
    const bindings = this.entries(valuesOf(block, "bindings"), place)
    const text = this.#text(node)
    const skips = skipsFailure(node) ? { skips: true as const } : {}
    return kind === "read"
      ? { op: "read", resource: name, bindings, site, ...skips, text }
      : { op: "render", prompt: name, bindings, site, ...skips, text }
  }

  #siteOf(node: Syntax.InvokeNode, site: string): string {
    if (skipsFailure(node)) this.#callSites.set(node, site)
    return site
  }

  #call(node: Syntax.InvokeNode, place: string): CallExpression {
    const tool = targetName(node.target)
    const site = this.#siteOf(node, this.site(place, "call", tool))
    return {
      op: "call",
      tool,
      input: this.entries(valuesOf(node.block, "input"), place),
      bindings: this.entries(valuesOf(node.block, "bindings"), place),
      max_calls: numberIn(node.block, "max_calls"),
      approval: this.approval(tool, node.block, place),
      site,
      ...(skipsFailure(node) ? { skips: true as const } : {}),
      text: this.#text(node),
    }
  }

  #workflowCall(node: Syntax.InvokeNode, place: string): WorkflowCallExpression {
    const { block, kind } = node
    const workflow = targetName(node.target)
    const site = this.#siteOf(node, this.#workflowSite(place, workflow))
    const values = (name: string): Entry[] => this.entries(valuesOf(block, name), place)
    return {
      op: "call-workflow",
      workflow,
      site,
      input: values("input"),
      approval: this.approvalOf([block], place),
      ...(skipsFailure(node) ? { skips: true as const } : {}),
      ...(kind === "repeat" ? { repeat: this.#repeat(block, place, values("next")) } : {}),
      text: this.#text(node),
    }
  }

  #repeat(block: Properties | undefined, place: string, next: readonly Entry[]): RepeatPlan {
    const until = expressionIn(block, "until") ?? unchecked("a repetition without an end")
    return { until: this.expression(until, place), next, at_most: numberIn(block, "at_most") ?? 1 }
  }

  /** The place, with a number for further calls of the same file there. */
  #workflowSite(place: string, name: string): string {
    const key = `${place}/workflow ${name}`
    const count = (this.#sites.get(key) ?? 0) + 1
    this.#sites.set(key, count)
    return count === 1 ? place : `${place}(${count})`
  }

  /** What the import of a tool, its batch and one use of it demand together. `place` is that of the use. */
  approval(tool: string, use: Properties | undefined, place: string): ApprovalPlan | null {
    const symbol = this.#program.tools.get(tool)
    return this.approvalOf([symbol?.node.body, symbol?.batch?.body, use], place)
  }

  approvalOf(blocks: readonly (Properties | undefined)[], place: string): ApprovalPlan | null {
    const demands = blocks.flatMap((block) => demandOf(block) ?? [])
    if (demands.length === 0) return null
    const first = (name: "question" | "show" | "to"): Expression | undefined => {
      const found = demands.find((demand) => demand[name] !== undefined)?.[name]
      return found && this.expression(found, place)
    }
    const [question, show] = [first("question"), first("show")]
    const times = demands.flatMap(({ expires_seconds }) => expires_seconds ?? [])
    return {
      ...(question === undefined ? {} : { question }),
      ...(show === undefined ? {} : { show }),
      to: first("to") ?? null,
      expires_seconds: times.length === 0 ? defaultExpirySeconds : Math.min(...times),
    }
  }

  /**
   * The durable identity of a call site: its place, what it does and to what. Only further sites with the same three are
   * numbered, so that edits elsewhere change no identity.
   */
  site(place: string, kind: "call" | "read" | "render" | "use", name: string): string {
    const site = `${place}/${kind} ${name}`
    const count = (this.#sites.get(site) ?? 0) + 1
    this.#sites.set(site, count)
    return count === 1 ? site : `${site} (${count})`
  }

  #asset(node: Syntax.AssetNode, place: string): AssetExpression {
    const optional = (name: string): Expression | null => {
      const expression = expressionIn(node.block, name)
      return expression === undefined ? null : this.expression(expression, place)
    }
    return {
      op: "asset",
      value: this.expression(node.value, place),
      type: onlyKind(node),
      media_type: optional("media_type"),
      title: optional("title"),
      context: optional("context"),
      citations: optional("citations"),
      text: this.#text(node),
    }
  }

  #textAt(span: Span): string {
    return textAt(this.#program.tree, this.#program.files.space, span)
  }

  /** How the author wrote it, for messages: nested expressions would otherwise repeat a long text again and again. */
  #text(node: Syntax.Expression): string {
    return cutText(this.#textAt({ start: node.start, end: Math.min(node.end, node.start + 1000) }), 200)
  }
}

/** Whether the step reads a field of any object. */
function isOpen({ receivers, types }: Program, step: Syntax.ChainStep): boolean {
  const receiver = receivers.get(step)
  return receiver !== undefined && plainType(receiver, types).kind === "object"
}

/** Whether it is known before there is a result: not what a match or a list of the requirement takes out of it. */
function isCaptured(kind: ResolvedRoot["kind"]): boolean {
  return kind !== "result" && kind !== "round" && kind !== "matched" && kind !== "item"
}

/** The kind of all that an asset may be; null where that is decided when it is evaluated. */
function onlyKind(node: Syntax.AssetNode): AssetKind | null {
  const [kind, ...others] = assetKindsIn(node) ?? []
  return kind === undefined || others.length > 0 ? null : kind
}

export function assetKind(word: string | undefined): AssetKind {
  return isWordOf("asset", word) ? word : unchecked(`an asset of type ${String(word)}`)
}

/** Roots that are read under their own name. */
type ValueRoot = Exclude<ResolvedRoot, { readonly kind: "model" | "history" }>

function planRoot(root: ValueRoot): Root {
  return "name" in root ? { kind: root.kind, name: root.name } : { kind: root.kind }
}

function takes(branch: Syntax.MatchBranch, isVariant: boolean): MatchBranch["takes"] {
  const label = branchLabel(branch)
  if (label.kind !== "name") return label
  return isVariant ? { kind: "case", name: label.name } : { kind: "value", value: label.name }
}

/** `chat.history`: the messages that the input has, with their text in `content`. */
function historyOf(field: string, text: string): Expression {
  const input: Expression = { op: "reference", root: { kind: "input" }, text: "input" }
  const items: Expression = {
    op: "chain",
    base: input,
    steps: [{ step: "field", name: field, optional: false }],
    text: `input.${field}`,
  }
  const variable = "message"
  const read = (name: string): Expression => ({
    op: "chain",
    base: { op: "reference", root: { kind: "item", name: variable }, text: variable },
    steps: [{ step: "field", name, optional: false }],
    text: `${variable}.${name}`,
  })
  const entries = [
    { key: "role", value: read("role") },
    { key: "content", value: read("text") },
  ]
  const loop = { items, pattern: { kind: "item", variable } } as const
  return { op: "list", loop, when: null, by: null, value: { op: "object", entries }, text }
}

/** The name after the dot: of `tool.search`, `search`. */
export function targetName({ steps: [step] }: Syntax.Chain): string {
  return step?.kind === "field" ? step.name.text : unchecked("a reference without a name")
}

/** For what the checker refuses: a program with it is never planned. */
export function unchecked(what: string): never {
  throw new Error(`The checker let ${what} through`)
}
