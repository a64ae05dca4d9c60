import assert from "node:assert/strict"
import { test } from "node:test"
import { fc } from "../../../test/support/fast-check.ts"
import { Screen } from "./screen.ts"
import { paletteFor, plain, type Palette } from "./terminal.ts"

/** Everything but line feeds that a terminal obeys, or that is not seen as itself. */
const anyHidden = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Bidi_Control}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u
const pieces = [
  "\u001b[2J",
  "\u001b[31m",
  "\u001b[0m",
  "\u001b]8;;x\u0007",
  "\u009b1m",
  "\r",
  "\n",
  "\t",
  "\u202e",
  "\u2028",
  "\u0085",
]
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(...pieces),
      fc.constantFrom("\u200b", "\ud800", "a", "1;1;1;1;31m"),
      fc.string({ unit: "binary" }),
    ),
  )
  .map((parts) => parts.join(""))
  // Joiners and variants that make one sign of several are visible: `src/base/visible-text.test.ts`.
  .filter((text) => !["\u200c", "\u200d", "\ufe0e", "\ufe0f"].some((sign) => text.includes(sign)))

const ownStyle = new RegExp(`${"\u001b"}\\[\\d+m`, "g")
const coloured = paletteFor(new Screen({ write: () => true }), { FORCE_COLOR: "1" })
const styles = Object.keys(plain) as (keyof Palette)[]

/** What a screen writes, without what it adds itself. */
function written(isTTY: boolean, show: (screen: Screen) => void): string {
  let text = ""
  show(new Screen({ isTTY, write: (more) => ((text += more), true) }))
  return text
}

test("whatever is printed in whatever way, a terminal gets nothing that it would obey", () => {
  const ways: ((screen: Screen, text: string) => void)[] = [
    (screen, text) => screen.print(text),
    (screen, text) => screen.print([text, text]),
    (screen, text) => screen.document(text),
  ]
  fc.assert(
    fc.property(fc.constantFrom(...ways), hostile, (way, text) => {
      assert.doesNotMatch(
        written(true, (screen) => way(screen, text)),
        anyHidden,
      )
    }),
  )
  fc.assert(
    fc.property(hostile, fc.nat(5), (text, up) => {
      const over = written(true, (screen) => screen.overwrite(text))
      assert.doesNotMatch(over.slice("\r\u001b[K".length), new RegExp(`${anyHidden.source}|\\n`, "u"))
      const drawn = written(true, (screen) => screen.redraw(up, [text, text]))
      assert.equal(drawn.split("\u001b").length - 1, (up > 0 ? 1 : 0) + 3)
      assert.equal(drawn.split("\n").length - 1, 2)
    }),
  )
})

test("lines stay single lines, and styles are ours alone", () => {
  fc.assert(
    fc.property(hostile, fc.constantFrom(...styles), (text, style) => {
      const shown = written(false, (screen) => screen.print([`${text}${coloured[style](text)}${text}`]))
      assert.equal(shown.split("\n").length, 2)
      // Two numbers for the two that are bold and coloured.
      const own = shown.match(ownStyle) ?? []
      assert.equal(own.length, style === "error" || style === "warning" ? 4 : 2)
      assert.doesNotMatch(shown.replaceAll(ownStyle, ""), anyHidden)
    }),
  )
})

test("programs and files get a document as it is", () => {
  fc.assert(
    fc.property(hostile, (text) =>
      assert.equal(
        written(false, (screen) => screen.document(text)),
        text,
      ),
    ),
  )
})
