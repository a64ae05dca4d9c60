import type { Program } from "../check/program.ts"
import type { Span } from "../source/span.ts"
import { describe } from "./describe.ts"
import {
  assetTexts,
  declarationTexts,
  keywordTexts,
  lookUp,
  propertyText,
  providerKindTexts,
  onFailureTexts,
  responseFormatTexts,
  rootTexts,
  typeTexts,
} from "./explanations.ts"
import type { NameUse } from "./name-use.ts"
import { pathTo } from "./symbols.ts"
import type { Target } from "./targets.ts"
import { targetsOf } from "./targets.ts"
import { useAt } from "./use-at.ts"

export interface Hover {
  /** The name that it is about. */
  readonly span: Span
  /** How it is declared, in the language; missing for words that are not declared. */
  readonly code?: string
  /** The author's comment, as it is written. */
  readonly doc?: string
  /** What it is, in a sentence; words of the language are between backticks. */
  readonly text?: string
}

/** What there is to say about the name at the offset. */
export function hover(program: Program, offset: number): Hover | undefined {
  const use = useAt(program, offset)
  if (use === undefined) return undefined
  const span = { start: use.start, end: use.end }
  // In `for { path } in …` the field tells more than the variable: it has a comment.
  const [target] = targetsOf(program, use).toReversed()
  if (target !== undefined) {
    const { code, doc } = describe(program, target)
    return { span, code, ...(doc === undefined ? {} : { doc }), ...textOf(whatIs(program, target)) }
  }
  const text = explain(use)
  return text === undefined ? undefined : { span, text }
}

function textOf(text: string | undefined): { text?: string } {
  return text === undefined ? {} : { text }
}

/** Whose field, case or variable it is. */
function whatIs(program: Program, target: Target): string | undefined {
  switch (target.kind) {
    case "field":
      return fieldPlace(program, target.node)
    case "case":
      return "A case of a variant."
    case "tag":
      return "The tag of a variant: it names the case."
    case "variable":
      return "A variable of the loop."
    case "block":
      return lookUp(declarationTexts, target.node.kind)
    case "declaration":
      return undefined
  }
}

function fieldPlace(program: Program, span: Span): string | undefined {
  const path = pathTo(program, span)
  switch (path.join(".")) {
    case "":
    case "dynamic":
      return undefined
    case "input":
      return "A value of the request."
    case "secrets":
      return "A secret of the request."
    case "output":
      return "A part of the workflow's result."
    default:
      return `A field of \`${path.join(".")}\`.`
  }
}

function explain(use: NameUse): string | undefined {
  switch (use.kind) {
    case "keyword":
      if (use.start === use.declaration.start) return lookUp(declarationTexts, use.text)
      return lookUp(keywordTexts, use.text)
    case "property":
      return propertyText(use.block.place, use.text)
    case "type":
      return lookUp(typeTexts, use.text)
    case "type-segment":
      return use.index === 0 ? lookUp(rootTexts, use.text) : undefined
    case "provider-kind":
      return lookUp(providerKindTexts, use.text)
    case "remote-kind":
      return lookUp(keywordTexts, use.text)
    case "remote-name":
      return `What the server calls it.`
    case "enum-value":
      return "A value of an enum."
    case "foreign-key":
      return use.of === "headers" ? "An HTTP header." : "A field of the request to the backend."
    case "root":
      if (use.setting.expects === "response_format") return lookUp(responseFormatTexts, use.text)
      if (use.setting.expects === "on_failure") return lookUp(onFailureTexts, use.text)
      if (use.setting.expects === "asset") return lookUp(assetTexts, use.text)
      return lookUp(rootTexts, use.text)
    default:
      return undefined
  }
}
