import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject } from "../../base/json-value.ts"
import type { Inference } from "../../plan/plan-shape.ts"
import type { ToolDefinition } from "../../ports/model.ts"
import type { ContractForm, SchemaFormatLevel } from "../model-turn/output-format.ts"
import { mergeOptions } from "../model-turn/wire-options.ts"
import type { Item } from "./responses-history.ts"

/** What `extra` may not touch. `text.format` is kept apart in `text`. */
const reserved = ["model", "input", "tools", "stream"]

const optionsOf = new WeakMap<Inference, JsonObject>()

/** The optional part of a request: what the workflow sets, under the names of the wire. Made once for each agent of a plan. */
export function wireOptions(inference: Inference): JsonObject {
  let options = optionsOf.get(inference)
  if (options === undefined) {
    options = makeOptions(inference)
    optionsOf.set(inference, options)
  }
  return options
}

function makeOptions(inference: Inference): JsonObject {
  const { temperature, top_p, max_tokens, reasoning_effort, verbosity, seed, stop, extra } = inference
  const options: JsonObject = { store: false }
  if (temperature !== undefined) options["temperature"] = temperature
  if (top_p !== undefined) options["top_p"] = top_p
  if (max_tokens !== undefined) options["max_output_tokens"] = max_tokens
  if (reasoning_effort !== undefined) options["reasoning"] = { effort: reasoning_effort }
  if (verbosity !== undefined) options["text"] = { verbosity }
  if (seed !== undefined) options["seed"] = seed
  if (stop !== undefined) options["stop"] = typeof stop === "string" ? stop : [...stop]
  if (extra === undefined) return options
  const { text, ...others } = extra
  for (const key of reserved) delete others[key]
  const { format: _, ...ownText } = isJsonObject(text) ? text : {}
  return mergeOptions(options, text === undefined ? others : { ...others, text: isJsonObject(text) ? ownText : text })
}

export interface RequestParts {
  readonly model: string
  /** The workflow's system text. */
  readonly system: string | null
  /** JSON texts of items, in their order. */
  readonly input: readonly string[]
  readonly options: JsonObject
  /** JSON text of `text.format`. */
  readonly format: string | null
  /** JSON text of `tools`. */
  readonly tools: string | null
  readonly stream: boolean
}

/** The body, put together from texts, so that what is large is turned into text once and not for every attempt. */
export function requestBody(parts: RequestParts): string {
  const { outside, inText } = optionTexts(parts.system === null ? parts.options : withoutSystem(parts.options))
  let input = ""
  for (const one of parts.input) input = joined(input, one)
  let body = `{"model":${JSON.stringify(parts.model)}`
  if (parts.tools !== null) body += `,"tools":${parts.tools}`
  if (parts.system !== null) body += `,"instructions":${JSON.stringify(parts.system)}`
  body += `,"input":[${input}]`
  if (outside !== "") body += `,${outside}`
  const text = joined(parts.format === null ? "" : `"format":${parts.format}`, inText)
  if (text !== "") body += `,"text":{${text}}`
  if (parts.stream) body += ',"stream":true'
  return `${body}}`
}

/** The workflow's own `system` wins over `extra`. */
function withoutSystem(options: JsonObject): JsonObject {
  const { instructions: _, ...others } = options
  return others
}

function joined(before: string, after: string): string {
  if (before === "" || after === "") return before + after
  return `${before},${after}`
}

interface OptionTexts {
  /** JSON texts of the fields within `text`, and of all others, without the braces around them. */
  readonly inText: string
  readonly outside: string
}

const textsOf = new WeakMap<JsonObject, OptionTexts>()

function optionTexts(options: JsonObject): OptionTexts {
  let texts = textsOf.get(options)
  if (texts === undefined) {
    const { text, ...rest } = options
    const inText = isJsonObject(text) ? JSON.stringify(text).slice(1, -1) : ""
    texts = { inText, outside: JSON.stringify(rest).slice(1, -1) }
    textsOf.set(options, texts)
  }
  return texts
}

/** JSON text of several items, without the brackets around them. */
export function itemsText(items: readonly Item[]): string {
  return items.length === 0 ? "" : JSON.stringify(items).slice(1, -1)
}

export function toolsText(
  tools: readonly ToolDefinition[],
  hosted: readonly JsonObject[],
  strictField: boolean,
): string | null {
  if (tools.length + hosted.length === 0) return null
  return JSON.stringify([
    ...tools.map(({ name, description, parameters }) => ({
      type: "function",
      name,
      description,
      parameters,
      // Left out, some backends take it for true and rewrite the schema.
      ...(strictField ? { strict: false } : {}),
    })),
    ...hosted,
  ])
}

const formats = new WeakMap<ContractForm, Readonly<Record<SchemaFormatLevel, string>>>()

/** JSON text of `text.format`. */
export function formatText(formatLevel: SchemaFormatLevel, form: ContractForm): string {
  let texts = formats.get(form)
  if (texts === undefined) {
    const name = JSON.stringify(form.name)
    texts = {
      strict: `{"type":"json_schema","name":${name},"schema":${form.strictSchema ?? form.schema},"strict":true}`,
      json_schema: `{"type":"json_schema","name":${name},"schema":${form.schema},"strict":false}`,
      json_object: '{"type":"json_object"}',
    }
    formats.set(form, texts)
  }
  return texts[formatLevel]
}
