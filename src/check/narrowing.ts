import type * as Syntax from "../syntax/tree.ts"
import type { Scope } from "./scope.ts"

// A test `path != null` makes that path, written the same way, non-null in what it guards.

const nothing: readonly string[] = []

/** A scope in which these paths are not null. */
export function narrowed(scope: Scope, paths: readonly string[]): Scope {
  return paths.length === 0 ? scope : { ...scope, present: new Set([...scope.present, ...paths]) }
}

/** The same paths without those that begin with a name which now stands for something else. */
export function withoutNames(present: Scope["present"], names: ReadonlyMap<string, unknown>): Scope["present"] {
  if (present.size === 0 || names.size === 0) return present
  return new Set([...present].filter((path) => !names.has(/^\w+/.exec(path)?.[0] ?? "")))
}

/** The paths that are not null when a condition turns out so. */
export function pathsPresent(condition: Syntax.Expression, outcome: boolean): readonly string[] {
  switch (condition.kind) {
    case "group":
      return pathsPresent(condition.expression, outcome)
    case "not":
      return pathsPresent(condition.operand, !outcome)
    case "binary":
      switch (condition.operator) {
        case "&&":
        case "||":
          if ((condition.operator === "&&") !== outcome) return nothing
          return [...pathsPresent(condition.left, outcome), ...pathsPresent(condition.right, outcome)]
        case "==":
        case "!=":
          return (condition.operator === "!=") === outcome ? comparedWithNull(condition) : nothing
        default:
          return nothing
      }
    default:
      return nothing
  }
}

function comparedWithNull({ left, right }: Syntax.BinaryNode): readonly string[] {
  const path = isNull(right) ? pathOf(left) : isNull(left) ? pathOf(right) : undefined
  return path === undefined ? nothing : [path]
}

function isNull(node: Syntax.Expression): boolean {
  if (node.kind === "group") return isNull(node.expression)
  return node.kind === "word" && node.value === null
}

/** The path that an expression is; undefined for all that is not a chain from a name. */
export function pathOf(node: Syntax.Expression): string | undefined {
  if (node.kind === "group") return pathOf(node.expression)
  return node.kind === "chain" ? pathUpTo(node, node.steps.length) : undefined
}

export function pathOfCase(path: string, name: string): string {
  return `${path}#${JSON.stringify(name)}`
}

/** A chain without what follows its first steps. */
function pathUpTo({ base, steps }: Syntax.Chain, count: number): string | undefined {
  if (base.kind !== "name") return undefined
  let path = base.text
  for (const step of steps.slice(0, count)) {
    if (step.kind === "case") {
      path = pathOfCase(path, step.name.text)
      continue
    }
    path += step.optional ? "?." : "."
    if (step.kind === "index") path += `[${step.index?.value ?? ""}]`
    else path += `${step.kind === "pluck" ? `${"*".repeat(step.stars)}.` : ""}${JSON.stringify(step.name.text)}`
  }
  return path
}

/**
 * Up to which of its steps a chain is known not to be null: what a longer path was read through is there too. Beyond a
 * pluck, which is about elements, nothing is known. -1 for an unknown chain.
 */
export function presentUpTo(chain: Syntax.Chain, present: Scope["present"]): number {
  if (present.size === 0) return -1
  const pluck = chain.steps.findIndex((step) => step.kind === "pluck")
  for (let count = chain.steps.length; count >= 0; count--) {
    const path = pathUpTo(chain, count)
    if (path !== undefined && present.has(path)) return pluck < 0 ? count : Math.min(count, pluck)
  }
  return -1
}
