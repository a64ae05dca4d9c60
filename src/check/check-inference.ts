import type * as Syntax from "../syntax/tree.ts"
import { blockAs } from "./block-of.ts"
import type { CheckContext } from "./check-context.ts"
import type { ConstantRule } from "./constants.ts"
import { checkConstant, isWhole } from "./constants.ts"
import { wordOrString } from "./asset-kind.ts"
import { knownList } from "./known-list.ts"
import type { inferenceKeys } from "./properties.ts"
import { expressionOf, readProperties } from "./properties.ts"
import { checkIgnoredSettings } from "./rules/ignored-setting.ts"

// How a model is asked: what may be set for a provider, a model and an agent.

const number = (expected: string, fits: (value: number) => boolean): ConstantRule => ({
  expected,
  type: "number",
  fits: (value) => typeof value === "number" && fits(value),
})
const whole = (least: number): ConstantRule => ({
  expected: `a whole number from ${least}`,
  type: "number",
  fits: (value) => isWhole(value, least),
})
/** Each try writes an event and costs a call: more would fill the log of a run that cannot succeed. */
const mostTries = 100
const tries: ConstantRule = {
  expected: `a whole number from 0 to ${mostTries}`,
  type: "number",
  fits: (value) => isWhole(value, 0) && Number(value) <= mostTries,
}
const text: ConstantRule = { expected: "a string that is not empty", type: "string", fits: (value) => value !== "" }

const rules: Readonly<Record<(typeof inferenceKeys)[number], ConstantRule>> = {
  temperature: number("a number from 0", (value) => value >= 0),
  top_p: number("a number from 0 to 1", (value) => value >= 0 && value <= 1),
  top_k: whole(1),
  frequency_penalty: number("a number from -2 to 2", (value) => value >= -2 && value <= 2),
  presence_penalty: number("a number from -2 to 2", (value) => value >= -2 && value <= 2),
  repeat_penalty: number("a number from 0", (value) => value >= 0),
  max_tokens: whole(1),
  reasoning_effort: text,
  verbosity: text,
  seed: number("a whole number", Number.isSafeInteger),
  stop: { expected: "a string or an array of strings", type: "strings", fits: (value) => value !== "" },
  timeout_seconds: number("a number over 0", (value) => value > 0),
  max_retries: tries,
  retry_base_delay_ms: whole(0),
  output_retries: tries,
  extra: { expected: "an object", type: "object" },
}

/** `inference { … }` of what goes to this provider, as far as it is known */
export function checkInference(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  path: string,
  provider: Syntax.ProviderDeclaration | undefined,
): void {
  const value = blockAs(checking, property, path, "properties", "inference { temperature: 0.2 }")
  if (property === undefined || value === undefined) return
  const properties = readProperties(checking, "inference", value.block, path, property.name)
  for (const [name, item] of properties) {
    const rule = Object.hasOwn(rules, name) ? rules[name as keyof typeof rules] : undefined
    if (rule !== undefined) checkConstant(checking, item, `${path}.${name}`, rule)
  }
  checkIgnoredSettings(checking, property, path, provider)
}

const responseFormats = ["auto", "json_schema", "json_object", "instruction_only"]

/** `response_format: auto`, as a bare word or a string, in the block at `path` */
export function checkResponseFormat(checking: CheckContext, property: Syntax.Property | undefined, path: string): void {
  const expression = expressionOf(checking, property, path)
  if (expression === undefined) return
  const written = wordOrString(expression)
  if (written !== undefined && responseFormats.includes(written)) return
  const known = responseFormats.map((name) => ({ name }))
  const hint = knownList(checking, written ?? "", known, "Known are")
  const message = `Unknown response format: ${checking.quote(expression)}`
  checking.report("invalid-value", `${path}.response_format`, expression, message, hint)
}
