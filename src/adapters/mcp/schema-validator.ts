import type { OutputUnit, SchemaDraft } from "@cfworker/json-schema"
import { Validator } from "@cfworker/json-schema"
import { childPath } from "../../base/child-path.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { ValueProblem } from "../../ports/tools.ts"
import { innerSchemas, rewriteSchema, unescape } from "./walk-schema.ts"
import { withinTime } from "./within-time.ts"

const longestMs = 250

/** Values with more parts than this are validated against the clock, whatever their schema. */
const manyParts = 2000

/** These make the cost of a validation grow faster than schema and value do. */
const costly = ["$ref", "$dynamicRef", "$recursiveRef", "pattern", "patternProperties", "uniqueItems"]

/** Validates values against a schema from a server. */
export class SchemaValidator {
  readonly #validator: Validator
  readonly #costly: boolean

  /** `schema` has been accepted by `publishedSchema`. */
  constructor(schema: JsonObject) {
    // `format` is a remark in the newest dialects; names of schemas are for those who fetch them.
    const plain = rewriteSchema(schema, withoutRemarks)
    this.#validator = new Validator(plain, draftOf(schema), false)
    this.#costly = isCostly(plain)
  }

  check(value: JsonValue): readonly ValueProblem[] {
    const validate = (): readonly OutputUnit[] => this.#validator.validate(value).errors
    const errors = this.#costly || hasManyParts(value) ? withinTime(longestMs, validate)?.value : validate()
    if (errors === undefined) return [{ path: "", message: "takes too long to validate against its schema" }]
    return problemsOf(errors)
  }
}

function withoutRemarks(schema: JsonObject): JsonObject {
  const { format: _format, $id: _id, ...rest } = schema
  return rest
}

function draftOf({ $schema }: JsonObject): SchemaDraft {
  const [, draft] = typeof $schema === "string" ? (/draft-0?(4|7)|(?:2019-09)/.exec($schema) ?? []) : []
  if (draft === "4" || draft === "7") return draft
  return typeof $schema === "string" && $schema.includes("2019-09") ? "2019-09" : "2020-12"
}

function isCostly(schema: JsonObject): boolean {
  if (costly.some((key) => Object.hasOwn(schema, key))) return true
  return innerSchemas(schema).some((inner) => isCostly(inner.schema))
}

function hasManyParts(value: JsonValue): boolean {
  let parts = 0
  const count = (at: JsonValue): boolean => {
    if (++parts > manyParts) return true
    if (typeof at === "string") parts += at.length / 1000
    if (typeof at !== "object" || at === null) return false
    return Array.isArray(at) ? at.some(count) : Object.values(at).some(count)
  }
  return count(value)
}

/** Those that only say that something inside does not fit. */
const wrappers = new Set([
  "$ref",
  "$dynamicRef",
  "$recursiveRef",
  "properties",
  "patternProperties",
  "additionalProperties",
  "unevaluatedProperties",
  "items",
  "prefixItems",
  "additionalItems",
  "unevaluatedItems",
  "allOf",
  "dependentSchemas",
  "dependencies",
  "if",
  "then",
  "else",
])
const choices = new Set(["anyOf", "oneOf"])

function problemsOf(errors: readonly OutputUnit[]): ValueProblem[] {
  const chosen = errors
    .filter(({ keyword }) => choices.has(keyword))
    .map(({ keywordLocation }) => `${keywordLocation}/`)
  const problems = new Map<string, ValueProblem>()
  for (const error of errors) {
    if (wrappers.has(error.keyword) || chosen.some((place) => error.keywordLocation.startsWith(place))) continue
    const problem = { path: pathOf(error.instanceLocation), message: sentence(error) }
    problems.set(`${problem.path}\n${problem.message}`, problem)
  }
  // A wrapper without anything inside it still means that the value does not fit.
  if (problems.size === 0 && errors.length > 0) return [{ path: "", message: "does not fit its schema" }]
  return [...problems.values()]
}

function sentence({ keyword, error }: OutputUnit): string {
  if (keyword === "false") return "is not allowed"
  const [, found, expected] = /^Instance type "(.+)" is invalid\. Expected "(.+)"\.$/.exec(error) ?? []
  if (found !== undefined && expected !== undefined)
    return `expected ${expected.replaceAll('", "', " or ")}, found ${found}`
  const [, missing] = /^Instance does not have required property "(.*)"\.$/.exec(error) ?? []
  if (missing !== undefined) return `${missing} is missing`
  if (choices.has(keyword)) return "fits none of the schemas that it may have"
  const text = error.replace(/\.$/, "").replace(/^Instance /, "")
  return text.charAt(0).toLowerCase() + text.slice(1)
}

function pathOf(location: string): string {
  return location
    .split("/")
    .slice(1)
    .map(unescape)
    .reduce((path, part) => childPath(path, /^\d{1,9}$/.test(part) ? Number(part) : part), "")
}
