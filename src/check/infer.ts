import { isArithmetic } from "../syntax/operator-parser.ts"
import { isCutOff } from "../syntax/property-of.ts"
import { isWorkflow } from "../syntax/import-kinds.ts"
import type * as Syntax from "../syntax/tree.ts"
import { inAlternative, inText, inValue } from "./allowance.ts"
import type { CheckContext } from "./check-context.ts"
import { inferAsset } from "./infer-asset.ts"
import { inferFunction } from "./infer-function.ts"
import { inferInvoke } from "./infer-invoke.ts"
import { inferWorkflowCall } from "./infer-workflow-call.ts"
import { inferList } from "./infer-list.ts"
import { inferMatch } from "./infer-match.ts"
import { inferWhen } from "./infer-when.ts"
import { inferArithmetic, inferNegation } from "./infer-arithmetic.ts"
import { inferBinary, inferNot } from "./infer-operators.ts"
import { inferSteps } from "./infer-steps.ts"
import { readableNull } from "./infer-text.ts"
import { refuseAsset } from "./misplaced-asset.ts"
import { refuseFileInText } from "./misplaced-file.ts"
import { mustFit } from "./must-fit.ts"
import {
  booleanType,
  errorType,
  integerType,
  noElementType,
  nullType,
  numberType,
  stringType,
  fileType,
} from "../types/primitives.ts"
import { isAssignable, isLenient, nullable, union, withoutLiterals, withoutNull } from "../types/relations.ts"
import { eitherOf } from "../types/either-of.ts"
import { expressionOf } from "./properties.ts"
import { declareUnique, refuseKey } from "./repeated-name.ts"
import { inferRoot } from "./resolve-root.ts"
import { noteInteger, takeNumbers } from "./rules/inexact-integer.ts"
import { suspiciousBraces } from "./rules/suspicious-braces.ts"
import { at, nonePresent, type Scope } from "./scope.ts"
import type { Field, Type } from "../types/types.ts"

/** The type of an expression where it stands; what is wrong with it is reported. */
export function infer(checking: CheckContext, expression: Syntax.Expression, scope: Scope): Type {
  const reported = checking.diagnostics.length
  let type = inferHere(checking, expression, scope)
  if (isBracketed(expression) && checking.skipped.hasError(expression)) {
    // What else is wrong in it follows from that.
    checking.diagnostics.length = reported
    type = errorType
  }
  checking.expressionTypes.set(expression, type)
  return type
}

/** Whether brackets hold all of the expression: a mistake between them changes what each part of it means. */
function isBracketed({ kind }: Syntax.Expression): boolean {
  return kind === "array" || kind === "list" || kind === "function" || kind === "group"
}

function inferHere(checking: CheckContext, expression: Syntax.Expression, scope: Scope): Type {
  switch (expression.kind) {
    case "string":
      return inferString(checking, expression, scope)
    case "number":
      noteInteger(checking, expression, scope.path)
      return Number.isSafeInteger(expression.value) ? integerType : numberType
    case "word":
      return expression.value === null ? nullType : booleanType
    case "array":
      return inferArray(checking, expression, scope)
    case "list":
      return inferList(checking, expression, scope, infer)
    case "object":
      return { kind: "record", fields: inferFields(checking, expression.body.items, scope) }
    case "group":
      return infer(checking, expression.expression, scope)
    case "chain":
      return inferChain(checking, expression, scope)
    case "default":
      return inferDefault(checking, expression, scope)
    case "binary":
      if (isArithmetic(expression.operator)) {
        return inferArithmetic(checking, expression, expression.operator, scope, infer)
      }
      return inferBinary(checking, expression, scope, infer)
    case "not":
      return inferNot(checking, expression, scope, infer)
    case "negate":
      return inferNegation(checking, expression, scope, infer)
    case "function":
      return inferFunction(checking, expression, scope, infer)
    case "match":
      return inferMatch(checking, expression, scope, infer)
    case "call":
    case "read":
    case "render":
    case "repeat": {
      const { kind, target } = expression
      return inferWhen(checking, expression, scope, infer, (inner) =>
        kind === "repeat" || (kind === "call" && isWorkflow(target))
          ? inferWorkflowCall(checking, expression, inner, infer)
          : inferInvoke(checking, { ...expression, kind }, inner, infer),
      )
    }
    case "asset":
      return inferAsset(checking, expression, scope, infer)
    case "exception":
      checkReason(checking, expression, scope)
      return infer(checking, expression.value, scope)
    case "observed":
      for (const { value } of expression.arguments?.items ?? []) infer(checking, value, scope)
      return checking.observed?.(expression) ?? errorType
    case "fail": {
      infer(checking, expression.message, scope)
      const hint =
        'Write `given tool.name: [value, fail "HTTP 404"]`, or `given tool.name fails tool_error "…"` for all calls.'
      const message = "`fail` stands for a result in the list that a test gives, and nowhere else"
      checking.report("type-mismatch", scope.path, expression, message, hint)
      return errorType
    }
    case "fixture":
      return fileType
    case "missing-expression":
      return errorType
  }
}

/** Infers, and reports a value that does not fit; `any` fits everywhere until the run. */
export function expectType(checking: CheckContext, expression: Syntax.Expression, expected: Type, scope: Scope): void {
  infer(checking, expression, scope)
  mustFit(checking, expression, expected, scope.path)
}

/** The same for the input of a workflow. */
export function expectInput(checking: CheckContext, expression: Syntax.Expression, expected: Type, scope: Scope): void {
  infer(checking, expression, scope)
  mustFit(checking, expression, expected, scope.path, "input")
}

/** Checks the value of a property of the block at `path`; returns it where there is one. */
export function expectProperty(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  expected: Type,
  path: string,
  scope: Scope,
): Syntax.Expression | undefined {
  const expression = expressionOf(checking, property, path)
  if (expression !== undefined) expectType(checking, expression, expected, scope)
  return expression
}

/** Whoever reviews the file reads the reason: it is written out, on one line. */
function checkReason(checking: CheckContext, { reason, word }: Syntax.ExceptionNode, { path }: Scope): void {
  if (reason === undefined) return
  const text = reason.texts.join("")
  const isOneLine = !reason.block && !/[\n\r]/.test(text)
  if (isOneLine && reason.interpolations.length === 0 && text.trim() !== "") return
  const message = `\`${word}\` needs a reason: a one-line string that is not empty and has no \`{{ }}\``
  checking.report("invalid-value", path, reason, message, "Say why this value may be used here.")
}

function inferString(checking: CheckContext, node: Syntax.StringNode, scope: Scope): Type {
  suspiciousBraces(checking, node, scope)
  if (node.interpolations.length === 0) return { kind: "literal", value: node.texts[0] ?? "" }
  const inner = inText(scope)
  for (const interpolation of node.interpolations) {
    const type = infer(checking, interpolation, inner)
    if (inner.assets === "none") refuseAsset(checking, interpolation, type, scope.path)
    if (refuseFileInText(checking, interpolation, type, { path: scope.path, assets: inner.assets })) continue
    readableNull(checking, interpolation, type, scope.path, "interpolation")
  }
  return stringType
}

function inferArray(checking: CheckContext, node: Syntax.Expression & { kind: "array" }, scope: Scope): Type {
  const inner = inValue(scope)
  const elements = node.items.map((item) => {
    const type = infer(checking, item, inner)
    refuseAsset(checking, item, type, scope.path)
    return node.items.length > 1 ? withoutLiterals(type) : type
  })
  const element: Type = elements.length === 0 ? noElementType : union(elements)
  for (const one of elements) checking.fit(one, element)
  return { kind: "array", element }
}

/** The fields of an object literal, or of a block of values. */
export function inferFields(checking: CheckContext, fields: readonly Syntax.ValueField[], scope: Scope): Field[] {
  const inner = inValue(scope)
  const seen = new Set<string>()
  const inferred: Field[] = []
  for (const field of fields) {
    const { name, value } = field
    const fieldScope = at(inner, name.text)
    const type = infer(checking, value, fieldScope)
    refuseAsset(checking, value, type, fieldScope.path)
    if (refuseKey(checking, name, fieldScope.path) || declareUnique(checking, seen, name, fieldScope.path)) continue
    const entry: Field = { name: name.text, type }
    checking.writeField(entry, field)
    inferred.push(entry)
  }
  return inferred
}

function inferChain(checking: CheckContext, chain: Syntax.Chain, scope: Scope): Type {
  const matched = checking.matched.get(chain)
  if (matched !== undefined) {
    checking.roots.set(chain, { kind: "matched" })
    // It begins with the name of a case, which only looks like the root of a path.
    return inferRest(checking, chain, matched, 0, { ...scope, present: nonePresent })
  }
  if (chain.base.kind === "name") {
    const root = inferRoot(checking, chain, chain.base, scope)
    if (root === undefined) return errorType
    return inferRest(checking, chain, root.type, root.steps, scope)
  }
  const inner = inValue(scope)
  return inferRest(checking, chain, infer(checking, chain.base, inner), 0, scope)
}

function inferRest(checking: CheckContext, chain: Syntax.Chain, type: Type, index: number, scope: Scope): Type {
  const rest = inferSteps(checking, chain, type, index, scope)
  return isCutOff(chain) ? errorType : rest
}

function isPath(node: Syntax.Expression): boolean {
  return node.kind === "group" ? isPath(node.expression) : node.kind === "chain" && node.base.kind === "name"
}

function inferDefault(checking: CheckContext, node: Syntax.Expression & { kind: "default" }, scope: Scope): Type {
  const inner = inAlternative(scope)
  const left = infer(checking, node.left, isPath(node.left) ? { ...inner, isDefaulted: true } : inner)
  const right = infer(checking, node.right, inner)
  if (isLenient(left)) return left
  // A list that is taken from an untyped value may be missing with it.
  if (left.kind === "array" && isLenient(left.element)) return left
  if (!nullable(left, checking.types)) {
    const message = `\`${checking.quote(node.left)}\` is never null, so this default is never used`
    checking.report("unreachable-branch", scope.path, node.right, message, "Remove `??` and what follows it.")
    return left
  }
  if (left.kind === "null") return right
  const base = withoutNull(left, checking.types)
  takeNumbers(checking, node.right, base)
  if (!isAssignable(right, base, checking.types)) return union([base, withoutLiterals(right)])
  checking.fit(right, base)
  return eitherOf(base, right, checking.types)
}
