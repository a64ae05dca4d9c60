import { cutText } from "../../base/cut-text.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { validateValue, type Misfit } from "../../types/validate-value.ts"
import type { ErrorIssue, Rejection } from "../../log/events.ts"
import type { OutputContract } from "../../ports/model.ts"
import type { ContractForm } from "./output-format.ts"
import { parseLenient } from "./parse-lenient.ts"

export type Fit =
  | { readonly fits: true; readonly output: JsonObject }
  | {
      readonly fits: false
      /** The problems, for the model to fix, with the values that were found. */
      readonly problems: readonly string[]
      /** The same for the caller, who may not see the answer. */
      readonly issues: readonly [ErrorIssue, ...ErrorIssue[]]
      /** How the answer came: as JSON and nothing else, as JSON that breaks off, or as anything else. */
      readonly came: "bare" | "truncated" | "loose"
      /** It is of the right type, and does not fulfil these. */
      readonly rejections?: readonly Rejection[]
    }

const maxProblems = 20

/**
 * Holds an answer's text against the contract. `path` is the agent's. `inWords`: the contract went into the instruction alone, so
 * that text with braces in it may be meant as the only field.
 */
export function fitOutput(
  text: string,
  contract: OutputContract,
  form: ContractForm,
  path: string,
  inWords: boolean,
): Fit {
  const answer = parseLenient(text)
  const root = `${path}.output`
  for (const candidate of answer.candidates) {
    const value =
      form.onlyTextField !== null && typeof candidate === "string" ? { [form.onlyTextField]: candidate } : candidate
    if (isJsonObject(value) && validate(value, contract, root, 1).length === 0) return { fits: true, output: value }
  }
  const isPlain = !answer.likeJson && answer.text !== "" && (inWords || !/[{}]/.test(answer.text))
  if (form.onlyTextField !== null && isPlain) {
    return { fits: true, output: { [form.onlyTextField]: answer.text } }
  }
  const [likeliest] = answer.candidates
  if (likeliest === undefined) return misread(answer.trouble ?? "no_json", answer.text, root)
  const misfits = validate(likeliest, contract, root, maxProblems)
  const issues = misfits.map((misfit) => issueOf(misfit, root))
  const [first, ...others] = issues
  if (first === undefined) throw new Error("A value that does not fit has nothing wrong with it")
  return {
    fits: false,
    problems: misfits.map(problemOf),
    issues: [first, ...others],
    came: answer.bare ? "bare" : "loose",
  }
}

/** An output of the right type that does not fulfil requirements. */
export function rejectedFit(path: string, rejections: readonly Rejection[]): Fit & { readonly fits: false } {
  const [first, ...others] = rejections.map(({ index, message }) => ({ path: `${path}.require[${index}]`, message }))
  if (first === undefined) throw new Error("An output that is rejected fulfils all requirements")
  const problems = rejections.map(({ message }) => message)
  return { fits: false, problems, issues: [first, ...others], came: "bare", rejections }
}

function validate(value: JsonValue, contract: OutputContract, root: string, most: number): Misfit[] {
  return validateValue(value, contract.type, contract.types, root, { most })
}

function problemOf(misfit: Misfit): string {
  return misfit.hint === undefined ? misfit.message : `${misfit.message}. ${misfit.hint}`
}

/** At the root the value found is the whole answer: only its kind is named. */
function issueOf(misfit: Misfit, root: string): ErrorIssue {
  const { path, message, expected, found, hint } = misfit
  if (path !== root) return { path, message, ...(hint === undefined ? {} : { hint }) }
  return { path, message: `${path}: expected ${cutText(expected, 200)}, found ${found.split('"')[0]?.trim()}` }
}

function misread(trouble: "no_json" | "truncated" | "malformed", text: string, root: string): Fit {
  const found = {
    no_json: text === "" ? "nothing" : "text without a JSON object in it",
    truncated: "a JSON object that breaks off",
    malformed: "malformed JSON",
  }[trouble]
  const problem = `expected one whole JSON object, found ${found}`
  return {
    fits: false,
    problems: [problem],
    issues: [{ path: root, message: `${root}: ${problem}` }],
    came: trouble === "truncated" ? "truncated" : "loose",
  }
}
