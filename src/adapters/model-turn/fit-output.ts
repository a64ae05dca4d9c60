import { cutText } from "../../base/cut-text.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { Misfit } from "../../types/validate-value.ts"
import { validateValue } from "../../types/validate-value.ts"
import type { ErrorIssue } from "../../log/events.ts"
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
    }

const mostProblems = 20

/** Holds an answer's text against the contract. `path` is the agent's. */
export function fitOutput(text: string, contract: OutputContract, form: ContractForm, path: string): Fit {
  const answer = parseLenient(text)
  const root = `${path}.output`
  for (const candidate of answer.candidates) {
    const value =
      form.only_text_field !== null && typeof candidate === "string" ? { [form.only_text_field]: candidate } : candidate
    if (isJsonObject(value) && validate(value, contract, root, 1).length === 0) return { fits: true, output: value }
  }
  if (form.only_text_field !== null && !answer.like_json && answer.text !== "") {
    return { fits: true, output: { [form.only_text_field]: answer.text } }
  }
  const [likeliest] = answer.candidates
  if (likeliest === undefined) return misread(answer.trouble ?? "no_json", answer.text, root)
  const misfits = validate(likeliest, contract, root, mostProblems)
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
