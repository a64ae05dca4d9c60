import { functionRow, isFunction, parametersOf } from "../check/function-table.ts"
import { functionTexts } from "./function-texts.ts"
import type { Span } from "../source/span.ts"
import { closers } from "../syntax/token-reader.ts"
import type { Tree } from "../syntax/tree.ts"
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
export function signatureHelp(tree: Tree, offset: number): SignatureHelp | undefined {
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
        const help = helpFor(tree, name, commas)
        if (help !== undefined) return help
      }
      commas = 0
    }
  }
  return undefined
}

function helpFor(tree: Tree, { start, end }: Span, at: number): SignatureHelp | undefined {
  const name = tree.text.slice(start, end)
  if (!isFunction(name)) return undefined
  const { forms } = functionRow(name)
  const { text } = functionTexts[name]
  const shown = forms.map((form) => formAt(form, at))
  const fitting = shown.findIndex((form) => form.at !== undefined)
  return { span: { start, end }, forms: shown, active: Math.max(0, fitting), text }
}

function formAt(label: string, at: number): Form {
  const parameters: Span[] = []
  let from = label.indexOf("(") + 1
  for (const parameter of parametersOf(label)) {
    parameters.push({ start: from, end: from + parameter.length })
    from += parameter.length + ", ".length
  }
  const isOpen = label.endsWith("…)")
  const last = parameters.length - 1
  return { label, parameters, at: at <= last ? at : isOpen ? last : undefined }
}
