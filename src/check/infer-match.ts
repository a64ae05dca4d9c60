import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { unknownCase, untypedHint } from "./infer-steps.ts"
import { asWritten, listed } from "./known-list.ts"
import { caseRecord, isAssignable, maybe, nullable, resolve, union, withoutNull } from "../types/relations.ts"
import type { Infer, Scope } from "./scope.ts"
import { showType } from "../types/show-type.ts"
import type { Type, VariantType } from "../types/types.ts"

const errorType: Type = { kind: "error" }

/** `match v { … }`: every case or `_`, all branches of one type. */
export function inferMatch(checking: CheckContext, node: Syntax.MatchNode, scope: Scope, infer: Infer): Type {
  // Only one text can be the instruction: a branch would lose the assets in it.
  const inBranch: Scope = scope.assets === "text" ? { ...scope, assets: "none" } : scope
  const value = infer(checking, node.value, { ...scope, assets: "none" })
  const variant = resolve(withoutNull(value, checking.types), checking.types)
  if (variant.kind !== "variant") {
    if (variant.kind !== "error") {
      const message = `\`match\` needs a variant, found ${showType(value)}`
      checking.report("type-mismatch", scope.path, node.value, message, untypedHint(variant))
    }
    // What stands at a case cannot be told; the rest still can.
    for (const { case: name, value: branch } of node.body.items) {
      if (name === undefined) infer(checking, branch, inBranch)
      else if (branch.kind === "default") infer(checking, branch.right, inBranch)
    }
    return errorType
  }
  checking.tags.set(node, variant.tag)
  const types = branchTypes(checking, node, variant, inBranch, infer)
  checkExhaustive(checking, node, variant, nullable(value, checking.types), scope.path)
  return joinBranches(checking, types, scope.path)
}

interface BranchType {
  readonly branch: Syntax.MatchBranch
  readonly type: Type
}

function branchTypes(
  checking: CheckContext,
  node: Syntax.MatchNode,
  variant: VariantType,
  scope: Scope,
  infer: Infer,
): BranchType[] {
  const types: BranchType[] = []
  for (const branch of node.body.items) {
    if (branch.case !== undefined) {
      const record = caseRecord(variant, branch.case.text)
      if (record === undefined) {
        unknownCase(checking, variant, branch.case, scope.path)
        if (branch.value.kind === "default") infer(checking, branch.value.right, scope)
        continue
      }
      const chain = branchChain(branch.value)
      if (chain !== undefined) checking.matched.set(chain, record)
    }
    types.push({ branch, type: infer(checking, branch.value, scope) })
  }
  return types
}

/** The chain that begins with the case's name: the branch itself, or the left side of its default. */
export function branchChain(value: Syntax.Expression): Syntax.Chain | undefined {
  if (value.kind === "chain") return value
  return value.kind === "default" && value.left.kind === "chain" ? value.left : undefined
}

function checkExhaustive(
  checking: CheckContext,
  node: Syntax.MatchNode,
  variant: VariantType,
  mayBeNull: boolean,
  path: string,
): void {
  const missing = new Set(variant.cases.map((one) => one.name))
  let needsRest = mayBeNull
  for (const branch of node.body.items) {
    const name = branch.case?.text
    if (name === undefined) {
      if (missing.size === 0 && !needsRest) unreachable(checking, branch, path, "Every case has its branch already")
      missing.clear()
      needsRest = false
    } else if (caseRecord(variant, name) !== undefined && !missing.delete(name)) {
      unreachable(checking, branch, path, `The case \`${asWritten(name)}\` is taken by a branch before this one`)
    }
  }
  if ((missing.size > 0 || needsRest) && checking.isBroken(node.body)) return
  if (missing.size > 0) {
    const names = listed(
      [...missing].map((name) => ({ name })),
      asWritten,
    )
    const what = missing.size === 1 ? "the case" : "the cases"
    const hint = `Add ${missing.size === 1 ? "a branch for it" : "a branch for each"}, or \`_\` for the rest.`
    checking.report("non-exhaustive-match", path, node.keyword, `This match leaves out ${what} ${names}`, hint)
  } else if (needsRest) {
    const message = `\`${checking.quote(node.value)}\` may be null, which no branch of this match takes`
    checking.report("non-exhaustive-match", path, node.keyword, message, "Add a branch `_`.")
  }
}

function unreachable(checking: CheckContext, branch: Syntax.MatchBranch, path: string, message: string): void {
  checking.report("unreachable-branch", path, branch, message, "Remove this branch.")
}

/** One type for all branches: literals count as strings, and some of the branches may be null. */
function joinBranches(checking: CheckContext, branches: readonly BranchType[], path: string): Type {
  const { types } = checking
  let joined: Type | undefined
  let mayBeNull = false
  for (const { branch, type } of branches) {
    if (type.kind === "error") return errorType
    mayBeNull ||= nullable(type, types)
    if (type.kind === "null") continue
    const plain = withoutLiterals(withoutNull(type, types))
    if (joined !== undefined) checking.fit(plain, joined)
    if (joined === undefined || isAssignable(joined, plain, types)) {
      // What a branch is of which nothing is known, nobody knows of the whole.
      if (joined?.kind !== "any") joined = plain
    } else if (!isAssignable(plain, joined, types)) {
      const message = `This branch is ${showType(plain)}, while those before it are ${showType(joined)}`
      checking.report("mixed-branches", path, branch.value, message, "Make all branches one type.")
      return errorType
    }
  }
  if (joined === undefined) return branches.length === 0 ? errorType : { kind: "null" }
  return mayBeNull ? maybe(joined) : joined
}

function withoutLiterals(type: Type): Type {
  if (type.kind === "literal") return { kind: "string" }
  return type.kind === "union" ? union(type.members.map(withoutLiterals)) : type
}
