import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { blocksOf, hasProse, inlinesOf } from "./prose.ts"

describe("texts to be read", () => {
  test("paragraphs, headings, lists, quotations and code", () => {
    const text =
      "# A title\n\nOne line\nand another.\n- first\n  goes on\n- second\n\n3. third\n4) fourth\n> quoted\n> twice\n```ts\nconst a = 1\n\n# not a title\n```\nend"
    assert.deepEqual(blocksOf(text), [
      { kind: "heading", level: 1, text: "A title" },
      { kind: "paragraph", text: "One line\nand another." },
      { kind: "list", start: null, items: ["first\ngoes on", "second"] },
      { kind: "list", start: 3, items: ["third", "fourth"] },
      { kind: "quote", text: "quoted\ntwice" },
      { kind: "code", text: "const a = 1\n\n# not a title" },
      { kind: "paragraph", text: "end" },
    ])
  })

  test("code without an end goes to the end; an empty text has no blocks", () => {
    assert.deepEqual(blocksOf("```\na\nb"), [{ kind: "code", text: "a\nb" }])
    assert.deepEqual(blocksOf(" \n\r\n"), [])
  })

  test("no word is lost", () => {
    const words = (text: string): string[] => text.match(/\p{L}+/gu) ?? []
    for (const text of ["> a\nb\n> c", "1. a\nb\n 2. c\n", "**a* b", "#a\n# b #", "- a\n\n- b\n   c\nd", "`a\nb`"]) {
      const read = blocksOf(text).map((block) => (block.kind === "list" ? block.items.join("\n") : block.text))
      assert.deepEqual(words(read.join("\n")), words(text), text)
      assert.deepEqual(
        words(
          inlinesOf(text)
            .map((one) => one.text)
            .join(" "),
        ),
        words(text),
        text,
      )
    }
  })

  test("marks inside a line; one without an end is text", () => {
    assert.deepEqual(inlinesOf("a **b** `c*` *d* 2 * 3 * 4 **e"), [
      { kind: "text", text: "a " },
      { kind: "strong", text: "b" },
      { kind: "text", text: " " },
      { kind: "code", text: "c*" },
      { kind: "text", text: " " },
      { kind: "emphasis", text: "d" },
      { kind: "text", text: " 2 * 3 * 4 **e" },
    ])
  })

  test("a result is read where it holds a text of more than a line", () => {
    assert.equal(hasProse({ a: "short", b: [1, 2] }), false)
    assert.equal(hasProse({ a: { b: "two\nlines" } }), true)
    assert.equal(hasProse({ a: { b: { c: { d: "x".repeat(200) } } } }), false)
    assert.equal(hasProse("x".repeat(200)), true)
  })
})
