import assert from "node:assert/strict"
import { test } from "node:test"
import { shortIds, shortLabel, shortNames } from "./short-names.ts"

function shorten(names: readonly string[], most = 16): string[] {
  const short = shortNames(
    names.map((name) => ({ id: `agent.${name}`, name })),
    most,
  )
  return names.map((name) => short.get(`agent.${name}`) ?? "")
}

test("short names stay, long ones lose their middle", () => {
  assert.deepEqual(shorten(["review", "summarize_customer_feedback_german"]), ["review", "summariz…_german"])
})

test("names that differ look different, wherever they differ", () => {
  const families = [
    ["summarize_customer_feedback_german", "summarize_customer_feedback_french"],
    ["translate_german_into_english_text", "translate_french_into_english_text"],
    [
      "check_the_first_long_clause_of_contract",
      "check_the_other_long_clause_of_contract",
      "check_the_third_long_clause_of_contract",
    ],
  ]
  for (const names of families) {
    const short = shorten(names)
    assert.equal(new Set(short).size, names.length, short.join(" "))
    for (const text of short) assert.ok(text.length <= 16, text)
  }
})

test("ids that are too long lose what is said by their icon before anything else", () => {
  const nodes = ["plan", "translate_chapter_1_into_german", "translate_chapter_2_into_german"].map((name) => ({
    id: `agent.${name}`,
    name,
  }))
  const shown = [...shortIds(nodes, 16).values()]
  assert.equal(shown[0], "agent.plan")
  assert.match(shown[1] ?? "", /^tran…r_1_/)
  assert.match(shown[2] ?? "", /^tran…r_2_/)
})

test("a label without room loses its kind, and one that has room or no kind does not", () => {
  assert.equal(shortLabel("agent.write", 11), "agent.write")
  assert.equal(shortLabel("agent.write", 10), "write")
  assert.equal(shortLabel("workflow.draft[0]", 10), "draft[0]")
  assert.equal(shortLabel("model call", 4), "model call")
})
