import { runPlace } from "./allowance.ts"
import { blockAs, blockOf } from "./block-of.ts"
import type { CheckContext } from "./check-context.ts"
import { constantOf } from "./constants.ts"
import { isCron, isTimezone, readCron } from "./cron.ts"
import { expectInput, expectProperty, infer } from "./infer.ts"
import type { LoopVariable } from "./program.ts"
import { expressionOf, readProperties } from "./properties.ts"
import { checkHeaderName } from "./rules/invalid-header.ts"
import { at, requestScope, runScope, type Scope } from "./scope.ts"
import { eachChain } from "../syntax/each-chain.ts"
import { expressionIn, propertyOf, valuesOf, wordOrString, isCutOff } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import { anyType, booleanType, stringType } from "../types/primitives.ts"
import { isAssignable, maybe, mayBeLeftOut } from "../types/relations.ts"
import { showType } from "../types/show-type.ts"
import type { Field, RecordType, Type } from "../types/types.ts"

// `schedule` and `webhook`: what starts runs of a named workflow, and the input that it gives them.

/** What `due` holds. */
const dueType: RecordType = {
  kind: "record",
  fields: [
    { name: "at", type: stringType, doc: "The time: RFC 3339, with the offset of the timezone." },
    { name: "date", type: stringType, doc: "The day in the timezone: `YYYY-MM-DD`." },
  ],
}

/** What `previous` holds. Its output is typed as far as the `output` block is. */
function previousType(checking: CheckContext): RecordType {
  const { output, blocks } = checking
  return {
    kind: "record",
    fields: [
      {
        name: "output",
        type: maybe(blocks.output.length === 0 ? anyType : (output ?? anyType)),
        doc: "The output of this schedule's last run that completed; null where there is none, or one over 64 KiB.",
      },
      {
        name: "due_at",
        type: maybe(stringType),
        doc: "The `due.at` of this schedule's last run that completed; null where there is none.",
      },
    ],
  }
}

export function checkTriggers(checking: CheckContext): void {
  for (const declaration of checking.tree.declarations) {
    if (declaration.kind === "schedule") checkSchedule(checking, declaration)
    else if (declaration.kind === "webhook") checkWebhook(checking, declaration)
  }
}

function checkSchedule(checking: CheckContext, declaration: Syntax.TriggerDeclaration): void {
  const path = `schedule.${declaration.name.text}`
  const properties = readProperties(checking, "schedule", declaration.body, path, declaration.name)
  const cron = textOf(properties.get("cron"))
  const read = cron === undefined ? undefined : readCron(cron.text)
  if (cron !== undefined && read !== undefined && !isCron(read)) {
    checking.report("type-mismatch", `${path}.cron`, cron.node, read.problem, read.hint)
  }
  const timezone = textOf(properties.get("timezone"))
  if (timezone !== undefined && !isTimezone(timezone.text)) {
    const hint = "Write a name of the IANA database, such as `Europe/Berlin`; without one it is UTC."
    checking.report("type-mismatch", `${path}.timezone`, timezone.node, `Unknown timezone: ${timezone.text}`, hint)
  }
  const variables = new Map([
    ["due", builtIn("due", declaration, dueType)],
    ["previous", builtIn("previous", declaration, previousType(checking))],
  ])
  checkInput(checking, declaration, properties, triggerScope(path, "a schedule", variables))
  enter(checking, declaration, variables, [], [])
}

/** Never readable: whoever has one could start runs, or act as somebody. */
const hiddenHeaders: ReadonlySet<string> = new Set([
  "authorization",
  "proxy-authorization",
  "cookie",
  "webhook-signature",
  "x-hub-signature",
  "x-hub-signature-256",
  "stripe-signature",
  "x-slack-signature",
  "x-gitlab-token",
])

function checkWebhook(checking: CheckContext, declaration: Syntax.TriggerDeclaration): void {
  const path = `webhook.${declaration.name.text}`
  const properties = readProperties(checking, "webhook", declaration.body, path, declaration.name)
  const missing = ["verify", "secret"].filter((name) => {
    return !properties.has(name) && !checking.skipped.isSwallowedIn(declaration.body, name)
  })
  if (missing.length > 0) {
    const names = missing.map((name) => `\`${name}\``).join(" and ")
    const message = `${names} ${missing.length === 1 ? "is" : "are"} missing: anyone could start runs`
    const hint = "Add `verify: github` (or another way to sign) and `secret: secrets.name`."
    checking.report("unsigned-webhook", path, declaration.name, message, hint)
  }
  checkVerify(checking, properties.get("verify"), `${path}.verify`)
  checkSecret(checking, properties.get("secret"), path)
  const hidden = new Set(hiddenHeaders)
  const own = signatureHeader(properties.get("verify"))
  if (own !== undefined) hidden.add(own.toLowerCase())
  const headers = namesUnder(declaration, "header")
  const queries = namesUnder(declaration, "query")
  for (const name of headers) if (hidden.has(name.text.toLowerCase())) exposed(checking, name, path)
  const variables = new Map([
    ["body", builtIn("body", declaration, anyType)],
    ["header", builtIn("header", declaration, texts(headers))],
    ["query", builtIn("query", declaration, texts(queries))],
  ])
  const scope = triggerScope(path, "a webhook", variables)
  expectProperty(checking, properties.get("when"), booleanType, path, at({ ...scope, place: "a condition" }, "when"))
  if (properties.has("event")) checkEvent(checking, properties, scope)
  else checkInput(checking, declaration, properties, scope)
  enter(checking, declaration, variables, unique(headers), unique(queries))
}

function exposed(checking: CheckContext, name: Syntax.Name, path: string): void {
  const message = `The header \`${name.text}\` may not be read: it holds a signature or a key`
  checking.report("secret-exposed", path, name, message, "Use a value of `body` instead.")
}

/** `github`, or `hmac { header: "X-Signature" }` */
function checkVerify(checking: CheckContext, property: Syntax.Property | undefined, path: string): void {
  if (property === undefined) return
  const { value } = property
  const written = wordOfVerify(property)
  if (written === undefined) return
  if (value.kind === "configured") {
    if (written !== "hmac") {
      const message = `\`${written}\` has no settings`
      checking.report("type-mismatch", path, value.reference, message, `Write \`verify: ${written}\`.`)
      return
    }
    readProperties(checking, "hmac", value.block, path, value.reference)
    const header = expressionIn(value.block, "header")
    const text = header && constantOf(header)
    if (header !== undefined && typeof text === "string" && text !== "") {
      checkHeaderName(checking, { kind: "name", text, quoted: true, start: header.start, end: header.end }, path)
    }
  } else if (written === "hmac" && value.kind === "expression") {
    const hint = 'Write `verify: hmac { header: "X-Signature" }`.'
    checking.report("missing-property", `${path}.header`, value.expression, "`header` is missing", hint)
  }
}

/** The word that a webhook is verified by. */
export function wordOfVerify(property: Syntax.Property | undefined): string | undefined {
  const value = property?.value
  if (value?.kind === "configured") return wordOrString(value.reference)
  return value?.kind === "expression" ? wordOrString(value.expression) : undefined
}

function signatureHeader(property: Syntax.Property | undefined): string | undefined {
  const value = property?.value
  const header = value?.kind === "configured" ? expressionIn(value.block, "header") : undefined
  const text = header && constantOf(header)
  return typeof text === "string" ? text : undefined
}

/** `secrets.name`, or a list of such. */
function checkSecret(checking: CheckContext, property: Syntax.Property | undefined, path: string): void {
  const own = `${path}.secret`
  const expression = expressionOf(checking, property, path)
  if (expression === undefined || expression.kind === "missing-expression") return
  const items = expression.kind === "array" ? expression.items : [expression]
  if (items.length === 0) {
    checking.report("type-mismatch", own, expression, "The list of secrets is empty", "Write `secret: secrets.name`.")
  }
  for (const item of items) {
    if (item.kind === "chain" && isCutOff(item)) continue
    if (item.kind !== "chain" || item.base.kind !== "name" || item.base.text !== "secrets" || item.steps.length !== 1) {
      if (item.kind === "missing-expression") continue
      const hint = "Declare it in `secrets { }`, and write `secret: secrets.name`: the server has its value."
      checking.report("misplaced-expression", own, item, "`secret` names a secret of the workflow", hint)
      continue
    }
    const type = infer(checking, item, requestScope(own, "a webhook"))
    if (!isAssignable(type, stringType, checking.types)) {
      const message = `Expected string, found ${showType(type)}`
      checking.report("type-mismatch", own, item, message, "Declare the secret as `string`.")
    }
  }
}

/** `event { name: "paid", key: body.order, data { … } }`: the delivery starts no run. */
function checkEvent(checking: CheckContext, properties: ReadonlyMap<string, Syntax.Property>, scope: Scope): void {
  const { path } = scope
  const property = properties.get("event")
  if (property === undefined) return
  for (const other of ["input", "reply_within_seconds"]) {
    const conflicting = properties.get(other)
    if (conflicting === undefined) continue
    const message = `\`${other}\` belongs to a webhook that starts runs, and this one has \`event\``
    checking.report("conflicting-properties", `${path}.${other}`, conflicting.name, message, "Remove one of the two.")
  }
  const inner = at(scope, "event")
  const block = blockAs(checking, property, inner.path, "properties")?.block
  if (block === undefined) return
  const written = readProperties(checking, "webhook-event", block, inner.path, property.name)
  expectProperty(checking, written.get("key"), stringType, inner.path, at(inner, "key"))
  const data = blockOf(checking, written.get("data"), `${inner.path}.data`)
  if (data !== undefined) {
    const given: Syntax.Expression = { kind: "object", body: data, start: data.start, end: data.end }
    infer(checking, given, at(inner, "data"))
  }
}

/** The block of a webhook that sends events. */
export function eventBlock({ body }: Syntax.TriggerDeclaration): Syntax.Block<Syntax.Property> | undefined {
  const value = propertyOf(body, "event")?.value
  return value?.kind === "properties" ? value.block : undefined
}

/** `input { … }` must be what the workflow's own `input` block says. */
function checkInput(
  checking: CheckContext,
  declaration: Syntax.TriggerDeclaration,
  properties: ReadonlyMap<string, Syntax.Property>,
  scope: Scope,
): void {
  const property = properties.get("input")
  const block = blockOf(checking, property, `${scope.path}.input`)
  const inner = at(scope, "input")
  // The block may be what a syntax error swallowed.
  const isKnown = checking.blocks.input.length === 0 && checking.tree.errors.length === 0
  const wanted = checking.input ?? (isKnown ? noFields : undefined)
  if (block !== undefined) {
    const given: Syntax.Expression = { kind: "object", body: block, start: block.start, end: block.end }
    if (wanted === undefined) infer(checking, given, inner)
    else expectInput(checking, given, wanted, inner)
    return
  }
  const needed = wanted?.fields.filter((field) => !mayBeLeftOut(field, checking.types)) ?? []
  if (property !== undefined || needed.length === 0) return
  if (checking.skipped.isSwallowedIn(declaration.body, "input")) return
  const fields = needed.map(({ name, type }) => `${name}: … (${showType(type)})`)
  const hint = `Add \`input { }\` with ${fields.join(", ")}.`
  checking.report("missing-property", `${scope.path}.input`, declaration.name, "`input` is missing", hint)
}

const noFields: RecordType = { kind: "record", fields: [] }

function triggerScope(path: string, place: string, variables: ReadonlyMap<string, LoopVariable>): Scope {
  return {
    ...runScope(path, place),
    ...runPlace,
    node: undefined,
    variables,
    isClosed: true,
    isComputed: true,
    withoutCode: true,
  }
}

function builtIn(text: string, { name }: Syntax.TriggerDeclaration, type: Type): LoopVariable {
  return { name: { ...name, text }, type, isBuiltIn: true }
}

function enter(
  checking: CheckContext,
  declaration: Syntax.TriggerDeclaration,
  variables: ReadonlyMap<string, LoopVariable>,
  headers: readonly string[],
  queries: readonly string[],
): void {
  const name = declaration.name.text
  // The second of two with one name is not entered.
  if (checking.triggerNodes.get(name) !== declaration) return
  checking.triggers.set(name, { declaration, variables, headers, queries })
}

/** The names after `header.` and `query.` in a webhook: each may be missing from a delivery. */
function namesUnder(declaration: Syntax.TriggerDeclaration, root: "header" | "query"): Syntax.Name[] {
  const found: Syntax.Name[] = []
  for (const expression of expressionsOf(declaration)) {
    eachChain(expression, ({ base, steps: [step] }) => {
      if (base.kind === "name" && base.text === root && step?.kind === "field") found.push(step.name)
    })
  }
  return found
}

/** The values of `when`, of the fields of `input`, and of what an event is made from. */
export function expressionsOf(declaration: Syntax.TriggerDeclaration): Syntax.Expression[] {
  const { body } = declaration
  const when = expressionIn(body, "when")
  const event = eventBlock(declaration)
  const key = expressionIn(event, "key")
  const fields = [...valuesOf(body, "input"), ...valuesOf(event, "data")].map(({ value }) => value)
  if (key !== undefined) fields.unshift(key)
  return when === undefined ? fields : [when, ...fields]
}

function texts(names: readonly Syntax.Name[]): RecordType {
  const fields = unique(names).map((name): Field => ({ name, type: maybe(stringType) }))
  return { kind: "record", fields }
}

function unique(names: readonly Syntax.Name[]): string[] {
  return [...new Set(names.map(({ text }) => text))]
}

function textOf(
  property: Syntax.Property | undefined,
): { readonly node: Syntax.Expression; readonly text: string } | undefined {
  const value = property?.value
  if (value?.kind !== "expression") return undefined
  const text = constantOf(value.expression)
  return typeof text === "string" ? { node: value.expression, text } : undefined
}
