import { asWritten } from "../../check/known-list.ts"
import type { Program } from "../../check/program.ts"
import type { Diagnostic } from "../../source/diagnostic.ts"
import type { Span } from "../../source/span.ts"
import { plainType } from "../targets.ts"
import { useAt } from "../use-at.ts"
import { insertAt, replaceWith, type Fix } from "./fix.ts"

type AccessCode = "nullable-access" | "array-access" | "variant-access" | "not-iterable"

/** A field that is read through null, from an array or from a variant. */
export function fixAccess(program: Program, diagnostic: Diagnostic<AccessCode>): readonly Fix[] {
  const { code, span, data } = diagnostic
  const { text } = program.tree
  const use = useAt(program, span.start)
  if (code === "nullable-access" && text[span.start] === "[") {
    return [{ title: "Write `?.[`", edits: [insertAt(span.start, "?.")], preferred: true }]
  }
  if (use?.kind !== "step" || use.start !== span.start) {
    if (data?.kind === "condition") return addCondition(program, span, data.test)
    return data?.kind === "default" ? [giveDefault(span, data.value)] : []
  }
  const { step } = use
  const dot = { start: step.start, end: step.start + 1 }
  switch (code) {
    case "nullable-access":
      return [{ title: "Write `?.`", edits: [replaceWith(dot, "?.")], preferred: true }]
    case "array-access": {
      if (step.kind !== "field" || data?.kind !== "elements") return []
      const all = {
        title: `Take \`${use.text}\` of every element`,
        edits: [replaceWith(step, `.*.${nameText(program, use)}`)],
      }
      const one = {
        title: `Take \`${use.text}\` of the first`,
        edits: [replaceWith(step, `[0]?.${nameText(program, use)}`)],
      }
      return [
        { ...all, preferred: true },
        { ...one, preferred: false },
      ]
    }
    case "not-iterable":
    case "variant-access": {
      const variant = plainType(program, program.receivers.get(step))
      const kind = code === "not-iterable" ? "pluck" : "field"
      if (variant?.kind !== "variant" || step.kind !== kind) return []
      const having = variant.cases.filter(({ fields }) => fields.some(({ name }) => name === use.text))
      return having.map(({ name }) => ({
        title: `Take \`${use.text}\` of the case \`${asWritten(name)}\``,
        edits: [replaceWith(step, `#${asWritten(name)}.${nameText(program, use)}`)],
        preferred: having.length === 1,
      }))
    }
    default:
      return []
  }
}

/** `context: agent.x` of an agent that may be skipped. */
function addCondition(program: Program, span: Span, test: string): readonly Fix[] {
  const { declaration } = useAt(program, span.start) ?? {}
  if (declaration?.kind !== "agent" && declaration?.kind !== "ask" && declaration?.kind !== "wait") return []
  const { when, loop, name } = declaration
  const title = `Add \`${test}\` to the condition`
  if (when === undefined) {
    return [{ title, edits: [insertAt((loop ?? name).end, ` when ${test}`)], preferred: true }]
  }
  const { start, end, kind } = when.condition
  const needsGroup = kind === "binary" && when.condition.operator === "||"
  const edits = needsGroup ? [insertAt(start, `${test} && (`), insertAt(end, ")")] : [insertAt(start, `${test} && `)]
  return [{ title, edits, preferred: true }]
}

function nameText(program: Program, { start, end }: { readonly start: number; readonly end: number }): string {
  return program.tree.text.slice(start, end)
}

export function fixNullableText(
  _program: Program,
  { span, data }: Diagnostic<"nullable-interpolation">,
): readonly Fix[] {
  return data?.kind === "default" ? [giveDefault(span, data.value)] : []
}

function giveDefault(span: Span, value: string): Fix {
  return { title: `Give the default \`${value}\``, edits: [insertAt(span.end, ` ?? ${value}`)], preferred: true }
}
