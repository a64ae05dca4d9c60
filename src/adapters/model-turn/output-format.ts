import { toJsonSchema } from "../../types/json-schema.ts"
import { resolve } from "../../types/relations.ts"
import { fitsStrict, toStrictSchema } from "../../types/strict-schema.ts"
import type { ResponseFormat } from "../../plan/plan-shape.ts"
import type { OutputContract } from "../../ports/model.ts"

/** A way to ask for structured output, from the tightest to the loosest. */
export type FormatLevel = "strict" | "json_schema" | "json_object" | "instruction_only"

/** Levels that a request carries in a field of its own. */
export type SchemaFormatLevel = Exclude<FormatLevel, "instruction_only">

export const wholeLadder: readonly FormatLevel[] = ["strict", "json_schema", "json_object", "instruction_only"]

/** A contract as requests need it: made once for a contract, however often it is asked for. */
export interface ContractForm {
  /** Fits the names that APIs take. */
  readonly name: string
  /** JSON text of the schema. */
  readonly schema: string
  /** JSON text of the schema that OpenAI's strict mode takes; null where the contract does not fit it. */
  readonly strictSchema: string | null
  /** The only field, where there is one and it is a string: plain text will do for it. */
  readonly onlyTextField: string | null
  /** Backends that refused this very schema: the first rung that is left to them. */
  readonly refusedBy: Map<string, FormatLevel>
}

const forms = new WeakMap<OutputContract["type"], ContractForm>()

export function contractForm(contract: OutputContract): ContractForm {
  const known = forms.get(contract.type)
  if (known !== undefined) return known
  const { type, types } = contract
  const schema = JSON.stringify(toJsonSchema(type, types))
  const [first, ...others] = type.fields
  const form: ContractForm = {
    name: contract.name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "output",
    schema,
    strictSchema: fitsStrict(type, types).fits ? JSON.stringify(toStrictSchema(type, types)) : null,
    onlyTextField:
      first !== undefined && others.length === 0 && resolve(first.type, types).kind === "string" ? first.name : null,
    refusedBy: new Map(),
  }
  forms.set(type, form)
  return form
}

/** Where to begin: as the author says, else at `tightest`, or at the next looser rung of those that the backend is not known to refuse. */
export function firstFormatLevel(
  asked: ResponseFormat,
  tightest: FormatLevel,
  ladder: readonly FormatLevel[],
  left: readonly FormatLevel[],
): FormatLevel {
  switch (asked) {
    case "auto":
      return onLadder(tightest, left)
    case "json_schema":
      return onLadder(onLadder(tightest, left) === "strict" ? "strict" : "json_schema", ladder)
    case "json_object":
    case "instruction_only":
      return onLadder(asked, ladder)
  }
}

/** A rung by its name; null for none, or one of another release. */
export function formatLevelNamed(name: string | null): FormatLevel | null {
  return wholeLadder.find((formatLevel) => formatLevel === name) ?? null
}

/** The next looser rung that the author's choice leaves; null at the end. */
export function nextFormatLevel(
  asked: ResponseFormat,
  formatLevel: FormatLevel,
  ladder: readonly FormatLevel[],
): FormatLevel | null {
  const next = ladder.find((candidate) => place(candidate) > place(formatLevel)) ?? null
  if (asked === "auto" || (asked === "json_schema" && formatLevel === "strict")) return next
  return null
}

export function looser(...formatLevels: readonly (FormatLevel | null)[]): FormatLevel {
  let result: FormatLevel = "strict"
  for (const formatLevel of formatLevels)
    if (formatLevel !== null && place(formatLevel) > place(result)) result = formatLevel
  return result
}

/** The rungs from one to another, without the last. */
export function between(from: FormatLevel, to: FormatLevel, ladder: readonly FormatLevel[]): readonly FormatLevel[] {
  return ladder.filter((formatLevel) => place(formatLevel) >= place(from) && place(formatLevel) < place(to))
}

/** The rung itself, or the next looser one that the API has. */
function onLadder(formatLevel: FormatLevel, ladder: readonly FormatLevel[]): FormatLevel {
  return ladder.find((candidate) => place(candidate) >= place(formatLevel)) ?? "instruction_only"
}

function place(formatLevel: FormatLevel): number {
  return wholeLadder.indexOf(formatLevel)
}

/** The name of a rung in call records: the two with a schema are one format. */
export function formatName(formatLevel: FormatLevel): string {
  return formatLevel === "strict" ? "json_schema" : formatLevel
}

/** What a model reads where the request itself cannot carry the schema. */
export function schemaInstruction(form: ContractForm): string {
  return `Answer with one JSON object and nothing else: no code fence, no words before or after it. The object has to fit this JSON Schema:\n${form.schema}`
}

/** The same while tools are offered: the object is due once nothing more has to be called. */
export function schemaInstructionWithTools(form: ContractForm): string {
  return `Use the tools as you need them. Once you need none of them any more, answer with one JSON object and nothing else: no code fence, no words before or after it. The object has to fit this JSON Schema:\n${form.schema}`
}
