import type { Block } from "../tree.ts"
import { comma, flag, gap } from "./layout.ts"
import type { LayoutBuilder } from "./layout-builder.ts"

export interface BlockItems<Item> {
  readonly block: Block<Item>
  /** Whether the block may be on one line. */
  readonly canBeFlat: boolean
  /** It is on one line where it fits, also where the author broke it. */
  readonly joins?: true
  readonly layOut: (item: Item) => void
  /** Whether the item would run into the next one if only a line break lay between them. */
  readonly needsComma?: (item: Item, next: Item) => boolean
}

/** `{ … }`: items with commas on one line, or each on a line of its own without. */
export function layOutBlock<Item>(builder: LayoutBuilder, items: BlockItems<Item>): void {
  const { block, canBeFlat, joins = false, layOut, needsComma } = items
  const group = builder.open(canBeFlat, joins)
  for (const [index, item] of block.items.entries()) {
    builder.soft(gap.softSpace, group.id, flag.item)
    builder.item(() => layOut(item))
    const next = block.items[index + 1]
    if (next !== undefined) {
      builder.commaAfter(needsComma?.(item, next) === true ? comma.always : comma.flat, group.id)
    }
    builder.dropComma()
  }
  builder.close(group, gap.softSpace)
}

export interface ListItems<Item> {
  readonly items: readonly Item[]
  readonly layOut: (item: Item) => void
  /** Whether the brackets may stay next to an only item that takes several lines. */
  readonly hugs: (item: Item) => boolean
  /** The comma after the last item. */
  readonly lastComma: typeof comma.broken | typeof comma.always | typeof comma.never
}

/** `[ … ]` or `( … )`: items with commas, on one line or each on its own. */
export function layOutList<Item>(builder: LayoutBuilder, list: ListItems<Item>): void {
  const { items, layOut } = list
  const [only] = items
  if (items.length === 1 && only !== undefined && list.hugs(only) && isWrittenTight(builder)) {
    builder.take()
    layOut(only)
    if (list.lastComma === comma.always) builder.commaAfter(comma.always)
    builder.dropComma()
    builder.take()
    return
  }
  const group = builder.open(true)
  for (const [index, item] of items.entries()) {
    const isLast = index === items.length - 1
    builder.soft(index === 0 ? gap.softNone : gap.softSpace, group.id, flag.item)
    builder.item(() => layOut(item))
    builder.commaAfter(isLast ? list.lastComma : comma.always, group.id)
    builder.dropComma()
  }
  builder.close(group, gap.softNone)
}

/** The author broke no line right after the opening bracket, nor right before the closing one. */
function isWrittenTight(builder: LayoutBuilder): boolean {
  const close = builder.closerOf(builder.at)
  const isBroken = builder.tokenAt(builder.at + 1).afterBreak || builder.tokenAt(close).afterBreak
  return !isBroken && !builder.commentsMove() && !builder.commentsBeforeCloser(close)
}
