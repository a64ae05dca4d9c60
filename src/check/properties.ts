import type { Span } from "../source/span.ts"
import type { PropertyPlace } from "../syntax/property-forms.ts"
import type { Properties } from "../syntax/property-of.ts"
import { propertyOf } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { knownList } from "./known-list.ts"

interface Shape {
  readonly required: readonly string[]
  readonly optional: readonly string[]
  /** May stand more than once. */
  readonly repeated: readonly string[]
  /** Old spellings, with what is written now: an error. */
  readonly obsolete: Readonly<Record<string, string>>
  /** Spellings of elsewhere that are read as the property here: a warning. */
  readonly elsewhere: Readonly<Record<string, string>>
  /** Properties of elsewhere that mean nothing here: a warning. */
  readonly ignored: readonly string[]
}

const shape = (required: string[], optional: string[], more: Partial<Shape> = {}): Shape => ({
  required,
  optional,
  repeated: [],
  obsolete: {},
  elsewhere: {},
  ignored: [],
  ...more,
})

export const inferenceKeys = [
  "temperature",
  "top_p",
  "top_k",
  "frequency_penalty",
  "presence_penalty",
  "repeat_penalty",
  "max_tokens",
  "reasoning_effort",
  "verbosity",
  "seed",
  "stop",
  "timeout_seconds",
  "max_retries",
  "retry_base_delay_ms",
  "output_retries",
  "extra",
] as const

export const limitKeys = ["cost", "tokens", "model_calls", "tool_calls", "time_seconds"] as const

/** Which properties each block takes. */
const shapes: Readonly<Record<PropertyPlace, Shape | undefined>> = {
  provider: shape([], ["endpoint", "api_key", "headers", "inference", "wire_api"], { obsolete: { driver: "from" } }),
  model: shape(["id"], ["inference", "assets", "response_format", "system", "price", "wire_api"]),
  mcp: shape(["endpoint"], ["headers"]),
  tool: shape([], ["input", "output", "bindings", "max_calls", "description", "idempotent", "pin", "approval"]),
  resource: shape([], ["bindings"]),
  prompt: shape([], ["bindings"]),
  batch: shape([], ["bindings", "max_calls", "approval"]),
  agent: shape(
    ["model", "instruction", "output"],
    ["uses", "context", "file", "dynamic", "response_format", "max_steps", "on_failure", "system", "limits"],
    { repeated: ["file", "dynamic"], obsolete: { prompt: "instruction", tools: "uses", models: "model" } },
  ),
  ask: shape(["question", "output"], ["show", "to", "expires_seconds", "on_expiry"]),
  approval: shape([], ["to", "expires_seconds"]),
  inference: shape([], [...inferenceKeys], {
    obsolete: { provider_retry_base_delay_ms: "retry_base_delay_ms" },
    elsewhere: { provider_max_retries: "max_retries" },
    ignored: ["stuck_threshold"],
  }),
  price: shape(["input", "output"], ["cached"]),
  limits: shape([], [...limitKeys]),
  file: shape(["content"], ["name", "media_type"], { ignored: ["purpose"] }),
  "short-file": shape([], ["name", "media_type"], { ignored: ["purpose"] }),
  use: shape([], ["bindings", "max_calls", "approval"]),
  "configured-model": shape([], ["inference"]),
  compact: shape([], ["model", "instruction"]),
  call: shape([], ["input", "bindings", "max_calls", "approval"]),
  read: shape([], ["bindings"]),
  render: shape([], ["bindings"]),
  asset: shape([], ["type", "media_type", "title", "context", "citations"]),
  unknown: undefined,
}

/** The properties that a block takes, for completion. */
export function propertiesOf(place: PropertyPlace): readonly string[] {
  const known = shapes[place]
  return known === undefined ? [] : [...known.required, ...known.optional]
}

/**
 * The properties of a block by name (another spelling under the name here), the first where one is repeated by mistake.
 * Reports what is unknown, repeated, obsolete, ignored or missing; `owner` is where a missing one is shown, and
 * `alsoRequired` names optional ones that this block needs.
 */
export function readProperties(
  checking: CheckContext,
  place: PropertyPlace,
  block: Syntax.Block<Syntax.Property | Syntax.BatchItem> | undefined,
  path: string,
  owner: Span,
  alsoRequired: readonly string[] = [],
): Map<string, Syntax.Property> {
  const known = shapes[place]
  const properties = new Map<string, Syntax.Property>()
  const misspelt = new Set<string>()
  if (known === undefined) return properties
  for (const property of block?.items ?? []) {
    if (property.kind !== "property") continue
    const name = property.name.text
    const now = lookUp(known.obsolete, name) ?? lookUp(known.elsewhere, name)
    if (now !== undefined) obsolete(checking, property, now, path, Object.hasOwn(known.elsewhere, name))
    else if (known.ignored.includes(name)) {
      const message = `\`${name}\` has no effect: no API that models are called by has it`
      checking.report("ignored-setting", `${path}.${name}`, property.name, message, "Remove it.")
      continue
    } else if (!known.required.includes(name) && !known.optional.includes(name)) {
      const meant = unknown(checking, property, place, known, path)
      if (meant !== undefined) misspelt.add(meant)
      continue
    }
    const key = now ?? name
    if (!properties.has(key)) properties.set(key, property)
    else if (!known.repeated.includes(key)) {
      checking.report(
        "duplicate-field",
        `${path}.${name}`,
        property.name,
        `\`${name}\` is here already`,
        "Remove one of the two.",
      )
    }
  }
  for (const name of [...known.required, ...alsoRequired]) {
    if (properties.has(name) || misspelt.has(name)) continue
    if (block !== undefined && checking.skipped.isSwallowedIn(block, name)) continue
    const message = `\`${name}\` is missing`
    checking.report("missing-property", `${path}.${name}`, owner, message, missingHint(place, name))
  }
  return properties
}

/** The expression that is a property's value; reports a block in its place. `path` is that of the block around it. */
export function expressionOf(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  path: string,
): Syntax.Expression | undefined {
  if (property === undefined || property.value.kind === "missing") return undefined
  if (property.value.kind === "expression") return property.value.expression
  const name = property.name.text
  checking.report(
    "type-mismatch",
    `${path}.${name}`,
    property.name,
    "Expected a value, found a block",
    `Write \`${name}: …\`.`,
  )
  return undefined
}

function lookUp(table: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}

/** A property by its name here, or by a spelling of elsewhere that is read as it. */
export function propertyIn(
  place: PropertyPlace,
  block: Properties | undefined,
  name: string,
): Syntax.Property | undefined {
  const others = Object.entries(shapes[place]?.elsewhere ?? {}).filter(([, here]) => here === name)
  for (const spelling of [name, ...others.map(([other]) => other)]) {
    const property = propertyOf(block, spelling)
    if (property !== undefined) return property
  }
  return undefined
}

function obsolete(checking: CheckContext, property: Syntax.Property, now: string, path: string, isRead: boolean): void {
  const old = property.name.text
  // `driver` belongs to the provider's head, which tells it with the rest.
  if (now === "from") return
  const message = `\`${old}:\` is ${isRead ? "read as" : "now written"} \`${now}:\``
  const severity = isRead ? "warning" : undefined
  checking.report("obsolete-syntax", `${path}.${old}`, property.name, message, `Write \`${now}:\`.`, severity)
}

/** Reports a property that does not exist; the one that was probably meant. */
function unknown(
  checking: CheckContext,
  property: Syntax.Property,
  place: PropertyPlace,
  known: Shape,
  path: string,
): string | undefined {
  const name = property.name.text
  const names = [...known.required, ...known.optional].map((one) => ({ name: one }))
  const hint = elsewhere(place, name, known) ?? knownList(checking, name, names, "Known here:")
  checking.report("unknown-property", `${path}.${name}`, property.name, `Unknown property: ${name}`, hint)
  return checking.suggest(name, [...known.required, ...known.optional])
}

const loopHint = "A loop follows the name: `agent name for item in input.list { … }`."

/** What other frameworks have, and what is written here. */
const otherwise: Partial<Record<PropertyPlace, Readonly<Record<string, string>>>> = {
  agent: {
    for: loopHint,
    for_each: loopHint,
    depends_on: "Remove it: the order comes from the references.",
    messages: "Write `system:` and `instruction:`.",
    system_prompt: "Write `system:`.",
    retries: "It belongs in `inference { max_retries: … }`.",
  },
  provider: { models: 'Declare each of them: `model name from provider_name { id: "…" }`.' },
}

/** Where a property belongs that exists in another place. */
function elsewhere(place: PropertyPlace, name: string, known: Shape): string | undefined {
  if (place === "agent" && ["if", "when", "condition"].includes(name)) {
    return "A condition follows the name: `agent name when input.ready { … }`."
  }
  const here = lookUp(otherwise[place] ?? {}, name)
  if (here !== undefined) return here
  if (!(inferenceKeys as readonly string[]).includes(name)) return undefined
  if (known.optional.includes("inference")) return `It belongs in \`inference { ${name}: … }\`.`
  if (place !== "agent") return undefined
  return `It belongs to the model: \`model: model.name { inference { ${name}: … } }\`, or \`inference { }\` where that is declared.`
}

function missingHint(place: PropertyPlace, name: string): string {
  if (place === "agent" && name === "model") return "Add `model: model.name`."
  if (place === "agent" && name === "output") return "Add `output { … }` with the fields that the model is to give."
  if (place === "ask" && name === "output") return "Add `output { … }` with the fields of the answer."
  if (place === "price") return `Add \`${name}: 0.40\`, with the price of a million tokens.`
  return `Add \`${name}: "…"\`.`
}
