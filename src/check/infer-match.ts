import { type Hint, write } from "../source/hint.ts"
import { branchChain, branchLabel, isShortBranch } from "../syntax/match-branch.ts"
import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import { inAlternative, inValue } from "./allowance.ts"
import type { CheckContext } from "./check-context.ts"
import { unknownCase, untypedHint } from "./infer-steps.ts"
import { choiceOf, listLabels, showLabel, type Choice } from "./match-choice.ts"
import { narrowed, pathOf, pathOfCase } from "./narrowing.ts"
import { errorType, nullType } from "../types/primitives.ts"
import {
  caseRecord,
  isAssignable,
  maybe,
  nullable,
  plainType,
  withoutLiterals,
  withoutNull,
} from "../types/relations.ts"
import { eitherOf } from "../types/either-of.ts"
import type { Infer, Scope } from "./scope.ts"
import { refuseSecrets } from "./rules/secret-exposed.ts"
import { showType } from "../types/show-type.ts"
import type { Type } from "../types/types.ts"

/** `match v { … }`: every case or `_`, all branches of one type. */
export function inferMatch(checking: CheckContext, node: Syntax.MatchNode, scope: Scope, infer: Infer): Type {
  const inBranch = inAlternative(scope)
  const value = infer(checking, node.value, inValue(scope))
  const choice = choiceOf(value, checking.types)
  if (choice === undefined) {
    const plain = plainType(value, checking.types)
    if (plain.kind !== "error" && !checking.skipped.hasError(node.body)) {
      const message = `\`match\` needs a variant, an enum, a boolean or string literals, found ${showType(value)}`
      const hint = plain.kind === "string" ? textHint(checking, node) : untypedHint(value)
      checking.report("type-mismatch", scope.path, node.value, message, hint)
    }
    for (const branch of node.body.items) inferUnplaced(checking, branch, inBranch, infer)
    return errorType
  }
  if (choice.variant !== undefined) checking.tags.set(node, choice.variant.tag)
  else refuseSecrets(checking, node.value, scope)
  const mayBeNull = nullable(value, checking.types)
  const types = branchTypes(checking, node, choice, inBranch, infer)
  checkExhaustive(checking, node, choice, mayBeNull, scope.path, types)
  return joinBranches(checking, types, scope.path)
}

/** A text may be anything: it is compared, or has a type that lists what it may be. */
function textHint(checking: CheckContext, { value, body }: Syntax.MatchNode): string | undefined {
  const [first] = body.items.flatMap(({ case: name }) => (name === undefined ? [] : [name.text]))
  if (first === undefined) return undefined
  const compared = `${checking.quote(value)} == ${JSON.stringify(first)}`
  return `Write \`match ${compared} { true: …, false: … }\`, or give it the type \`enum { … }\`.`
}

/** A branch whose case is unknown: its value is still checked as far as possible. */
function inferUnplaced(checking: CheckContext, branch: Syntax.MatchBranch, scope: Scope, infer: Infer): void {
  if (!isShortBranch(branch)) infer(checking, branch.value, scope)
  else if (branch.value.kind === "default") infer(checking, branch.value.right, scope)
}

interface BranchType {
  readonly branch: Syntax.MatchBranch
  readonly type: Type
}

function branchTypes(
  checking: CheckContext,
  node: Syntax.MatchNode,
  choice: Choice,
  scope: Scope,
  infer: Infer,
): BranchType[] {
  const path = pathOf(node.value)
  const types: BranchType[] = []
  let wrong: Syntax.MatchBranch | undefined
  for (const branch of node.body.items) {
    const label = branchLabel(branch)
    // `case value`: the value is not a second branch, but lacks the colon before it.
    const isKnown = label.kind === "name" && choice.labels.has(label.name)
    if (wrong !== undefined && !isKnown && isShortBranch(branch) && isOneLine(checking, wrong, branch)) continue
    wrong = undefined
    if (!takesBranch(checking, branch, choice, scope)) {
      inferUnplaced(checking, branch, scope, infer)
      if (isShortBranch(branch)) wrong = branch
      continue
    }
    const present: string[] = []
    if (path !== undefined && label.kind !== "rest" && !(label.kind === "value" && label.value === null)) {
      present.push(path)
      if (choice.variant !== undefined && label.kind === "name") present.push(pathOfCase(path, label.name))
    }
    types.push({ branch, type: infer(checking, branch.value, narrowed(scope, present)) })
  }
  return types
}

/** Whether a branch is one of this match; reports one that is not. */
function takesBranch(checking: CheckContext, branch: Syntax.MatchBranch, choice: Choice, scope: Scope): boolean {
  const label = branchLabel(branch)
  const name = branch.case
  if (name === undefined || label.kind === "rest" || (label.kind === "value" && label.value === null)) return true
  const known = choice.labels
  const wanted = label.kind === "name" ? label.name : label.value
  if (wanted === null || !known.has(wanted)) {
    const isQuotable = label.kind === "value" && known.has(String(label.value))
    const quoted = `"${String(wanted)}"`
    const hint = isQuotable
      ? write(quoted, undefined, `Write \`${quoted}: …\`: bare, it is the value.`)
      : elseHint(name)
    unknownCase(checking, known, name, scope.path, hint)
    return false
  }
  const chain = branchChain(branch)
  if (chain === undefined) return true
  const record = choice.variant && caseRecord(choice.variant, name.text)
  if (record === undefined) {
    const message = "Only a case of a variant has fields to read"
    if (!checking.skipped.hasError(lineFrom(checking, branch)))
      checking.report("type-mismatch", scope.path, branch, message, `Write \`${checking.quote(name)}: value\`.`)
    return false
  }
  checking.matched.set(chain, record)
  return true
}

/** `else: …`, `default: …` */
function elseHint({ text, quoted }: Syntax.Name): Hint | undefined {
  return !quoted && (text === "else" || text === "default" || text === "otherwise")
    ? write("_", undefined, "The rest is written `_ value`.")
    : undefined
}

function checkExhaustive(
  checking: CheckContext,
  node: Syntax.MatchNode,
  choice: Choice,
  mayBeNull: boolean,
  path: string,
  types: readonly BranchType[],
): void {
  const known = choice.labels
  const missing = new Set(known)
  let needsNull = mayBeNull
  // Wrong branches, each of which may be meant for a case that has none: those of unknown cases, and those that may be two.
  let unclear = types.filter(({ branch, type }) => type.kind === "error" && isOverLines(checking, branch)).length
  for (const branch of node.body.items) {
    const label = branchLabel(branch)
    if (label.kind === "rest") {
      if (missing.size === 0 && !needsNull) unreachable(checking, branch, path, "Every case has its branch already")
      missing.clear()
      needsNull = false
    } else if (label.kind === "value" && label.value === null) {
      if (!mayBeNull) {
        unreachable(checking, branch, path, `\`${checking.quote(node.value)}\` is never null`)
      } else if (!needsNull) unreachable(checking, branch, path, "Null is taken by a branch before this one")
      needsNull = false
    } else {
      const wanted = label.kind === "name" ? label.name : label.value
      // Branches of plain values have a colon: one without may lack its `_`.
      if (wanted === null || !known.has(wanted))
        unclear += choice.variant === undefined && isShortBranch(branch) ? known.size : 1
      if (wanted === null || !known.has(wanted) || missing.delete(wanted)) continue
      unreachable(checking, branch, path, `The case \`${showLabel(wanted)}\` is taken by a branch before this one`)
    }
  }
  if (missing.size + (needsNull ? 1 : 0) <= unclear || checking.skipped.isBroken(node.body)) return
  if (missing.size > 0) {
    const what = missing.size === 1 ? "the case" : "the cases"
    const hint = `Add ${missing.size === 1 ? "a branch for it" : "a branch for each"}, or \`_\` for the rest.`
    checking.report(
      "non-exhaustive-match",
      path,
      node.keyword,
      `This match leaves out ${what} ${listLabels(missing)}`,
      hint,
    )
  } else if (needsNull) {
    const message = `\`${checking.quote(node.value)}\` may be null, which no branch of this match takes`
    checking.report("non-exhaustive-match", path, node.keyword, message, "Add a branch `null: …`, or `_` for the rest.")
  }
}

/** From the branch to the end of its line. */
function lineFrom({ tree }: CheckContext, { start, end }: Syntax.MatchBranch): Span {
  const newline = tree.text.indexOf("\n", end)
  return { start, end: newline < 0 ? tree.text.length : newline }
}

function isOneLine(checking: CheckContext, { start }: Syntax.MatchBranch, { end }: Syntax.MatchBranch): boolean {
  return !/[\r\n]/.test(checking.textOf({ start, end }))
}

/** `case.path` and, on the next line, `.path`: the name of the second case may be missing. */
function isOverLines(checking: CheckContext, branch: Syntax.MatchBranch): boolean {
  return isShortBranch(branch) && /[\r\n]/.test(checking.textOf(branch))
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
    if (joined === undefined) {
      joined = plain
      continue
    }
    checking.fit(plain, joined)
    if (isAssignable(joined, plain, types) || isAssignable(plain, joined, types)) {
      joined = eitherOf(joined, plain, types)
    } else {
      const message = `This branch is ${showType(plain)}, while those before it are ${showType(joined)}`
      checking.report("mixed-branches", path, branch.value, message, "Make all branches one type.")
      return errorType
    }
  }
  if (joined === undefined) return branches.length === 0 ? errorType : nullType
  return mayBeNull ? maybe(joined) : joined
}
