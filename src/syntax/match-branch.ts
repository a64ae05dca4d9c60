import type { Chain, MatchBranch } from "./tree.ts"

/** Whether a branch is written `case.path`. */
export function isShortBranch(branch: MatchBranch): boolean {
  return branch.case !== undefined && branch.colon === undefined
}

/** In a short branch, the chain that begins with the case's name: the branch itself, or the left side of its default. */
export function branchChain(branch: MatchBranch): Chain | undefined {
  if (!isShortBranch(branch)) return undefined
  const { value } = branch
  if (value.kind === "chain") return value
  return value.kind === "default" && value.left.kind === "chain" ? value.left : undefined
}

/** What a branch takes. */
export type BranchLabel =
  | { readonly kind: "rest" }
  /** A case of a variant, or a string. */
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "value"; readonly value: true | false | null }

export function branchLabel(branch: MatchBranch): BranchLabel {
  const name = branch.case
  if (name === undefined) return { kind: "rest" }
  if (!name.quoted && branch.colon !== undefined) {
    // Bare, these are the values; a case or member of that name is quoted.
    if (name.text === "true") return { kind: "value", value: true }
    if (name.text === "false") return { kind: "value", value: false }
    if (name.text === "null") return { kind: "value", value: null }
  }
  return { kind: "name", name: name.text }
}
