import { toJsonSchema } from "../../types/json-schema.ts"
import { resolve } from "../../types/relations.ts"
import { fitsStrict, toStrictSchema } from "../../types/strict-schema.ts"
import type { ResponseFormat } from "../../plan/plan-shape.ts"
import type { OutputContract } from "../../ports/model.ts"

/** A way to ask for structured output, from the tightest to the loosest. */
export type Rung = "strict" | "json_schema" | "json_object" | "instruction_only"

const ladder: readonly Rung[] = ["strict", "json_schema", "json_object", "instruction_only"]

/** What a contract looks like on the wire: made once for a contract, however often it is asked for. */
export interface ContractForm {
  /** JSON text of the schema, for the instructions. */
  readonly schema: string
  readonly strict: boolean
  /** The only field, where there is one and it is a string: plain text will do for it. */
  readonly only_text_field: string | null
  /** JSON texts of `text.format`. */
  readonly formats: Readonly<Record<"strict" | "json_schema" | "json_object", string>>
  /** Backends that refused this very schema: the first rung that is left to them. */
  readonly refused_by: Map<string, Rung>
}

const forms = new WeakMap<OutputContract["type"], ContractForm>()

export function contractForm(contract: OutputContract): ContractForm {
  const known = forms.get(contract.type)
  if (known !== undefined) return known
  const { type, types } = contract
  const schema = JSON.stringify(toJsonSchema(type, types))
  const strict = fitsStrict(type, types).fits
  const strictSchema = strict ? JSON.stringify(toStrictSchema(type, types)) : schema
  const name = JSON.stringify(contract.name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "output")
  const [first, ...others] = type.fields
  const form: ContractForm = {
    schema,
    strict,
    only_text_field:
      first !== undefined && others.length === 0 && resolve(first.type, types).kind === "string" ? first.name : null,
    formats: {
      strict: `{"type":"json_schema","name":${name},"schema":${strictSchema},"strict":true}`,
      json_schema: `{"type":"json_schema","name":${name},"schema":${schema},"strict":false}`,
      json_object: '{"type":"json_object"}',
    },
    refused_by: new Map(),
  }
  forms.set(type, form)
  return form
}

/** Where to begin: as the author says, else at the tightest that the backend is not known to refuse. */
export function firstRung(asked: ResponseFormat, form: ContractForm, known: Rung | null, backend: string): Rung {
  const tightest: Rung = form.strict ? "strict" : "json_schema"
  const refused = form.refused_by.get(backend) ?? null
  switch (asked) {
    case "auto":
      return looser(tightest, known, refused)
    case "json_schema": {
      const rung = looser(tightest, known, refused)
      return rung === "strict" ? "strict" : "json_schema"
    }
    case "json_object":
    case "instruction_only":
      return asked
  }
}

/** A rung by its name; null for none, or one of another release. */
export function rungNamed(name: string | null): Rung | null {
  return ladder.find((rung) => rung === name) ?? null
}

/** The next looser rung that the author's choice leaves; null at the end. */
export function nextRung(asked: ResponseFormat, rung: Rung): Rung | null {
  const next = ladder[ladder.indexOf(rung) + 1] ?? null
  if (asked === "auto" || (asked === "json_schema" && rung === "strict")) return next
  return null
}

export function looser(...rungs: readonly (Rung | null)[]): Rung {
  let result: Rung = "strict"
  for (const rung of rungs) if (rung !== null && ladder.indexOf(rung) > ladder.indexOf(result)) result = rung
  return result
}

/** The name of a rung in call records: the two with a schema are one format. */
export function formatName(rung: Rung): string {
  return rung === "strict" ? "json_schema" : rung
}

/** What a model is told where the request itself cannot carry the schema. */
export function schemaInstruction(form: ContractForm): string {
  return `Answer with one JSON object and nothing else: no code fence, no words before or after it. The object has to fit this JSON Schema:\n${form.schema}`
}

/** The same while tools are offered: the object is due once nothing more has to be called. */
export function schemaInstructionWithTools(form: ContractForm): string {
  return `Use the tools as you need them. Once you need none of them any more, answer with one JSON object and nothing else: no code fence, no words before or after it. The object has to fit this JSON Schema:\n${form.schema}`
}
