import type * as Syntax from "../syntax/tree.ts"
import { errorType, fileType, stringType } from "../types/primitives.ts"
import { fieldNamed } from "../types/field-named.ts"
import { isAssignable, nullable, withoutNull } from "../types/relations.ts"
import { showType } from "../types/show-type.ts"
import type { Type } from "../types/types.ts"
import { modelPlace } from "./allowance.ts"
import { historyType } from "./chat-types.ts"
import type { CheckContext } from "./check-context.ts"
import { infer } from "./infer.ts"
import { unknownReference } from "./infer-steps.ts"
import { expressionOf, readProperties } from "./properties.ts"
import { requestScope } from "./scope.ts"

const listOf = (element: Type): Type => ({ kind: "array", element })

interface ChatField {
  readonly type: Type
  /** Will do as well. */
  readonly or?: Type
  /** The field must take null, because a request may leave it out. */
  readonly mayBeNull?: true
}

const inputFields: Readonly<Record<"message" | "history" | "system" | "files", ChatField>> = {
  message: { type: stringType },
  history: { type: historyType },
  system: { type: stringType, mayBeNull: true },
  files: { type: listOf(stringType), or: listOf(fileType) },
}

export function checkChat(checking: CheckContext): void {
  for (const { body, keyword } of checking.blocks.chat) {
    const properties = readProperties(checking, "chat", body, "chat", keyword)
    const found: Record<string, string> = {}
    for (const [name, expected] of Object.entries(inputFields)) {
      const field = inputField(checking, expressionOf(checking, properties.get(name), "chat"), name, expected)
      if (field !== undefined) found[name] = field
    }
    const reply = replyField(checking, expressionOf(checking, properties.get("reply"), "chat"))
    const { message, ...more } = found
    if (message !== undefined && reply !== undefined) checking.chat ??= { message, reply, ...more }
  }
}

function inputField(
  checking: CheckContext,
  expression: Syntax.Expression | undefined,
  name: string,
  { type, or, mayBeNull }: ChatField,
): string | undefined {
  if (expression === undefined || expression.kind === "missing-expression") return undefined
  const path = `chat.${name}`
  const field = fieldOf(expression, "input")
  if (field === undefined) {
    mustName(checking, expression, name, "input")
    return undefined
  }
  const found = infer(checking, expression, requestScope(path, "a chat", modelPlace))
  if (found === errorType) return undefined
  const { types } = checking
  const isNull = nullable(found, types)
  const plain = withoutNull(found, types)
  const is = (one: Type): boolean => isAssignable(one, plain, types) && isAssignable(plain, one, types)
  if ((is(type) || (or !== undefined && is(or))) && (mayBeNull !== true || isNull)) return field.text
  const wanted = `${mayBeNull === true ? "maybe " : ""}${showType(type)}${or === undefined ? "" : ` or ${showType(or)}`}`
  checking.report("type-mismatch", path, expression, `Expected ${wanted}, found ${showType(found)}`)
  return undefined
}

function replyField(checking: CheckContext, expression: Syntax.Expression | undefined): string | undefined {
  if (expression === undefined || expression.kind === "missing-expression") return undefined
  const field = fieldOf(expression, "output")
  const { output } = checking
  if (field === undefined || expression.kind !== "chain") {
    mustName(checking, expression, "reply", "output")
    return undefined
  }
  // Without an output block, that is the message.
  if (output === undefined) return undefined
  const [step] = expression.steps
  if (step !== undefined) checking.receivers.set(step, output)
  const found = fieldNamed(output, field.text)
  if (found === undefined) {
    if (checking.incomplete.has(output)) return undefined
    const names = output.fields.map(({ name }) => name)
    unknownReference(checking, expression, field, () => names, "chat.reply")
    return undefined
  }
  checking.expressionTypes.set(expression, found.type)
  if (isAssignable(found.type, stringType, checking.types)) return field.text
  const message = `Expected string, found ${showType(found.type)}`
  checking.report("type-mismatch", "chat.reply", expression, message)
  return undefined
}

/** The name in `input.name`. */
function fieldOf(expression: Syntax.Expression, root: "input" | "output"): Syntax.Name | undefined {
  if (expression.kind !== "chain" || expression.base.kind !== "name" || expression.base.text !== root) return undefined
  const [step, ...more] = expression.steps
  return more.length === 0 && step?.kind === "field" && !step.optional ? step.name : undefined
}

function mustName(checking: CheckContext, expression: Syntax.Expression, name: string, root: string): void {
  // `input.` without its name.
  if (checking.skipped.hasError(expression)) return
  const hint = `Write \`${name}: ${root}.name\`, with the name of a field.`
  checking.report(
    "misplaced-expression",
    `chat.${name}`,
    expression,
    `\`${name}\` names one field of \`${root}\``,
    hint,
  )
}
