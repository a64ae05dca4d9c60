import assert from "node:assert/strict"
import { test } from "node:test"
import { complaintsIn, maxWords } from "./prose.ts"

const lines = (file: string, text: string): number[] => complaintsIn(file, text).map(({ line }) => line)

test("a comment that begins without an actor is found, wherever it stands", () => {
  const text = "// Whose run it is.\nconst a = 1\n  /** What is left. */\n/* That which was. */\n"
  assert.deepEqual(lines("a.ts", text), [1, 3, 4])
})

test("a comment with an actor passes, and so does code", () => {
  assert.deepEqual(lines("a.ts", '// Rejects what is too long.\nconst text = "What is this?"\n'), [])
})

test("a private word is found in comments, names and texts, with what to write instead", () => {
  assert.deepEqual(complaintsIn("a.ts", "const x = 1\n\nconst purse = 2\n"), [{ line: 3, text: '"purse": budget' }])
  assert.deepEqual(lines("a.ts", '// It would else fail.\nthrow new Error("1 items")\n'), [1, 2])
})

test("in a page, words are looked for in prose and not in code", () => {
  assert.deepEqual(lines("a.md", "A `door` is\nno door.\n\n```sh\ndoor\n```\n\n| door |\n"), [2, 8])
})

const words = (count: number): string => Array.from({ length: count }, () => "word").join(" ")

test("a long sentence is found at the line where its paragraph begins", () => {
  const page = `# Title\n\n${words(maxWords)}. Short.\n\n- ${words(20)}\n  ${words(maxWords - 19)}.\n`
  assert.deepEqual(lines("a.md", page), [5])
})

test("tables, headings, code and other items of a list are no part of a sentence", () => {
  const half = words(maxWords - 10)
  assert.deepEqual(
    lines("a.md", `# ${half} ${half}\n| ${half} ${half} |\n- ${half}\n- ${half}\n\`${half} ${half}\`\n`),
    [],
  )
})
