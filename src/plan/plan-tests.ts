import { constantOf } from "../check/constants.ts"
import { expectsFailure } from "../check/check-tests.ts"
import type { ErrorKind } from "../check/error-kinds.ts"
import { errorKinds } from "../check/error-kinds.ts"
import type { Program } from "../check/program.ts"
import type { StepKind } from "../check/tested-step.ts"
import { stepKinds } from "../check/tested-step.ts"
import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Entry, Expression } from "./expression.ts"
import { Lowering } from "./lower.ts"

/** A test ready to run. */
export interface TestPlan {
  readonly title: string
  readonly span: Span
  readonly rows: { readonly variable: string; readonly file: string; readonly span: Span } | null
  readonly input: readonly Entry[]
  readonly given: readonly GivenPlan[]
  readonly expects: readonly ExpectPlan[]
  readonly samples: number
  readonly pass_rate: number
  /** It is about the error that its run fails with. */
  readonly fails: boolean
}

export interface GivenPlan {
  readonly kind: StepKind
  readonly name: string
  readonly result:
    | { readonly kind: "value"; readonly value: Expression }
    | { readonly kind: "fails"; readonly error: ErrorKind; readonly message: string }
}

export interface ExpectPlan {
  /** As the author wrote it. */
  readonly text: string
  readonly span: Span
  /** The model that judges; then the condition is the criterion. */
  readonly judge: string | null
  readonly condition: Expression
}

/** The tests of a test file that was checked without errors. */
export function planTests(program: Program): TestPlan[] {
  const lowering = new Lowering(program)
  return program.tree.declarations.flatMap((declaration) =>
    declaration.kind === "test" ? [planTest(program, lowering, declaration)] : [],
  )
}

function planTest(program: Program, lowering: Lowering, test: Syntax.TestDeclaration): TestPlan {
  const { title, rows, body } = test
  const text = title.texts[0] ?? ""
  const place = `test ${text}`
  let input: readonly Entry[] = []
  const given: GivenPlan[] = []
  const expects: ExpectPlan[] = []
  let samples = 1
  let pass_rate = 1
  for (const item of body.items) {
    switch (item.kind) {
      case "test-input":
        input = lowering.entries(item.body.items, place)
        break
      case "given":
        given.push({ ...stepOf(item.step), result: resultOf(lowering, item, place) })
        break
      case "expect": {
        const [step] = item.judge?.steps ?? []
        expects.push({
          text: program.tree.text.slice(item.keyword.end, item.end).trim(),
          span: { start: item.start, end: item.end },
          judge: step?.kind === "field" ? step.name.text : null,
          condition: lowering.expression(item.condition, place),
        })
        break
      }
      case "property": {
        const value = item.value.kind === "expression" ? constantOf(item.value.expression) : undefined
        if (typeof value !== "number") break
        if (item.name.text === "samples") samples = value
        else pass_rate = value
      }
    }
  }
  return {
    title: text,
    span: { start: test.start, end: title.end },
    rows: rows === undefined ? null : { variable: rows.variable.text, file: rows.file.texts[0] ?? "", span: rows.file },
    input,
    given,
    expects,
    samples,
    pass_rate,
    fails: expectsFailure(test),
  }
}

function stepOf({ base, steps: [step] }: Syntax.Chain): { readonly kind: StepKind; readonly name: string } {
  const kind = base.kind === "name" ? stepKinds.find((each) => each === base.text) : undefined
  if (kind === undefined || step?.kind !== "field") throw new Error("The checker let a step without a name through")
  return { kind, name: step.name.text }
}

function resultOf(lowering: Lowering, { result }: Syntax.TestGiven, place: string): GivenPlan["result"] {
  switch (result.kind) {
    case "value":
      return { kind: "value", value: lowering.expression(result.value, place) }
    case "fails": {
      const error = errorKinds.find((kind) => kind === result.errorKind.text)
      if (error === undefined) throw new Error(`The checker let ${result.errorKind.text} through`)
      return { kind: "fails", error, message: result.message?.texts[0] ?? "A test lets this step fail" }
    }
    case "missing":
      throw new Error("The checker let a given without a result through")
  }
}
