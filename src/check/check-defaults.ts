import { isError } from "../source/diagnostic.ts"
import { write, type Hint } from "../source/hint.ts"
import type { Span } from "../source/span.ts"
import { wordOrString } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import { isAssignable, resolve } from "../types/relations.ts"
import { partsOf } from "../types/type-parts.ts"
import type { Type } from "../types/types.ts"
import { constantPlace } from "./allowance.ts"
import type { CheckContext } from "./check-context.ts"
import { fold } from "./fold-constant.ts"
import { infer } from "./infer.ts"
import { mustFit } from "./must-fit.ts"
import { requestScope } from "./scope.ts"

/** `tone: string = "formal"`: the defaults of input fields, and of schemas that only inputs use. */
export function checkDefaults(checking: CheckContext): void {
  if (checking.defaults.length === 0) return
  for (const { node, type, path } of checking.defaults) checkDefault(checking, node, type, path)
  for (const { what, type, span } of elsewhere(checking)) refuseWithin(checking, type, what, span)
}

function checkDefault(checking: CheckContext, { default: node }: Syntax.TypeField, type: Type, path: string): void {
  if (node === undefined || node.kind === "missing-expression" || type.kind === "error") return
  const folded = fold(node)
  const report = (span: Span, message: string, hint?: Hint): void =>
    checking.report("invalid-default", path, span, message, hint)
  switch (folded.kind) {
    case "open": {
      const word = wordOrString(node)
      const isMember = word !== undefined && isAssignable({ kind: "literal", value: word }, type, checking.types)
      const hint = isMember
        ? write(JSON.stringify(word))
        : "Write the value itself, or give a default where the field is read: `… ?? value`."
      return report(folded.node, "A default is written out: it refers to nothing", hint)
    }
    case "wrong":
      return report(node, `This default has no value: ${folded.problem}`)
    case "later":
    case "value": {
      const trial = checking.withTree(checking.tree)
      infer(trial, node, requestScope(path, "a default", constantPlace))
      mustFit(trial, node, type, path, "input")
      const found = trial.diagnostics.find(isError)
      if (found !== undefined) report(found.span, found.message, found.hint)
    }
  }
}

interface Use {
  readonly what: string
  readonly type: Type
  readonly span: Span
}

/** The types of everything that is not an input. */
function* elsewhere(checking: CheckContext): Generator<Use> {
  const { agents, asks, waits, tools, secrets, blocks } = checking
  const [secretsBlock] = blocks.secrets
  if (secrets !== undefined && secretsBlock !== undefined) {
    yield { what: "`secrets`", type: secrets, span: secretsBlock.keyword }
  }
  for (const [kind, steps] of [
    ["agent", agents],
    ["ask", asks],
    ["wait", waits],
  ] as const) {
    // prettier-ignore
    for (const [name, { output, declaration }] of steps) {
      yield { what: `\`${kind}.${name}\``, type: output, span: declaration.name }
    }
  }
  for (const [name, { input, output, name: span }] of tools) {
    if (input !== undefined) yield { what: `\`tool.${name}\``, type: input, span }
    if (output !== undefined) yield { what: `\`tool.${name}\``, type: output, span }
  }
}

/** Reports the defaults in a type that has none. */
function refuseWithin(checking: CheckContext, type: Type, what: string, span: Span): void {
  const seen = new Set([type])
  for (const part of seen) {
    const known = part.kind === "ref" ? resolve(part, checking.types) : part
    const fields =
      known.kind === "record" ? known.fields : known.kind === "variant" ? known.cases.flatMap((one) => one.fields) : []
    for (const field of fields) {
      if (field.hasDefault !== true) continue
      const node = checking.fieldNodes.get(field)
      const written = node?.kind === "type-field" ? node.default : undefined
      const own = checking.defaults.find((one) => one.node === node)
      const message = `Only inputs have defaults, and ${what} has the field \`${field.name}\``
      const hint = "Remove the default, or write another schema for it."
      checking.report("invalid-default", own?.path ?? "", own === undefined ? span : (written ?? span), message, hint)
    }
    for (const inner of partsOf(known)) seen.add(inner)
  }
}
