import type { Program } from "../check/program.ts"
import type { Span } from "../source/span.ts"
import { eachChain } from "../syntax/each-chain.ts"
import { expressionIn, valuesOf } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import { record, type Labelled } from "./label-tree.ts"
import { isNone, join, marked, none, type Marks } from "./marks.ts"

const roots: ReadonlySet<string> = new Set(["body", "header", "query"])

/** The input, where fields that a webhook fills from its delivery are untrusted: a signature says who sent it, not who wrote it. */
export function withDeliveries(program: Program, input: Labelled): Labelled {
  const filled = filledFields(program)
  if (filled.size === 0) return input
  const fields = new Map<string, Labelled>()
  for (const { name } of program.input?.type.fields ?? []) {
    const span = filled.get(name)
    const field = input.field(name)
    fields.set(name, span === undefined ? field : field.with(marked("untrusted", { name: `input.${name}`, span })))
  }
  return record(fields)
}

/** The input fields that a delivery decides, each with the place where a webhook fills it. */
function filledFields({ triggers }: Program): ReadonlyMap<string, Span> {
  const filled = new Map<string, Span>()
  for (const { declaration } of triggers.values()) {
    if (declaration.kind !== "webhook") continue
    for (const { name, value } of valuesOf(declaration.body, "input")) {
      if (isDelivered(value)) filled.set(name.text, name)
    }
  }
  return filled
}

/** The deliveries that decide whether there is a run. */
export function deliveredWhen({ triggers }: Program): Marks {
  return join(
    ...[...triggers.values()].map(({ declaration: { kind, name, body } }) => {
      const when = kind === "webhook" ? expressionIn(body, "when") : undefined
      if (when === undefined || !isDelivered(when)) return none
      return marked("untrusted", { name: `webhook.${name.text}.when`, span: when })
    }),
  )
}

/** Whether a webhook of the file fills inputs, or decides, from what is delivered. */
export function takesDeliveries(program: Program): boolean {
  return filledFields(program).size > 0 || !isNone(deliveredWhen(program))
}

function isDelivered(value: Syntax.Expression): boolean {
  let found = false
  eachChain(value, ({ base }) => {
    found ||= base.kind === "name" && roots.has(base.text)
  })
  return found
}
