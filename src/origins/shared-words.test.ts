import assert from "node:assert/strict"
import { test } from "node:test"
import { sharedWords } from "./shared-words.ts"

function found(of: string, within: string): string | null {
  const range = sharedWords(of, within)
  return range === null ? null : within.slice(range.from, range.to)
}

test("the longest run of words is found, whatever its case and what stands around it", () => {
  assert.equal(
    found("We know: the blue lamp is broken, sorry", "A: THE BLUE LAMP is broken!"),
    "THE BLUE LAMP is broken",
  )
  assert.equal(found("one two three, four five", "two three, four"), "two three, four")
  assert.equal(found("Ada", "Dear Ada,"), "Ada")
})

test("too little is nothing: parts of words, and few of many words", () => {
  assert.equal(found("art", "start"), null)
  assert.equal(found("the lamp and other things", "the lamp was blue"), null)
  assert.equal(found("", "text"), null)
  assert.equal(found("...", "..."), null)
  assert.equal(found("text", ""), null)
})

test("texts whose lower case has another length are left alone", () => {
  assert.equal(found("İstanbul is a city", "İstanbul is a city"), null)
})
