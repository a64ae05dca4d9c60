import { quoteText } from "../source/quote-text.ts"
import { asWritten } from "../check/known-list.ts"
import { choiceOf, showLabel } from "../check/match-choice.ts"
import type { Program } from "../check/program.ts"
import { runType } from "../check/run-values.ts"
import { isStepFunction } from "../check/step-functions.ts"
import { messagesType } from "../check/chat-types.ts"
import { integerType } from "../types/primitives.ts"
import { fileFields } from "../types/file-value.ts"
import { fieldType } from "../types/field-type.ts"
import { nullable, resolve, tagType } from "../types/relations.ts"
import type { Field, Type } from "../types/types.ts"
import type { Span } from "../source/span.ts"
import { importKinds } from "../syntax/import-kinds.ts"
import { wordsIn } from "../syntax/property-table.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Completion } from "./completion.ts"
import { completeConstants, completeFunctions, keyword } from "./complete-words.ts"
import { describe, detailOf } from "./describe.ts"
import type { Edit } from "./edit.ts"
import { lookUp, rootTexts } from "./explanations.ts"
import type { NameUse, Setting } from "./name-use.ts"
import { elementOf, importsOf, plainType, type Target } from "./targets.ts"

// Completions that the program gives: what is declared, and the fields of types.

// ----------------------------------------------------------------------------------------------------------- roots

/** What an expression can begin with. */
export function completeRoots(program: Program, { setting, chain }: NameUse & { kind: "root" }): Completion[] {
  switch (setting.expects) {
    case "model": {
      const models = namesUnder(program, "model", setting, true)
      if (setting.agent === undefined || setting.isListed === true || chain.steps.length > 0) return models
      return [
        ...models,
        keyword("match", undefined, `match \${1:value} {\n    \${2:word} model.\${3}\n    _ model.\${4}\n}`),
      ]
    }
    case "tool":
    case "resource":
    case "prompt":
    case "agent":
    case "workflow":
      return namesUnder(program, setting.expects, setting, true)
    case "use":
      return [...importKinds, "workflow" as const].flatMap((kind) => namesUnder(program, kind, setting, true))
    case "context":
      return [...namesUnder(program, "agent", setting, true), keyword("compact", undefined, "compact agent.${1}")]
    case "value":
      if (setting.values === "constants") return []
      return [
        ...(chain.steps.length > 0 ? [] : comparedItems(program, setting, true)),
        ...completeValues(program, setting, chain.steps.length > 0),
      ]
    default:
      return completeConstants(setting.expects, wordsIn(setting.expects).isBare === true ? "needed" : true)
  }
}

function completeValues(program: Program, setting: Setting, rootOnly: boolean): Completion[] {
  const found: Completion[] = []
  for (const [name, { type }] of setting.variables) {
    found.push({ label: name, kind: "variable", insert: name, detail: detailOf(type) })
  }
  if (setting.judges === true && setting.agent !== undefined) {
    const { output } = setting.agent
    found.push({
      label: "result",
      kind: "variable",
      insert: "result",
      detail: detailOf(output),
      doc: rootTexts["result"] ?? "",
    })
    if (!rootOnly) found.push(...output.fields.map((field) => fieldItem(field, "result.")))
    if (setting.hasRound === true) found.push(wordOf("round", integerType))
  }
  if (program.chat?.history !== undefined && setting.values === "run" && setting.isClosed !== true) {
    found.push({ ...wordOf(rootOnly ? "chat" : "chat.history", messagesType), doc: rootTexts["chat"] ?? "" })
  }
  const allowed: ("input" | "secrets" | "agent" | "ask" | "wait" | "dynamic" | "run")[] = []
  if (setting.isClosed !== true) allowed.push("input")
  if (setting.isClosed !== true && setting.values === "run") allowed.push("agent", "ask", "wait", "dynamic", "run")
  if (setting.secrets === "allowed") allowed.push("secrets")
  const under = allowed.map((root) => ({ root, names: namesUnder(program, root, setting, true) }))
  for (const { root, names } of under) {
    const doc = lookUp(rootTexts, root)
    if (names.length > 0) found.push({ label: root, kind: "root", insert: root, ...(doc === undefined ? {} : { doc }) })
  }
  if (rootOnly) return found
  for (const { names } of under) found.push(...names)
  if (setting.values === "run") {
    found.push(keyword("match", undefined, "match ${1:value} {\n    ${2}\n}"))
    const mayCall = setting.isComputed !== true
    if (mayCall && program.tools.size > 0) found.push(keyword("call", undefined, "call tool.${1}"))
    if (mayCall && program.workflows.size > 0) {
      found.push(keyword("call workflow", undefined, "call workflow.${1} {\n    input {\n        ${2}\n    }\n}"))
      const rounds = "until: result.${2}\n    next { ${3} }\n    at_most: ${4:3}"
      found.push(keyword("repeat", undefined, `repeat workflow.\${1} {\n    input {\n    }\n\n    ${rounds}\n}`))
    }
    if (mayCall && program.resources.size > 0) found.push(keyword("read", undefined, "read resource.${1}"))
    if (mayCall && program.prompts.size > 0) found.push(keyword("render", undefined, "render prompt.${1}"))
    if (setting.assets === "value") found.push(keyword("asset", undefined, 'asset ${1:value} { type: "${2:image}" }'))
  }
  for (const word of ["true", "false", "null"]) found.push(keyword(word))
  const mayRefer = setting.values === "run" && setting.isClosed !== true
  found.push(...completeFunctions(program, false).filter(({ label }) => mayRefer || !isStepFunction(label)))
  return found
}

function wordOf(label: string, type: Type): Completion {
  const doc = lookUp(rootTexts, label)
  return { label, kind: "variable", insert: label, detail: detailOf(type), ...(doc === undefined ? {} : { doc }) }
}

/** The texts that the other side of a comparison may be. */
export function comparedItems(program: Program, { compared }: Setting, quoted: boolean): Completion[] {
  if (compared === undefined) return []
  const type = program.expressionTypes.get(compared.with)
  const equal = compared.operator === "contains" ? elementOf(program, type) : type
  return labelsOf(program, equal).flatMap((label): Completion[] => {
    if (typeof label !== "string") return []
    const text = quoted ? quoteText(label) : label
    return [{ label: text, kind: "constant", insert: text }]
  })
}

/** The values of a type that has few of them, each known: those of an enum, string literals, a boolean. */
function labelsOf(program: Program, type: Type | undefined): readonly (string | boolean)[] {
  const plain = plainType(program, type)
  switch (plain?.kind) {
    case "enum":
      return plain.values
    case "literal":
      return [plain.value]
    case "boolean":
      return [true, false]
    case "union": {
      const labels = plain.members.map((member) => labelsOf(program, member))
      return labels.some((some) => some.length === 0) ? [] : [...new Set(labels.flat())]
    }
    default:
      return []
  }
}

/** The branches that a match may have, as they are written: cases of a variant, or plain values. */
export function branchLabels(program: Program, match: Syntax.MatchNode): readonly string[] {
  const type = program.expressionTypes.get(match.value)
  const choice = type && choiceOf(type, program.types)
  if (type === undefined || choice === undefined) return []
  const labels = [...choice.labels].map(showLabel)
  return choice.variant === undefined && nullable(type, program.types) ? [...labels, "null"] : labels
}

type Root =
  | "input"
  | "secrets"
  | "run"
  | "agent"
  | "ask"
  | "wait"
  | "dynamic"
  | "model"
  | "workflow"
  | Syntax.ImportKind

/** The names that may follow a root and its dot; `qualified` with both. */
function namesUnder(program: Program, root: Root, setting: Setting, qualified: boolean): Completion[] {
  const item = (name: string, kind: Completion["kind"], target: Target): Completion => {
    const { detail, doc } = describe(program, target)
    const label = qualified ? `${root}.${asWritten(name)}` : asWritten(name)
    return { label, kind, insert: label, detail, ...(doc === undefined ? {} : { doc }) }
  }
  switch (root) {
    case "input":
    case "secrets":
    case "run": {
      const type = root === "run" ? runType : (root === "input" ? program.input : program.secrets)?.type
      const fields = type?.fields ?? []
      return fields.map((field) => fieldItem(field, qualified ? `${root}.` : ""))
    }
    case "agent": {
      const waiting = dependents(program.dependencies, setting.node)
      return [...program.agents]
        .filter(([name]) => !waiting.has(`agent.${name}`))
        .map(([name, { declaration: node }]) => {
          return item(name, "agent", { kind: "declaration", declares: "agent", node, name: node.name })
        })
    }
    case "ask": {
      const waiting = dependents(program.dependencies, setting.node)
      return [...program.asks]
        .filter(([name]) => !waiting.has(`ask.${name}`))
        .map(([name, { declaration: node }]) => {
          return item(name, "ask", { kind: "declaration", declares: "ask", node, name: node.name })
        })
    }
    case "wait": {
      const waiting = dependents(program.dependencies, setting.node)
      return [...program.waits]
        .filter(([name]) => !waiting.has(`wait.${name}`))
        .map(([name, { declaration: node }]) => {
          return item(name, "wait", { kind: "declaration", declares: "wait", node, name: node.name })
        })
    }
    case "dynamic": {
      const waiting = dependents(program.dependencies, setting.node)
      const edges = program.localDependencies.get(setting.agent?.declaration.name.text ?? "")
      const waitingHere = dependents(edges ?? new Map(), setting.local)
      const locals = [...(setting.agent?.locals ?? [])]
        .filter(([name]) => !waitingHere.has(name))
        .map(([name, { field: node }]) => {
          return item(name, "value", { kind: "declaration", declares: "local", node, name: node.name })
        })
      const others = [...program.dynamics]
        .filter(([name]) => !waiting.has(`dynamic.${name}`) && setting.agent?.locals.has(name) !== true)
        .map(([name, { field: node }]) => {
          return item(name, "value", { kind: "declaration", declares: "dynamic", node, name: node.name })
        })
      return [...locals, ...others]
    }
    case "model":
      return [...program.models].map(([name, node]) => {
        return item(name, "model", { kind: "declaration", declares: "model", node, name: node.name })
      })
    case "workflow":
      return [...program.workflows].map(([name, { declaration: node }]) => {
        return item(name, "workflow", { kind: "declaration", declares: "workflow", node, name: node.name })
      })
    case "tool":
    case "resource":
    case "prompt":
      return [...importsOf(program, root)].map(([name, { node }]) => {
        return item(name, root, { kind: "declaration", declares: root, node, name: node.name })
      })
  }
}

/** The node and all nodes that depend on it: a reference to one of them would make a cycle. */
function dependents(edges: Program["dependencies"], node: string | undefined): ReadonlySet<string> {
  const found = new Set<string>()
  if (node === undefined) return found
  const waiting = new Map<string, string[]>()
  for (const [from, targets] of edges) {
    for (const to of targets) {
      const known = waiting.get(to)
      if (known === undefined) waiting.set(to, [from])
      else known.push(from)
    }
  }
  found.add(node)
  // Grows while it is walked.
  for (const one of found) for (const other of waiting.get(one) ?? []) found.add(other)
  return found
}

// ----------------------------------------------------------------------------------------------------------- steps

/** What may follow the `.`, `?.`, `.*.` or `#` of a chain. */
export function completeStep(program: Program, use: NameUse & { kind: "step" }): Completion[] {
  const { chain, step, index, setting, matched } = use
  const receiver = program.receivers.get(step)
  if (step.kind === "case") return caseItems(program, receiver)
  if (step.kind === "pluck") return fieldItems(program, elementOf(program, receiver))
  const { base } = chain
  if (index === 0 && !matched && base.kind === "name") {
    const isVariable = setting.expects === "value" && setting.variables.has(base.text)
    const root = isVariable ? undefined : rootOf(base.text, setting)
    if (root === "none") return []
    if (root !== undefined) return namesUnder(program, root, setting, false)
    if (base.text === "chat" && !isVariable) {
      return program.chat?.history === undefined ? [] : [wordOf("history", messagesType)]
    }
  }
  if (receiver === undefined) return []
  return memberItems(program, receiver, step)
}

/** `none` for a root that does not belong there; undefined for one whose fields the checker knows. */
function rootOf(text: string, setting: Setting): Root | "none" | undefined {
  const { expects, values, secrets } = setting
  const isRun = values === "run"
  switch (text) {
    case "agent":
      return (expects === "value" && isRun) || expects === "context" || expects === "agent" ? "agent" : "none"
    case "ask":
    case "wait":
    case "run":
    case "dynamic":
      return expects === "value" && isRun ? text : "none"
    case "model":
      return expects === "model" ? "model" : "none"
    case "tool":
    case "resource":
    case "prompt":
      return expects === "use" || expects === text ? text : "none"
    case "input":
      return expects === "value" && values !== "constants" ? "input" : "none"
    case "secrets":
      return expects === "value" && secrets === "allowed" ? "secrets" : "none"
    default:
      return undefined
  }
}

/** The fields of a value; what has to be written instead of the `.` where it may be null, a list or a variant. */
function memberItems(program: Program, type: Type, step: Span & { readonly optional: boolean }): Completion[] {
  const plain = plainType(program, type)
  const mayBeNull = nullable(type, program.types) && !step.optional
  const dot = { start: step.start, end: step.start + (step.optional ? 2 : 1) }
  const optional: readonly Edit[] = mayBeNull ? [{ span: dot, text: "?." }] : []
  const withEdits = (item: Completion, edits: readonly Edit[]): Completion => {
    return edits.length === 0 ? item : { ...item, edits }
  }
  switch (plain?.kind) {
    case "array":
    case "tuple": {
      const items = fieldItems(program, elementOf(program, plain)).map((item) => {
        const label = `*.${item.label}`
        return withEdits({ ...item, label, insert: `*.${item.insert}`, filter: item.label }, optional)
      })
      const first: Completion = {
        label: "[0]",
        kind: "field",
        detail: detailOf(elementOf(program, plain)),
        insert: mayBeNull ? "?.[0]" : "[0]",
        edits: [{ span: dot, text: "" }],
      }
      return [...items, first]
    }
    case "variant":
      return [
        ...caseItems(program, plain).map((item): Completion => {
          const insert = `#${item.insert}`
          return { ...item, label: insert, insert, filter: item.label, edits: [{ span: dot, text: "" }] }
        }),
        ...fieldItems(program, plain).map((item) => withEdits(item, optional)),
      ]
    default:
      return fieldItems(program, plain).map((item) => withEdits(item, optional))
  }
}

/** What can be read from every value of the type: fields, and the tag of a variant. */
export function fieldItems(program: Program, type: Type | undefined): Completion[] {
  const plain = plainType(program, type)
  if (plain === undefined) return []
  const [first] = plain.kind === "union" ? plain.members : [plain]
  const model = first && resolve(first, program.types)
  const fields: readonly Field[] =
    model?.kind === "record"
      ? model.fields
      : model?.kind === "variant"
        ? [{ name: model.tag, type: tagType(model) }]
        : model?.kind === "file"
          ? fileFields.fields
          : []
  return fields.flatMap((field) => {
    const found = fieldType(plain, field.name, program.types)
    return found === undefined ? [] : [fieldItem({ ...field, type: found }, "")]
  })
}

function fieldItem({ name, type, doc }: Field, prefix: string): Completion {
  const label = `${prefix}${asWritten(name)}`
  return { label, kind: "field", insert: label, detail: detailOf(type), ...(doc === undefined ? {} : { doc }) }
}

function caseItems(program: Program, type: Type | undefined): Completion[] {
  const variant = plainType(program, type)
  if (variant?.kind !== "variant") return []
  return variant.cases.map(({ name, fields, doc }): Completion => {
    const label = asWritten(name)
    const detail = detailOf({ kind: "record", fields })
    return { label, kind: "case", insert: label, detail, ...(doc === undefined ? {} : { doc }) }
  })
}

/** The cases that a match has no branch for yet, and the rest. */
export function completeBranch(program: Program, { match, branch }: NameUse & { kind: "branch" }): Completion[] {
  const others = match.body.items.filter((one) => one !== branch)
  const taken = new Set(others.map((one) => one.case && program.tree.text.slice(one.case.start, one.case.end)))
  const cases = caseItems(program, program.expressionTypes.get(match.value))
  const colon = branch.colon === undefined ? ": " : ""
  const plain = branchLabels(program, match).map((label): Completion => {
    return { label, kind: "case", insert: `${label}${colon}` }
  })
  const left = (cases.length > 0 ? cases : plain).filter(({ label }) => !taken.has(label))
  return taken.has(undefined) ? left : [...left, keyword("_", undefined, "_ ${1}")]
}
