import { propertyOf, wordIn } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import { errorType, stringType } from "../types/primitives.ts"
import { maybe } from "../types/relations.ts"
import type { Type } from "../types/types.ts"
import type { CheckContext } from "./check-context.ts"
import { hasBrokenLoop, loopVariables } from "./check-loop.ts"
import { modelVariables } from "./check-model-reference.ts"
import { withPrevious } from "./check-repeat.ts"
import { repeatOf } from "./repeat-of.ts"
import { infer } from "./infer.ts"
import type { DynamicSymbol, LoopVariable, StepSymbolOf } from "./program.ts"
import { runScope, type AgentScope, type Scope } from "./scope.ts"
import { refuseFileFields } from "./rules/unsupported-output.ts"
import { typesOf } from "./types-of.ts"
import { checkGuarded } from "./guarded.ts"
import { inferCondition } from "./infer-operators.ts"
import { narrowed, pathsPresent } from "./narrowing.ts"

// What agents, questions and waits have in common: an output, a loop and a condition.

/** The types of all outputs and answers come first: everything may refer to them. */
export function declareSteps(checking: CheckContext): void {
  for (const declaration of checking.tree.declarations) {
    if (declaration.kind === "agent") enter(checking, declaration, checking.declared.agent, checking.agents)
    else if (declaration.kind === "ask") enter(checking, declaration, checking.declared.ask, checking.asks)
    else if (declaration.kind === "wait") enter(checking, declaration, checking.declared.wait, checking.waits)
  }
}

function enter<Step extends Syntax.StepDeclaration>(
  checking: CheckContext,
  declaration: Step,
  declared: ReadonlyMap<string, Step>,
  symbols: Map<string, StepSymbolOf<Step>>,
): void {
  const symbol = stepSymbol(checking, declaration)
  const name = declaration.name.text
  if (declared.get(name) === declaration) symbols.set(name, symbol)
}

function stepSymbol<Step extends Syntax.StepDeclaration>(
  checking: CheckContext,
  declaration: Step,
): StepSymbolOf<Step> {
  const { kind, name, body, loop, brokenLoop } = declaration
  const written = propertyOf(body, "output")
  const path = `${kind}.${name.text}.output`
  const output = typesOf(checking, written, path)
  if (output !== undefined && kind !== "agent") refuseFileFields(checking, output, kind, path)
  // Whether it is one output or an array of them, a broken loop leaves open.
  const known: Type | undefined = written === undefined && isForTime(declaration) ? stringType : output
  const given: Type = known === undefined || brokenLoop ? errorType : known
  const skipsFailures = kind === "agent" && wordIn(body, "on_failure") === "skip"
  const mayBeSkipped = hasCondition(checking, declaration) || skipsFailures
  const one = mayBeSkipped ? maybe(given) : given
  return {
    declaration,
    output: output ?? { kind: "record", fields: [] },
    type: loop === undefined ? one : { kind: "array", element: one },
    mayBeSkipped,
    variables: new Map(),
    locals: new Map(),
  }
}

/** A wait that no event ends: its value is the time at which it ended. */
export function isForTime({ kind, body }: Syntax.StepDeclaration): boolean {
  const has = (name: string): boolean => propertyOf(body, name) !== undefined
  return kind === "wait" && !has("event") && (has("seconds") || has("until"))
}

/** The type of one output or answer; unknown where it could not be read. */
export function judgedType<Step extends Syntax.StepDeclaration>(
  symbols: ReadonlyMap<string, StepSymbolOf<Step>>,
  { name, body }: Step,
): Type {
  const isRead = body.items.some((item) => item.name.text === "output" && item.value.kind === "types")
  return (isRead ? symbols.get(name.text)?.output : undefined) ?? errorType
}

/** Checks the loop and the condition of a step, then its body in the scope that they make. */
export function checkStep<Step extends Syntax.StepDeclaration>(
  checking: CheckContext,
  declaration: Step,
  symbols: Map<string, StepSymbolOf<Step>>,
  place: string,
  declareLocals: (path: string) => AgentScope["localFields"],
  checkBody: (scope: Scope) => void,
): void {
  const name = declaration.name.text
  const path = `${declaration.kind}.${name}`
  const symbol = symbols.get(name)
  // The second of two with one name is not a node: it makes no cycles.
  const isNode = symbol?.declaration === declaration
  const base: Scope = { ...runScope(path, place), node: isNode ? path : undefined }
  const { loop } = declaration
  const inLoop: Scope = { ...base, place: "the list of a loop" }
  const models = {
    models: loop !== undefined && declaration.kind === "agent" ? modelVariables(checking, loop, inLoop) : undefined,
  }
  const variables: ReadonlyMap<string, LoopVariable> =
    loop === undefined ? base.variables : loopVariables(checking, loop, inLoop, infer, models)
  const locals = new Map<string, DynamicSymbol>()
  const agent: AgentScope = {
    name,
    localFields: declareLocals(path),
    locals,
  }
  const repeat = repeatOf(declaration)
  const inBody = repeat === undefined ? variables : withPrevious(variables, repeat, judgedType(symbols, declaration))
  if (isNode) symbols.set(name, { ...symbol, variables: inBody, locals })
  refuseConcurrency(checking, declaration, path)
  checkWhen(
    checking,
    declaration,
    { ...base, agent, variables, hasBrokenLoop: hasBrokenLoop(checking, declaration, variables) },
    // It is decided once whether there are rounds.
    (scope) => checkBody({ ...scope, variables: inBody }),
  )
}

/** Without a loop there is nothing that could be done at a time. */
function refuseConcurrency(checking: CheckContext, declaration: Syntax.StepDeclaration, path: string): void {
  // A wait has no such property at all.
  if (declaration.loop !== undefined || declaration.brokenLoop || declaration.kind === "wait") return
  const property = propertyOf(declaration.body, "concurrency")
  if (property === undefined) return
  const message = "Unknown property: concurrency, which only a step with a loop has"
  const text = `Remove it, or write a loop: \`${declaration.kind} ${declaration.name.text} for item in input.list { … }\`.`
  checking.report("unknown-property", `${path}.concurrency`, property.name, message, { text, data: { kind: "remove" } })
}

/** Checks the condition of a step, and then the step itself where the condition holds. */
function checkWhen(
  checking: CheckContext,
  declaration: Syntax.StepDeclaration,
  scope: Scope,
  checkStep: (scope: Scope) => void,
): void {
  const { when, start, body } = declaration
  const isBroken = checking.skipped.hasError({ start, end: body.start })
  const condition = (): Scope => narrowed(scope, when === undefined ? [] : checkCondition(checking, when, scope))
  checkGuarded(checking, condition, checkStep, isBroken)
}

/** A condition that is not read right says nothing about what is skipped. */
function hasCondition(checking: CheckContext, { when, start, body }: Syntax.StepDeclaration): boolean {
  return when !== undefined && !checking.skipped.hasError({ start, end: body.start })
}

/** The paths that are not null where a condition holds. */
function checkCondition(checking: CheckContext, when: Syntax.When, scope: Scope): readonly string[] {
  if (scope.agent === undefined) return []
  // It is decided before the agent's own values are computed.
  const agent: AgentScope = { ...scope.agent, localFields: new Map(), later: scope.agent.localFields }
  const inner: Scope = { ...scope, agent, path: `${scope.path}.when`, place: "a condition" }
  inferCondition(checking, when.condition, inner, infer)
  return pathsPresent(when.condition, true)
}
