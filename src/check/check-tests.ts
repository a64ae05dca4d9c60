import type { DiagnosticCode } from "../source/codes.ts"
import { write } from "../source/hint.ts"
import { eachChain } from "../syntax/each-chain.ts"
import { rowsOf } from "../syntax/property-table.ts"
import type * as Syntax from "../syntax/tree.ts"
import { anyType, booleanType, errorType, integerType, numberType, stringType } from "../types/primitives.ts"
import { fieldNamed } from "../types/field-named.ts"
import { maybe, mayBeLeftOut } from "../types/relations.ts"
import type { RecordType, Type } from "../types/types.ts"
import { checkBackends } from "./check-backends.ts"
import { inSourceOrder, programOf, type Checked } from "./check.ts"
import { requestPlace, runPlace, withoutSecrets } from "./allowance.ts"
import { CheckContext } from "./check-context.ts"
import { resolveNamed } from "./resolve-named.ts"
import { checkConstant, constantOf } from "./constants.ts"
import { declare } from "./declare.ts"
import { errorKinds } from "./error-kinds.ts"
import { expectInput, expectType, infer } from "./infer.ts"
import { inferCondition } from "./infer-operators.ts"
import { knownList } from "./known-list.ts"
import { mustFit } from "./must-fit.ts"
import type { LoopVariable, Program } from "./program.ts"
import { resolveRecord, resolveSchemas } from "./resolve-types.ts"
import { checkInfiniteTypes } from "./rules/infinite-type.ts"
import { reportInexactIntegers } from "./rules/inexact-integer.ts"
import { checkUnused } from "./rules/unused-declaration.ts"
import { at, nonePresent, type Scope } from "./scope.ts"
import { hasFailure, isGivenEach, isOfRun, testedStep, type TestedStep } from "./tested-step.ts"
import { timeForm } from "./run-values.ts"
import { recordOf, usageType } from "./usage-type.ts"
import { parseTime } from "../base/parse-time.ts"

const failureType: RecordType = recordOf({
  kind: stringType,
  message: stringType,
  issues: { kind: "array", element: anyType },
})

/** In an expectation, null on the way fails the test: it is no mistake. What is always so may be what is tested. */
const mutedInExpectations: ReadonlySet<DiagnosticCode> = new Set<DiagnosticCode>([
  "nullable-access",
  "nullable-interpolation",
  "constant-condition",
])

const givenResult = "a given result"

const countedWords: ReadonlySet<string> = new Set<Syntax.ObservedNode["word"]>(["calls", "rejections"])

/** What a test file may declare beside its tests: what its judges need. */
const allowed: ReadonlySet<Syntax.Declaration["kind"]> = new Set<Syntax.Declaration["kind"]>([
  "tests",
  "test",
  "provider",
  "model",
  "secrets",
  "schema",
])

/**
 * A test file, against the workflow that it tests. Without that (it is missing or broken) only what the test file says by
 * itself is checked.
 */
export function checkTests(tree: Syntax.Tree, tested: Program | undefined): Checked {
  const checking = new CheckContext(tree)
  refuseOthers(checking)
  declare(checking)
  resolveSchemas(checking)
  checkInfiniteTypes(checking)
  const bodies = checking.blocks.secrets.map(({ body }) => body)
  if (bodies.length > 0) checking.secrets = resolveRecord(checking, bodies, "secrets")
  checkBackends(checking)
  checkJudges(checking, tested)
  // Before the workflow's declarations come in: whether those are used is not said here.
  if (tree.errors.length === 0) checkUnused(checking)
  if (tested !== undefined) {
    takeIn(checking, tested)
    for (const declaration of tree.declarations) {
      if (declaration.kind === "test") new TestCheck(checking, declaration, tested).run()
    }
  }
  reportInexactIntegers(checking)
  return { program: programOf(checking), diagnostics: inSourceOrder(checking.diagnostics) }
}

function refuseOthers(checking: CheckContext): void {
  let named = false
  for (const { kind, keyword } of checking.tree.declarations) {
    if (kind === "tests") {
      if (named) checking.report("duplicate-declaration", "tests", keyword, "`tests` is here already", "Remove one.")
      named = true
    }
    if (allowed.has(kind)) continue
    const word = checking.textOf(keyword)
    const message = `\`${word}\` belongs in the workflow, not in its tests`
    const hint = "A test file holds `test` blocks, and `provider`, `model`, `secrets` and `schema` for its judges."
    checking.report("misplaced-declaration", word, keyword, message, hint)
  }
}

/** `expect judge model.m "…"`: a model of the test file, or of the workflow. */
function checkJudges(checking: CheckContext, tested: Program | undefined): void {
  for (const test of checking.tree.declarations) {
    if (test.kind !== "test") continue
    for (const item of test.body.items) {
      if (item.kind !== "expect" || item.judge === undefined) continue
      const [step] = item.judge.steps
      const name = step?.kind === "field" ? step.name.text : ""
      const isOfWorkflow = !checking.models.has(name) && tested?.models.has(name) === true
      if (!isOfWorkflow) resolveNamed(checking, item.judge, "model", checking.models, pathOf(test))
    }
  }
}

function takeIn(checking: CheckContext, tested: Program): void {
  for (const [name, type] of Object.entries(tested.types)) {
    const own = checking.schemas.get(name)
    if (own === undefined) checking.types[name] = type
    else {
      const message = `The workflow has a schema ${name} already`
      checking.report("duplicate-declaration", `schema.${name}`, own.name, message, "Give this one another name.")
    }
  }
  checking.input = tested.input?.type
  for (const [name, symbol] of tested.agents) checking.agents.set(name, symbol)
  for (const [name, symbol] of tested.asks) checking.asks.set(name, symbol)
  for (const [name, symbol] of tested.waits) checking.waits.set(name, symbol)
  for (const [name, symbol] of tested.functions) checking.functions.set(name, symbol)
}

function pathOf({ title }: Syntax.TestDeclaration): string {
  return `test ${JSON.stringify(title.texts[0] ?? "")}`
}

/** Whether a test is about the error that its run fails with. */
export function expectsFailure(test: Syntax.TestDeclaration): boolean {
  let names = false
  for (const item of test.body.items) {
    if (item.kind !== "expect") continue
    eachChain(item.condition, ({ base }) => {
      if (base.kind === "name" && base.text === "error") names = true
    })
  }
  return names
}

class TestCheck {
  readonly #checking: CheckContext
  readonly #test: Syntax.TestDeclaration
  readonly #tested: Program
  readonly #path: string
  readonly #given = new Set<string>()

  constructor(checking: CheckContext, test: Syntax.TestDeclaration, tested: Program) {
    this.#checking = checking
    this.#test = test
    this.#tested = tested
    this.#path = pathOf(test)
  }

  run(): void {
    let input: Syntax.TestInput | undefined
    const settings = new Set<string>()
    for (const item of this.#test.body.items) {
      switch (item.kind) {
        case "test-input":
          if (input !== undefined) this.#twice(item.keyword, "input")
          else this.#checkInput((input = item))
          break
        case "given":
          this.#checkGiven(item)
          break
        case "expect":
          this.#checkExpect(item)
          break
        case "property":
          this.#checkSetting(item, settings)
      }
    }
    if (input === undefined) this.#missingInput()
  }

  /** What a test's values may refer to: the row, and after the run also what came of it. */
  #scope(place: string, after: "before" | "after"): Scope {
    const variables = new Map<string, LoopVariable>()
    const add = (name: string, type: Type, node?: Syntax.Name): void => {
      const own: Syntax.Name = node ?? { kind: "name", text: name, quoted: false, start: -1, end: -1 }
      variables.set(name, { name: own, type })
    }
    if (after === "after") {
      if (expectsFailure(this.#test)) add("error", failureType)
      else add("output", this.#tested.output?.type ?? recordOf({}))
      add("usage", usageType)
      add("duration_ms", numberType)
    }
    const { rows } = this.#test
    if (rows !== undefined) add(rows.variable.text, anyType, rows.variable)
    if (rows?.index !== undefined) add(rows.index.text, integerType, rows.index)
    return {
      path: this.#path,
      place,
      node: undefined,
      agent: {
        name: "",
        localFields: new Map(),
        locals: new Map(),
      },
      variables,
      hasBrokenLoop: false,
      local: undefined,
      ...(after === "after" ? runPlace : withoutSecrets(requestPlace)),
      present: nonePresent,
      roots: after === "after" ? ["input", "agent", "ask", "wait", "run"] : place === givenResult ? ["input"] : [],
      withoutCode: true,
      ...(after === "after" && { readsFiles: true }),
    }
  }

  #twice(span: Syntax.Name | Syntax.TestInput["keyword"], what: string): void {
    this.#checking.report("duplicate-field", this.#path, span, `\`${what}\` is here already`, "Remove one.")
  }

  #checkInput({ body }: Syntax.TestInput): void {
    const values: Syntax.Expression = { kind: "object", body, start: body.start, end: body.end }
    const scope = at(this.#scope("the input of a test", "before"), "input")
    expectInput(this.#checking, values, this.#tested.input?.type ?? recordOf({}), scope)
  }

  #missingInput(): void {
    const all = this.#tested.input?.type.fields ?? []
    const fields = all.filter((field) => !mayBeLeftOut(field, this.#checking.types))
    if (fields.length === 0 || this.#test.body.close === undefined) return
    const names = fields.map(({ name }) => `\`${name}\``).join(", ")
    const message = `The test has no \`input\`, and the workflow needs ${names}`
    this.#checking.report("missing-property", this.#path, this.#test.title, message, "Add `input { … }`.")
  }

  #checkGiven(given: Syntax.TestGiven): void {
    const { step: chain, result } = given
    const checking = this.#checking
    if (isOfRun(chain)) return this.#checkRun(given)
    const step = testedStep(checking, chain, this.#tested, this.#path)
    const scope = at(this.#scope(givenResult, "before"), checking.quote(chain))
    if (step !== undefined) {
      if (step.index !== undefined) {
        const hint = "Give a looped agent an array, or one object for every item."
        checking.report("type-mismatch", this.#path, chain, "A result is given to the whole step", hint)
      }
      const id = `${step.path}${step.kind}.${step.name}`
      if (this.#given.has(id)) {
        checking.report("duplicate-field", this.#path, chain, `\`${id}\` is given already`, "Remove one.")
      }
      this.#given.add(id)
    }
    if (result.kind === "fails") this.#checkErrorKind(result.errorKind)
    if (result.kind !== "value") return
    if (hasFailure(result.value)) return this.#checkEach(result.value.items, step, scope)
    const type = infer(checking, result.value, scope)
    if (step === undefined) return
    const wanted = resultType(step)
    const isArray = result.value.kind === "array" || type.kind === "array" || type.kind === "tuple"
    const fitting: Type = isArray && isGivenEach(step) ? { kind: "array", element: wanted } : wanted
    mustFit(checking, result.value, fitting, scope.path)
  }

  /** `given tool.t: [value, fail "message"]` */
  #checkEach(items: readonly Syntax.Expression[], step: TestedStep | undefined, scope: Scope): void {
    const checking = this.#checking
    const isSeveral = step === undefined || isGivenEach(step)
    for (const item of items) {
      if (item.kind === "fail") {
        infer(checking, item.message, scope)
        if (isSeveral) continue
        const name = `${step.path}${step.kind}.${step.name}`
        const hint = `Write \`given ${name} fails tool_error ${checking.quote(item.message)}\`.`
        checking.report("type-mismatch", this.#path, item, `${name} has one result, and no list of them`, hint)
      } else {
        infer(checking, item, scope)
        if (step !== undefined) mustFit(checking, item, resultType(step), scope.path)
      }
    }
  }

  /** `given run.started_at: "2027-02-28T23:30:00Z"` */
  #checkRun({ step: chain, result }: Syntax.TestGiven): void {
    const checking = this.#checking
    const path = `${this.#path}.run.started_at`
    const hint = 'Write `given run.started_at: "2027-02-28T23:30:00Z"`.'
    if (checking.quote(chain) !== "run.started_at") {
      const message = `A test cannot give ${checking.quote(chain)}: it gives \`run.started_at\`, and the day follows from it`
      return checking.report("unknown-reference", this.#path, chain, message, hint)
    }
    if (this.#given.has("run.started_at")) {
      checking.report("duplicate-field", this.#path, chain, "`run.started_at` is given already", "Remove one.")
    }
    this.#given.add("run.started_at")
    if (result.kind === "fails") checking.report("type-mismatch", path, chain, "A time cannot fail", hint)
    if (result.kind !== "value") return
    const { value } = result
    expectType(checking, value, stringType, { ...this.#scope("a given time", "before"), path })
    const written = value.kind === "string" ? constantOf(value) : undefined
    if (typeof written !== "string" || parseTime(written) !== undefined) return
    checking.report("invalid-value", path, value, `Expected ${timeForm}, found ${checking.quote(value)}`, hint)
  }

  #checkErrorKind(name: Syntax.Name): void {
    if ((errorKinds as readonly string[]).includes(name.text)) return
    const known = errorKinds.map((kind) => ({ name: kind }))
    const hint = knownList(this.#checking, name.text, known, "The kinds are")
    this.#checking.report("invalid-value", this.#path, name, `Unknown kind of error: ${name.text}`, hint)
  }

  #checkExpect({ condition, judge }: Syntax.TestExpect): void {
    const checking = this.#checking
    const scope = at(this.#scope("an expectation", "after"), "expect")
    checking.muted = mutedInExpectations
    checking.observed = (node) => this.#observedType(node)
    if (judge === undefined) inferCondition(checking, condition, scope, infer)
    else infer(checking, condition, scope)
    checking.observed = null
    checking.muted = null
  }

  #observedType({ word, target, arguments: values }: Syntax.ObservedNode): Type {
    const checking = this.#checking
    const step = testedStep(checking, target, this.#tested, this.#path)
    if (step === undefined) return errorType
    const name = `${step.path}${step.kind}.${step.name}`
    const isAgents = word === "asked" || word === "rejections"
    const isCalls = word === "called" || word === "calls_of"
    if (isAgents && step.kind !== "agent") {
      const message = word === "asked" ? "Only an agent is asked" : "Only outputs of an agent are sent back"
      checking.report("type-mismatch", this.#path, target, message, `Write \`${word} agent.name\`.`)
    } else if (isCalls && step.kind !== "tool" && step.kind !== "workflow") {
      const message = `\`${word}\` takes a tool or a called file, whose calls have arguments`
      const hint =
        word === "called" && values === undefined
          ? write(`ran ${name}`, { start: target.start - word.length - 1, end: target.end })
          : `What an agent was asked is \`asked agent.name\`, and how often a step was called \`calls ${name}\`.`
      checking.report("type-mismatch", this.#path, target, message, hint)
      return word === "called" ? booleanType : errorType
    } else if (step.index !== undefined && (word !== "asked" || !step.looped)) {
      const message = word === "asked" ? `agent.${step.name} has no loop` : `\`${word}\` takes a step, without an index`
      checking.report("type-mismatch", this.#path, target, message, `Write \`${word} ${name}\`.`)
    }
    if (values !== undefined && step.input !== undefined) this.#argumentsMustFit(values, step.input)
    if (word === "calls_of") return { kind: "array", element: step.input ?? anyType }
    return word === "asked" ? stringType : countedWords.has(word) ? integerType : booleanType
  }

  /** Arguments that no call could have: the expectation could only fail, or after `not` only hold. */
  #argumentsMustFit({ items }: Syntax.Block<Syntax.ValueField>, input: RecordType): void {
    const checking = this.#checking
    for (const { name, value } of items) {
      const field = fieldNamed(input, name.text)
      if (field !== undefined) mustFit(checking, value, field.type, `${this.#path}.${name.text}`)
      else {
        const hint = knownList(checking, name.text, input.fields, "Its arguments are")
        const message = `There is no argument \`${name.text}\``
        checking.report("type-mismatch", `${this.#path}.${name.text}`, name, message, hint)
      }
    }
  }

  #checkSetting(item: Syntax.Property, seen: Set<string>): void {
    const { name } = item
    if (seen.has(name.text)) this.#twice(name, name.text)
    seen.add(name.text)
    const rule = rowsOf("test").get(name.text)?.constant
    if (rule !== undefined) checkConstant(this.#checking, item, `${this.#path}.${name.text}`, rule)
    else {
      const hint = "A test has `input`, `given`, `expect`, `samples` and `pass_rate`."
      this.#checking.report("unknown-property", this.#path, name, `Unknown property: ${name.text}`, hint)
    }
  }
}

function resultType(step: TestedStep): Type {
  // An item of a loop may be given null where its condition may rule it out.
  return step.looped && step.mayBeSkipped ? maybe(step.type) : step.type
}
