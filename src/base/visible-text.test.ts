import assert from "node:assert/strict"
import { test } from "node:test"
import { exactJson, visibleJson, visibleLines, visibleText, withoutHidden } from "./visible-text.ts"

/** One of each sort that cannot be seen, or moves what follows. */
const hidden = Array.from(
  "\u0000\u0007\u0008\u000b\u001b\u007f\u0085\u009b" +
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u180e\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202e\u2060\u2064\u2066\u2069\u206f\u2800\u3164" +
    "\ufe00\ufe0f\ufeff\uffa0\ufff9\uffff\u{1d173}\u{e0001}\u{e0061}\u{e0100}",
)
const ordinary = [
  "plain",
  "größer",
  "日本語\u3000文",
  "שלום",
  "مرحبا",
  "😀 👩‍👩‍👧 ❤️ 1️⃣ 👍🏽",
  "e\u0301",
  "می\u200cخواهم",
  "क्\u200dष",
  "a\u00a0b",
  "٣\u0600",
]

test("what cannot be seen, or moves other text, is escaped", () => {
  assert.equal(visibleText("a\u001b[31mb\u0000\u009b2J"), "a\\u001b[31mb\\u0000\\u009b2J")
  assert.equal(visibleText("x\u202ey\u{e0061}"), "x\\u202ey\\u{e0061}")
  assert.equal(visibleText("\tif\r\n"), " if\\r\\n")
  assert.equal(visibleText("half \ud83d"), "half \\ud83d")
  for (const character of hidden) {
    const code = (character.codePointAt(0) ?? 0).toString(16)
    assert.match(visibleText(`a${character}b`), /^a\\u\{?0*[0-9a-f]+\}?b$/, code)
    assert.equal(withoutHidden(`a${character}b`), "ab", code)
    for (const json of [visibleJson, exactJson]) {
      const text = json({ [`a${character}`]: `b${character}` })
      assert.ok(!text.includes(character), code)
      assert.deepEqual(JSON.parse(text), { [`a${character}`]: `b${character}` })
    }
  }
})

test("ordinary text of any script stays", () => {
  for (const text of ordinary) {
    assert.equal(visibleText(text), text)
    assert.equal(withoutHidden(text), text)
    assert.equal(visibleJson(text), JSON.stringify(text))
    assert.equal(JSON.parse(exactJson(text)), text)
  }
})

test("a joiner where nothing is joined is hidden text", () => {
  for (const text of ["a\u200db", "\u200c", "1\ufe0f", "a\ufe0f", "👩\u200d\u200d👩", "می\u200c\u200cخ"]) {
    assert.notEqual(visibleText(text), text, JSON.stringify(text))
  }
})

test("lines stay lines", () => {
  assert.equal(visibleLines("a\r\nb\n\tc\rd\u2028e"), "a\nb\n c\\rd\\u2028e")
  assert.equal(withoutHidden(" a\r\nb\rc\td "), " a\nb\nc\td ")
})

test("exact JSON tells apart what looks alike", () => {
  assert.equal(exactJson("a\u00a0b\u3000 c👩‍👩"), '"a\\u00a0b\\u3000 c👩\\u200d👩"')
  assert.equal(
    exactJson({ a: ["x"], b: "true", c: true }, 2),
    '{\n  "a": [\n    "x"\n  ],\n  "b": "true",\n  "c": true\n}',
  )
})
