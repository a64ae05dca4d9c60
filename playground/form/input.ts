import { computed, effect, signal } from "@preact/signals"
import type { JsonObject } from "../../src/base/json-value.ts"
import type { Misfit } from "../../src/types/validate-value.ts"
import { validateValue } from "../../src/types/validate-value.ts"
import { withNulls } from "../../src/types/with-nulls.ts"
import type { RecordType } from "../../src/types/types.ts"
import type { Draft, DraftObject } from "./draft.ts"
import { isDraftObject, isTooLargeForForm, shapeDraft, toJson } from "./draft.ts"
import { emptyTexts } from "./empty-texts.ts"
import { compilation } from "../language/source.ts"

/** Everything that was typed for any field, so that a field that is renamed and named back keeps its value. */
const typed = signal<DraftObject>({})

export type InputMode = "form" | "json"
export const inputMode = signal<InputMode>("form")
export const inputText = signal("{}")

const noFields: RecordType = { kind: "record", fields: [] }
/** The `input` block's type. */
export const inputType = computed(() => compilation.value.input ?? noFields)

/** What the form shows: what was typed, in the shape of the block. */
export const inputDraft = computed((): DraftObject => {
  const shaped = shapeDraft(typed.value, inputType.value, compilation.value.types)
  return isDraftObject(shaped) ? shaped : {}
})

/** A form of tens of thousands of fields would stop the page: such an input is edited as JSON. */
export const needsJson = computed(() => isTooLargeForForm(inputDraft.value))

export interface InputCheck {
  /** What would be sent; null while it is not JSON. */
  readonly value: DraftObject | null
  readonly misfits: readonly Misfit[]
  /** Why the text is not JSON. */
  readonly broken: string | undefined
}

export const inputCheck = computed((): InputCheck => {
  const { types } = compilation.value
  if (inputMode.value === "form") {
    const value = inputDraft.value
    return { value, misfits: validateValue(value, inputType.value, types, "input"), broken: undefined }
  }
  const parsed = parseInput(inputText.value)
  if ("broken" in parsed) return { value: null, misfits: [], broken: parsed.broken }
  const whole = withNulls(parsed.value as JsonObject, inputType.value, types)
  const misfits = validateValue(whole, inputType.value, types, "input")
  return { value: parsed.value, misfits, broken: undefined }
})

/** What an example, a link or JSON came with. */
const given = signal<DraftObject>({})

const emptyIn = (draft: DraftObject): readonly string[] =>
  emptyTexts(draft, inputType.value, compilation.value.types, "input")

/** Where a required text was left empty in the form: one that was given so is meant. */
const emptyInputs = computed((): readonly string[] => {
  if (inputMode.value === "json") return []
  const meant = emptyIn(given.value)
  return emptyIn(inputDraft.value).filter((path) => !meant.includes(path))
})

/** The empty texts that Run has objected to. */
const objectedTo = signal<readonly string[]>([])

/** Those that are still empty: they are marked. */
export const markedEmpty = computed(() => objectedTo.value.filter((path) => emptyInputs.value.includes(path)))

/** Objects to required texts that are empty: from then on they are marked until something is in them. */
export function objectToEmpty(): readonly string[] {
  objectedTo.value = emptyInputs.value
  return emptyInputs.value
}

/** Number of problems that keep the input from being sent. */
export const inputProblems = computed(() =>
  inputCheck.value.broken === undefined ? inputCheck.value.misfits.length : 1,
)

export function setField(name: string, draft: Draft): void {
  typed.value = { ...typed.value, [name]: draft }
}

export function setInput(value: JsonObject): void {
  given.value = typed.value = value
  inputText.value = JSON.stringify(value, null, 2)
}

export function setInputText(text: string): void {
  inputText.value = text
  const parsed = parseInput(text)
  if ("value" in parsed) given.value = typed.value = { ...typed.value, ...parsed.value }
}

export function setInputMode(mode: InputMode): void {
  if (mode === "json") inputText.value = JSON.stringify(inputDraft.value, null, 2)
  inputMode.value = mode
}

effect(() => {
  if (needsJson.value && inputMode.value === "form") setInputMode("json")
})

/** The input as it is kept and shared: what would be sent, as far as it is JSON. */
export function currentInput(): JsonObject {
  return toJson(inputCheck.value.value ?? inputDraft.value)
}

function parseInput(text: string): { readonly value: DraftObject } | { readonly broken: string } {
  if (text.trim() === "") return { value: {} }
  try {
    const value = JSON.parse(text) as Draft
    return isDraftObject(value) ? { value } : { broken: "The input is an object: begin it with {." }
  } catch (error) {
    return { broken: `This is not JSON yet: ${error instanceof Error ? error.message : "it cannot be read"}.` }
  }
}
