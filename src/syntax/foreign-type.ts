import { didYouMean } from "../base/did-you-mean.ts"
import { meantWord } from "../source/hint.ts"
import type { TokenReader } from "./token-reader.ts"
import type { Name, TypeNode } from "./tree.ts"

// Types as other languages write them, and misspelt words. Each is reported with what to write instead.

/** `string[]` and `string?` are reported, and read as what they mean in other languages. */
export function withForeignSuffix(reader: TokenReader, type: TypeNode): TypeNode {
  const { token } = reader
  if (token.kind === "!" && reader.isAdjacent) return refuseBang(reader, type)
  if (token.kind !== "[" && token.kind !== "bad") return type
  if (!reader.isAdjacent || type.kind === "missing-type") return type
  const { start } = type
  if (token.kind === "[") {
    const count = reader.peek().kind === "number" ? reader.textOf(reader.peek()) : undefined
    reader.skipBalanced()
    const { end } = reader.previous
    const hint = count === undefined ? "Write `[string]`, not `string[]`." : `Write \`[string; ${count}]\`.`
    reader.report({ start, end }, "The brackets of an array type stand around its element", hint)
    return withForeignSuffix(reader, { kind: "array-type", element: type, length: undefined, start, end })
  }
  if (reader.textOf(token) !== "?") return type
  reader.report(token, "A type that may be null is not written with `?`", "Write `maybe` before the type.")
  reader.take()
  return { kind: "maybe", type, start, end: token.end }
}

/** `Int!` of GraphQL: reported once, and the type with it. */
function refuseBang(reader: TokenReader, { start, end }: TypeNode): TypeNode {
  const written = reader.textOf({ start, end })
  const own = ourTypes.get(written) ?? written
  reader.take()
  if (!reader.mistakes.note("a type with `!`")) reader.passOver()
  else
    reader.report(
      { start, end: reader.previous.end },
      "A type has no `!`: only `maybe` allows null",
      `Write \`${own}\`.`,
    )
  return { kind: "missing-type", start, end: reader.previous.end }
}

const ourTypes: ReadonlyMap<string, string> = new Map([
  ["Int", "integer"],
  ["Float", "number"],
  ["String", "string"],
  ["ID", "string"],
  ["Boolean", "boolean"],
])

/** `Record<string, string>`, `Optional[str]`: reported as a whole, and read over. */
export function refuseGeneric(reader: TokenReader, name: Name): boolean {
  const { kind, afterBreak } = reader.token
  const isWords = reader.isWord("of") || (/^(?:list|array)$/i.test(name.text) && kind === "name")
  if (isWords && !afterBreak && reader.peek().kind !== ":") {
    // `list of string`, `list string`
    reader.report(name, `Types have no parameters: \`${reader.show(name)}\``, genericHint(name.text))
    reader.skipToNextItem()
    return true
  }
  const isSquare = reader.is("[") || reader.is("(")
  if (!reader.isAdjacent || (!isSquare && reader.text.charCodeAt(reader.token.start) !== 60)) return false
  const hint = genericHint(name.text)
  if (isSquare) {
    const { kind } = reader.peek()
    if (hint === undefined || (kind !== "name" && kind !== "string")) return false
    reader.skipBalanced()
  } else {
    let depth = 0
    do {
      for (const character of reader.textOf(reader.token)) depth += character === "<" ? 1 : character === ">" ? -1 : 0
      reader.skipBalanced()
    } while (depth > 0 && !reader.token.afterBreak && !reader.endsBlock(reader.token))
  }
  const span = { start: name.start, end: reader.previous.end }
  reader.report(
    span,
    `Types have no parameters: \`${reader.show(name)}\``,
    hint ?? "Write the type itself, or a `schema`.",
  )
  return true
}

function genericHint(name: string): string | undefined {
  switch (name.toLowerCase()) {
    case "array":
    case "list":
    case "readonlyarray":
    case "set":
    case "sequence":
      return "An array is written `[string]`."
    case "optional":
    case "maybe":
    case "nullable":
    case "partial":
      return "A type that may be null is written `maybe string`."
    case "record":
    case "map":
    case "dict":
    case "hashmap":
      return "An object with any keys is written `map string`, with the type of its values."
    case "literal":
      return 'A choice is written `"a" | "b"`.'
    case "union":
      return "A union is written `string | number`."
    default:
      return undefined
  }
}

export function isMisspelt(reader: TokenReader, word: TypeWord): boolean {
  if (didYouMean(reader.textOf(reader.token), [word]) === undefined) return false
  reader.unexpected("a type", meantWord(word))
  return true
}

export type TypeWord = "maybe" | "enum" | "variant" | "untrusted" | "private" | "map"
