import { constantOf } from "../check/constants.ts"
import { expectsFailure } from "../check/check-tests.ts"
import { errorKinds, type ErrorKind } from "../check/error-kinds.ts"
import type { Program } from "../check/program.ts"
import { hasFailure, isOfRun, stepKinds, type TestedStep } from "../check/tested-step.ts"
import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Entry, Expression } from "./expression.ts"
import { planFunctions } from "./plan-functions.ts"
import { Lowering } from "./lower.ts"

/** A test ready to run. */
export interface TestPlan {
  readonly title: string
  readonly span: Span
  readonly rows: {
    readonly variable: string
    readonly index: string | null
    readonly file: string
    readonly span: Span
  } | null
  /** What its values name of files beside it. */
  readonly fixtures: readonly { readonly path: string; readonly span: Span }[]
  readonly input: readonly Entry[]
  readonly given: readonly GivenPlan[]
  /** What `run.started_at` is; null where the test does not say. */
  readonly started_at: Expression | null
  readonly expects: readonly ExpectPlan[]
  readonly samples: number
  readonly pass_rate: number
  /** It is about the error that its run fails with. */
  readonly fails: boolean
}

export interface GivenPlan {
  readonly kind: TestedStep["kind"]
  readonly name: string
  /** The called files that the step stands in: `workflow.triage.` */
  readonly path: string
  readonly result:
    | { readonly kind: "value"; readonly value: Expression }
    /** A list with failures in it. Where an item fails, its value is the message. */
    | { readonly kind: "each"; readonly items: readonly { readonly value: Expression; readonly fails: boolean }[] }
    | { readonly kind: "fails"; readonly error: ErrorKind; readonly message: string }
}

export interface ExpectPlan {
  /** The expectation as the author wrote it. */
  readonly text: string
  readonly span: Span
  /** The model that judges; then the condition is the criterion. */
  readonly judge: string | null
  readonly condition: Expression
}

/** The tests of a test file that was checked without errors. */
export function planTests(program: Program, tested: Program): TestPlan[] {
  const lowering = new Lowering(program, planFunctions(tested))
  return program.tree.declarations.flatMap((declaration) =>
    declaration.kind === "test" ? [planTest(program, lowering, declaration)] : [],
  )
}

function planTest(program: Program, lowering: Lowering, test: Syntax.TestDeclaration): TestPlan {
  const { title, rows, body } = test
  const text = title.texts[0] ?? ""
  const place = `test ${text}`
  lowering.fixtures.clear()
  let input: readonly Entry[] = []
  const given: GivenPlan[] = []
  let started_at: Expression | null = null
  const expects: ExpectPlan[] = []
  let samples = 1
  let pass_rate = 1
  for (const item of body.items) {
    switch (item.kind) {
      case "test-input":
        input = lowering.entries(item.body.items, place)
        break
      case "given":
        if (isOfRun(item.step)) started_at = lowering.expression(valueOf(item), place)
        else given.push({ ...stepOf(item.step), result: resultOf(lowering, item, place) })
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
    rows:
      rows === undefined
        ? null
        : {
            variable: rows.variable.text,
            index: rows.index?.text ?? null,
            file: rows.file.texts[0] ?? "",
            span: rows.file,
          },
    fixtures: [...lowering.fixtures].map(([path, span]) => ({ path, span })),
    input,
    given,
    started_at,
    expects,
    samples,
    pass_rate,
    fails: expectsFailure(test),
  }
}

function valueOf({ result }: Syntax.TestGiven): Syntax.Expression {
  if (result.kind !== "value") throw new Error("The checker let a given without a value through")
  return result.value
}

function stepOf({ base, steps }: Syntax.Chain): Pick<GivenPlan, "kind" | "name" | "path"> {
  const words = [
    base.kind === "name" ? base.text : "",
    ...steps.map((step) => (step.kind === "field" ? step.name.text : "")),
  ]
  const [written, name] = words.slice(-2)
  const kind = written === "workflow" ? written : stepKinds.find((each) => each === written)
  if (kind === undefined || name === undefined) throw new Error("The checker let a step without a name through")
  return {
    kind,
    name,
    path: words
      .slice(0, -2)
      .map((word) => `${word}.`)
      .join(""),
  }
}

function resultOf(lowering: Lowering, { result }: Syntax.TestGiven, place: string): GivenPlan["result"] {
  switch (result.kind) {
    case "value": {
      const { value } = result
      if (!hasFailure(value)) return { kind: "value", value: lowering.expression(value, place) }
      const items = value.items.map((item) =>
        item.kind === "fail"
          ? { value: lowering.expression(item.message, place), fails: true }
          : { value: lowering.expression(item, place), fails: false },
      )
      return { kind: "each", items }
    }
    case "fails": {
      const error = errorKinds.find((kind) => kind === result.errorKind.text)
      if (error === undefined) throw new Error(`The checker let ${result.errorKind.text} through`)
      return { kind: "fails", error, message: result.message?.texts[0] ?? "A test lets this step fail" }
    }
    case "missing":
      throw new Error("The checker let a given without a result through")
  }
}
