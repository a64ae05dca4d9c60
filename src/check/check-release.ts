import type * as Syntax from "../syntax/tree.ts"
import { booleanType, errorType, integerType, numberType, stringType } from "../types/primitives.ts"
import { fieldNamed } from "../types/field-named.ts"
import { isAssignable, resolve, withoutNull } from "../types/relations.ts"
import { showType } from "../types/show-type.ts"
import type { Field, RecordType, Type } from "../types/types.ts"
import { isCandidatePath } from "../base/candidate-path.ts"
import { modelPlace, runPlace } from "./allowance.ts"
import type { CheckContext } from "./check-context.ts"
import { countedScore } from "./counted-score.ts"
import { expectProperty, infer } from "./infer.ts"
import { unknownReference } from "./infer-steps.ts"
import type { LoopVariable } from "./program.ts"
import { expressionOf, readProperties } from "./properties.ts"
import { requestScope, runScope, type Scope } from "./scope.ts"

// `release`: what a candidate gets of the traffic of the workflow beside it.

const figures: readonly Field[] = [
  { name: "runs", type: integerType, doc: "Runs that have ended." },
  {
    name: "failed",
    type: numberType,
    doc: "The share of them that failed: cancelled runs, and errors of budgets and of the input do not count.",
  },
  { name: "cost", type: numberType, doc: "The mean cost of a run." },
  { name: "seconds", type: numberType, doc: "The mean time of a run." },
  { name: "tokens", type: numberType, doc: "The mean of the tokens of a run." },
]

/** What `stop_when` may name. */
function operands(checking: CheckContext): readonly Field[] {
  const ofSide = [...figures, ...scoreFigures(checking)]
  const current: RecordType = { kind: "record", fields: ofSide }
  return [
    ...ofSide,
    {
      name: "agreement",
      type: numberType,
      doc: "The share of shadows whose output equals that of the run they shadow.",
    },
    { name: "current", type: current, doc: "The figures of the current version." },
  ]
}

/** `scores.helpful.good`, `scores.cites`: nothing for a file without scores. */
function scoreFigures({ scores, types }: CheckContext): readonly Field[] {
  const fields = [...scores].flatMap(([name, symbol]): Field[] => {
    const counted = countedScore(symbol, types)
    if (counted === undefined) return []
    if (counted.values === null) return [{ name, type: numberType, doc: "The mean of this score." }]
    const shares = counted.values.map((value) => ({
      name: value,
      type: numberType,
      doc: "The share of the scores with this value.",
    }))
    return [{ name, type: { kind: "record", fields: shares }, doc: "The share of each value of this score." }]
  })
  if (fields.length === 0) return []
  return [{ name: "scores", type: { kind: "record", fields }, doc: "What the scores of the file say of the runs." }]
}

export function checkRelease(checking: CheckContext): void {
  for (const declaration of checking.blocks.release) {
    const { body, keyword } = declaration
    if (!isCandidatePath(checking.files.file)) misplaced(checking, keyword)
    const properties = readProperties(checking, "release", body, "release", keyword)
    checkKey(checking, expressionOf(checking, properties.get("by"), "release"))
    const agreeOn = fieldsOf(checking, expressionOf(checking, properties.get("agree_on"), "release"))
    const variables = new Map(operands(checking).map(({ name, type }) => [name, builtIn(name, keyword, type)]))
    const scope: Scope = {
      ...runScope("release.stop_when", "`stop_when`"),
      ...runPlace,
      node: undefined,
      variables,
      isClosed: true,
      isComputed: true,
      withoutCode: true,
    }
    expectProperty(checking, properties.get("stop_when"), booleanType, "release", scope)
    checking.release ??= { declaration, variables, agreeOn }
  }
}

function misplaced(checking: CheckContext, keyword: Syntax.ReleaseDeclaration["keyword"]): void {
  const message = "`release` stands only in the file of a candidate, `NAME.next.wire`"
  const hint =
    "Move it to `NAME.next.wire` beside this file, or remove it: this version serves what the candidate leaves."
  checking.report("misplaced-release", "release", keyword, message, hint)
}

const keyType: Type = { kind: "union", members: [stringType, numberType, booleanType] }

/** `by: input.customer` */
function checkKey(checking: CheckContext, expression: Syntax.Expression | undefined): void {
  if (expression === undefined || expression.kind === "missing-expression") return
  const scope: Scope = { ...requestScope("release.by", "a release", modelPlace), isComputed: true, withoutCode: true }
  const type = infer(checking, expression, scope)
  if (type === errorType || isAssignable(type, keyType, checking.types)) return
  const message = `Expected a string, a number or a boolean, found ${showType(type)}`
  checking.report("type-mismatch", "release.by", expression, message, "Give a default with `??` where it may be null.")
}

/** `[output.team, output.parts.first]` */
function fieldsOf(checking: CheckContext, expression: Syntax.Expression | undefined): string[][] {
  if (expression === undefined || expression.kind === "missing-expression") return []
  const items = expression.kind === "array" ? expression.items : [expression]
  return items.flatMap((item) => {
    const path = outputPath(checking, item)
    return path === undefined ? [] : [path]
  })
}

function outputPath(checking: CheckContext, item: Syntax.Expression): string[] | undefined {
  const isOutput = item.kind === "chain" && item.base.kind === "name" && item.base.text === "output"
  if (!isOutput || item.steps.length === 0 || item.steps.some(({ kind }) => kind !== "field")) {
    // `output.` without its name.
    if (checking.skipped.hasError(item)) return undefined
    const message = "`agree_on` names fields of `output`"
    const hint = "Write `agree_on: [output.name]`, with the names of fields."
    checking.report("misplaced-expression", "release.agree_on", item, message, hint)
    return undefined
  }
  let type: Type | undefined = checking.output
  const path: string[] = []
  for (const step of item.steps) {
    if (step.kind !== "field") return undefined
    path.push(step.name.text)
    if (type === undefined) continue
    const receiver = resolve(withoutNull(type, checking.types), checking.types)
    if (receiver.kind !== "record") {
      if (receiver.kind === "any") type = undefined
      else {
        const message = `${showType(receiver)} has no field \`${step.name.text}\``
        checking.report("type-mismatch", "release.agree_on", step.name, message, "Name a field of an object.")
        return undefined
      }
      continue
    }
    checking.receivers.set(step, receiver)
    const found = fieldNamed(receiver, step.name.text)
    if (found === undefined) {
      if (checking.incomplete.has(receiver)) return undefined
      const names = receiver.fields.map(({ name }) => name)
      unknownReference(checking, item, step.name, () => names, "release.agree_on")
      return undefined
    }
    type = found.type
  }
  if (type !== undefined) checking.expressionTypes.set(item, type)
  return path
}

function builtIn(text: string, { start, end }: Syntax.ReleaseDeclaration["keyword"], type: Type): LoopVariable {
  return { name: { kind: "name", text, quoted: false, start, end }, type, isBuiltIn: true }
}
