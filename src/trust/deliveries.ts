import type { Program } from "../check/program.ts"
import type { Span } from "../source/span.ts"
import { eachChain } from "../syntax/each-chain.ts"
import { expressionIn, propertyOf, valuesOf } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import { either, flat, record, type Labelled } from "./label-tree.ts"
import { isNone, join, marked, none, via, type Marks } from "./marks.ts"

const roots: ReadonlySet<string> = new Set(["body", "header", "query"])
const previous: ReadonlySet<string> = new Set(["previous"])

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
function filledFields({ triggers, input, filledElsewhere = [] }: Program): ReadonlyMap<string, Span> {
  const filled = new Map<string, Span>()
  for (const name of filledElsewhere) filled.set(name, input?.declaration ?? { start: 0, end: 0 })
  for (const { declaration } of triggers.values()) {
    if (declaration.kind !== "webhook") continue
    for (const { name, value } of valuesOf(declaration.body, "input")) {
      if (isDelivered(value)) filled.set(name.text, name)
    }
  }
  return filled
}

/** The names of the input fields that a delivery decides. */
export function deliveredFields(program: Program): readonly string[] {
  return [...filledFields(program).keys()]
}

/** The deliveries that decide whether there is a run. */
export function deliveredWhen({ triggers }: Program): Marks {
  return join(
    ...[...triggers.values()].map(({ declaration: { kind, name, body } }) => {
      // One that sends events starts no run.
      const starts = kind === "webhook" && propertyOf(body, "event") === undefined
      const when = starts ? expressionIn(body, "when") : undefined
      if (when === undefined || !isDelivered(when)) return none
      return marked("untrusted", { name: `webhook.${name.text}.when`, span: when })
    }),
  )
}

/** The webhooks whose senders get the output, each with the property that says so. */
export function repliesIn({
  triggers,
}: Program): readonly { readonly name: string; readonly property: Syntax.Property }[] {
  return [...triggers.values()].flatMap(({ declaration: { kind, name, body } }) => {
    const property = kind === "webhook" ? propertyOf(body, "reply_within_seconds") : undefined
    return property === undefined ? [] : [{ name: name.text, property }]
  })
}

/** Whether a schedule fills inputs from what the run before gave. */
export function takesPrevious({ triggers }: Program): boolean {
  return [...triggers.values()].some(({ declaration }) => {
    return declaration.kind === "schedule" && valuesOf(declaration.body, "input").some(({ value }) => isPrevious(value))
  })
}

/**
 * The input, where a schedule fills fields from the run before: these have the labels of its whole output, since one that is too large is not
 * kept, and of what may have `failed`, since that is the last run that completed.
 */
export function withPrevious(
  { triggers, input: declared }: Program,
  input: Labelled,
  output: Marks,
  failed: Marks,
): Labelled {
  const fields = new Map((declared?.type.fields ?? []).map(({ name }) => [name, input.field(name)]))
  for (const { declaration } of triggers.values()) {
    if (declaration.kind !== "schedule") continue
    for (const { name, value } of valuesOf(declaration.body, "input")) {
      let marks = none
      eachChain(value, ({ base, steps: [first] }) => {
        if (base.kind === "name" && base.text === "previous")
          marks = join(marks, failed, isField(first, "due_at") ? none : output)
      })
      const given = flat(via(marks, `schedule.${declaration.name.text}.input.${name.text}`, name))
      fields.set(name.text, either([input.field(name.text), given]))
    }
  }
  return record(fields)
}

function isField(step: Syntax.ChainStep | undefined, name: string): boolean {
  return step?.kind === "field" && step.name.text === name
}

function isPrevious(value: Syntax.Expression): boolean {
  return isMadeFrom(value, previous)
}

/** Whether a webhook of the file fills inputs, or decides, from what is delivered. */
export function takesDeliveries(program: Program): boolean {
  return filledFields(program).size > 0 || !isNone(deliveredWhen(program))
}

function isDelivered(value: Syntax.Expression): boolean {
  return isMadeFrom(value, roots)
}

function isMadeFrom(value: Syntax.Expression, names: ReadonlySet<string>): boolean {
  let found = false
  eachChain(value, ({ base }) => {
    found ||= base.kind === "name" && names.has(base.text)
  })
  return found
}
