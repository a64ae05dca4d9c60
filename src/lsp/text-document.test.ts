import assert from "node:assert/strict"
import { test } from "node:test"
import { fc } from "../../test/support/fast-check.ts"
import { TextDocument } from "./text-document.ts"

const texts = fc
  .array(fc.constantFrom("a", "ä", "€", "😀", "\n", "\r\n", "\r", " ", "{"), { maxLength: 30 })
  .map((parts) => parts.join(""))

test("every offset between two characters has one position, in every encoding, and comes back from it", () => {
  fc.assert(
    fc.property(texts, fc.constantFrom("utf-16" as const, "utf-8" as const, "utf-32" as const), (text, encoding) => {
      const document = new TextDocument("a", text, 1, encoding)
      let offset = 0
      const seen = new Set<string>()
      for (const character of `${text}.`) {
        // Between CR and LF is not a position: it counts as the end of the line.
        if (text[offset - 1] === "\r" && text[offset] === "\n")
          assert.equal(document.offset(document.position(offset)), offset - 1)
        else {
          const position = document.position(offset)
          assert.equal(document.offset(position), offset)
          seen.add(`${position.line}:${position.character}`)
        }
        offset += character.length
      }
      const halves = [...text.matchAll(/\r\n/g)].length
      assert.equal(seen.size, Array.from(text).length + 1 - halves)
    }),
  )
})

test("no place is beyond the end of a text that is a slice of a longer one, also when the code is compiled", () => {
  const slice = `${"a ".repeat(40)}😀`.slice(0, 81)
  for (let time = 0; time < 20_000; time++) {
    const document = new TextDocument("a", slice, 1, "utf-32")
    assert.equal(document.offset({ line: 0, character: 200 }), 81)
  }
})

test("columns count what the client counts", () => {
  const text = "aä€😀b"
  const column = (encoding: "utf-16" | "utf-8" | "utf-32"): number => {
    return new TextDocument("a", text, 1, encoding).position(text.length).character
  }
  assert.deepEqual([column("utf-16"), column("utf-8"), column("utf-32")], [6, 11, 5])
})

test("a position inside of a character is before it, beyond a line its end, beyond the text the end", () => {
  const text = "a😀\nb"
  assert.equal(new TextDocument("a", text, 1, "utf-16").offset({ line: 0, character: 2 }), 1)
  assert.equal(new TextDocument("a", text, 1, "utf-8").offset({ line: 0, character: 3 }), 1)
  assert.equal(new TextDocument("a", text, 1, "utf-16").offset({ line: 0, character: 99 }), 3)
  assert.equal(new TextDocument("a", text, 1, "utf-16").offset({ line: 7, character: 0 }), text.length)
})

test("random changes are those of the editor", () => {
  const change = fc.record({ from: fc.nat(), to: fc.nat(), text: texts })
  fc.assert(
    fc.property(
      texts,
      fc.array(change, { maxLength: 5 }),
      fc.constantFrom("utf-16" as const, "utf-8" as const),
      (first, changes, encoding) => {
        let document = new TextDocument("a", first, 1, encoding)
        for (const { from, to, text } of changes) {
          // The offsets of characters, never between the two halves of one or of a line break.
          const places = [0]
          for (const piece of document.text.match(/\r\n|[\s\S]/gu) ?? [])
            places.push((places.at(-1) ?? 0) + piece.length)
          const [start = 0, end = 0] = [places[from % places.length] ?? 0, places[to % places.length] ?? 0].sort(
            (a, b) => a - b,
          )
          const expected = document.text.slice(0, start) + text + document.text.slice(end)
          document = document.changed(document.range({ start, end }), text, 2)
          assert.equal(document.text, expected)
        }
      },
    ),
  )
})

test("positions in a long line are those that counting from its start gives", () => {
  const part = fc.constantFrom("a", "ä", "€", "😀", "😀😀", "\ud83d ", "\udc00 ")
  const line = fc.array(part, { minLength: 300, maxLength: 600 }).map((parts) => parts.join(""))
  fc.assert(
    fc.property(line, fc.constantFrom("utf-8" as const, "utf-32" as const), (text, encoding) => {
      const before = "ä\n"
      const document = new TextDocument("a", `${before}${text}\n`, 1, encoding)
      let offset = before.length
      let counted = 0
      for (const character of `${text}.`) {
        assert.deepEqual(document.position(offset), { line: 1, character: counted })
        counted += encoding === "utf-8" ? Buffer.byteLength(character) : 1
        offset += character.length
      }
    }),
    { numRuns: 20 },
  )
})
