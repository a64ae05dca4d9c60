import type * as Syntax from "../../syntax/tree.ts"
import type { CheckContext } from "../check-context.ts"
import { literalsIn } from "../outcomes-of.ts"

/** How the keys of well-known services begin. */
const knownPrefix =
  /^(?:sk|pk|rk|ak)[-_]|^(?:gh[opsu]_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|AIza|ya29\.|eyJ|hf_|gsk_|xai-|r8_|dop_v1_|npm_)/

const scheme = /^(?:bearer\s+\S|(?:basic|token|apikey)\s+\S{8,}$)/i

/** A credential in the source is an error; any other literal key is a warning, since local backends take a dummy. */
export function checkHardcodedSecret(
  checking: CheckContext,
  node: Syntax.Expression,
  path: string,
  place: "api_key" | "header",
): void {
  const literals = literalsIn(node)
  const credential = literals.find((literal) => literal.texts.some(looksLikeCredential))
  const hint = "Declare it in `secrets { }` and refer to it: `secrets.name`."
  if (credential !== undefined)
    return checking.report("hardcoded-secret", path, credential, "A credential is written into the source", hint)
  if (place !== "api_key") return
  const plain = literals.find((literal) => literal.interpolations.length === 0)
  if (plain !== undefined) {
    const isVariable = /^\$\{?\w+\}?$/.test(plain.texts[0] ?? "")
    const message = isVariable ? "There are no variables of the environment" : "An API key is written into the source"
    checking.report("hardcoded-secret", path, plain, message, hint, "warning")
  }
}

function looksLikeCredential(text: string): boolean {
  const trimmed = text.trim()
  if (scheme.test(trimmed)) return true
  return trimmed.split(/\s+/).some((word) => {
    return /^sk-./.test(word) || (word.length >= 8 && knownPrefix.test(word)) || isRandomToken(word)
  })
}

/** Names of things, more often than keys. */
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Long, of the letters that tokens are made of, and as mixed as only chance mixes them. */
function isRandomToken(word: string): boolean {
  if (uuid.test(word)) return false
  // Without any punctuation it need not be as long.
  if (word.length < (/^[A-Za-z0-9]+$/.test(word) ? 20 : 24) || !/^[A-Za-z0-9_\-+/=.~]+$/.test(word)) return false
  const digits = word.replace(/\D/g, "").length
  const letters = word.replace(/[^A-Za-z]/g, "").length
  if (digits < 3 || letters < 3) return false
  const counts = new Map<string, number>()
  for (const letter of word) counts.set(letter, (counts.get(letter) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits -= (count / word.length) * Math.log2(count / word.length)
  return bits > 3.3
}
