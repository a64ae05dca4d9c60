import { redactor } from "../../../src/run/secrets/redact.ts"
import { secretsOverLimits } from "../../../src/ports/secret-limits.ts"
import type { Target } from "./target.ts"

const tokens = [
  ..."ab=+/%\\\"'&#; \n".split(""),
  "%25",
  "%2",
  "%61",
  "aaaa",
  "abab",
  "YWFh",
  "é",
  "😀",
  "\u0001",
  "\u0002",
  "[secret:s0]",
]

/** Secrets and a text, in one input: `\u0001` ends a secret, what follows the last one is the text. */
export const secretTarget: Target = {
  name: "secrets",
  tokens,
  make(random, most) {
    const few = random.list(random.size(4), () => random.pick(tokens))
    const piece = (length: number): string => {
      let text = ""
      while (text.length < length) text += random.pick(random.chance(0.95) ? few : tokens)
      return text.slice(0, length)
    }
    const secrets = random.list(random.size(200), () => piece(8 + random.size(most / 4)))
    const text = random.chance(0.7)
      ? random.list(random.size(50), () => random.pick(secrets) + piece(random.size(20))).join("")
      : piece(most / 2)
    return `${secrets.join("\u0001")}\u0001${text}`.slice(0, most)
  },
  read(input) {
    const parts = input.split("\u0001")
    const text = parts.pop() ?? ""
    const secrets = Object.fromEntries(parts.map((secret, index) => [`s${index}`, secret]))
    if (secretsOverLimits(secrets).length > 0) return
    const { redact, stream } = redactor(secrets)
    redact({ text, list: [text, encodeURIComponent(text.toWellFormed())] })
    const pieces = stream()
    for (let at = 0; at < text.length; at += 7) pieces.push(text.slice(at, at + 7))
    pieces.end()
  },
}
