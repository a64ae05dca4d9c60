import { type DataOf, type Hint, meantWord, write } from "../source/hint.ts"
import { eachChain } from "../syntax/each-chain.ts"
import type { Span } from "../source/span.ts"
import { propertyOf, type Properties, wordOrString } from "../syntax/property-of.ts"
import type { ForeignName, PropertyPlace, PropertyRow, WordList } from "../syntax/property-table.ts"
import { blockForms, foreignNamesOf, inferenceKeys, isBlockForm, rowsOf, wordsIn } from "../syntax/property-table.ts"
import type * as Syntax from "../syntax/tree.ts"
import { blockAs } from "./block-of.ts"
import type { CheckContext } from "./check-context.ts"
import { checkConstant, constantOf } from "./constants.ts"
import { knownList, namesOf, nearAnd } from "./known-list.ts"
import { checkArgumentSecret } from "./rules/hardcoded-secret.ts"

/**
 * The properties of a block by name (another spelling under the name here), the first where one is repeated by mistake.
 * Reports what is unknown, repeated, obsolete, ignored or missing, and values that the table alone refuses; `owner` is where a
 * missing one is shown, and `alsoRequired` names an optional one that this block needs.
 */
export function readProperties(
  checking: CheckContext,
  place: PropertyPlace,
  block: Syntax.Block<Syntax.Property | Syntax.BatchItem> | undefined,
  path: string,
  owner: Span,
  alsoRequired?: string,
): Map<string, Syntax.Property> {
  const rows = rowsOf(place)
  const foreign = foreignNamesOf(place)
  const properties = new Map<string, Syntax.Property>()
  const misspelt = new Set<string>()
  for (const property of block?.items ?? []) {
    if (property.kind !== "property") continue
    const name = property.name.text
    const other = foreign.get(name)
    const key = other?.means ?? name
    const row = rows.get(key)
    if (other?.means !== undefined) obsolete(checking, property, other, path)
    else if (row === undefined) {
      if (place !== "unknown") misspelt.add(unknown(checking, property, place, block, path) ?? "")
      continue
    }
    if (!properties.has(key)) {
      properties.set(key, property)
      if (row !== undefined) checkRow(checking, row, property, path)
    } else if (row?.repeated !== true) {
      const message = `\`${name}\` is here already`
      checking.report("duplicate-field", `${path}.${name}`, property.name, message, "Remove one of the two.")
    }
  }
  // Whoever wrote the head in the form of another language wrote the block in it, too.
  if (checking.skipped.hasError(owner)) return properties
  for (const [name, row] of rows) {
    const { required = name === alsoRequired ? "" : undefined } = row
    if (required === undefined || properties.has(name) || misspelt.has(name)) continue
    if (block !== undefined && checking.skipped.isSwallowedIn(block, name)) continue
    checking.report(
      "missing-property",
      `${path}.${name}`,
      owner,
      `\`${name}\` is missing`,
      `Add \`${required || `${name}: "…"`}\`.`,
    )
  }
  return properties
}

/** Reports a value that is not what the table says. Values that are computed are the caller's to check. */
function checkRow(checking: CheckContext, row: PropertyRow, property: Syntax.Property, path: string): void {
  const { name, value } = property
  const own = `${path}.${name.text}`
  if (isBlockForm(row.form)) {
    const block = blockAs(checking, property, own, "properties", blockForms[row.form])?.block
    if (block !== undefined) readProperties(checking, row.form, block, own, name)
  } else if (row.constant !== undefined) {
    if (row.orComputed === true && isComputed(value)) return
    checkConstant(checking, property, own, row.constant)
    if (value.kind !== "values") return
    for (const field of value.block.items) {
      checkArgumentSecret(checking, field.name.text, field.value, `${own}.${field.name.text}`, "extra")
    }
  } else if (row.words !== undefined && row.type === undefined) {
    if ((row.form === "approval" || row.form === "elicitation") && value.kind === "properties") return
    if (value.kind === "configured") return checkWord(checking, value.reference, row.words, own)
    const expression = expressionOf(checking, property, path)
    if (expression === undefined) return
    if (expression.kind === "array" && expression.items.length === 0 && row.isList !== true) {
      return checking.report(
        "type-mismatch",
        own,
        expression,
        "The list is empty",
        "Write what it is about, or leave it out.",
      )
    }
    if (row.takesNames === true && expression.kind === "array" && expression.items.every(isWritten)) return
    const items = expression.kind === "array" && row.isList !== undefined ? expression.items : [expression]
    if (row.isList === true && expression.kind !== "array") {
      const message = `Expected an array such as \`["${wordsIn(row.words).words[0]}"]\``
      checking.report("type-mismatch", own, expression, message)
    } else for (const item of items) checkWord(checking, item, row.words, own)
    const { apart } = wordsIn(row.words)
    const written = new Set(items.map((item) => wordOrString(item)))
    if (apart?.words.every((one) => written.has(one)) === true) {
      checking.report("type-mismatch", own, property, apart.message, "Remove one of the two.")
    }
  }
}

/** Whether the value is not written out. `-1` is. */
export function isComputed(value: Syntax.PropertyValue): boolean {
  if (value.kind !== "expression" || value.expression.kind === "negate") return false
  return constantOf(value.expression) === undefined
}

function isWritten(node: Syntax.Expression): boolean {
  return wordOrString(node) !== undefined
}

/** One of a few words, written bare or as a string. */
function checkWord(checking: CheckContext, node: Syntax.Expression, list: WordList, path: string): void {
  const { what, words, hint, meant = {}, code = "invalid-value" } = wordsIn(list)
  const written = wordOrString(node)
  if (node.kind === "missing-expression" || (written !== undefined && words.includes(written))) return
  const quoted = checking.quote(node)
  const near = Object.hasOwn(meant, quoted) ? meant[quoted] : checking.suggest(written ?? "", words)
  const known = hint ?? `Known are ${words.map((one) => `\`${one}\``).join(", ")}.`
  checking.report(code, path, node, `Unknown ${what}: ${quoted}`, nearAnd(near, known))
}

/** The expression that is a property's value; reports a block in its place. `path` is that of the block around it. */
export function expressionOf(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  path: string,
): Syntax.Expression | undefined {
  if (property === undefined || property.value.kind === "missing") return undefined
  if (property.value.kind === "expression") return property.value.expression
  const name = property.name.text
  const hint = { text: `Write \`${name}: …\`.`, data: { kind: "missing-colon" } } as const
  checking.report("type-mismatch", `${path}.${name}`, property.name, "Expected a value, found a block", hint)
  return undefined
}

/** A property by its name here, or by a spelling of elsewhere that is read as it. */
export function propertyIn(
  place: PropertyPlace,
  block: Properties | undefined,
  name: string,
): Syntax.Property | undefined {
  const others = [...foreignNamesOf(place)].filter(([, { means, isRead }]) => means === name && isRead === true)
  for (const spelling of [name, ...others.map(([other]) => other)]) {
    const property = propertyOf(block, spelling)
    if (property !== undefined) return property
  }
  return undefined
}

function obsolete(
  checking: CheckContext,
  property: Syntax.Property,
  { means, isRead }: ForeignName,
  path: string,
): void {
  const old = property.name.text
  // `driver` belongs to the provider's head, which tells it with the rest.
  if (means === "from" || hasNoValue(checking, property)) return
  const entries = property.value.kind === "uses" ? property.value.entries : []
  const names = entries.map(({ reference }) => `tool.${checking.quote(reference)}`)
  const written = entries.length > 0 && entries.every(isBareUse) ? ` [${names.join(", ")}]` : ""
  const message = `\`${old}:\` is ${isRead === true ? "read as" : "now written"} \`${means}:\``
  const severity = isRead === true ? "warning" : undefined
  const hint = write(means ?? "", undefined, `Write \`${means}:${written}\`.`)
  checking.report("obsolete-syntax", `${path}.${old}`, property.name, message, hint, severity)
}

/** A name without its `tool.`. */
export function isBareUse({ reference: { base, steps } }: Syntax.UseEntry): boolean {
  return base.kind === "name" && steps.length === 0
}

/** Whether the parser could read nothing of the value, and has said so: that is told first. */
function hasNoValue(checking: CheckContext, property: Syntax.Property): boolean {
  const { value } = property
  if (value.kind === "uses" ? value.entries.length > 0 : !isUnreadable(value)) return false
  return checking.skipped.hasError(property)
}

/** `10s` is a number with a mistake. */
function isUnreadable(value: Syntax.PropertyValue): boolean {
  if (value.kind !== "expression") return value.kind === "missing"
  return value.expression.kind === "missing-expression" || value.expression.kind === "number"
}

/** Reports a property that does not exist; the one that was probably meant. */
function unknown(
  checking: CheckContext,
  property: Syntax.Property,
  place: PropertyPlace,
  block: Properties | undefined,
  path: string,
): string | undefined {
  const name = property.name.text
  const other = foreignNamesOf(place).get(name)
  if (other?.isIgnored === true) {
    const message = `\`${name}\` has no effect: no API that models are called by has it`
    checking.report("ignored-setting", `${path}.${name}`, property.name, message, "Remove it.")
    return undefined
  }
  if (other?.beside !== undefined && propertyOf(block, other.beside) !== undefined) return undefined
  if (hasNoValue(checking, property)) return undefined
  const known = [...rowsOf(place).keys()].map((one) => ({ name: one }))
  const near = other?.like ?? checking.suggest(name, namesOf(known))
  useReferences(checking, property)
  const hint =
    other?.hint ??
    (other?.joins && listHint(checking, block, property, other.joins)) ??
    (other?.like === undefined ? undefined : meantWord(other.like)) ??
    (near === undefined ? belongsElsewhere(place, name) : undefined) ??
    knownList(checking, name, known, "Known here:")
  if (other?.declares !== undefined) refuseDeclarations(checking, property, other.declares, path, hint)
  else checking.report("unknown-property", `${path}.${name}`, property.name, `Unknown property: ${name}`, hint)
  return near
}

/** What an unknown property refers to is not unused: the property is the mistake. */
function useReferences(checking: CheckContext, { value }: Syntax.Property): void {
  if (value.kind !== "expression") return
  eachChain(value.expression, ({ base, steps: [step] }) => {
    if (base.kind === "name" && step?.kind === "field") checking.refer(`${base.text}.${step.name.text}`, step.name)
  })
}

/** `fallback: model.b` beside `model: model.a` */
function listHint(
  checking: CheckContext,
  block: Properties | undefined,
  { value }: Syntax.Property,
  name: string,
): string {
  const own = propertyOf(block, name)?.value
  const [first, second] = [own, value].map((one) => (one?.kind === "expression" ? checking.quote(one.expression) : "…"))
  return `Write a list: \`${name}: [${first}, ${second}]\`.`
}

/** `models { fast { … } }` in a provider: what it would have declared is not missed elsewhere. */
function refuseDeclarations(
  checking: CheckContext,
  { name, value }: Syntax.Property,
  kind: string,
  path: string,
  hint: Hint<DataOf<"unknown-property">>,
): void {
  const items = value.kind === "properties" || value.kind === "values" ? value.block.items : []
  for (const item of items) checking.skipped.lost.add(`${kind}.${item.name.text}`)
  if (items.length > 0) checking.refer(path, name)
  const message = `\`${name.text}\` of a provider are declarations of their own`
  checking.report("obsolete-syntax", `${path}.${name.text}`, name, message, hint)
}

/** Where a setting of `inference` belongs that stands outside of it, and an argument of a call. */
function belongsElsewhere(place: PropertyPlace, written: string): string | undefined {
  if (place === "call") return `Arguments stand in \`input { ${written}: … }\`.`
  const name = written === "retries" ? "max_retries" : written
  if (!(inferenceKeys as readonly string[]).includes(name)) return undefined
  if (rowsOf(place).has("inference")) return `It belongs in \`inference { ${name}: … }\`.`
  if (place !== "agent") return undefined
  return `It belongs to the model: \`model: model.name { inference { ${name}: … } }\`, or \`inference { }\` where that is declared.`
}
