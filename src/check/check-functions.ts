import { sourceFunctionLevels } from "../base/limits.ts"
import { remembered } from "../base/remembered.ts"
import { strongComponents } from "../base/strong-components.ts"
import type * as Syntax from "../syntax/tree.ts"
import { errorType } from "../types/primitives.ts"
import { bounded } from "../types/type-size.ts"
import type { Type } from "../types/types.ts"
import { constantPlace } from "./allowance.ts"
import { checkCode } from "./check-code.ts"
import type { CheckContext, Edge } from "./check-context.ts"
import { isFileFunction } from "./function-table.ts"
import { infer } from "./infer.ts"
import { mustFit } from "./must-fit.ts"
import type { LoopVariable } from "./program.ts"
import { declareUnique } from "./repeated-name.ts"
import { resolveType } from "./resolve-types.ts"
import { reportCycles } from "./rules/dependency-cycle.ts"
import { requestScope, type Scope } from "./scope.ts"

/** Functions of one's own, those first that others call. */
export function checkFunctions(checking: CheckContext): void {
  const { functionNodes } = checking
  if (functionNodes.size === 0) return
  const edges = new Map<string, Map<string, Edge>>()
  for (const [name, { value }] of functionNodes) edges.set(name, callsIn(checking, value, name))
  const next = (name: string): string[] => [...(edges.get(name)?.keys() ?? [])]
  reportCycles(
    edges,
    (name) => name,
    (edge, cycle) => tellCircle(checking, edge, cycle),
  )
  const levels = new Map<string, number>()
  for (const group of strongComponents(functionNodes.keys(), next)) {
    const isCircle = group.length > 1 || group.some((name) => next(name).includes(name))
    for (const name of group) {
      const declaration = functionNodes.get(name)
      if (declaration === undefined) continue
      if (isCircle) checking.recursive.add(name)
      else checkLevels(checking, declaration, levels)
    }
    for (const name of group) checkFunction(checking, name)
  }
}

function checkFunction(checking: CheckContext, name: string): void {
  const declaration = checking.functionNodes.get(name)
  if (declaration === undefined) return
  const path = `function.${name}`
  const variables = new Map<string, LoopVariable>()
  const seen = new Set<string>()
  for (const { name: own, type: node } of declaration.parameters) {
    const type = node.kind === "missing-type" ? errorType : resolveType(checking, node, `${path}.${own.text}`)
    if (!declareUnique(checking, seen, own, path)) variables.set(own.text, { name: own, type })
  }
  const { result, value, file } = declaration
  const declared =
    result === undefined || result.kind === "missing-type" ? undefined : resolveType(checking, result, path)
  const code = file === undefined ? undefined : checkCode(checking, declaration, file)
  const found = file === undefined ? infer(checking, value, scopeOf(path, variables)) : (declared ?? errorType)
  if (declared !== undefined && file === undefined) mustFit(checking, value, declared, path)
  const isKnown = declared !== undefined || !checking.recursive.has(name)
  const type: Type = declared ?? (isKnown ? bounded(found) : errorType)
  const calls = callsIn(checking, value, name).keys()
  const usesCode =
    file !== undefined ||
    callsFileFunction(value) ||
    [...calls].some((one) => checking.functions.get(one)?.usesCode === true)
  checking.functions.set(name, { name: declaration.name, declaration, variables, result: type, code, usesCode })
}

/** It sees its parameters alone, and calls nothing outside. */
function scopeOf(path: string, variables: ReadonlyMap<string, LoopVariable>): Scope {
  const place = { ...constantPlace, values: "run", isComputed: true } as const
  return { ...requestScope(path, "a function", place), variables, isClosed: true }
}

/** The functions of the file that an expression calls, each with the first place. */
function callsIn(checking: CheckContext, value: Syntax.Expression, name: string): Map<string, Edge> {
  const calls = new Map<string, Edge>()
  eachCall(value, (node) => {
    const { text } = node.name
    const isOwn = node.receiver === undefined && checking.functionNodes.has(text)
    if (isOwn) remembered(calls, text, () => ({ span: node.name, path: `function.${name}` }))
  })
  return calls
}

function callsFileFunction(value: Syntax.Expression): boolean {
  let found = false
  eachCall(value, ({ name, receiver }) => {
    found ||= receiver === undefined && isFileFunction(name.text)
  })
  return found
}

/** Calls back with every function that an expression calls. */
export function eachCall(part: unknown, visit: (node: Syntax.FunctionNode) => void): void {
  if (typeof part !== "object" || part === null) return
  if ("kind" in part && part.kind === "function") visit(part as Syntax.FunctionNode)
  for (const inner of Object.values(part)) eachCall(inner, visit)
}

function tellCircle(checking: CheckContext, { span, path }: Edge, cycle: readonly string[]): void {
  const isItself = cycle.length === 2
  const message = isItself ? `${cycle[0]} calls itself` : `These functions call each other: ${cycle.join(" → ")}`
  const hint = "There is no recursion: go over a list instead, `[… for x in list]`."
  checking.report("recursive-function", path, span, message, hint)
}

/** Whoever evaluates a function recurses: all that is nested in it, with the functions that it calls, is bounded. */
function checkLevels(
  checking: CheckContext,
  { name, value }: Syntax.FunctionDeclaration,
  levels: Map<string, number>,
): void {
  const own = levelsOf(value, levels)
  levels.set(name.text, own)
  if (own <= sourceFunctionLevels) return
  // One message: whoever calls it is no deeper than that.
  levels.set(name.text, 0)
  const message = `\`${name.text}\` and the functions that it calls are nested more than ${sourceFunctionLevels} levels deep`
  checking.report("recursive-function", `function.${name.text}`, name, message, "Split it, with `dynamic` values.")
}

function levelsOf(part: unknown, levels: ReadonlyMap<string, number>): number {
  if (typeof part !== "object" || part === null) return 0
  let most = 0
  for (const inner of Object.values(part)) most = Math.max(most, levelsOf(inner, levels))
  if (!("kind" in part) || Array.isArray(part)) return most
  const called = part.kind === "function" ? (levels.get((part as Syntax.FunctionNode).name.text) ?? 0) : 0
  return Math.max(most, called) + 1
}
