import type * as Syntax from "../syntax/tree.ts"
import { blockAs } from "./block-of.ts"
import type { CheckContext } from "./check-context.ts"
import type { ConstantRule } from "./constants.ts"
import { checkConstant, numberFrom, wholeFrom } from "./constants.ts"
import { checkWord } from "./check-word.ts"
import { knownList } from "./known-list.ts"
import type { inferenceKeys } from "./properties.ts"
import { readProperties } from "./properties.ts"
import type { CalledModel } from "./rules/ignored-setting.ts"
import { checkIgnoredSettings } from "./rules/ignored-setting.ts"

// How a model is asked: what may be set for a provider, a model and an agent.

/** Each try writes an event and costs a call: more would fill the log of a run that cannot succeed. */
const tries = wholeFrom(0, 100)
const penalty = numberFrom(-2, 2)
const text: ConstantRule = { expected: "a string that is not empty", type: "string", fits: (value) => value !== "" }

const rules: Readonly<Record<(typeof inferenceKeys)[number], ConstantRule>> = {
  temperature: numberFrom(0),
  top_p: numberFrom(0, 1),
  top_k: wholeFrom(1),
  frequency_penalty: penalty,
  presence_penalty: penalty,
  repeat_penalty: numberFrom(0),
  max_tokens: wholeFrom(1),
  reasoning_effort: text,
  verbosity: text,
  seed: { expected: "a whole number", type: "number", fits: Number.isSafeInteger },
  stop: { expected: "a string or an array of strings", type: "strings", fits: (value) => value !== "" },
  timeout_seconds: { expected: "a number over 0", type: "number", fits: (value) => Number(value) > 0 },
  max_retries: tries,
  retry_base_delay_ms: wholeFrom(0),
  output_retries: tries,
  extra: { expected: "an object", type: "object" },
}

/** `inference { … }` of what goes to these models, as far as they are known */
export function checkInference(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  path: string,
  called: readonly CalledModel[],
): void {
  const value = blockAs(checking, property, path, "properties", "inference { temperature: 0.2 }")
  if (property === undefined || value === undefined) return
  const properties = readProperties(checking, "inference", value.block, path, property.name)
  for (const [name, item] of properties) {
    const rule = Object.hasOwn(rules, name) ? rules[name as keyof typeof rules] : undefined
    if (rule !== undefined) checkConstant(checking, item, `${path}.${name}`, rule)
  }
  checkIgnoredSettings(checking, property, path, called)
}

const responseFormats = ["auto", "json_schema", "json_object", "instruction_only"]

/** `response_format: auto`, as a bare word or a string, in the block at `path` */
export function checkResponseFormat(checking: CheckContext, property: Syntax.Property | undefined, path: string): void {
  checkWord(checking, property, path, "response format", responseFormats, (written) => {
    const known = responseFormats.map((name) => ({ name }))
    return knownList(checking, written ?? "", known, "Known are")
  })
}
