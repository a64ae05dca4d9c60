import type { Program } from "../check/program.ts"
import type { Span } from "../source/span.ts"
import { eachChain } from "../syntax/each-chain.ts"
import { valuesOf } from "../syntax/property-of.ts"
import { joined, record, type Labelled } from "./labelled.ts"
import { marked } from "./marks.ts"

const roots: ReadonlySet<string> = new Set(["body", "header", "query"])

/** The input, where fields that a webhook fills from its delivery are untrusted: a signature says who sent it, not who wrote it. */
export function withDeliveries(program: Program, input: Labelled): Labelled {
  const filled = filledFields(program)
  if (filled.size === 0) return input
  const fields = new Map<string, Labelled>()
  for (const { name } of program.input?.type.fields ?? []) {
    const span = filled.get(name)
    const field = input.field(name)
    fields.set(name, span === undefined ? field : joined(field, marked("untrusted", { name: `input.${name}`, span })))
  }
  return record(fields)
}

/** The input fields that a delivery decides, each with the place where a webhook fills it. */
function filledFields({ triggers }: Program): ReadonlyMap<string, Span> {
  const filled = new Map<string, Span>()
  for (const { declaration } of triggers.values()) {
    if (declaration.kind !== "webhook") continue
    for (const { name, value } of valuesOf(declaration.body, "input")) {
      eachChain(value, ({ base }) => {
        if (base.kind === "name" && roots.has(base.text)) filled.set(name.text, name)
      })
    }
  }
  return filled
}
