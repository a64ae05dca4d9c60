import { diagnostic, type Diagnostic } from "../../source/diagnostic.ts"
import { eachChain } from "../../syntax/each-chain.ts"
import type * as Syntax from "../../syntax/tree.ts"
import type { CheckContext } from "../check-context.ts"
import type { Scope } from "../scope.ts"
import type { SentSecrets } from "../secret-routes.ts"

// No expression may pass a secret to a model or a caller, nor compare one, which would reveal it bit by bit.

/** Reports a secret in an expression whose scope does not allow one. */
export function secretExposed(checking: CheckContext, chain: Syntax.Chain, scope: Scope): void {
  if (scope.secrets === "compared") return secretCompared(checking, chain, scope.path)
  if (scope.secrets === "computed") return secretComputed(checking, chain, scope.path)
  const hint = "Secrets belong in an `endpoint`, `api_key` or `headers`, and in the `bindings` of tools and resources."
  report(checking, chain, scope.path, `in ${scope.place}`, hint)
}

/** Reports a secret in a setting whose value has to be written out. */
export function secretInSetting(checking: CheckContext, chain: Syntax.Chain, path: string): void {
  const hint = path.includes(".hosted_tools[")
    ? "Tools of a provider have no login of their own: remove it."
    : "Send it in `headers { }`."
  report(checking, chain, path, "here", hint)
}

function secretCompared(checking: CheckContext, chain: Syntax.Chain, path: string): void {
  const message = `\`${checking.quote(chain)}\` may not be compared: that would reveal a secret bit by bit`
  checking.report("secret-exposed", path, chain, message, "Decide by a value of `input` instead.")
}

function secretComputed(checking: CheckContext, chain: Syntax.Chain, path: string): void {
  const message = `\`${checking.quote(chain)}\` may not be computed with: functions and operators take no secret`
  checking.report("secret-exposed", path, chain, message, "Store it as it is sent, and use it so.")
}

/** Reports secrets in the value of a `match` on plain values, which is a comparison too. */
export function refuseSecrets(checking: CheckContext, node: Syntax.Expression, scope: Scope): void {
  if (scope.secrets !== "allowed") return
  eachChain(node, (chain) => {
    if (checking.roots.get(chain)?.kind === "secrets") secretCompared(checking, chain, scope.path)
  })
}

/** Reports a secret of the server's own that goes to a backend whose address or headers the input decides. */
export function serverSecretExposed(secret: string, { path, span }: SentSecrets): Diagnostic {
  return diagnostic(
    "secret-exposed",
    path,
    span,
    `The server's own secret \`${secret}\` would go where the input says`,
    "Write the endpoint, headers and `auth` without `input`, or remove the secret from the server so that callers send their own.",
  )
}

function report(checking: CheckContext, chain: Syntax.Chain, path: string, place: string, hint: string): void {
  const written = checking.quote(chain)
  const message = `\`${written}\` is not allowed ${place}: no expression may pass a secret to a model or a caller`
  checking.report("secret-exposed", path, chain, message, hint)
}
