import type { Block, Parameter, Property, TypeField, TypeNode, VariantCase, VariantType } from "../tree.ts"
import { layOutBlock, layOutList } from "./blocks.ts"
import { comma, flag, gap, state } from "./layout.ts"
import type { LayoutBuilder } from "./layout-builder.ts"

type UnionType = TypeNode & { readonly kind: "union-type" }

export function layOutTypeFields(builder: LayoutBuilder, block: Block<TypeField>, canBeFlat: boolean): void {
  layOutBlock(builder, {
    block,
    canBeFlat,
    layOut: (field) => layOutTypeField(builder, field),
    needsComma: (_, next) => runsIntoType(builder, next),
  })
}

/** Fields, or a variant without a colon. */
export function layOutSchemaBody(builder: LayoutBuilder, block: Block<TypeField | VariantType>): void {
  layOutBlock(builder, {
    block,
    canBeFlat: false,
    layOut: (item) => (item.kind === "variant" ? layOutVariant(builder, item) : layOutTypeField(builder, item)),
    needsComma: (_, next) => runsIntoType(builder, next),
  })
}

/** `maybe` as a type of its own, before what could be the type that it applies to. */
function runsIntoType(builder: LayoutBuilder, next: TypeField | VariantType): boolean {
  const mayFollow = next.kind === "variant" || next.name.quoted
  return mayFollow && endsWithBareWord(builder, ["maybe", "untrusted", "private", "map"])
}

/** Whether the token before the builder is one of these words, and no field's name. */
export function endsWithBareWord(builder: LayoutBuilder, words: readonly string[]): boolean {
  const last = builder.tokenAt(builder.at - 1)
  if (last.kind !== "name" || !words.includes(builder.textOf(last))) return false
  const before = builder.tokenAt(builder.at - 2).kind
  return before !== "." && before !== "?." && before !== "#"
}

function layOutTypeField(builder: LayoutBuilder, field: TypeField): void {
  builder.name(field.name)
  builder.take()
  layOutTypeAfterColon(builder, field.type, "field")
  if (field.default === undefined) return
  builder.space()
  builder.word()
  builder.layOutValue?.(builder, field.default)
}

/** Fields, and requirements among them. */
export function layOutInputFields(
  builder: LayoutBuilder,
  block: Block<TypeField | Property>,
  layOutProperty: (property: Property) => void,
): void {
  layOutBlock(builder, {
    block,
    canBeFlat: false,
    layOut: (item) => (item.kind === "property" ? layOutProperty(item) : layOutTypeField(builder, item)),
    needsComma: (_, next) => next.kind === "type-field" && runsIntoType(builder, next),
  })
}

/** `(amount: number, rate: number)` */
export function layOutParameters(builder: LayoutBuilder, parameters: readonly Parameter[]): void {
  layOutList(builder, {
    items: parameters,
    layOut: ({ name, type }) => {
      builder.name(name)
      builder.take()
      layOutTypeAfterColon(builder, type, "field")
    },
    hugs: ({ type }) => canTakeLines(type),
    lastComma: comma.broken,
  })
}

/** Where a type stands: as a field's, as that of `output: type` (the old spelling), right in brackets, or elsewhere. */
type TypePlace = "field" | "property" | "brackets" | "inside"

export function layOutTypeAfterColon(builder: LayoutBuilder, type: TypeNode, place: "field" | "property"): void {
  if (type.kind === "union-type") return layOutUnion(builder, type, place)
  builder.space()
  layOutLeadingBar(builder, place)
  layOutType(builder, type)
}

/** Lays out a `|` before the first member: it goes, unless a property's type would read as its block without it. */
function layOutLeadingBar(builder: LayoutBuilder, place: TypePlace): void {
  if (builder.token.kind !== "|") return
  if (isBarNeeded(builder, place)) {
    builder.word()
  } else builder.drop()
}

function isBarNeeded(builder: LayoutBuilder, place: TypePlace): boolean {
  return place === "property" && builder.token.kind === "|" && builder.tokenAt(builder.at + 1).kind === "{"
}

function layOutType(builder: LayoutBuilder, type: TypeNode): void {
  switch (type.kind) {
    case "type-name":
    case "type-path":
    case "type-literal":
      while (builder.token.start < type.end) builder.take()
      return
    case "enum":
      builder.word()
      return layOutBlock(builder, { block: type.body, canBeFlat: true, layOut: (name) => builder.name(name) })
    case "array-type":
      return layOutArrayType(builder, type)
    case "tuple-type":
      return layOutList(builder, {
        items: type.elements,
        layOut: (element) => layOutElement(builder, element),
        hugs: canTakeLines,
        lastComma: type.elements.length === 1 ? comma.always : comma.broken,
      })
    case "group-type":
      if (type.type.kind === "union-type") layOutUnion(builder, type.type, "brackets")
      else {
        builder.take()
        layOutElement(builder, type.type)
        builder.take()
      }
      return
    case "object-type":
      return layOutTypeFields(builder, type.body, true)
    case "maybe":
    case "map-type":
    case "marked":
      builder.word()
      return layOutType(builder, type.type)
    case "union-type":
      return layOutUnion(builder, type, "inside")
    case "variant":
      return layOutVariant(builder, type)
    case "missing-type":
      throw new Error("Only a tree without syntax errors can be formatted")
  }
}

/** A type in brackets, which may have a `|` before it. */
function layOutElement(builder: LayoutBuilder, type: TypeNode): void {
  if (type.kind !== "union-type") layOutLeadingBar(builder, "inside")
  layOutType(builder, type)
}

function layOutArrayType(builder: LayoutBuilder, type: TypeNode & { readonly kind: "array-type" }): void {
  if (type.element.kind === "union-type") return layOutUnion(builder, type.element, "brackets")
  layOutList(builder, {
    items: [type.element],
    layOut: (element) => {
      layOutElement(builder, element)
      layOutLength(builder)
    },
    hugs: canTakeLines,
    lastComma: comma.never,
  })
}

/** `; 3` */
function layOutLength(builder: LayoutBuilder): void {
  if (builder.token.kind !== ";") return
  builder.word()
  builder.take()
}

function canTakeLines(type: TypeNode): boolean {
  switch (type.kind) {
    case "object-type":
    case "enum":
    case "variant":
      return type.body.items.length > 0
    case "array-type":
      return canTakeLines(type.element)
    case "tuple-type":
      return true
    case "maybe":
    case "map-type":
    case "marked":
    case "group-type":
      return canTakeLines(type.type)
    default:
      return false
  }
}

/**
 * A union breaks where the author broke it at a `|`, or where it does not fit; then each member follows a `|` on a line
 * of its own. Brackets right around it break with it; elsewhere than after a colon the first member stays where it is.
 */
function layOutUnion(builder: LayoutBuilder, type: UnionType, place: TypePlace): void {
  const { members } = type
  const inBrackets = place === "brackets"
  const first = inBrackets ? builder.at + 1 : builder.at
  const last = builder.indexFrom(type.end) - 1
  const firstBar = builder.indexFrom(members[1]?.start ?? type.end) - 1
  const group = builder.begin({
    end: inBrackets ? builder.closerOf(builder.at) : last,
    state: isBrokenAtBar(builder, type, place) ? state.broken : state.open,
    indented: { from: place === "inside" ? firstBar : first, to: last },
  })
  if (inBrackets) builder.take()
  for (const [index, member] of members.entries()) {
    if (index > 0) {
      builder.soft(gap.softSpace, group)
      builder.word()
    } else {
      const bar = isBarNeeded(builder, place) ? 0 : flag.bar
      if (place !== "inside") builder.soft(inBrackets ? gap.softNone : gap.softSpace, group, bar)
      layOutLeadingBar(builder, place)
    }
    layOutType(builder, member)
  }
  if (inBrackets) {
    layOutLength(builder)
    builder.dropComma()
    builder.soft(gap.softNone, group, flag.closer)
    builder.take()
  }
  builder.end()
}

/** The author broke a line before or after a `|`, or a comment stands where only a broken union has a line's end. */
function isBrokenAtBar(builder: LayoutBuilder, { members }: UnionType, place: TypePlace): boolean {
  const first = place === "brackets" ? builder.at + 1 : builder.at
  const hasComments = (index: number) => builder.tokenAt(index).comments.length > 0
  const startsWithComment = hasComments(first) || (builder.tokenAt(first).kind === "|" && hasComments(first + 1))
  if (place !== "inside" && startsWithComment) return true
  if (place === "brackets" && builder.commentsBeforeCloser(builder.closerOf(builder.at))) return true
  return members.some((member, index) => {
    if (index === 0) return false
    const start = builder.indexFrom(member.start)
    return builder.tokenAt(start).afterBreak || builder.tokenAt(start - 1).afterBreak
  })
}

/** Cases and their fields are always on lines of their own. */
function layOutVariant(builder: LayoutBuilder, type: VariantType): void {
  builder.word()
  builder.name(type.tag)
  builder.space()
  layOutBlock(builder, {
    block: type.body,
    canBeFlat: false,
    layOut: (variantCase: VariantCase) => {
      builder.name(variantCase.name)
      builder.space()
      layOutTypeFields(builder, variantCase.body, false)
    },
  })
}
