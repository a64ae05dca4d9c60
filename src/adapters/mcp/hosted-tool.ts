import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { childPath } from "../../base/child-path.ts"
import type { TypeTable } from "../../types/types.ts"
import type { ErrorIssue } from "../../log/events.ts"
import { failure } from "../../ports/run-failure.ts"
import type { HostedTool, ImportedTool, ValueProblem } from "../../ports/tools.ts"
import { didYouMean } from "../../base/did-you-mean.ts"
import { cleanLine, cleanText } from "./clean-text.ts"
import { declaredClashes } from "./declared-fit.ts"
import { isDeeper } from "../../base/bounded-json.ts"
import { badMirrors } from "./mirrored-headers.ts"
import { publishedSchema, type PublishedSchema } from "./published-schema.ts"
import { SchemaValidator } from "./schema-validator.ts"
import { OverBudget, StepBudget } from "./step-budget.ts"
import { publishedPart, toolPin } from "./tool-pin.ts"
import { ValidationBudget } from "./validation-budget.ts"
import { mcpDefinitionLevels, mcpToolDescription } from "../../base/limits.ts"

export interface ToolFound {
  /** Null when the definition cannot be used. */
  readonly tool: HostedTool | null
  readonly problems: readonly ErrorIssue[]
}

/** What one run may spend on the definitions of its servers. */
export interface ToolBudgets {
  readonly lookUp: StepBudget
  readonly validation: ValidationBudget
}

/** A tool as its server publishes it, for the workflow that imports it. Throws a `RunFailure` for one beyond the limits. */
export function hostTool(
  definition: JsonObject,
  imported: ImportedTool,
  types: TypeTable,
  modern: boolean,
  budgets: ToolBudgets,
): ToolFound {
  const path = `tool.${imported.name}`
  const problems: ErrorIssue[] = []
  const { input, output } = schemasOf(definition)
  const about = `${imported.remote} of mcp.${imported.server}`
  for (const [side, read] of [["input", input] as const, ["output", output] as const]) {
    if (read?.ok !== false) continue
    if (read.limit) throw failure("tool_error", path, `${about}: its ${side} schema ${read.problem}`)
    problems.push({ path, message: `${about}: its ${side} schema ${read.problem}` })
  }
  if (isDeeper(definition, mcpDefinitionLevels)) {
    throw failure("tool_error", path, `${about}: its definition is nested more than ${mcpDefinitionLevels} levels deep`)
  }
  const pin = toolPin(definition)
  if (imported.pin !== null && imported.pin !== pin) {
    const message = `mcp.${imported.server} publishes another definition of ${imported.remote} than the one that was pinned`
    const hint = `Look at what changed (\`wire mcp inspect\`), and pin it anew: "${pin}".`
    problems.push({ path: `${path}.pin`, message, hint })
  }
  problems.push(...unknownArguments(definition, imported))
  for (const [side, read] of [["input", input] as const, ["output", output] as const]) {
    const declared = imported[side]
    if (read?.ok !== true || declared === null) continue
    for (const clash of declaredClashes(declared, types, read.schema, side, budgets.lookUp)) {
      const at = clash.path === "" ? `${path}.${side}` : joined(`${path}.${side}`, clash.path)
      problems.push({
        path: at,
        message: `${imported.name} cannot fit what mcp.${imported.server} publishes: ${clash.message}`,
      })
    }
  }
  const mirrors =
    modern && input.ok && isJsonObject(definition["inputSchema"]) ? badMirrors(definition["inputSchema"]) : undefined
  if (mirrors !== undefined) {
    problems.push({ path, message: `${about}: its input schema ${mirrors}` })
  }
  if (!input.ok || output?.ok === false) return { tool: null, problems }
  return {
    tool: new PublishedTool(path, definition, input.schema, output?.schema ?? null, budgets.validation),
    problems,
  }
}

/** A tool of a recorded definition, which its server published once. */
export function reviveTool(definition: JsonObject, imported: ImportedTool, types: TypeTable): ToolFound {
  const budgets = { lookUp: new StepBudget(1_000_000), validation: new ValidationBudget() }
  return hostTool(definition, imported, types, false, budgets)
}

interface Schemas {
  readonly input: PublishedSchema
  readonly output: PublishedSchema | null
}

/** Read once, however often a definition is imported, and by however many runs while its list is kept. */
const known = new WeakMap<JsonObject, Schemas>()

function schemasOf(definition: JsonObject): Schemas {
  let schemas = known.get(definition)
  if (schemas === undefined) {
    const { inputSchema, outputSchema } = definition
    schemas = {
      input: publishedSchema(inputSchema),
      output: outputSchema === undefined ? null : publishedSchema(outputSchema),
    }
    known.set(definition, schemas)
  }
  return schemas
}

class PublishedTool implements HostedTool {
  readonly definition: JsonObject
  readonly description: string
  readonly parameters: JsonObject
  readonly typed: boolean
  readonly result?: JsonObject
  readonly idempotent: boolean
  readonly #path: string
  readonly #output: JsonObject | null
  readonly #budget: ValidationBudget
  // Made when they are first asked for: a run imports more tools than it calls.
  #whole: SchemaValidator | null = null
  #partial: SchemaValidator | null = null
  #result: SchemaValidator | null = null

  constructor(
    path: string,
    definition: JsonObject,
    input: JsonObject,
    output: JsonObject | null,
    budget: ValidationBudget,
  ) {
    const { description, title, annotations } = definition
    const said = typeof description === "string" && description.trim() !== "" ? description : title
    this.description = cleanText(typeof said === "string" ? said : "", mcpToolDescription)
    this.definition = publishedPart(definition)
    this.parameters = input
    this.typed = output !== null
    if (output !== null) this.result = output
    this.idempotent =
      isJsonObject(annotations) && (annotations["idempotentHint"] === true || annotations["readOnlyHint"] === true)
    this.#path = path
    this.#output = output
    this.#budget = budget
  }

  fit(values: JsonObject): JsonObject {
    const nulls = new Set(Object.keys(values).filter((name) => values[name] === null && this.#isAbsence(name)))
    if (nulls.size === 0) return values
    return Object.fromEntries(Object.entries(values).filter(([name]) => !nulls.has(name)))
  }

  checkArguments(values: JsonObject, partial?: "partial"): ReturnType<HostedTool["checkArguments"]> {
    const validator =
      partial === undefined
        ? (this.#whole ??= new SchemaValidator(this.parameters))
        : (this.#partial ??= new SchemaValidator(withoutRequired(this.parameters)))
    const problems = this.#check(validator, values)
    if (problems === null) throw failure("tool_error", this.#path, `Its arguments: ${tooCostly}`)
    return problems
  }

  /** Null where the schema makes it take too many steps. */
  #check(validator: SchemaValidator, value: JsonValue): readonly ValueProblem[] | null {
    try {
      return this.#budget.spend(value, (steps) => validator.check(value, steps))
    } catch (error) {
      if (error instanceof OverBudget) return null
      throw error
    }
  }

  #isAbsence(name: string): boolean {
    const { properties, required } = this.parameters
    if (!isJsonObject(properties) || !Object.hasOwn(properties, name)) return false
    if (Array.isArray(required) && required.includes(name)) return false
    const problems = this.checkArguments({ [name]: null }, "partial")
    return problems.some(({ path }) => path === childPath("", name))
  }

  checkResult(value: JsonValue): ReturnType<HostedTool["checkResult"]> {
    if (this.#output === null) return []
    this.#result ??= new SchemaValidator(this.#output)
    return this.#check(this.#result, value) ?? [{ path: "", message: tooCostly }]
  }
}

const tooCostly = "the server's schema takes too many steps to validate against"

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

/** A name in `requires` that is no argument of the tool would protect nothing. */
function unknownArguments(definition: JsonObject, { name, server, remote, requires = [] }: ImportedTool): ErrorIssue[] {
  const schema = definition["inputSchema"]
  const properties = isJsonObject(schema) && isJsonObject(schema["properties"]) ? schema["properties"] : {}
  return requires.flatMap((argument) => {
    if (Object.hasOwn(properties, argument)) return []
    const near = didYouMean(argument, Object.keys(properties).slice(0, 200))
    const message = `${remote} of mcp.${server} has no argument ${argument}`
    const hint = near === undefined ? {} : { hint: `Did you mean ${cleanLine(near, 200)}?` }
    return [{ path: `tool.${name}.requires`, message, ...hint }]
  })
}
