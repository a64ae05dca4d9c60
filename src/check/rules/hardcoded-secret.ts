import type { DataOf, Hint } from "../../source/hint.ts"
import { openingCommentEnd } from "../../source/opening-comment.ts"
import { type Span, firstFrom } from "../../source/span.ts"
import { unescape } from "../../syntax/string-value.ts"
import type * as Syntax from "../../syntax/tree.ts"
import type { CheckContext } from "../check-context.ts"
import { holdsKnownCredential, isForCredentials, knownCredentials } from "../known-credentials.ts"
import { literalsIn, outcomesOf } from "../outcomes-of.ts"

/** How the keys of well-known services begin. */
const knownPrefix =
  /^(?:sk|pk|rk|ak)[-_]|^(?:gh[opsu]_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|AIza|ya29\.|eyJ|hf_|gsk_|xai-|r8_|dop_v1_|npm_)/

/** `AKIAIOSFODNN7EXAMPLE` and its secret key stand in the documentation of AWS. */
const ofDocumentation = /[A-Z0-9]EXAMPLE(?:KEY)?$/

const scheme = /^(?:bearer\s+\S|(?:basic|token|apikey)\s+\S{8,}$)/i

const found = "A credential is written into the source"
type SecretHint = Hint<DataOf<"hardcoded-secret">>

const move: SecretHint = {
  text: "Declare it in `secrets { }` and refer to it: `secrets.name`.",
  data: { kind: "movable", isPart: false },
}

/**
 * The value of an `api_key` or of a header: a credential in the source is an error. Any other literal where credentials belong is a
 * warning, since local backends take a dummy. `header`: the name of the header.
 */
export function checkHardcodedSecret(
  checking: CheckContext,
  node: Syntax.Expression,
  path: string,
  header?: string,
): void {
  const literals = literalsIn(node)
  const credential = literals.find((literal) => literal.texts.some(looksLikeCredential))
  if (credential !== undefined) checking.report("hardcoded-secret", path, credential, found, move)
  else if (header === undefined) warnOfLiteral(checking, literals, path, "An API key is written into the source", move)
  else if (isForCredentials(header)) warnOfLiteral(checking, filled(literals), path, writtenOut(header), move)
}

/** Without those that say that there is no credential. */
function filled(literals: readonly Syntax.StringNode[]): Syntax.StringNode[] {
  return literals.filter(({ texts }) => texts.some((text) => text.trim() !== ""))
}

function writtenOut(name: string): string {
  return `\`${name}\` is for a credential, and is written into the source`
}

function warnOfLiteral(
  checking: CheckContext,
  literals: readonly Syntax.StringNode[],
  path: string,
  message: string,
  hint: SecretHint,
): void {
  const plain = literals.find(({ interpolations }) => interpolations.length === 0)
  if (plain === undefined) return
  const isVariable = /^\$\{?\w+\}?$/.test(plain.texts[0] ?? "")
  const said = isVariable ? "There are no variables of the environment" : message
  checking.report("hardcoded-secret", path, plain, said, hint, "warning")
}

const hintsOfArguments = {
  /** Secrets may stand there. */
  bindings: () => move,
  input: (name: string) => `Declare it in \`secrets { }\`, and write \`bindings { ${name}: secrets.name }\`.`,
  extra: () => "Declare it in `secrets { }`, and send it in the `headers { }` of the provider.",
}

/** A value that goes to a tool or a model's API under a name; one inside of objects and lists, too. */
export function checkArgumentSecret(
  checking: CheckContext,
  name: string,
  node: Syntax.Expression,
  path: string,
  block: keyof typeof hintsOfArguments,
): void {
  for (const one of outcomesOf(node)) {
    if (one.kind === "object") {
      for (const field of one.body.items) {
        checkArgumentSecret(checking, field.name.text, field.value, `${path}.${field.name.text}`, block)
      }
    } else if (one.kind === "array") {
      for (const item of one.items) checkArgumentSecret(checking, name, item, path, block)
    }
  }
  if (!isForCredentials(name)) return
  const literals = literalsIn(node)
  const hint = hintsOfArguments[block](name)
  const credential = literals.find((literal) => literal.texts.some(looksLikeCredential))
  if (credential !== undefined) checking.report("hardcoded-secret", path, credential, found, hint)
  else warnOfLiteral(checking, filled(literals), path, writtenOut(name), hint)
}

/** `?api_key=…` in an endpoint; `key` and `code` are for credentials there alone. */
export function checkEndpointQuery(checking: CheckContext, node: Syntax.StringNode, path: string): void {
  const written = checking.textOf(node)
  const query = written.indexOf("?")
  if (query < 0) return
  for (const { 0: pair, 1: name = "", 2: value = "", index } of written.matchAll(/[?&]([\w.-]{1,80})=([^&#"{}\s]+)/g)) {
    if (index < query || !(isForCredentials(name) || /^(?:key|code|sig|auth)$/i.test(name))) continue
    const end = node.start + index + pair.length
    const span = { start: end - value.length, end }
    if (looksLikeCredential(value)) checking.report("hardcoded-secret", path, span, found, inText)
    else checking.report("hardcoded-secret", path, span, writtenOut(name), inText, "warning")
  }
}

const inText: SecretHint = {
  text: "Declare it in `secrets { }` and refer to it: `{{ secrets.name }}`.",
  data: { kind: "movable", isPart: true },
}

/** More of them are one mistake. */
const maxFound = 100

/** Keys of well-known services, wherever a model or a caller reads them. What other checks have found is not reported again. */
export function checkKnownCredentials(checking: CheckContext): void {
  const { tree, diagnostics } = checking
  let reported: Span[] | undefined
  let count = 0
  for (const span of credentialsIn(tree)) {
    reported ??= diagnostics.filter(({ code }) => code === "hardcoded-secret").map((one) => one.span)
    if (reported.some(({ start, end }) => start < span.end && span.start < end)) continue
    if (++count > maxFound) return
    reported.push(span)
    const path = pathAt(tree, span.start)
    checking.report("hardcoded-secret", path, span, found, hintAt(path))
  }
}

function* credentialsIn({ text, tokens }: Syntax.Tree): Generator<Span> {
  let descriptionEnd: number | undefined
  for (const match of knownCredentials(text)) {
    const next = firstFrom(tokens, match.start + 1)
    const token = tokens[next - 1]
    if (token !== undefined && match.start < token.end) {
      if (isRead.has(token.kind) && match.end <= token.end) yield match
    } else {
      const comments = tokens[next]?.comments ?? []
      const isDoc = comments[firstFrom(comments, match.start + 1) - 1]?.style === "doc"
      // The first comment of a file describes the workflow. Other comments reach nobody.
      if (isDoc || (next === 0 && match.start < (descriptionEnd ??= openingCommentEnd(text)))) yield match
    }
  }
  if (!text.includes("\\")) return
  for (const { kind, start, end } of tokens) {
    if (!isRead.has(kind)) continue
    const written = text.slice(start, end)
    if (written.includes("\\") && holdsKnownCredential(unescape(written))) yield { start, end }
  }
}

/** Names of fields and values of enums reach the model, too. */
const isRead: ReadonlySet<string> = new Set(["string", "head", "middle", "tail", "name"])

/** Secrets go to servers only: elsewhere the credential can only be removed. */
function hintAt(path: string): SecretHint {
  if (/^(?:provider|mcp|api)\.[^.]+\.(?:endpoint|api_key|headers|auth)\b|\.bindings\./.test(path)) return inText
  if (/\.input\./.test(path)) return "Declare it in `secrets { }`, and set it in the `bindings { }` of the tool."
  return "Remove it, and replace the key: models and callers read this text. Secrets go to servers only, in `headers { }` or `bindings { }`."
}

/** The dotted place of an offset: the declaration around it, and the names of properties and fields on the way. */
function pathAt({ text, declarations }: Syntax.Tree, offset: number): string {
  const declaration = declarations.find(({ start, end }) => start <= offset && offset < end)
  if (declaration === undefined) return ""
  const word = text.slice(declaration.keyword.start, declaration.keyword.end)
  const head = "name" in declaration && declaration.name !== undefined ? [word, declaration.name.text] : [word]
  return [...head, ...namesTo(declaration, offset)].join(".")
}

function namesTo(node: object, offset: number): string[] {
  for (const part of Object.values(node).flat() as unknown[]) {
    if (typeof part !== "object" || part === null) continue
    const { kind, name, start, end } = part as Partial<Span> & { readonly kind?: string; readonly name?: Syntax.Name }
    if (start !== undefined && end !== undefined && (offset < start || end <= offset)) continue
    const names = namesTo(part, offset)
    if (name !== undefined && named.has(kind ?? "")) return [name.text, ...names]
    if (names.length > 0) return names
  }
  return []
}

const named: ReadonlySet<string> = new Set(["property", "value-field", "type-field", "variant-case"])

function looksLikeCredential(text: string): boolean {
  const trimmed = text.trim()
  if (scheme.test(trimmed) || holdsKnownCredential(trimmed)) return true
  return trimmed.split(/\s+/).some((word) => {
    if (ofDocumentation.test(word)) return false
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
