import { eachChain } from "../syntax/each-chain.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import type { Scope } from "./scope.ts"

/** Reports secrets in the value of a `match` on plain values, which is a comparison too. */
export function refuseSecrets(checking: CheckContext, node: Syntax.Expression, scope: Scope): void {
  if (scope.secrets !== "allowed") return
  eachChain(node, (chain) => {
    if (checking.roots.get(chain)?.kind === "secrets") secretCompared(checking, chain, scope.path)
  })
}

export function secretCompared(checking: CheckContext, chain: Syntax.Chain, path: string): void {
  const message = `\`${checking.quote(chain)}\` may not be compared: that would reveal a secret bit by bit`
  checking.report("secret-exposed", path, chain, message, "Decide by a value of `input` instead.")
}
