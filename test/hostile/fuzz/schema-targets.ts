import { hostTool } from "../../../src/adapters/mcp/hosted-tool.ts"
import { StepBudget } from "../../../src/adapters/mcp/step-budget.ts"
import { ValidationBudget } from "../../../src/adapters/mcp/validation-budget.ts"
import type { JsonObject, JsonValue } from "../../../src/base/json-value.ts"
import { compile } from "../../../src/compile.ts"
import { createDemoModel } from "../../../src/demo/handle-demo.ts"
import { RunFailure } from "../../../src/ports/run-failure.ts"
import { parseJson } from "../../../src/run/values/parse-json.ts"
import { toJsonSchema } from "../../../src/types/json-schema.ts"
import { toStrictSchema } from "../../../src/types/strict-schema.ts"
import { validateValue } from "../../../src/types/validate-value.ts"
import { largest } from "./fuzz.ts"
import type { Random } from "../../support/random.ts"
import type { Target } from "./target.ts"

const tokens = [
  ...'{}[]",:'.split(""),
  ...'"$ref":"#" "$ref":"#/$defs/a" "$ref":"#/$defs/b" "type":"object" "type":"array" "type":"string" "items":{'.split(
    " ",
  ),
  ...'"properties":{ "required":["a"] "anyOf":[ "oneOf":[ "allOf":[ "not":{ "enum":["a"] "const":1 "$defs":{"a":{'.split(
    " ",
  ),
  ...'"pattern":"(a+)+b" "minItems":10000 "maxItems":1 "minLength":1000000 "uniqueItems":true "additionalProperties":{'.split(
    " ",
  ),
  ...'"patternProperties":{"a*": "$anchor":"x" "$dynamicRef":"#x" "if":{ "then":{ "else":{ "default":[ "examples":['.split(
    " ",
  ),
  ...'"prefixItems":[ "contains":{ "propertyNames":{ "dependentSchemas":{"a": "unevaluatedProperties":false'.split(" "),
]

/** A JSON Schema that nests, refers and repeats at random. */
function schema(random: Random, depth: number): JsonValue {
  const inner = (): JsonValue => (depth <= 0 || random.chance(0.15) ? leaf(random) : schema(random, depth - 1))
  const few = random.size(5)
  switch (random.below(12)) {
    case 0:
      return {
        type: "object",
        properties: Object.fromEntries(random.list(few, (i) => [`p${i}`, inner()])),
        required: random.list(few, (i) => `p${i}`),
      }
    case 1:
      return { type: "array", items: inner(), minItems: random.size(100_000) }
    case 2:
      return { [random.pick(["anyOf", "oneOf", "allOf"])]: random.list(few, inner) }
    case 3:
      return { $ref: random.pick(["#", "#/$defs/a", "#/$defs/b", "#/properties/p0", "#x", "#/nowhere"]) }
    case 4:
      return { $defs: { a: inner(), b: inner() }, $ref: "#/$defs/a" }
    case 5:
      return { type: "array", prefixItems: random.list(few, inner), items: inner(), uniqueItems: true }
    case 6:
      return { not: inner(), if: inner(), then: inner(), else: inner() }
    case 7:
      return {
        patternProperties: { [random.pick(["a*", "(a|a)*b", "^x", "."])]: inner() },
        additionalProperties: inner(),
      }
    case 8:
      return {
        $anchor: "x",
        $dynamicAnchor: "x",
        contains: inner(),
        propertyNames: inner(),
        unevaluatedProperties: inner(),
      }
    default:
      return leaf(random)
  }
}

function leaf(random: Random): JsonValue {
  return random.pick<JsonValue>([
    { type: "string" },
    { type: "integer", multipleOf: 0.1 },
    { type: "string", pattern: "(a+)+$", minLength: 100_000 },
    { enum: ["a", 1, null, { a: [1] }] },
    { const: { a: [1, 2, 3] } },
    { type: "null" },
    { $ref: "#" },
    true,
    false,
    {},
  ])
}

/** A value that may fit. */
function value(random: Random, depth: number): JsonValue {
  if (depth <= 0) return random.pick<JsonValue>([1, "a", null, true, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", {}, []])
  const few = random.size(4)
  return random.chance(0.5)
    ? random.list(few, () => value(random, depth - 1))
    : Object.fromEntries(random.list(few, (i) => [`p${i}`, value(random, depth - 1)]))
}

/** A schema and a value, one line each. */
function schemaAndValue(random: Random, most: number): string {
  for (let depth = random.size(6); ; depth = Math.max(0, depth - 1)) {
    const text = `${JSON.stringify(schema(random, depth))}\n${JSON.stringify(value(random, random.size(depth + 1)))}`
    if (text.length <= most || depth === 0) return text
  }
}

function read(input: string): { schema: JsonObject; value: JsonValue } | null {
  const cut = input.indexOf("\n")
  const given = parseJson(cut < 0 ? input : input.slice(0, cut))
  const found = cut < 0 ? null : (parseJson(input.slice(cut + 1)) ?? null)
  if (typeof given !== "object" || given === null || Array.isArray(given)) return null
  return { schema: given, value: found }
}

const { program } = compile(
  "input { p0: [{ p0: string, p1: maybe integer } | [string]], p1: object, p2: variant k { a { b: string } } }",
)

/** What an MCP server publishes about a tool, and arguments and results for it. */
export const publishedTarget: Target = {
  name: "schemas of servers",
  tokens,
  make: schemaAndValue,
  read(input) {
    const found = read(input)
    if (found === null || program.input === undefined) return
    const definition = {
      name: "t",
      description: "x",
      inputSchema: { type: "object", ...found.schema },
      outputSchema: found.schema,
    }
    const imported = {
      name: "t",
      server: "s",
      remote: "t",
      input: program.input.type,
      output: program.input.type,
      pin: null,
    }
    const budgets = { lookUp: new StepBudget(1_000_000), validation: new ValidationBudget() }
    try {
      const { tool } = hostTool(definition, imported, program.types, true, budgets)
      tool?.checkArguments(
        typeof found.value === "object" && found.value !== null && !Array.isArray(found.value) ? found.value : {},
      )
    } catch (error) {
      if (!(error instanceof RunFailure)) throw error
    }
  },
}

const demo = createDemoModel()

/** A schema that the demo model answers. */
export const demoTarget: Target = {
  name: "schemas for the demo model",
  tokens,
  make: schemaAndValue,
  async read(input) {
    const found = read(input)
    if (found === null) return
    const format = { type: "json_schema", name: "x", schema: found.schema }
    const tools = [{ type: "function", name: "t", parameters: found.schema }]
    for (const more of [{ text: { format } }, { tools, stream: true }]) {
      await demo.handle({
        route: { api: "responses" },
        body: JSON.stringify({ model: "demo", input: "Say something.", ...more }),
      })
    }
  },
}

const typeTokens = [
  ..."{}[]()|,:; \n".split(""),
  ..."string integer number boolean null object maybe enum variant schema.s schema.t a".split(" "),
  '"l"',
  "; 3]",
  "f: ",
  "| { a: string }",
  "[schema.s]",
  "maybe schema.t",
]

function type(random: Random, depth: number): string {
  if (depth <= 0)
    return random.pick(["string", "integer", '"l"', "null", "object", "boolean", "schema.s", "[schema.t]"])
  const inner = (): string => type(random, depth - 1)
  switch (random.below(7)) {
    case 0:
      return `[${inner()}${random.chance(0.3) ? `; ${random.size(10_000)}` : ""}]`
    case 1:
      return `maybe ${inner()}`
    case 2:
      return `(${random.list(1 + random.size(3), inner).join(", ")})`
    case 3:
      return `{ ${random.list(random.size(6), (i) => `p${i}: ${inner()}`).join(", ")} }`
    case 4:
      return random.list(1 + random.size(8), inner).join(" | ")
    case 5:
      return `variant k { ${random.list(random.size(6), (i) => `c${i} { p: ${inner()} }`).join(" ")} }`
    default:
      return random
        .list(1 + random.size(30), (i) => `{ p0: "v${i}", p1: ${random.pick(["string", "schema.s", "integer"])} }`)
        .join(" | ")
  }
}

/** Types of the language, and a value for them, after a line `---`. */
export const typeTarget: Target = {
  name: "types",
  tokens: typeTokens,
  make(random, most) {
    for (let depth = random.size(4); ; depth = Math.max(0, depth - 1)) {
      const one = (): string => type(random, depth)
      const given = JSON.stringify({ p0: value(random, random.size(depth + 1)) })
      const schemas = `schema s { a: maybe schema.t, b: [${one()}] }\nschema t { c: [schema.s], d: [${one()}] }\n`
      const text = `${schemas}input { p0: ${one()} }\noutput { a: input.p0 }\n---\n${given}`
      if (text.length <= most || depth === 0) return text.slice(0, largest)
    }
  },
  read(input) {
    const [source = "", given = ""] = input.split("\n---\n")
    const { program: found, plan } = compile(source)
    const checked = parseJson(given)
    if (plan === undefined) return
    toJsonSchema(plan.input, plan.types)
    toStrictSchema(plan.output, plan.types)
    if (checked !== undefined) validateValue(checked, plan.input, found.types, "input")
  },
}
