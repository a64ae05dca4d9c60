import { constantIn } from "../check/constants.ts"
import { functionHelp } from "./function-texts.ts"
import type { Program } from "../check/program.ts"
import { calendarOf } from "../plan/schedule-times.ts"
import type { Span } from "../source/span.ts"
import { isWordList } from "../syntax/property-table.ts"
import { nullable } from "../types/relations.ts"
import type { Field, Type } from "../types/types.ts"
import { describe, typed } from "./describe.ts"
import {
  declarationTexts,
  keywordTexts,
  lookUp,
  propertyText,
  rootTexts,
  typeTexts,
  wordTexts,
} from "./explanations.ts"
import type { NameUse } from "./name-use.ts"
import { pathTo } from "./symbols.ts"
import type { Target } from "./targets.ts"
import { fieldAt, fieldsOf, targetsOf } from "./targets.ts"
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
    const narrowed = use.kind === "step" ? narrowedCode(program, use, target) : undefined
    const { code, doc } = describe(program, target)
    if (narrowed !== undefined) {
      const text = "Not null here: a condition rules it out."
      return { span, code: narrowed, ...(doc === undefined ? {} : { doc }), text }
    }
    return { span, code, ...(doc === undefined ? {} : { doc }), ...textOf(whatIs(program, target)) }
  }
  const field = use.kind === "step" ? builtInField(program, use) : undefined
  if (field !== undefined) {
    return { span, code: typed(field.name, field.type), ...(field.doc === undefined ? {} : { text: field.doc }) }
  }
  const help = use.kind === "function" ? functionHelp(use.text) : undefined
  if (help !== undefined) return { span, code: help.forms.join("\n"), text: help.text }
  const due = use.kind === "property" && use.text === "cron" ? nextTimes(use) : undefined
  if (due !== undefined) return { span, text: `${explain(use) ?? ""} ${due}`.trim() }
  const text = explain(use)
  return text === undefined ? undefined : { span, text }
}

/** The next five times of a schedule. */
function nextTimes({ declaration }: NameUse): string | undefined {
  if (declaration.kind !== "schedule") return undefined
  const cron = constantIn(declaration.body, "cron")
  const timezone = constantIn(declaration.body, "timezone") ?? "UTC"
  if (typeof cron !== "string" || typeof timezone !== "string") return undefined
  const calendar = calendarOf(cron, timezone)
  if (calendar === undefined) return undefined
  const times = calendar.upcoming(Date.now(), 5).map((at) => `\`${calendar.show(at)}\``)
  return `Next: ${times.join(", ")}.`
}

/** A field that no source declares, such as `run.date`. */
function builtInField(program: Program, { step, text }: NameUse & { kind: "step" }): Field | undefined {
  return step.kind === "field" ? fieldsOf(program, program.receivers.get(step), text)[0] : undefined
}

/** A value that is never null where it stands, although its declaration says that it may be. */
function narrowedCode(program: Program, use: NameUse & { kind: "step" }, target: Target): string | undefined {
  if (target.kind !== "field" && target.kind !== "declaration") return undefined
  const { chain, index, step } = use
  if (step.kind === "pluck") return undefined
  const declared = declaredType(program, target)
  if (declared === undefined || !nullable(declared, program.types)) return undefined
  const next = chain.steps[index + 1]
  // What follows `?.` is read from what is there.
  if (next?.optional === true) return undefined
  const type = next === undefined ? program.expressionTypes.get(chain) : program.receivers.get(next)
  if (type === undefined || type.kind === "error" || type.kind === "any" || nullable(type, program.types))
    return undefined
  const name = target.kind === "declaration" ? `${target.declares}.${use.text}` : use.text
  return typed(name, type)
}

function declaredType(program: Program, target: Target): Type | undefined {
  if (target.kind === "field") return fieldAt(program, target.node)?.type
  if (target.kind === "declaration" && target.declares === "wait") return program.waits.get(target.name.text)?.type
  if (target.kind === "declaration" && target.declares === "ask") return program.asks.get(target.name.text)?.type
  return target.kind === "declaration" && target.declares === "agent"
    ? program.agents.get(target.name.text)?.type
    : undefined
}

function textOf(text: string | undefined): { text?: string } {
  return text === undefined ? {} : { text }
}

/** A phrase that names the owner of the field, case or variable. */
function whatIs(program: Program, target: Target): string | undefined {
  switch (target.kind) {
    case "field":
      return fieldPlace(program, target.node)
    case "case":
      return "A case of a variant."
    case "tag":
      return "The tag of a variant: it names the case."
    case "variable":
      return isParameter(program, target.node) ? "A parameter of the function." : "A variable of the loop."
    case "block":
      return declarationTexts[target.node.kind].text
    case "declaration":
      return undefined
  }
}

function isParameter({ tree }: Program, { start }: Span): boolean {
  return tree.declarations.some(
    (one) => one.kind === "function-declaration" && one.parameters.some(({ name }) => name.start === start),
  )
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
      if (use.start === use.declaration.start) return lookUp<{ text: string }>(declarationTexts, use.text)?.text
      return lookUp(keywordTexts, use.text)
    case "property":
      return propertyText(use.block.place, use.text)
    case "type":
      return lookUp(typeTexts, use.text)
    case "type-segment":
      return use.index === 0 ? lookUp(rootTexts, use.text) : undefined
    case "provider-kind":
      return lookUp(wordTexts["provider-kind"], use.text)
    case "remote-kind":
    case "http-word":
      return lookUp(keywordTexts, use.text)
    case "remote-name":
      return `What the server calls it.`
    case "enum-value":
      return "A value of an enum."
    case "foreign-key":
      return use.of === "headers" ? "An HTTP header." : "A field of the request to the backend."
    case "root":
      return lookUp(isWordList(use.setting.expects) ? wordTexts[use.setting.expects] : rootTexts, use.text)
    default:
      return undefined
  }
}
