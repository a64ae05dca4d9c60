import type {
  BinaryNode,
  Block,
  Chain,
  ContextValue,
  Expression,
  FunctionNode,
  ListNode,
  MatchBranch,
  MatchNode,
  ModelEntry,
  Name,
  Pattern,
  Property,
  PropertyValue,
  SendField,
  StringNode,
  UseEntry,
  ValueField,
} from "../tree.ts"
import { branchChain, isShortBranch } from "../match-branch.ts"
import { indentBlockString } from "./block-string.ts"
import { layOutBlock, layOutList } from "./blocks.ts"
import { comma, flag, gap } from "./layout.ts"
import type { LayoutBuilder } from "./layout-builder.ts"
import { endsWithBareWord, layOutTypeAfterColon, layOutTypeFields } from "./type-layout.ts"

// Expressions and the property blocks that they contain (and that contain them).

// -------------------------------------------------------------------------------------------------- expressions

export function layOutExpression(builder: LayoutBuilder, expression: Expression): void {
  switch (expression.kind) {
    case "string":
      return layOutString(builder, expression)
    case "number":
      // The sign is a token of its own where it follows a word: `_ -1`.
      while (builder.token.start < expression.end) builder.take()
      return
    case "word":
      builder.take()
      return
    case "array":
      return layOutItems(builder, expression.items)
    case "list":
      return layOutListNode(builder, expression)
    case "function":
      if (expression.form === "map") return layOutMap(builder, expression)
      if (expression.form === "spread") return layOutSpread(builder, expression)
      if (expression.receiver !== undefined) {
        layOutExpression(builder, expression.receiver)
        builder.take()
      }
      builder.name(expression.name)
      return layOutItems(builder, expression.items)
    case "object":
      return layOutValueFields(builder, expression.body, true)
    case "group":
      builder.take()
      layOutExpression(builder, expression.expression)
      builder.take()
      return
    case "chain":
      return layOutChain(builder, expression)
    case "default":
      return layOutDefault(builder, expression)
    case "binary":
      return layOutBinary(builder, expression)
    case "not":
    case "negate":
      builder.take()
      return layOutExpression(builder, expression.operand)
    case "match":
      return layOutMatch(builder, expression)
    case "call":
    case "read":
    case "render":
    case "repeat":
      builder.word()
      layOutChain(builder, expression.target)
      if (expression.when !== undefined) {
        builder.space()
        builder.word()
        layOutExpression(builder, expression.when.condition)
      }
      return layOutInlineBlock(builder, expression.block)
    case "asset":
      builder.word()
      layOutExpression(builder, expression.value)
      return layOutInlineBlock(builder, expression.block)
    case "exception":
      builder.word()
      layOutExpression(builder, expression.value)
      builder.space()
      builder.word()
      if (expression.reason !== undefined) layOutExpression(builder, expression.reason)
      return
    case "observed":
      if (expression.not !== undefined) builder.word()
      builder.word()
      layOutChain(builder, expression.target)
      if (expression.arguments === undefined) return
      builder.space()
      builder.word()
      return layOutValueFields(builder, expression.arguments, true)
    case "fail":
      builder.word()
      return layOutExpression(builder, expression.message)
    case "fixture":
      builder.word()
      return layOutExpression(builder, expression.path)
    case "missing-expression":
      throw new Error("Only a tree without syntax errors can be formatted")
  }
}

function layOutItems(builder: LayoutBuilder, items: readonly Expression[]): void {
  const layOut = (item: Expression): void => layOutExpression(builder, item)
  layOutList(builder, { items, layOut, hugs: canTakeLines, lastComma: comma.broken })
}

/** Whether an expression that ends in a bracket may take several lines. */
function canTakeLines(expression: Expression): boolean {
  switch (expression.kind) {
    case "object":
    case "match":
      return expression.body.items.length > 0
    case "array":
    case "function":
      return expression.items.length > 0
    case "list":
      return true
    case "string":
      return expression.block
    case "call":
    case "read":
    case "render":
    case "repeat":
    case "asset":
      return expression.block !== undefined && expression.block.items.length > 0
    default:
      return false
  }
}

/** `[value for item in list when condition by key]`: on one line, or each part on its own. */
function layOutListNode(
  builder: LayoutBuilder,
  { value, loop, when, by }: ListNode,
  layOutElement: (value: Expression) => void = (element) => layOutExpression(builder, element),
  inside: typeof gap.softNone | typeof gap.softSpace = gap.softNone,
): void {
  const group = builder.open(true)
  const part = (layOut: () => void): void => {
    builder.soft(gap.softSpace, group.id)
    builder.item(() => {
      builder.word()
      layOut()
    })
  }
  builder.soft(inside, group.id, flag.item)
  builder.item(() => layOutElement(value))
  part(() => {
    layOutPattern(builder, loop.pattern, loop.index)
    builder.space()
    builder.word()
    layOutExpression(builder, loop.items)
  })
  if (when !== undefined) part(() => layOutExpression(builder, when.condition))
  if (by !== undefined) {
    part(() => {
      layOutExpression(builder, by.key)
      if (by.descending === undefined) return
      builder.space()
      builder.take()
    })
  }
  builder.close(group, inside)
}

/** `[...a, b]`, `{ ...a, y: 1 }` */
function layOutSpread(builder: LayoutBuilder, node: FunctionNode): void {
  type Part = ValueField | Expression
  const { start, end } = node
  const isSpread = ({ start: from }: Part): boolean => builder.tokenAt(builder.indexFrom(from) - 1).kind === "."
  const items = node.items.flatMap((item): readonly Part[] => {
    if (isSpread(item)) return [item]
    return item.kind === "array" ? item.items : item.kind === "object" ? item.body.items : []
  })
  const layOut = (item: Part): void => {
    if (item.kind === "value-field") return layOutValueField(builder, item)
    if (isSpread(item)) for (let dots = 0; dots < 3; dots++) builder.take()
    layOutExpression(builder, item)
  }
  if (node.name.text === "concat") {
    return layOutList(builder, { items, layOut, hugs: () => false, lastComma: comma.broken })
  }
  const open = builder.token
  layOutBlock(builder, {
    block: { open, close: open, items, start, end },
    canBeFlat: true,
    layOut,
    needsComma: () => true,
  })
}

/** `{ [key]: value, [key]: value }`, `{ [key]: value for item in list }` */
function layOutMap(builder: LayoutBuilder, { items: [pairs], start, end }: FunctionNode): void {
  const layOut = (pair: Expression): void => {
    const [key, value] = pair.kind === "object" ? pair.body.items : []
    if (builder.token.kind === "[") {
      builder.take()
      if (key !== undefined) layOutExpression(builder, key.value)
      builder.take()
    } else builder.take()
    builder.word()
    if (value !== undefined) layOutExpression(builder, value.value)
  }
  if (pairs?.kind === "list") return layOutListNode(builder, pairs, layOut, gap.softSpace)
  const items = pairs?.kind === "array" ? pairs.items : []
  const open = builder.token
  layOutBlock(builder, {
    block: { open, close: open, items, start, end },
    canBeFlat: true,
    layOut,
    needsComma: () => true,
  })
}

/** `item`, or `{ a, b: c }`. */
export function layOutPattern(builder: LayoutBuilder, pattern: Pattern, index?: Name): void {
  layOutOwnPattern(builder, pattern)
  layOutIndex(builder, index)
}

/** `, index` */
export function layOutIndex(builder: LayoutBuilder, index: Name | undefined): void {
  if (index === undefined) return
  builder.word()
  builder.name(index)
}

function layOutOwnPattern(builder: LayoutBuilder, pattern: Pattern): void {
  if (pattern.kind === "item") return builder.name(pattern.name)
  layOutBlock(builder, {
    block: pattern.body,
    canBeFlat: true,
    layOut: (field) => {
      builder.name(field.field)
      if (builder.token.kind !== ":") return
      builder.word()
      builder.name(field.variable)
    },
  })
}

/** A base and its steps, with nothing between. */
export function layOutChain(builder: LayoutBuilder, chain: Chain): void {
  if (chain.base.kind === "name") builder.name(chain.base)
  else layOutExpression(builder, chain.base)
  while (builder.token.start < chain.end) builder.take()
}

/** On one line, or with each `??` on a line of its own where the author broke it at one. */
function layOutDefault(builder: LayoutBuilder, expression: Expression & { readonly kind: "default" }): void {
  const broken = !builder.flat && isBrokenAtOperator(builder, expression)
  layOutExpression(builder, expression.left)
  const layOutRest = () => {
    let rest: Expression | undefined = expression
    while (rest?.kind === "default") {
      if (broken) builder.line()
      else builder.space()
      builder.word()
      const { right }: { right: Expression } = rest
      layOutExpression(builder, right.kind === "default" ? right.left : right)
      rest = right
    }
  }
  if (broken) builder.continued(layOutRest)
  else layOutRest()
}

function isBrokenAtOperator(builder: LayoutBuilder, expression: Expression): boolean {
  for (let rest = expression; rest.kind === "default"; rest = rest.right) {
    const right = builder.indexFrom(rest.right.start)
    if (builder.tokenAt(right).afterBreak || builder.tokenAt(right - 1).afterBreak) return true
  }
  return false
}

/** The same for operators: those of one kind in a row are broken together. */
function layOutBinary(builder: LayoutBuilder, expression: BinaryNode): void {
  const row = [expression]
  for (let { left } = expression; left.kind === "binary" && left.operator === expression.operator;) {
    row.unshift(left)
    left = left.left
  }
  const broken = !builder.flat && row.some((node) => isBrokenAtSign(builder, node))
  const [first] = row
  layOutExpression(builder, first?.left ?? expression.left)
  const layOutRest = () => {
    for (const { right } of row) {
      if (broken) builder.line()
      else builder.space()
      builder.word()
      layOutExpression(builder, right)
    }
  }
  if (broken) builder.continued(layOutRest)
  else layOutRest()
}

function isBrokenAtSign(builder: LayoutBuilder, { sign, right }: BinaryNode): boolean {
  return sign.afterBreak || builder.tokenAt(builder.indexFrom(right.start)).afterBreak
}

function layOutString(builder: LayoutBuilder, string: StringNode): void {
  const { depth } = builder
  const parts = [builder.at]
  const isMultiLine = string.block && /[\r\n]/.test(builder.textOf(string))
  if (isMultiLine) builder.forceBreaks()
  builder.take()
  for (const interpolation of string.interpolations) {
    const end = builder.closerOf(builder.at - 1)
    const flatBefore = builder.flat
    builder.flat ||= !string.block || !builder.breaksBetween(builder.at - 1, end)
    builder.nested(depth + (isMultiLine ? 1 : 0), () => {
      builder.space()
      layOutExpression(builder, interpolation)
      parts.push(builder.at)
      builder.endInterpolation()
    })
    builder.flat = flatBefore
  }
  if (!isMultiLine) return
  const texts = indentBlockString(
    parts.map((part) => builder.textOf(builder.tokenAt(part))),
    depth,
  )
  for (const [index, part] of parts.entries()) builder.replaceText(part, texts[index] ?? "")
}

function layOutMatch(builder: LayoutBuilder, match: MatchNode): void {
  builder.word()
  layOutExpression(builder, match.value)
  builder.space()
  layOutBlock(builder, {
    block: match.body,
    canBeFlat: false,
    layOut: (branch) => layOutBranch(builder, branch),
    needsComma: (branch, next) =>
      (!isCaseAlone(branch) && endsWithBareWord(builder, contextualWords)) || isContains(branch, next),
  })
}

/** `_ value`, `case: value`, or a case with the steps to its value. */
function layOutBranch(builder: LayoutBuilder, branch: MatchBranch): void {
  if (!isShortBranch(branch)) {
    if (branch.case === undefined) builder.take()
    else builder.name(branch.case)
    if (branch.colon !== undefined) {
      // `_: value` is `_ value`.
      if (branch.case === undefined) builder.drop()
      else builder.take()
    }
    builder.space()
  }
  layOutExpression(builder, branch.value)
}

function isCaseAlone(branch: MatchBranch): boolean {
  return isShortBranch(branch) && branch.value.kind === "chain" && branch.value.steps.length === 0
}

/** A case called `contains` would become the operator after a value, and `when` a condition, where something like one follows it in turn. */
function isContains(branch: MatchBranch, next: MatchBranch): boolean {
  if (isShortBranch(branch) || next.case === undefined || next.case.quoted) return false
  if (!["contains", "in", "when"].includes(next.case.text)) return false
  const chain = branchChain(next)
  return chain !== undefined && (chain.steps[0] === undefined || chain.steps[0].kind === "index")
}

// ------------------------------------------------------------------------------------------------ blocks of values

export function layOutValueFields(builder: LayoutBuilder, block: Block<ValueField>, canBeFlat: boolean): void {
  layOutBlock(builder, {
    block,
    canBeFlat,
    layOut: (field) => layOutValueField(builder, field),
    // The `:` after the next name tells the two apart, unless the name is a header's of several tokens.
    needsComma: (_, next) =>
      /\W/.test(next.name.text) && !next.name.quoted && endsWithBareWord(builder, contextualWords),
  })
}

function layOutValueField(builder: LayoutBuilder, field: ValueField): void {
  builder.name(field.name)
  builder.word()
  layOutExpression(builder, field.value)
}

// ------------------------------------------------------------------------------------------------------ properties

/** The block of a call, of an asset or of an entry of a list: it, and what is inside it, may be on one line. */
function layOutInlineBlock(builder: LayoutBuilder, block: Block<Property> | undefined): void {
  if (block === undefined) return
  const before = builder.inline
  builder.inline = true
  builder.space()
  layOutProperties(builder, block)
  builder.inline = before
}

export function layOutProperties(builder: LayoutBuilder, block: Block<Property>): void {
  layOutBlock(builder, {
    block,
    canBeFlat: builder.inline,
    layOut: (property) => layOutProperty(builder, property),
    needsComma: (_, next) => runsInto(builder, next),
  })
}

/** Words that begin an expression before another name, and are names themselves before anything else. */
const contextualWords = ["match", "call", "read", "render", "repeat", "asset", "trust", "release"]

export function runsInto(builder: LayoutBuilder, next: { readonly kind: "batch-item" } | Property): boolean {
  const keepsColon = next.kind === "property" && !isBlockValue(next.value)
  if (keepsColon) return endsWithBareWord(builder, ["compact"])
  const isContains = next.kind === "property" && next.name.text === "contains" && !next.name.quoted
  return isContains || endsWithBareWord(builder, ["compact", ...contextualWords])
}

function isBlockValue(value: PropertyValue): boolean {
  return value.kind === "types" || value.kind === "values" || value.kind === "send" || value.kind === "properties"
}

export function layOutProperty(builder: LayoutBuilder, property: Property): void {
  const { value } = property
  builder.name(property.name)
  if (property.colon !== undefined) {
    if (isBlockValue(value)) builder.drop()
    else builder.take()
  }
  layOutPropertyValue(builder, value)
}

function layOutPropertyValue(builder: LayoutBuilder, value: PropertyValue): void {
  if (value.kind === "type") return layOutTypeAfterColon(builder, value.type, "property")
  if (value.kind === "context" && value.obsolete) {
    // `context(agent.x)`, or `context: context(agent.x)`.
    if (builder.textOf(builder.token) !== "(") {
      builder.space()
      builder.take()
    }
    builder.take()
    layOutContext(builder, value)
    builder.take()
    return
  }
  builder.space()
  switch (value.kind) {
    case "expression":
      return layOutExpression(builder, value.expression)
    case "types":
      return layOutTypeFields(builder, value.block, builder.inline)
    case "values":
      return layOutValueFields(builder, value.block, builder.inline)
    case "send":
      return layOutSend(builder, value.block)
    case "properties":
      return layOutProperties(builder, value.block)
    case "uses":
    case "models":
      return layOutList<UseEntry | ModelEntry>(builder, {
        items: value.entries,
        layOut: (entry) => layOutEntry(builder, entry),
        hugs: (entry) => entry.block !== undefined && entry.block.items.length > 0,
        lastComma: comma.broken,
      })
    case "configured":
      layOutChain(builder, value.reference)
      builder.space()
      return layOutProperties(builder, value.block)
    case "file":
      layOutExpression(builder, value.content)
      if (value.block !== undefined) {
        builder.space()
        layOutProperties(builder, value.block)
      }
      return
    case "context":
      return layOutContext(builder, value)
    case "requirement":
      layOutExpression(builder, value.condition)
      if (value.otherwise === undefined) return
      builder.tail()
      builder.word()
      return layOutExpression(builder, value.otherwise)
    case "missing":
      throw new Error("Only a tree without syntax errors can be formatted")
  }
}

function layOutSend(builder: LayoutBuilder, block: Block<SendField>): void {
  layOutBlock(builder, {
    block,
    canBeFlat: builder.inline,
    layOut: ({ name, to, header }) => {
      builder.name(name)
      builder.word()
      if (to !== undefined) builder.name(to)
      if (header === undefined) return
      builder.space()
      builder.name(header)
    },
  })
}

function layOutContext(builder: LayoutBuilder, { compact, reference, block }: ContextValue): void {
  if (compact !== undefined) {
    builder.word()
  }
  layOutChain(builder, reference)
  if (block === undefined) return
  builder.space()
  layOutProperties(builder, block)
}

function layOutEntry(builder: LayoutBuilder, entry: UseEntry | ModelEntry): void {
  layOutChain(builder, entry.reference)
  layOutInlineBlock(builder, entry.block)
}
