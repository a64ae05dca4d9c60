import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { checkExpiry } from "./check-approval.ts"
import { hasBrokenLoop, loopVariables } from "./check-loop.ts"
import { checkWhen, hasCondition } from "./check-when.ts"
import { expectType, infer } from "./infer.ts"
import { refuseAsset } from "./misplaced-asset.ts"
import { expressionOf, readProperties } from "./properties.ts"
import type { AgentScope, Scope } from "./scope.ts"
import { runScope } from "./scope.ts"
import { typesOf } from "./types-of.ts"
import { maybe } from "../types/relations.ts"
import type { RecordType, Type } from "../types/types.ts"

const stringType: Type = { kind: "string" }

/** The types of all answers come first: everything may refer to them. */
export function declareAsks(checking: CheckContext): void {
  for (const declaration of checking.tree.declarations) {
    if (declaration.kind !== "ask") continue
    const name = declaration.name.text
    const property = declaration.body.items.find((item) => item.name.text === "output")
    const answer = typesOf(checking, property, `ask.${name}.output`)
    if (checking.askDeclarations.get(name) !== declaration) continue
    const output: RecordType = answer ?? { kind: "record", fields: [] }
    // Whether it is one answer or an array of them, a broken loop leaves open.
    const given: Type = answer === undefined || declaration.brokenLoop ? { kind: "error" } : answer
    const mayBeSkipped = hasCondition(checking, declaration)
    const one = mayBeSkipped ? maybe(given) : given
    const type: Type = declaration.loop === undefined ? one : { kind: "array", element: one }
    checking.asks.set(name, { declaration, output, type, mayBeSkipped, variables: new Map(), locals: new Map() })
  }
}

export function checkAsks(checking: CheckContext): void {
  for (const declaration of checking.tree.declarations) {
    if (declaration.kind === "ask") checkAsk(checking, declaration)
  }
}

function checkAsk(checking: CheckContext, declaration: Syntax.AskDeclaration): void {
  const name = declaration.name.text
  const path = `ask.${name}`
  const symbol = checking.asks.get(name)
  // The second of two with one name is no node: it makes no circles.
  const node = symbol?.declaration === declaration ? path : undefined
  const base: Scope = { ...runScope(path, "a question"), node }
  const variables = loopVariables(checking, declaration, base)
  const agent: AgentScope = {
    name,
    variables,
    hasBrokenLoop: hasBrokenLoop(checking, declaration),
    localFields: new Map(),
    locals: new Map(),
  }
  if (symbol?.declaration === declaration) checking.asks.set(name, { ...symbol, variables })
  checkWhen(checking, declaration, { ...base, agent }, (scope) => checkBody(checking, declaration, scope))
}

function checkBody(checking: CheckContext, declaration: Syntax.AskDeclaration, scope: Scope): void {
  const { path } = scope
  const properties = readProperties(checking, "ask", declaration.body, path, declaration.name)
  for (const text of ["question", "to"]) {
    const expression = expressionOf(checking, properties.get(text), path)
    if (expression !== undefined) expectType(checking, expression, stringType, placeIn(scope, text))
  }
  checkValue(checking, properties.get("show"), undefined, placeIn(scope, "show"))
  checkExpiry(checking, properties.get("expires_seconds"), `${path}.expires_seconds`)
  checkValue(checking, properties.get("on_expiry"), answerOf(checking, declaration), placeIn(scope, "on_expiry"))
}

function placeIn(scope: Scope, property: string): Scope {
  return { ...scope, path: `${scope.path}.${property}` }
}

/** The type of one answer; undefined where it could not be read. */
function answerOf(checking: CheckContext, { name, body }: Syntax.AskDeclaration): RecordType | undefined {
  const isRead = body.items.some((item) => item.name.text === "output" && item.value.kind === "types")
  return isRead ? checking.asks.get(name.text)?.output : undefined
}

function checkValue(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  expected: Type | undefined,
  scope: Scope,
): void {
  const path = scope.path.slice(0, scope.path.lastIndexOf("."))
  const expression = expressionOf(checking, property, path)
  if (expression === undefined) return
  if (expected !== undefined) expectType(checking, expression, expected, scope)
  else refuseAsset(checking, expression, infer(checking, expression, scope), scope.path)
}
