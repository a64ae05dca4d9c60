import { parseLenient } from "../../../src/adapters/model-turn/parse-lenient.ts"
import { parseJson } from "../../../src/run/values/parse-json.ts"
import { sizeOf } from "../../../src/run/values/value-size.ts"
import type { Target } from "./target.ts"

const tokens = [
  ...'{}[]",:\\`~ \n\t-+.eE01'.split(""),
  "```",
  "```json\n",
  "~~~",
  "<think>",
  "</think>",
  "<reasoning>",
  '{"a":',
  '"a": 1,',
  "[[",
  "]]",
  "null",
  "tru",
  "1e",
  '\\"',
  "\\u0000",
  "\\ud800",
  "\\",
  "{ ",
  '{"',
  '"}',
  "},",
  "],}",
  "é",
  "\u0000",
  "Here it is: ",
  "\r\n",
  '"__proto__":',
]

export const answerTarget: Target = {
  name: "answers of backends",
  tokens,
  make(random, most) {
    if (random.chance(0.3)) {
      const value = JSON.stringify(
        Object.fromEntries(random.list(random.size(20), (i) => [`k${i}`, [i, null, { a: "x" }]])),
      )
      return `${random.pick(["", "```json\n", "Sure: ", "<think>x</think>"])}${value}${random.pick(["", "\n```", " ok", ","])}`
    }
    let text = ""
    const few = random.list(random.size(8), () => random.pick(tokens))
    while (text.length < most) text += random.pick(random.chance(0.9) ? few : tokens)
    return text.slice(0, most)
  },
  read(answer) {
    const { candidates } = parseLenient(answer)
    for (const value of candidates) sizeOf(value)
    parseJson(answer)
  },
}
