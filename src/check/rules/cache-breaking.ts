import { groupDigits } from "../../base/group-digits.ts"
import { utf8Length } from "../../base/utf8-length.ts"
import { expressionIn, propertyOf } from "../../syntax/property-of.ts"
import type * as Syntax from "../../syntax/tree.ts"
import type { CheckContext } from "../check-context.ts"
import { variesIn, type Varies } from "../varies.ts"

/** So much text that stays the same is worth a place before what differs. */
const leastBytes = 4096

/** A text of the prompt, in the order in which models read them. */
interface PromptText {
  readonly path: string
  readonly node: Syntax.StringNode
  /** The first value in it that may differ from item to item; negative where none does. */
  readonly breaks: number
}

/** Warns of values that differ from item to item, and stand before much text that stays the same: no cache of prompts can keep that. */
export function checkCacheBreaking(checking: CheckContext, declaration: Syntax.AgentDeclaration, path: string): void {
  const symbol = checking.agents.get(declaration.name.text)
  if (declaration.loop === undefined || symbol === undefined) return
  const texts = textsOf(declaration.body, path, variesIn(checking.roots, symbol))
  for (const text of texts) {
    const { node, breaks } = text
    const span = node.interpolations[breaks]
    const after = literalBytes(node.texts.slice(breaks + 1))
    if (span === undefined || after < leastBytes) continue
    const message = `${groupDigits(after)} bytes of text that stays the same follow a value that differs from item to item: they cannot be cached`
    const hint = `Put it after the text that stays the same: ${shareWithout(texts, text)} % of each prompt becomes cacheable.`
    checking.report("cache-breaking", text.path, span, message, hint)
  }
}

function textsOf(body: Syntax.Block<Syntax.Property>, path: string, varies: Varies): PromptText[] {
  const read = (at: string, node: Syntax.Expression | undefined): PromptText[] =>
    node?.kind === "string" ? [{ path: at, node, breaks: node.interpolations.findIndex(varies) }] : []
  const files = body.items.flatMap(({ name, value }) => {
    if (name.text !== "file") return []
    const content =
      value.kind === "file"
        ? value.content
        : value.kind === "properties"
          ? expressionIn(value.block, "content")
          : undefined
    return read(`${path}.file`, content)
  })
  const written = (name: string): PromptText[] => {
    const value = propertyOf(body, name)?.value
    return value?.kind === "expression" ? read(`${path}.${name}`, value.expression) : []
  }
  return [...written("system"), ...written("instruction"), ...files]
}

/** Percent of the text that is stable when what differs in one property stands at its end. */
function shareWithout(texts: readonly PromptText[], moved: PromptText): number {
  let stable = 0
  for (const text of texts) {
    const { node, breaks } = text
    if (text === moved || breaks < 0) stable += literalBytes(node.texts)
    else stable += literalBytes(node.texts.slice(0, breaks + 1))
    if (breaks >= 0) break
  }
  return Math.floor((100 * stable) / literalBytes(texts.flatMap(({ node }) => node.texts)))
}

function literalBytes(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + utf8Length(text), 0)
}
