/**
 * The forms of the keys of well-known services, each precise enough that prose, hashes and names do not have it. Every repetition is
 * bounded, so that a text is searched in one pass.
 */
const forms: readonly string[] = [
  // OpenAI, Anthropic, OpenRouter, DeepSeek and others: words, then letters and digits in a row.
  "sk-(?:[A-Za-z0-9]{1,20}[-_]){0,4}(?:(?=[A-Za-z]{0,64}\\d)(?=\\d{0,64}[A-Za-z])[A-Za-z0-9]{12,200}|[A-Za-z0-9]{24,200})",
  "(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,200}",
  "gh[oprsu]_[A-Za-z0-9]{16,255}",
  "github_pat_[A-Za-z0-9_]{20,255}",
  "glpat-[A-Za-z0-9_-]{16,64}",
  "xox[abeoprs]-(?=[A-Za-z-]{0,64}\\d)[A-Za-z0-9-]{10,255}",
  "xapp-\\d-[A-Za-z0-9-]{10,255}",
  "(?:AKIA|ASIA)[A-Z0-9]{16}\\b",
  "AIza[A-Za-z0-9_-]{30,40}",
  "ya29\\.[A-Za-z0-9_-]{20,255}",
  "(?:hf|gsk|r8|npm)_[A-Za-z0-9]{30,64}",
  "(?:xai|pplx)-[A-Za-z0-9]{30,128}",
  "dop_v1_[a-f0-9]{40,64}",
  "lin_api_[A-Za-z0-9]{30,64}",
  "shpat_[a-f0-9]{32}",
  "whsec_[A-Za-z0-9+/=]{24,128}",
  "SG\\.[A-Za-z0-9_-]{16,64}\\.[A-Za-z0-9_-]{16,64}",
  "pypi-AgEIcHlwaS[A-Za-z0-9_-]{20,255}",
  "eyJ[A-Za-z0-9_-]{10,300}\\.eyJ[A-Za-z0-9_-]{4,4000}\\.[A-Za-z0-9_-]{10,1000}",
]

/** The first line of a key behind its head, however deep it is indented; `/` for a key in a doc comment. */
const pem = "-----BEGIN [A-Z ]{0,20}PRIVATE KEY(?: BLOCK)?-----(?:[\\s/]|\\\\[nr]){1,200}[A-Za-z0-9+/=]{40}"

const known = new RegExp(`(?<![A-Za-z0-9_])(?:${forms.join("|")})|${pem}`, "g")

/** What people write in place of a key. */
const placeholder = /your|example|EXAMPLE|placeholder|redacted|dummy|x{4}|\*{3}/

/** The keys of well-known services in a text, by their offsets. */
export function* knownCredentials(text: string): Generator<{ readonly start: number; readonly end: number }> {
  for (const { 0: found, index } of text.matchAll(known)) {
    if (placeholder.test(found) || new Set(found).size < 8) continue
    yield { start: index, end: index + found.length }
  }
}

export function holdsKnownCredential(text: string): boolean {
  return !knownCredentials(text).next().done
}

/** Parts of names that say what a value is for: `X-Api-Key`, `accessToken`, `db_password`. */
const credentialName =
  /(?:^|_)(?:api_?key|access_?key|secret_?key|private_?key|auth_?key|subscription_?key|token|secret|password|passwd|passphrase|credentials?|authorization|cookie)$/

/** Tokens that are no credentials. */
const otherTokens =
  /(?:^|_)(?:page|next|previous|continuation|continue|sync|cursor|resume|stop|start|end|max|min|idempotency|client|request)_token$/

/** Whether a header, argument or parameter of this name is for credentials. */
export function isForCredentials(name: string): boolean {
  const words = name
    .replace(/([a-z])(?=[A-Z])/g, "$1_")
    .replace(/[-.\s]/g, "_")
    .toLowerCase()
  return credentialName.test(words) && !otherTokens.test(words)
}
