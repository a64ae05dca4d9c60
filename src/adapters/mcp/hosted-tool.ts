import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { childPath } from "../../base/child-path.ts"
import type { TypeTable } from "../../types/types.ts"
import type { ErrorIssue } from "../../run/events.ts"
import type { HostedTool, ImportedTool } from "../../ports/tools.ts"
import { cleanText } from "./clean-text.ts"
import { declaredClashes } from "./declared-fit.ts"
import { badMirrors } from "./mirrored-headers.ts"
import { publishedSchema } from "./published-schema.ts"
import { SchemaValidator } from "./schema-validator.ts"
import { toolPin } from "./tool-pin.ts"
import { isObject } from "./walk-schema.ts"

/** Longer ones are cut: a description is no place for a speech to the model. */
const longestDescription = 4000

export interface ToolFound {
  /** Null when the definition cannot be used. */
  readonly tool: HostedTool | null
  readonly problems: readonly ErrorIssue[]
}

/** A tool as its server publishes it, for the workflow that imports it. */
export function hostTool(definition: JsonObject, imported: ImportedTool, types: TypeTable, modern: boolean): ToolFound {
  const path = `tool.${imported.name}`
  const problems: ErrorIssue[] = []
  const pin = toolPin(definition)
  if (imported.pin !== null && imported.pin !== pin) {
    const message = `mcp.${imported.server} publishes another definition of ${imported.remote} than the one that was pinned`
    const hint = `Look at what changed (\`wire mcp inspect\`), and pin it anew: "${pin}".`
    problems.push({ path: `${path}.pin`, message, hint })
  }
  const input = publishedSchema(definition["inputSchema"])
  const output = definition["outputSchema"] === undefined ? null : publishedSchema(definition["outputSchema"])
  for (const [side, read] of [["input", input] as const, ["output", output] as const]) {
    if (read?.ok === false) {
      problems.push({
        path,
        message: `${imported.remote} of mcp.${imported.server}: its ${side} schema ${read.problem}`,
      })
    }
    const declared = imported[side]
    if (read?.ok !== true || declared === null) continue
    for (const clash of declaredClashes(declared, types, read.schema, side)) {
      const at = clash.path === "" ? `${path}.${side}` : joined(`${path}.${side}`, clash.path)
      problems.push({
        path: at,
        message: `${imported.name} cannot fit what mcp.${imported.server} publishes: ${clash.message}`,
      })
    }
  }
  const mirrors = modern && isObject(definition["inputSchema"]) ? badMirrors(definition["inputSchema"]) : undefined
  if (mirrors !== undefined) {
    problems.push({ path, message: `${imported.remote} of mcp.${imported.server}: its input schema ${mirrors}` })
  }
  if (!input.ok || output?.ok === false) return { tool: null, problems }
  return { tool: new PublishedTool(definition, input.schema, output?.schema ?? null), problems }
}

class PublishedTool implements HostedTool {
  readonly description: string
  readonly parameters: JsonObject
  readonly typed: boolean
  readonly idempotent: boolean
  readonly #output: JsonObject | null
  // Made when they are first asked for: a run imports more tools than it calls.
  #whole: SchemaValidator | null = null
  #partial: SchemaValidator | null = null
  #result: SchemaValidator | null = null

  constructor(definition: JsonObject, input: JsonObject, output: JsonObject | null) {
    const { description, title, annotations } = definition
    const said = typeof description === "string" && description.trim() !== "" ? description : title
    this.description = cleanText(typeof said === "string" ? said : "", longestDescription)
    this.parameters = input
    this.typed = output !== null
    this.idempotent =
      isObject(annotations) && (annotations["idempotentHint"] === true || annotations["readOnlyHint"] === true)
    this.#output = output
  }

  fit(values: JsonObject): JsonObject {
    const nulls = Object.keys(values).filter((name) => values[name] === null && this.#isAbsence(name))
    if (nulls.length === 0) return values
    return Object.fromEntries(Object.entries(values).filter(([name]) => !nulls.includes(name)))
  }

  checkArguments(values: JsonObject, partial?: "partial"): ReturnType<HostedTool["checkArguments"]> {
    if (partial === undefined) return (this.#whole ??= new SchemaValidator(this.parameters)).check(values)
    return (this.#partial ??= new SchemaValidator(withoutRequired(this.parameters))).check(values)
  }

  #isAbsence(name: string): boolean {
    const { properties, required } = this.parameters
    if (!isObject(properties) || !Object.hasOwn(properties, name)) return false
    if (Array.isArray(required) && required.includes(name)) return false
    const problems = this.checkArguments({ [name]: null }, "partial")
    return problems.some(({ path }) => path === childPath("", name))
  }

  checkResult(value: JsonValue): ReturnType<HostedTool["checkResult"]> {
    if (this.#output === null) return []
    return (this.#result ??= new SchemaValidator(this.#output)).check(value)
  }
}

/** What arguments that are not there yet would still have to satisfy is left out. */
function withoutRequired(schema: JsonObject): JsonObject {
  const { properties, additionalProperties, patternProperties, $defs, definitions, $schema, $ref: _, ...rest } = schema
  const kept = { properties, additionalProperties, patternProperties, $defs, definitions, $schema, type: rest["type"] }
  return Object.fromEntries(
    Object.entries(kept).flatMap(([key, value]): [string, JsonValue][] => (value === undefined ? [] : [[key, value]])),
  )
}

function joined(path: string, below: string): string {
  return below.startsWith("[") ? `${path}${below}` : `${path}.${below}`
}
