import type { DiagnosticCode } from "./codes.ts"
import type { Span } from "./span.ts"

/** Code that a hint shows. Any diagnostic may have it. */
export type ShownCode =
  /** Replaces `span`, by default that of the diagnostic. `isSpelling`: a name that was probably misspelt. */
  | { readonly kind: "write"; readonly text: string; readonly span?: Span; readonly isSpelling?: true }
  /** Only the author can complete it. */
  | { readonly kind: "example"; readonly text: string }

/** The value for a place where null is not allowed. */
interface DefaultValue {
  readonly kind: "default"
  readonly value: string
}

/** `span`: what is removed, by default what the diagnostic is about. */
interface Surplus {
  readonly kind: "remove"
  readonly span?: Span
}

/** The call around the diagnostic, written anew. */
interface Call {
  readonly kind: "call"
  readonly text: string
}

interface DataByCode {
  readonly "array-access": { readonly kind: "elements" }
  readonly "constant-condition": { readonly kind: "always"; readonly value: boolean }
  /** `isPart`: the credential is a part of a text. */
  readonly "hardcoded-secret": { readonly kind: "movable"; readonly isPart: boolean }
  /** `type`: of a secret that this file has to declare. */
  readonly "invalid-score": Surplus
  readonly "missing-secret": { readonly kind: "secret"; readonly name: string; readonly type: string | undefined }
  readonly "nullable-access": DefaultValue | { readonly kind: "condition"; readonly test: string }
  readonly "nullable-interpolation": DefaultValue
  readonly "syntax-error":
    | Call
    | Surplus
    | { readonly kind: "dashed-name" | "unclosed-string" | "unclosed-interpolation" }
  readonly "type-mismatch":
    | { readonly kind: "test"; readonly text: string }
    | { readonly kind: "missing-colon" | "surplus-colon" }
  readonly "unknown-function": Call
  readonly "unknown-property": Surplus
  readonly "unsupported-asset": { readonly kind: "asset"; readonly asset: string; readonly model: string }
  /** References to where untrusted text comes from, and to what it passes. */
  readonly "untrusted-action": { readonly kind: "way"; readonly places: readonly string[] }
}

/** What a diagnostic is about. Quick fixes are made from it, so that every message can be reworded. */
export type DataOf<Code extends DiagnosticCode> = ShownCode | (Code extends keyof DataByCode ? DataByCode[Code] : never)

/** A sentence that says what to do, with the data for a fix. */
export interface Advice<Data = ShownCode> {
  readonly text: string
  readonly data?: Data
  /** It says what is allowed, and not what to write here. */
  readonly isGeneral?: true
}

export type Hint<Data = ShownCode> = string | Advice<Data>

/** The codes of the mistakes that the parser reports. */
export type SyntaxCode = "syntax-error" | "unknown-function" | "mixed-keys"

export type SyntaxHint = Hint<DataOf<SyntaxCode>>

/** "Write `code`." What has a `…` is left to the author, as is code that was cut. */
export function write(code: string, span?: Span, text = `Write \`${code}\`.`): Advice {
  if (code.includes("…")) return { text, data: { kind: "example", text: code } }
  return { text, data: { kind: "write", text: code, ...(span && { span: { start: span.start, end: span.end } }) } }
}

/** "Write `code`.", where the code is no replacement for what the diagnostic points at. */
export function example(code: string): Advice {
  return { text: `Write \`${code}\`.`, data: { kind: "example", text: code } }
}

/** "Write `value ?? other`." */
export function writeDefault(value: string, other: string): Advice<DefaultValue> {
  return { text: `Write \`${value} ?? ${other}\`.`, data: { kind: "default", value: other } }
}

/** "Did you mean `word`?" */
export function meantWord(word: string, more = ""): Advice {
  const text = `Did you mean \`${word}\`?${more === "" ? "" : ` ${more}`}`
  return { text, data: { kind: "write", text: word, isSpelling: true } }
}

/** "Did you mean agent.name?" `span`: of the whole reference. */
export function meantReference(reference: string, span: Span, shown = reference): Advice {
  const { start, end } = span
  const text = `Did you mean ${shown}?`
  if (reference.includes("…")) return { text, data: { kind: "example", text: reference } }
  return { text, data: { kind: "write", text: reference, span: { start, end }, isSpelling: true } }
}

/** "Remove it: why." */
export function removeIt(why?: string): Advice<Surplus> {
  return { text: why === undefined ? "Remove it." : `Remove it: ${why}.`, data: { kind: "remove" } }
}

/** A hint that gives way to a better one. */
export function general(text: string): Advice {
  return { text, isGeneral: true }
}

export function textOfHint(hint: Hint<unknown> | undefined): string | undefined {
  return typeof hint === "object" ? hint.text : hint
}
