import { cutText } from "../base/cut-text.ts"
import { type DataOf, type Hint, meantReference, write } from "../source/hint.ts"
import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { anyType, errorType, stringType } from "../types/primitives.ts"
import { elementType, typeAt } from "../types/element-type.ts"
import { fileFields } from "../types/file-value.ts"
import { fieldType } from "../types/field-type.ts"
import { asWritten, knownNames, listed, namesOf, nearAnd } from "./known-list.ts"
import { listLabels, shownLabels, type Label } from "./match-choice.ts"
import { presentUpTo } from "./narrowing.ts"
import type { Scope } from "./scope.ts"
import {
  caseRecord,
  isAssignable,
  isLenient,
  maybe,
  nullable,
  plainType,
  resolve,
  withoutNull,
} from "../types/relations.ts"
import { showType } from "../types/show-type.ts"
import type { Type, UnionType, VariantType } from "../types/types.ts"

const none = (): Iterable<string> => []

const resultWords: ReadonlySet<string> = new Set(["output", "outputs", "result", "response", "data"])
const lengthNames: ReadonlySet<string> = new Set(["length", "size", "count"])

type Step = Syntax.ChainStep
type FieldStep = Step & { kind: "field" | "pluck" }

/** The type of a chain from its `index`th step on, where what is before it has `type`. */
export function inferSteps(checking: CheckContext, chain: Syntax.Chain, type: Type, index: number, scope: Scope): Type {
  return new Steps(checking, chain, scope).from(type, index)
}

/** Reports a reference from its first segment that does not resolve, with what was probably meant. */
export function unknownReference(
  checking: CheckContext,
  chain: Span,
  segment: Span & { readonly text: string },
  candidates: () => Iterable<string>,
  path: string,
  otherwise?: Hint,
): void {
  const { text } = checking.tree
  const before = withoutDot(text.slice(chain.start, segment.start))
  if (checking.skipped.isSwallowed(before, segment.text)) return
  const rest = text.slice(segment.end, chain.end)
  // `agent.a.output.text`: the fields of an output are read without the word.
  const isSurplus = resultWords.has(segment.text) && [...candidates()].includes(/^\.(\w+)/.exec(rest)?.[1] ?? "")
  const near = checking.suggest(segment.text, candidates())
  const meant = isSurplus
    ? `${before}${rest}`
    : near && `${text.slice(chain.start, segment.start)}${asWritten(near)}${text.slice(segment.end, chain.end)}`
  const hint =
    meant === undefined ? (otherwise ?? knownNames(candidates())) : meantReference(meant, chain, cutText(meant, 160))
  const span = { start: segment.start, end: chain.end }
  checking.report("unknown-reference", path, span, `Unknown reference: ${checking.quote(chain)}`, hint)
}

/** The name in a step, where an unknown reference begins. */
export function nameOf(checking: CheckContext, step: Syntax.ChainStep): Syntax.Name {
  if (step.kind !== "index") return step.name
  return { kind: "name", text: checking.textOf(step), quoted: false, start: step.start, end: step.end }
}

class Steps {
  readonly #checking: CheckContext
  readonly #chain: Syntax.Chain
  readonly #path: string
  /** Up to this step, what the chain reads is known not to be null. */
  readonly #present: number
  /** The chain reads what a sender sends, and nothing says what happens where a field is missing. */
  readonly #isDelivered: boolean
  #isWarned = false
  #firstPluck: number | undefined
  /** Something before the step may be null. */
  #mayBeNull = false

  constructor(checking: CheckContext, chain: Syntax.Chain, scope: Scope) {
    this.#checking = checking
    this.#chain = chain
    this.#path = scope.path
    this.#present = presentUpTo(chain, scope.present)
    const { base } = chain
    const isBody = base.kind === "name" && base.text === "body" && scope.variables.get("body")?.isBuiltIn === true
    this.#isDelivered = isBody && scope.isDefaulted !== true
  }

  /** Skipping the rest of the chain on null is a return from here: the rest is typed as if the value were there. */
  from(read: Type, index: number): Type {
    const type = index <= this.#present ? withoutNull(read, this.#checking.types) : read
    const step = this.#chain.steps[index]
    if (step === undefined || type.kind === "error") return type
    this.#checking.receivers.set(step, type)
    if (step.kind === "case") return this.#case(type, step, index)
    if (type.kind === "any") return this.#untyped(step, index)
    if (nullable(type, this.#checking.types)) {
      const value = withoutNull(type, this.#checking.types)
      this.#mayBeNull ||= step.optional || isLength(step)
      if (step.optional) return maybe(this.from(value, index))
      // `?.` would not help with a length.
      if ((isLength(step) && this.#hasLength(value)) || this.#dropsSlot(step, index)) return this.from(value, index)
      this.#nullable(step)
      return errorType
    }
    switch (step.kind) {
      case "field":
        return this.from(this.#field(type, step), index + 1)
      case "index":
        return this.#index(type, step, index)
      case "pluck":
        return this.#pluck(type, step, index)
    }
  }

  /** `rows.*.items.**.x`: where `items` is null, the row gives nothing to the result. */
  #dropsSlot(step: Step, index: number): boolean {
    if (step.kind !== "pluck" || step.stars !== 2) return false
    this.#firstPluck ??= this.#chain.steps.findIndex(({ kind }) => kind === "pluck")
    return this.#firstPluck < index
  }

  /** An untyped value is checked at run time; a pluck of it is an array all the same. */
  #untyped(step: Exclude<Step, { kind: "case" }>, index: number): Type {
    if (this.#isDelivered && step.kind === "field" && !step.optional && index > this.#present && !this.#isWarned) {
      this.#isWarned = true
      const lost = /^webhook\.[^.]+\.event\b/.test(this.#path) ? "No event is sent" : "The run is not started"
      const message = `${lost} where a delivery has no field \`${step.name.text}\``
      const whole = this.#checking.quote(this.#chain)
      const hint = `Write \`${whole} ?? …\`, or \`?.\` where it may be missing.`
      this.#checking.report("untyped-access", this.#path, step.name, message, hint)
    }
    const rest = this.from(anyType, index + 1)
    if (rest.kind === "error") return rest
    const found: Type = step.kind === "pluck" ? { kind: "array", element: rest } : rest
    return step.optional && index > this.#present ? maybe(found) : found
  }

  #report(
    code: "nullable-access" | "variant-access" | "not-iterable" | "type-mismatch",
    step: Step,
    message: string,
    hint?: Hint,
  ): void {
    this.#checking.report(code, this.#path, step.kind === "index" ? step : step.name, message, hint)
  }

  /** How the chain reads up to (without) a step. */
  #before(step: Step): string {
    return this.#checking.quote({ start: this.#chain.start, end: step.start })
  }

  #after(step: Step): string {
    return this.#checking.quote({ start: step.start, end: this.#chain.end })
  }

  #nullable(step: Step): void {
    const before = this.#before(step)
    const optional = step.kind === "index" ? `${before}?.${this.#after(step)}` : `${before}?${this.#after(step)}`
    const hint = `Write \`${optional}\`, or give a default with \`??\`.`
    this.#report("nullable-access", step, `\`${before}\` may be null`, hint)
  }

  /** The field that a step reads from a value, or a pluck from an element, of this type. */
  #field(type: Type, step: FieldStep): Type {
    const { types } = this.#checking
    const found = fieldType(type, step.name.text, types)
    if (found !== undefined) return found
    const resolved = resolve(type, types)
    switch (resolved.kind) {
      case "record":
        if (this.#checking.incomplete.has(resolved)) return errorType
        return this.#unknown(step, () => namesOf(resolved.fields))
      case "variant":
        return this.#variantAccess(resolved, step)
      case "file":
        return this.#unknown(step, () => namesOf(fileFields.fields))
      case "map": {
        const span = { start: this.#chain.start, end: step.end }
        return this.#unknown(step, none, write(`at(${this.#before(step)}, ${JSON.stringify(step.name.text)})`, span))
      }
      case "array":
      case "tuple":
        return this.#arrayAccess(step, type)
      case "union":
        return this.#fieldOfUnion(resolved, step)
      default: {
        const hint = `${this.#subject(step)} is ${showType(type)} and has no fields.`
        return this.#unknown(
          step,
          none,
          isAssignable(resolved, stringType, types) ? this.#lengthHint(step, type, hint) : hint,
        )
      }
    }
  }

  #hasLength(type: Type): boolean {
    const { types } = this.#checking
    return elementType(type, types) !== undefined || isAssignable(type, stringType, types)
  }

  /** `input.s.length`: how many there are is a function. After `.*` it is that of each element. */
  #lengthHint<Other extends Hint<unknown>>(step: FieldStep, type: Type, otherwise: Other): Hint | Other {
    if (!isLength(step)) return otherwise
    const { steps } = this.#chain
    const plucks = steps.slice(0, steps.indexOf(step)).filter(({ kind }) => kind === "pluck")
    const [pluck] = plucks
    const before = this.#before(step)
    const span = { start: this.#chain.start, end: step.end }
    if (pluck === undefined) {
      const fallback = elementType(type, this.#checking.types) === undefined ? '""' : "[]"
      return write(`length(${before}${this.#mayBeNull ? ` ?? ${fallback}` : ""})`, span)
    }
    if (plucks.length > 1 || this.#mayBeNull) {
      return `Loop over \`${this.#before(pluck)}\` with \`for\`: \`length(x)\` is that of one value.`
    }
    return write(`[length(item) for item in ${before}]`, span)
  }

  /** What a step reads from, in words. */
  #subject(step: FieldStep): string {
    return step.kind === "pluck" ? `An element of \`${this.#before(step)}\`` : `\`${this.#before(step)}\``
  }

  #unknown(step: FieldStep, candidates: () => Iterable<string>, otherwise?: Hint): Type {
    unknownReference(this.#checking, this.#chain, step.name, candidates, this.#path, otherwise)
    return errorType
  }

  /** Reports a field that not every member of a union has. */
  #fieldOfUnion(type: UnionType, step: FieldStep): Type {
    const { types, incomplete } = this.#checking
    const members = type.members.map((member) => resolve(member, types))
    if (members.some((member) => member.kind === "record" && incomplete.has(member))) return errorType
    if (elementType(type, types) !== undefined) return this.#arrayAccess(step, type)
    if (members.some(({ kind }) => kind === "variant")) {
      const hint = "Only what every member has can be read. Declare one variant with all of the cases."
      this.#report("variant-access", step, `${this.#subject(step)} may be a variant`, hint)
      return errorType
    }
    const isKnown = members.some((member) => fieldType(member, step.name.text, types) !== undefined)
    if (isKnown) return this.#unknown(step, none, `Not every member of ${showType(type)} has this field.`)
    const fields = members.flatMap((member) => (member.kind === "record" ? member.fields : []))
    const otherwise = fields.length > 0 ? undefined : `${this.#subject(step)} is ${showType(type)} and has no fields.`
    return this.#unknown(step, () => new Set(namesOf(fields)), otherwise)
  }

  #arrayAccess(step: FieldStep, type: Type): Type {
    const element = plainType(elementType(type, this.#checking.types) ?? anyType, this.#checking.types)
    const hint = this.#lengthHint(step, type, this.#elementHint(step, element))
    this.#checking.report("array-access", this.#path, step.name, `${this.#subject(step)} is an array`, hint)
    return errorType
  }

  #elementHint(step: FieldStep, element: Type): Hint<DataOf<"array-access">> {
    const before = this.#before(step)
    const { text } = step.name
    if (step.kind === "pluck" || element.kind === "array") {
      return `Write \`${before}[0]?.*.${text}\` for one of them, or loop over them with \`for\`.`
    }
    if (isLenient(element) || fieldType(element, text, this.#checking.types) !== undefined) {
      return ofElements(
        `Write \`${before}.*.${text}\` for that of every element, or \`${before}[0]?.${text}\` for one.`,
      )
    }
    const fields = element.kind === "record" ? element.fields : []
    const near = this.#checking.suggest(text, namesOf(fields)) ?? fields[0]?.name
    return ofElements(
      near === undefined
        ? `Write \`${before}[0]\` for one of its elements, or loop over them with \`for\`.`
        : `Write \`${before}.*.${asWritten(near)}\`: its elements have ${listed(namesOf(fields), fields.length)}.`,
    )
  }

  #variantAccess(variant: VariantType, step: FieldStep): Type {
    const before = this.#before(step)
    const { text } = step.name
    const having = variant.cases.find((one) => one.fields.some((field) => field.name === text))
    const [any] = variant.cases
    const access = having === undefined ? "" : `.${asWritten(text)}`
    const example = `Write \`${before}#${asWritten(having?.name ?? any?.name ?? "case")}${access}\``
    const plucked = this.#chain.steps.some((one) => one.kind === "pluck" && one.start < step.start)
    const hint =
      step.kind === "pluck"
        ? "Loop over them with `for`, and choose a case there with `#case` or `match`."
        : plucked
          ? `${example}.`
          : `${example}, or \`match ${before} { … }\`.`
    this.#report("variant-access", step, `${this.#subject(step)} is a variant: which case is meant?`, hint)
    return errorType
  }

  #index(type: Type, step: Step & { kind: "index" }, index: number): Type {
    if (step.index === undefined) return errorType
    const element = typeAt(type, step.index.value, this.#checking.types)
    return element === undefined ? this.#notAnArray(type, step) : this.from(element, index + 1)
  }

  #pluck(type: Type, step: Step & { kind: "pluck" }, index: number): Type {
    const { types } = this.#checking
    const element = elementType(type, types)
    if (element === undefined) return this.#notAnArray(type, step)
    const field = element.kind === "any" ? anyType : this.#field(withoutNull(element, types), step)
    if (field.kind === "error") return errorType
    const mayBeNull = nullable(element, types) || nullable(field, types)
    const plucked = step.stars === 1 ? (mayBeNull ? maybe(field) : field) : withoutNull(field, types)
    const rest = this.from(plucked, index + 1)
    return rest.kind === "error" ? rest : { kind: "array", element: rest }
  }

  #notAnArray(type: Type, step: Step): Type {
    const variant = resolve(type, this.#checking.types)
    if (variant.kind === "variant" && step.kind === "pluck") {
      const { text } = step.name
      const having = variant.cases.find(({ fields }) => fields.some(({ name }) => name === text))
      const name = `#${asWritten(having?.name ?? variant.cases[0]?.name ?? "case")}`
      const rest = this.#checking.quote({ start: step.name.start, end: this.#chain.end })
      const hint =
        having === undefined
          ? `None of its cases has a field \`${text}\`.`
          : `Write \`${this.#before(step)}${name}.${rest}\`.`
      const message = `\`${this.#before(step)}\` is a variant, not an array: \`${name}\` chooses a case`
      this.#report("not-iterable", step, message, hint)
      return errorType
    }
    // `text[0:3]`: the parser says how a part of a text is taken.
    if (step.kind === "index" && this.#checking.skipped.hasError(step)) return errorType
    this.#report("not-iterable", step, `\`${this.#before(step)}\` is not an array (found ${showType(type)})`)
    return errorType
  }

  #case(type: Type, step: Step & { kind: "case" }, index: number): Type {
    const { types } = this.#checking
    const variant = plainType(type, types)
    if (variant.kind === "error") return errorType
    if (variant.kind !== "variant") {
      const message = `\`${this.#before(step)}\` is not a variant (found ${showType(variant)})`
      this.#report("type-mismatch", step, message, untypedHint(variant))
      return errorType
    }
    const record = caseRecord(variant, step.name.text)
    if (record === undefined) {
      unknownCase(this.#checking, new Set(variant.cases.map(({ name }) => name)), step.name, this.#path)
      return errorType
    }
    this.#checking.tags.set(step, variant.tag)
    const rest = this.from(record, index + 1)
    return rest.kind === "error" || index < this.#present ? rest : maybe(rest)
  }
}

function ofElements(text: string): Hint<DataOf<"array-access">> {
  return { text, data: { kind: "elements" } }
}

function isLength(step: Step): boolean {
  return step.kind === "field" && lengthNames.has(step.name.text)
}

/** Which field names the case is known of a declared type only. */
export function untypedHint(type: Type): string | undefined {
  return type.kind === "any" ? "Declare its type, in the `output` of its tool." : undefined
}

export function unknownCase(
  checking: CheckContext,
  known: ReadonlySet<Label>,
  name: Syntax.Name,
  path: string,
  instead?: Hint,
): void {
  if (checking.skipped.isSkipped(name.text)) return
  const near = checking.suggest(name.text, shownLabels(known))
  const hint = instead ?? nearAnd(near, `Its cases are ${listLabels(known)}.`)
  checking.report("unknown-case", path, name, `Unknown case: ${name.text}`, hint)
}

/** `a.b` of `a.b .` */
function withoutDot(text: string): string {
  const end = text.trimEnd()
  return end.endsWith(".") ? end.slice(0, -1).trimEnd() : text
}
