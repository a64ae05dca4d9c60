import { isFunction } from "../check/function-table.ts"
import { isStepFunction } from "../check/step-functions.ts"
import type { Program } from "../check/program.ts"
import type { Span } from "../source/span.ts"
import { isWordList } from "../syntax/property-table.ts"
import type { Token } from "../syntax/token.ts"
import { eachName } from "./each-name.ts"
import type { NameUse } from "./name-use.ts"
import { targetsOf, type Target } from "./targets.ts"

/** The kinds of tokens, by the names that the Language Server Protocol has for them. */
export const tokenTypes = [
  "keyword",
  "type",
  "class",
  "function",
  "variable",
  "parameter",
  "property",
  "enumMember",
  "namespace",
  "string",
  "number",
  "comment",
  "operator",
] as const

export type TokenType = (typeof tokenTypes)[number]

export const tokenModifiers = ["declaration", "defaultLibrary", "documentation"] as const

export type TokenModifier = (typeof tokenModifiers)[number]

export interface SemanticToken extends Span {
  readonly type: TokenType
  readonly modifiers: readonly TokenModifier[]
}

/** What each word, literal and comment is, for colours; in source order, none over another. */
export function semanticTokens(program: Program): readonly SemanticToken[] {
  const { tree } = program
  const names: SemanticToken[] = []
  eachName(program, (use) => {
    if (use.end > use.start) names.push(nameToken(program, use))
  })
  names.sort((a, b) => a.start - b.start)
  const found: SemanticToken[] = []
  let next = 0
  // Names with dashes and dots are several tokens: those that the name covers are passed over.
  let covered = 0
  for (const token of tree.tokens) {
    for (const { start, end, style } of token.comments) {
      found.push({ start, end, type: "comment", modifiers: style === "doc" ? documentation : none })
    }
    if (token.start < covered) continue
    while ((names[next]?.start ?? Infinity) < token.start) next++
    const name = names[next]
    if (name?.start === token.start) {
      found.push(name)
      covered = name.end
    } else {
      lexicalTokens(tree.text, token, found)
    }
  }
  return found
}

const none: readonly TokenModifier[] = []
const declares: readonly TokenModifier[] = ["declaration"]
const builtIn: readonly TokenModifier[] = ["defaultLibrary"]
const documentation: readonly TokenModifier[] = ["documentation"]

const operators = new Set<string>("?? ?. * ** *** # | || && == != < <= > >= ! + - / %".split(" "))

function lexicalTokens(text: string, token: Token, found: SemanticToken[]): void {
  const { kind, start, end } = token
  switch (kind) {
    case "number":
      add(found, "number", start, end)
      break
    case "string":
      add(found, "string", start, end)
      break
    case "head":
    case "middle":
    case "tail": {
      const from = kind !== "head" && text.startsWith("}}", start) ? start + 2 : start
      const to = kind !== "tail" && text.startsWith("{{", end - 2) ? end - 2 : end
      add(found, "operator", start, from)
      add(found, "string", from, to)
      add(found, "operator", to, end)
      break
    }
    default:
      if (operators.has(kind)) add(found, "operator", start, end)
  }
}

function add(found: SemanticToken[], type: TokenType, start: number, end: number): void {
  if (end > start) found.push({ start, end, type, modifiers: none })
}

function nameToken(program: Program, use: NameUse): SemanticToken {
  const token = (type: TokenType, modifiers: readonly TokenModifier[] = none): SemanticToken => {
    return { start: use.start, end: use.end, type, modifiers }
  }
  switch (use.kind) {
    case "keyword":
    case "provider-kind":
    case "remote-kind":
      return token("keyword")
    case "property":
      return token("property", builtIn)
    case "declaration":
      return token(declarationType(use.declares), declares)
    case "field":
      return token("property", declares)
    case "argument":
    case "input-field":
    case "sent":
    case "foreign-key":
      return token("property")
    case "tag":
      return token("property", declares)
    case "case":
      return token("enumMember", declares)
    case "enum-value":
    case "branch":
    case "http-word":
      return token("enumMember")
    case "type":
      return token("type", builtIn)
    case "type-segment":
      if (use.index === 0) return token("namespace")
      return token(use.index === 1 ? "type" : "property")
    case "variable":
      return token("parameter", declares)
    case "pattern-field":
      return use.field.variable === use.field.field ? token("parameter", declares) : token("property")
    case "provider-name":
    case "server-name":
      return token("class")
    case "remote-name":
    case "imported-name":
    case "bound-secret":
      return token("property")
    case "function":
      return token("function", isFunction(use.text) || isStepFunction(use.text) ? builtIn : none)
    case "root":
      return token(rootType(use))
    case "step": {
      if (use.step.kind === "case") return token("enumMember")
      const [target] = targetsOf(program, use)
      return token(target === undefined ? "property" : targetType(target))
    }
  }
}

function rootType(use: NameUse & { kind: "root" }): TokenType {
  const { setting, chain } = use
  if (setting.expects === "value" && setting.variables.has(use.text)) return "parameter"
  if (chain.steps.length > 0) return "namespace"
  return isWordList(setting.expects) ? "enumMember" : "variable"
}

function declarationType(declared: (NameUse & { kind: "declaration" })["declares"]): TokenType {
  switch (declared) {
    case "schema":
      return "type"
    case "provider":
    case "model":
    case "mcp":
    case "api":
      return "class"
    case "tool":
    case "resource":
    case "prompt":
    case "agent":
    case "ask":
    case "wait":
    case "score":
    case "schedule":
    case "webhook":
    case "workflow":
    case "function":
      return "function"
    case "dynamic":
    case "local":
      return "variable"
  }
}

function targetType(target: Target): TokenType {
  switch (target.kind) {
    case "declaration":
      return declarationType(target.declares)
    case "case":
      return "enumMember"
    case "variable":
      return "parameter"
    case "block":
      return "namespace"
    case "field":
    case "tag":
      return "property"
  }
}
