import { parametersOf } from "../check/function-table.ts"
import type { Program } from "../check/program.ts"
import { functionHelp } from "./function-texts.ts"
import type { Span } from "../source/span.ts"
import { closers } from "../syntax/token-reader.ts"
import { showType } from "../types/show-type.ts"
import { tokenIndexAt } from "./token-at.ts"

/** The function whose arguments are being written. */
export interface SignatureHelp {
  /** Its name, before the bracket. */
  readonly span: Span
  readonly forms: readonly Form[]
  /** The form that has a parameter at the cursor. */
  readonly active: number
  /** What the function does. */
  readonly text: string
}

export interface Form {
  /** `slice(x, from, to)` */
  readonly label: string
  /** Where the parameters stand in the label. */
  readonly parameters: readonly Span[]
  /** The parameter at the cursor; undefined where the form has none there. */
  readonly at: number | undefined
}

/** How far the beginning of a call is looked for. */
const maxTokens = 10_000

/** The innermost function around the cursor. It reads tokens: while somebody writes, there is no tree of the call yet. */
export function signatureHelp(program: Program, offset: number): SignatureHelp | undefined {
  const { tree } = program
  const last = tokenIndexAt(tree, offset)
  let commas = 0
  let depth = 0
  const isIn = (start: number): boolean => start < offset
  for (let index = last; index >= 0 && last - index < maxTokens; index--) {
    const token = tree.tokens[index]
    if (token === undefined || !isIn(token.start)) continue
    const { kind, end } = token
    if (kind === "," && depth === 0 && end <= offset) commas++
    // The pieces of a text are passed over: its head opens what its tail closes.
    const isCloser = kind === ")" || kind === "]" || kind === "}" || kind === "tail"
    if (isCloser && end <= offset) depth++
    else if (closers[kind] !== undefined && end <= offset && depth-- === 0) {
      depth = 0
      const name = tree.tokens[index - 1]
      if (kind === "(" && name?.kind === "name" && name.end === token.start) {
        const help = helpFor(program, name, commas)
        if (help !== undefined) return help
      }
      commas = 0
    }
  }
  return undefined
}

function helpFor({ tree, functions }: Program, { start, end }: Span, at: number): SignatureHelp | undefined {
  const name = tree.text.slice(start, end)
  const own = functions.get(name)
  if (own !== undefined) {
    const form = formOf(
      name,
      [...own.variables].map(([parameter, { type }]) => `${parameter}: ${showType(type)}`),
      at,
    )
    return { span: { start, end }, forms: [form], active: 0, text: own.declaration.doc ?? "" }
  }
  const help = functionHelp(name)
  if (help === undefined) return undefined
  const { forms, text } = help
  const shown = forms.map((form) => formAt(form, at))
  const fitting = shown.findIndex((form) => form.at !== undefined)
  return { span: { start, end }, forms: shown, active: Math.max(0, fitting), text }
}

function formAt(label: string, at: number): Form {
  const form = formOf(label.slice(0, label.indexOf("(")), parametersOf(label), at)
  return form.at === undefined && label.endsWith("…)") ? { ...form, at: form.parameters.length - 1 } : form
}

function formOf(name: string, parameters: readonly string[], at: number): Form {
  const spans: Span[] = []
  let from = name.length + 1
  for (const parameter of parameters) {
    spans.push({ start: from, end: from + parameter.length })
    from += parameter.length + ", ".length
  }
  return { label: `${name}(${parameters.join(", ")})`, parameters: spans, at: at < spans.length ? at : undefined }
}
