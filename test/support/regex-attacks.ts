import type { AST } from "@eslint-community/regexpp"
import { RegExpParser, visitRegExpAST } from "@eslint-community/regexpp"

/** Characters to attack with: one of each kind that patterns tell apart. */
const candidates = "aA0_-./ \n\t\"'`:;,=+&%#@!?*|\\<>(){}[]~^$é€".split("")

/**
 * Long texts that a backtracking engine has trouble with, if it can have any: for each repetition of a pattern, the shortest text that
 * leads to it, then what it repeats again and again, then something that fits nothing.
 */
export function* attacks(source: string, flags: string, length: number): Generator<string> {
  const pattern = new RegExpParser().parsePattern(source, 0, source.length, flags.includes("u"))
  const repeated: { prefix: string; pumps: string[] }[] = []
  visitRegExpAST(pattern, {
    onQuantifierEnter: (node) => {
      if (node.max < 20) return
      repeated.push({ prefix: before(node, flags), pumps: texts(node.element, flags) })
    },
  })
  const pumps = new Set([...repeated.flatMap((one) => one.pumps), ...candidates.slice(0, 8)])
  for (const prefix of new Set(["", ...repeated.map((one) => one.prefix)])) {
    for (const pump of pumps) {
      if (pump === "") continue
      const long = prefix + pump.repeat(Math.ceil(length / pump.length))
      for (const suffix of ["", "\u0001", "\n\u0001"]) yield long + suffix
    }
    // Two repetitions beside each other, and one after the other.
    for (const { pumps: first } of repeated) {
      for (const { pumps: second } of repeated) {
        const [a = "", b = ""] = [first[0], second[0]]
        if (a + b === "") continue
        yield `${prefix}${(a + b).repeat(length / (a + b).length)}\u0001`
        yield `${prefix}${a.repeat(length / 2)}${b.repeat(length / 2)}\u0001`
      }
    }
  }
}

/** What has to stand before a part of a pattern. */
function before(node: AST.Node, flags: string): string {
  const { parent } = node
  if (parent === null) return ""
  let text = ""
  if (parent.type === "Alternative") {
    for (const element of parent.elements) {
      if (element === node) break
      text += texts(element, flags)[0] ?? ""
    }
  }
  return before(parent, flags) + text
}

/** A few short texts that a part of a pattern matches; the empty one for what takes up no room. */
function texts(node: AST.Element, flags: string): string[] {
  switch (node.type) {
    case "Assertion":
    case "Backreference":
      return [""]
    case "Quantifier":
      return node.min === 0 ? [""] : texts(node.element, flags).map((text) => text.repeat(Math.min(node.min, 20)))
    case "Group":
    case "CapturingGroup":
      return node.alternatives
        .slice(0, 4)
        .map((alternative) => alternative.elements.map((element) => texts(element, flags)[0] ?? "").join(""))
    case "Character":
      return [String.fromCodePoint(node.value)]
    default: {
      const one = new RegExp(`^(?:${node.raw})$`, flags.replaceAll(/[gy]/g, ""))
      return candidates.filter((character) => one.test(character)).slice(0, 3)
    }
  }
}
