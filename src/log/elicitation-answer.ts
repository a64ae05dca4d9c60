import { childPath } from "../base/child-path.ts"
import { codePointCount } from "../base/code-points.ts"
import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { ErrorIssue } from "./events.ts"

const actions = ["accept", "decline", "cancel"] as const

/** JSON Schema of the answer to what a server asks. `form`: of its content; null where there is none. */
export function elicitationSchema(form: JsonObject | null): JsonObject {
  return {
    type: "object",
    properties: {
      action: { type: "string", enum: [...actions] },
      ...(form !== null && { content: form }),
    },
    required: ["action"],
    additionalProperties: false,
  }
}

/** The form in the schema of an answer; null where only an action is wanted. */
export function formIn({ properties }: JsonObject): JsonObject | null {
  const content = isJsonObject(properties) ? properties["content"] : undefined
  return isJsonObject(content) ? content : null
}

/** The answer as the server gets it, with the form's defaults, or what is wrong with it. */
export function readElicitation(
  answer: JsonValue,
  schema: JsonObject,
): { readonly answer: JsonObject } | { readonly issues: readonly [ErrorIssue, ...ErrorIssue[]] } {
  const wrong = (path: string, message: string) => ({ issues: [{ path, message: `${path}: ${message}` }] as const })
  if (!isJsonObject(answer)) return wrong("answer", "expected an object with `action`")
  const { action, content = null, ...rest } = answer
  const known = actions.find((one) => one === action)
  if (known === undefined) {
    return wrong("answer.action", 'expected "accept", "decline" or "cancel"')
  }
  const [unknown] = Object.keys(rest)
  if (unknown !== undefined) return wrong(childPath("answer", unknown), "unknown field")
  if (known !== "accept") {
    return content === null ? { answer: { action: known } } : wrong("answer.content", "only `accept` has a content")
  }
  const form = formIn(schema)
  if (form === null) {
    return content === null ? { answer: { action: known } } : wrong("answer.content", "this question has no content")
  }
  if (content !== null && !isJsonObject(content)) return wrong("answer.content", "expected an object")
  const filled = withDefaults(content ?? {}, schema)
  const [first, ...others] = misfitsOf(filled, form)
  return first === undefined ? { answer: { action: known, content: filled } } : { issues: [first, ...others] }
}

function fieldsOf({ properties }: JsonObject): [string, JsonObject][] {
  return Object.entries(isJsonObject(properties) ? properties : {}).flatMap(([name, field]) =>
    isJsonObject(field) ? [[name, field]] : [],
  )
}

/** Default values of the form's fields, for those that a person leaves out. */
export function defaultsIn(schema: JsonObject): JsonObject {
  const fields = fieldsOf(formIn(schema) ?? {})
  return Object.fromEntries(
    fields.flatMap(([name, { default: value }]): [string, JsonValue][] => (value === undefined ? [] : [[name, value]])),
  )
}

/** Null stands for a field that is left out. */
function withDefaults(content: JsonObject, schema: JsonObject): JsonObject {
  const given = Object.entries(content).filter(([, value]) => value !== null)
  return { ...defaultsIn(schema), ...Object.fromEntries(given) }
}

function misfitsOf(content: JsonObject, form: JsonObject): ErrorIssue[] {
  const fields = new Map(fieldsOf(form))
  const required = Array.isArray(form["required"]) ? form["required"] : []
  const issues: ErrorIssue[] = []
  const report = (name: string, message: string): void => {
    const path = childPath("answer.content", name)
    issues.push({ path, message: `${path}: ${message}` })
  }
  for (const name of required) {
    if (typeof name === "string" && !Object.hasOwn(content, name)) report(name, "this field is required")
  }
  for (const [name, value] of Object.entries(content)) {
    const field = fields.get(name)
    if (field === undefined) report(name, "unknown field")
    else {
      const problem = misfitOf(value, field)
      if (problem !== null) report(name, problem)
    }
  }
  return issues
}

function misfitOf(value: JsonValue, field: JsonObject): string | null {
  switch (field["type"]) {
    case "string":
      return typeof value === "string" ? textMisfit(value, field) : "expected a string"
    case "number":
    case "integer":
      if (typeof value !== "number") return "expected a number"
      if (field["type"] === "integer" && !Number.isInteger(value)) return "expected a whole number"
      return outside(value, field["minimum"], field["maximum"], "")
    case "boolean":
      return typeof value === "boolean" ? null : "expected true or false"
    default: {
      if (!Array.isArray(value)) return "expected an array"
      const items = isJsonObject(field["items"]) ? field["items"] : {}
      const bad = value.some((one) => typeof one !== "string" || textMisfit(one, items) !== null)
      if (bad) return `expected an array of ${choicesOf(items)}`
      return outside(value.length, field["minItems"], field["maxItems"], " choices")
    }
  }
}

function textMisfit(value: string, field: JsonObject): string | null {
  const { enum: values } = field
  if (Array.isArray(values) && !values.includes(value)) return `expected ${choicesOf(field)}`
  return outside(codePointCount(value), field["minLength"], field["maxLength"], " characters")
}

function choicesOf({ enum: values }: JsonObject): string {
  return Array.isArray(values) ? values.map((one) => JSON.stringify(one)).join(", ") : "strings"
}

function outside(
  found: number,
  least: JsonValue | undefined,
  most: JsonValue | undefined,
  unit: string,
): string | null {
  if (typeof least === "number" && found < least) return `expected at least ${least}${unit}`
  if (typeof most === "number" && found > most) return `expected at most ${most}${unit}`
  return null
}
