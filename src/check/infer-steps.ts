import { didYouMean } from "../base/did-you-mean.ts"
import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Checking } from "./checking.ts"
import { caseRecord, maybe, nullable, resolve, union, withoutNull } from "./relations.ts"
import { showType } from "./show-type.ts"
import type { Type, VariantType } from "./types.ts"

const anyType: Type = { kind: "any" }
const errorType: Type = { kind: "error" }

type Step = Syntax.ChainStep

/** The type of a chain from its `index`th step on, where what is before it has `type`. */
export function inferSteps(checking: Checking, chain: Syntax.Chain, type: Type, index: number, path: string): Type {
  return new Steps(checking, chain, path).from(type, index)
}

/** Reports a reference from its first segment that does not resolve, with what was probably meant. */
export function unknownReference(
  checking: Checking,
  chain: Span,
  segment: Span & { readonly text: string },
  candidates: Iterable<string>,
  path: string,
): void {
  const written = checking.textOf(chain)
  const near = didYouMean(segment.text, candidates)
  const hint =
    near === undefined
      ? undefined
      : `Did you mean ${checking.tree.text.slice(chain.start, segment.start)}${near}${checking.tree.text.slice(segment.end, chain.end)}?`
  checking.report(
    "unknown-reference",
    path,
    { start: segment.start, end: chain.end },
    `Unknown reference: ${written}`,
    hint,
  )
}

class Steps {
  readonly #checking: Checking
  readonly #chain: Syntax.Chain
  readonly #path: string

  constructor(checking: Checking, chain: Syntax.Chain, path: string) {
    this.#checking = checking
    this.#chain = chain
    this.#path = path
  }

  /** Skipping the rest of the chain on null is a return from here: the rest is typed as if the value were there. */
  from(type: Type, index: number): Type {
    const step = this.#chain.steps[index]
    if (step === undefined || type.kind === "error") return type
    this.#checking.receivers.set(step, type)
    if (step.kind === "case") return this.#case(type, step, index)
    if (type.kind === "any") return this.#untyped(step, index)
    if (nullable(type, this.#checking.types)) {
      if (step.optional) return maybe(this.from(withoutNull(type, this.#checking.types), index))
      this.#nullable(step, index)
      return errorType
    }
    switch (step.kind) {
      case "field":
        return this.from(this.#field(type, step.name), index + 1)
      case "index":
        return this.#index(type, step, index)
      case "pluck":
        return this.#pluck(type, step, index)
    }
  }

  /** An untyped value is checked at run time; a pluck of it is an array all the same. */
  #untyped(step: Exclude<Step, { kind: "case" }>, index: number): Type {
    const rest = this.from(anyType, index + 1)
    if (rest.kind === "error") return rest
    return step.kind === "pluck" ? { kind: "array", element: rest } : rest
  }

  /** How the chain reads up to (without) a step. */
  #before(index: number): string {
    const step = this.#chain.steps[index]
    return this.#checking.tree.text.slice(this.#chain.start, step?.start ?? this.#chain.end)
  }

  #after(index: number): string {
    const step = this.#chain.steps[index]
    return this.#checking.tree.text.slice(step?.start ?? this.#chain.end, this.#chain.end)
  }

  #nullable(step: Step, index: number): void {
    const before = this.#before(index)
    const optional = step.kind === "index" ? `${before}?.${this.#after(index)}` : `${before}?${this.#after(index)}`
    const span = step.kind === "index" ? step : step.name
    const hint = `Write \`${optional}\`, or give a default with \`??\`.`
    this.#checking.report("nullable-access", this.#path, span, `\`${before}\` may be null`, hint)
  }

  #field(type: Type, name: Syntax.Name): Type {
    const checking = this.#checking
    const resolved = resolve(type, checking.types)
    switch (resolved.kind) {
      case "record": {
        const field = resolved.fields.find((one) => one.name === name.text)
        if (field !== undefined) return field.type
        unknownReference(
          checking,
          this.#chain,
          name,
          resolved.fields.map((one) => one.name),
          this.#path,
        )
        return errorType
      }
      case "object":
      case "any":
        return anyType
      case "error":
        return errorType
      case "variant":
        this.#variantAccess(resolved, name)
        return errorType
      case "array":
      case "tuple": {
        const before = checking.tree.text.slice(this.#chain.start, name.start - 1)
        const hint = `Write \`${before}.*.${name.text}\` for that of every element, or \`${before}[0]?.${name.text}\` for one.`
        checking.report("array-access", this.#path, name, `\`${before}\` is an array`, hint)
        return errorType
      }
      case "union": {
        const members = resolved.members.map((member) => resolve(member, checking.types))
        const variant = members.find((member) => member.kind === "variant")
        if (variant !== undefined) {
          this.#variantAccess(variant, name)
          return errorType
        }
        const found = members.map((member) =>
          member.kind === "record" ? member.fields.find((one) => one.name === name.text)?.type : undefined,
        )
        const types = found.filter((one) => one !== undefined)
        if (types.length === found.length) return union(types)
        const names = members.flatMap((member) =>
          member.kind === "record" ? member.fields.map((one) => one.name) : [],
        )
        unknownReference(checking, this.#chain, name, names, this.#path)
        return errorType
      }
      default:
        unknownReference(checking, this.#chain, name, [], this.#path)
        return errorType
    }
  }

  #variantAccess(variant: VariantType, name: Syntax.Name): void {
    const before = this.#checking.tree.text.slice(this.#chain.start, name.start).replace(/\??\.$/, "")
    const having = variant.cases.find((one) => one.fields.some((field) => field.name === name.text)) ?? variant.cases[0]
    const example = having === undefined ? "" : `\`${before}#${caseText(having.name)}.${name.text}\`, or `
    const message = `\`${before}\` is a variant: which case is meant?`
    this.#checking.report("variant-access", this.#path, name, message, `Write ${example}\`match ${before} { … }\`.`)
  }

  #index(type: Type, step: Step & { kind: "index" }, index: number): Type {
    const resolved = resolve(type, this.#checking.types)
    const at = step.index?.value
    if (resolved.kind === "error" || at === undefined) return errorType
    if (resolved.kind === "array") {
      const inRange = resolved.length !== undefined && at < resolved.length
      return this.#element(inRange ? resolved.element : maybe(resolved.element), index)
    }
    if (resolved.kind === "tuple") return this.#element(resolved.elements[at] ?? { kind: "null" }, index)
    this.#notAnArray(resolved, index, step)
    return errorType
  }

  #element(type: Type, index: number): Type {
    return this.from(type, index + 1)
  }

  #pluck(type: Type, step: Step & { kind: "pluck" }, index: number): Type {
    const resolved = resolve(type, this.#checking.types)
    if (resolved.kind === "error") return errorType
    if (resolved.kind !== "array" && resolved.kind !== "tuple") {
      this.#notAnArray(resolved, index, step)
      return errorType
    }
    const element = resolved.kind === "array" ? resolved.element : union(resolved.elements)
    const { types } = this.#checking
    const field = element.kind === "any" ? anyType : this.#field(withoutNull(element, types), step.name)
    if (field.kind === "error") return errorType
    const mayBeNull = nullable(element, types) || nullable(field, types)
    const plucked = step.stars === 1 ? (mayBeNull ? maybe(field) : field) : withoutNull(field, types)
    const rest = this.from(plucked, index + 1)
    return rest.kind === "error" ? rest : { kind: "array", element: rest }
  }

  #notAnArray(type: Type, index: number, span: Span): void {
    const message = `\`${this.#before(index)}\` is no array, but ${showType(type)}`
    this.#checking.report("not-iterable", this.#path, span, message)
  }

  #case(type: Type, step: Step & { kind: "case" }, index: number): Type {
    const { types } = this.#checking
    const variant = resolve(withoutNull(type, types), types)
    if (variant.kind === "error") return errorType
    if (variant.kind !== "variant") {
      const message = `\`${this.#before(index)}\` is no variant, but ${showType(variant)}`
      this.#checking.report("type-mismatch", this.#path, step.name, message)
      return errorType
    }
    const record = caseRecord(variant, step.name.text)
    if (record === undefined) {
      unknownCase(this.#checking, variant, step.name, this.#path)
      return errorType
    }
    this.#checking.tags.set(step, variant.tag)
    const rest = this.from(record, index + 1)
    return rest.kind === "error" ? rest : maybe(rest)
  }
}

export function unknownCase(checking: Checking, variant: VariantType, name: Syntax.Name, path: string): void {
  const names = variant.cases.map((one) => one.name)
  const near = didYouMean(name.text, names)
  const known = `Its cases are ${names.map((one) => `\`${caseText(one)}\``).join(", ")}.`
  const hint = near === undefined ? known : `Did you mean \`${caseText(near)}\`? ${known}`
  checking.report("unknown-case", path, name, `Unknown case: ${name.text}`, hint)
}

/** A case's name as it is written: in quotes when it is no identifier. */
export function caseText(name: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : JSON.stringify(name)
}
