import assert from "node:assert/strict"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { compile } from "../../compile.ts"
import type { AnswerFlags } from "./given-answers.ts"
import { GivenAnswers } from "./given-answers.ts"
import { WrongValue } from "../terminal/command-failure.ts"

const source = `
input { files: [string] }
provider p from openai { endpoint: "demo" }
model m from p { id: "demo" }
mcp s { endpoint: "http://localhost/mcp" }
tool pay from mcp.s.tool.pay { approval: required }
tool look from mcp.s.tool.look
ask review { question: "?" output { publish: boolean, note: maybe string, level: maybe integer } }
ask page for f in input.files { question: f output { right: boolean, why: { text: string, more: maybe string } } }
agent a { model: model.m uses: [tool.pay, tool.look] instruction: "?" output { t: string } }
`

function given(flags: AnswerFlags): GivenAnswers {
  const { plan, diagnostics } = compile(source)
  assert.ok(plan !== undefined, JSON.stringify(diagnostics))
  return new GivenAnswers(plan, flags)
}

function withFile(value: unknown, check: (path: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-answers-"))
  try {
    writeFileSync(join(folder, "answers.json"), typeof value === "string" ? value : JSON.stringify(value))
    check(join(folder, "answers.json"))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const review = { kind: "ask", name: "review" } as const
const page = (iteration: number) => ({ kind: "ask", name: "page", iteration }) as const
const approval = (name: string) => ({ kind: "approval", name }) as const

test("a field of an answer; what may be null need not be given", () => {
  assert.deepEqual(given({ answer: ["review.publish=true"] }).to(review), {
    answer: { publish: true, note: null, level: null },
  })
  assert.deepEqual(given({ answer: ["review.publish=false", "review.note=Too long", "review.level=3"] }).to(review), {
    answer: { publish: false, note: "Too long", level: 3 },
  })
})

test("a whole answer as JSON", () => {
  assert.deepEqual(given({ answer: ['review={"publish": true, "note": "a"}'] }).to(review), {
    answer: { publish: true, note: "a", level: null },
  })
})

test("a loop: for all items, for one", () => {
  const answers = given({ answer: ["page.right=true", "page.why.text=fine", "page[1].right=false"] })
  assert.deepEqual(answers.to(page(0)), { answer: { right: true, why: { text: "fine", more: null } } })
  assert.deepEqual(answers.to(page(1)), { answer: { right: false, why: { text: "fine", more: null } } })
})

test("a file, by name; flags win", () => {
  const file = {
    review: { publish: false },
    page: [
      { right: true, why: { text: "a" } },
      { right: false, why: { text: "b" } },
    ],
    pay: { approve: false, note: "no money" },
  }
  withFile(file, (answers) => {
    const all = given({ answers, answer: ["review.publish=true"] })
    assert.deepEqual(all.to(review), { answer: { publish: true, note: null, level: null } })
    assert.deepEqual(all.to(page(1)), { answer: { right: false, why: { text: "b", more: null } } })
    assert.deepEqual(all.to(page(2)), { missing: ["right", "why"], known: {} })
    assert.deepEqual(all.to(approval("pay")), { answer: { approve: false, note: "no money" } })
  })
})

test("approvals are given by the tool's name", () => {
  assert.deepEqual(given({ approve: ["pay"] }).to(approval("pay")), { answer: { approve: true, note: null } })
  assert.deepEqual(given({}).to(approval("pay")), { missing: ["approve"], known: {} })
})

test("what is missing is known when it is asked for", () => {
  assert.deepEqual(given({}).to(review), { missing: ["publish", "note", "level"], known: {} })
  assert.deepEqual(given({ answer: ["review.note=a"] }).to(review), { missing: ["publish"], known: { note: "a" } })
})

const wrong: readonly [AnswerFlags, RegExp][] = [
  [{ answer: ["reviev.publish=true"] }, /no question reviev; did you mean review\?/],
  [{ answer: ["review.publsh=true"] }, /review has no field publsh; did you mean publish\?/],
  [{ answer: ["review.publish=maybe"] }, /review\.publish: expected boolean, found string "maybe"/],
  [{ answer: ["review=true"] }, /write a field of it, review\.publish=value/],
  [{ answer: ["review[0].publish=true"] }, /review is asked once/],
  [{ answer: ["review"] }, /write it as field=value/],
  [{ approve: ["look"] }, /no tool look whose calls need an approval\./],
  [{ approve: ["pya"] }, /did you mean pay\?/],
]

for (const [flags, sentence] of wrong) {
  test(`refused: ${JSON.stringify(flags)}`, () => {
    assert.throws(
      () => given(flags),
      (error) => error instanceof WrongValue && sentence.test(error.message),
    )
  })
}

for (const [file, sentence] of [
  ["{", /is not JSON/],
  [{ other: {} }, /no question other/],
  [{ review: [] }, /review must be an object\./],
  [{ page: [1] }, /page must be an object, or an array of objects/],
  [{ pay: true }, /pay must be \{ "approve": true \}/],
] as const) {
  test(`refused in a file: ${JSON.stringify(file)}`, () => {
    withFile(file, (answers) => {
      assert.throws(
        () => given({ answers }),
        (error) => error instanceof WrongValue && sentence.test(error.message),
      )
    })
  })
}
