import assert from "node:assert/strict"
import { describe, it } from "node:test"
import type { JsonObject } from "../../../src/base/json-value.ts"
import type { Question } from "../../../src/log/events.ts"
import { startService } from "./start-service.ts"

const input = "input {\n    n: integer\n    s: string\n    m: maybe integer\n    list: [integer]\n}\n"
const given = { n: 7, s: "b a", m: null, list: [3, 1, 2] }

interface Validated {
  readonly issues: readonly { readonly code: string; readonly hint?: string; readonly range: Range }[]
  readonly schemas: { readonly output: { readonly properties: { readonly x: unknown } } }
}

interface Range {
  readonly start: { readonly offset: number }
  readonly end: { readonly offset: number }
}

describe("what workflows compute, over HTTP", async () => {
  const service = await startService()

  async function validate(expression: string): Promise<{ readonly source: string; readonly found: Validated }> {
    const source = `${input}output {\n    x: ${expression}\n}\n`
    const response = await service.post("/validate", { workflow_source: source })
    return { source, found: (await response.json()) as Validated }
  }

  it("one mistake is one issue, at its place, whose hint shows what to write", async () => {
    const rows: readonly (readonly [expression: string, code: string, at: string, hint: string])[] = [
      ["\n        - 1\n        - 2", "syntax-error", "-", "[1, 2]"],
      ["input.s + input.m", "type-mismatch", "input.s", '"{{ input.s }}{{ input.m }}"'],
      ["input.list + 4", "type-mismatch", "input.list", "concat(input.list, [4])"],
      ["input.list + input.list", "type-mismatch", "input.list + input.list", "concat(input.list, input.list)"],
      ["input.list.map(x => x + 1)", "unknown-function", "map", "[x + 1 for x in input.list]"],
      [
        "input.list.filter(x => x > 1).map(x => x + 1)",
        "unknown-function",
        "filter",
        "[x for x in input.list when x > 1]",
      ],
      ["[input.n -1]", "syntax-error", "-", "a - b"],
      ["[y for x in input.list for y in x]", "syntax-error", "for", "flatten"],
      ["[x x in input.list by x]", "syntax-error", "x", ""],
      ["round(abs(input.n, 2)", "syntax-error", "(", "`)`"],
    ]
    for (const [expression, code, at, hint] of rows) {
      const { source, found } = await validate(expression)
      assert.equal(found.issues.length, 1, `${expression}: ${JSON.stringify(found.issues)}`)
      const [issue] = found.issues
      assert.equal(issue?.code, code, expression)
      assert.equal(source.slice(issue.range.start.offset, issue.range.end.offset), at, expression)
      assert.ok((issue.hint ?? "").includes(hint), `${expression}: ${issue.hint}`)
    }
  })

  it("an empty array adds nothing to the type of a list", async () => {
    const { found } = await validate("concat([], input.list)")
    assert.deepEqual(found.schemas.output.properties.x, { type: "array", items: { type: "integer" } })
  })

  it("functions and lists stand in a question, its condition, what it shows and whom it asks", async () => {
    const source = `${input}
ask review when length(input.list) == 3 {
    question: "{{ upper(input.s) }}: {{ fixed(input.n / 2, 2) }}?"
    show: { words: [word for word in split(input.s, " ") by word], most: max(input.list) ?? 0 }
    to: join(["team", text(input.n)], "-")
    output { ok: boolean }
    on_expiry: { ok: any([x > 2 for x in input.list]) }
}
output { x: ask.review?.ok ?? false }`
    const response = await service.post("/execute", { workflow_source: source, input: given })
    assert.equal(response.status, 202)
    const { run_id, questions } = (await response.json()) as { run_id: string; questions: Question[] }
    const [asked] = questions
    assert.deepEqual(
      [asked?.question, asked?.show, asked?.to],
      ["B A: 3.50?", { words: ["a", "b"], most: 3 }, "team-7"],
    )
    await service.post(`/execute/${run_id}/questions/${asked?.id}`, { answer: { ok: true } })
    const ended = await service.get(`/execute/${run_id}?wait=30`)
    assert.deepEqual(((await ended.json()) as { output: JsonObject }).output, { x: true })
  })
})
