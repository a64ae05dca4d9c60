import type { JsonObject, JsonValue } from "../base/json-value.ts"
import { hostedIn } from "../check/hosted-tools.ts"
import { constantFields, constantIn, constantOf } from "../check/constants.ts"
import { propertyIn } from "../check/properties.ts"
import { propertyOf, type Properties, wordIn } from "../syntax/property-of.ts"
import { inferenceKeys, isWordOf } from "../syntax/property-table.ts"
import type { Inference, PromptCacheWord, ResponseFormat } from "./plan-shape.ts"

export function responseFormat(block: Properties | undefined): ResponseFormat | null {
  const word = wordIn(block, "response_format")
  return isWordOf("response_format", word) ? word : null
}

export function promptCacheIn(block: Properties | undefined): { readonly prompt_cache?: PromptCacheWord } {
  const word = wordIn(block, "prompt_cache")
  return isWordOf("prompt_cache", word) ? { prompt_cache: word } : {}
}

export function hostedToolsIn(block: Properties | undefined): { readonly hosted_tools?: readonly JsonObject[] } {
  const hosted = hostedIn(block)
  return hosted.length === 0 ? {} : { hosted_tools: hosted.map(({ entry }) => entry) }
}

export function propertyBlock(block: Properties | undefined, name: string): Properties | undefined {
  const value = propertyOf(block, name)?.value
  return value?.kind === "properties" ? value.block : undefined
}

export function inferenceOf(block: Properties | undefined): Inference {
  const settings = propertyBlock(block, "inference")
  const inference: Record<string, JsonValue> = {}
  for (const key of inferenceKeys) {
    const value = propertyIn("inference", settings, key)?.value
    const constant =
      value?.kind === "values"
        ? constantFields(value.block)
        : value?.kind === "expression"
          ? constantOf(value.expression)
          : undefined
    if (constant !== undefined) inference[key] = constant
  }
  return inference
}
export function textIn(block: Properties | undefined, name: string): string | undefined {
  const text = constantIn(block, name)
  return typeof text === "string" ? text : undefined
}
