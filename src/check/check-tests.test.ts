import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { compile } from "../compile.ts"
import { compileTests } from "../compile-tests.ts"

const workflow = `
input { text: string }
secrets { key: string }
provider p from openai { endpoint: "demo"  api_key: secrets.key }
model m from p { id: "demo" }
mcp s { endpoint: "demo" }
tool find from mcp.s.tool.find { input { q: string }  output { hits: [string] } }
resource page from mcp.s.resource.page
agent triage { model: model.m  uses: [tool.find, resource.page]  instruction: "{{ input.text }}"  output { level: enum { low, high }  note: maybe string } }
agent each for n in [1, 2] when agent.triage.level == "high" { model: model.m  instruction: "{{ n }}"  output { word: string } }
output { level: agent.triage.level  note: agent.triage.note  words: agent.each }
`

const { program } = compile(workflow)

function problems(text: string): string[] {
  const { diagnostics } = compileTests(text, "a.test.wire", (path) => (path === "./a.wire" ? program : undefined))
  return diagnostics.map(({ code, message }) => `${code}: ${message}`)
}

const testOf = (body: string, input = 'input { text: "x" }'): string => `test "t" {\n${input}\n${body}\n}\n`

describe("test files", () => {
  test("all that the language has for tests is valid", () => {
    const body = `
      given agent.triage: { level: "high", note: null }
      given agent.each: [{ word: "a" }, { word: "b" }]
      given tool.find: { hits: [] }
      given resource.page: { any: "thing" }
      expect output.level == "high" && ran agent.each
      expect agent.triage.note == null
      expect asked agent.each[1] contains "2"
      expect calls tool.find == 0 && usage.input_tokens < 10 && duration_ms < 1000
      expect !(skipped agent.triage)
      expect judge model.m "Good: {{ output.note }}"
      samples: 3
      pass_rate: 0.5`
    assert.deepEqual(problems(testOf(body)), [])
    assert.deepEqual(problems(testOf('given agent.each: { word: "all" }')), [])
    assert.deepEqual(problems(testOf('given agent.triage fails timeout "slow"\nexpect error.kind == "timeout"')), [])
    const rows = `test "t" for row in "./r.jsonl" { input { text: row.text }  given agent.triage: row.given  expect output.level == row.level }`
    assert.deepEqual(problems(rows), [])
    const judged = `provider j from openai { endpoint: "demo" }\nmodel judge from j { id: "demo" }\n`
    assert.deepEqual(problems(`${judged}${testOf('expect judge model.judge "ok"')}`), [])
  })

  test("hints offer what a test sees", () => {
    const hints = (body: string, input?: string): (string | undefined)[] => {
      const find = (): typeof program => program
      return compileTests(testOf(body, input), "a.test.wire", find).diagnostics.map(({ hint }) => hint)
    }
    const seen = "A value begins with `output`, `usage`, `duration_ms`, `input`, `agent`, `ask`, `wait`, `run`."
    assert.deepEqual(hints('expect secrets.key == "x"'), [`Tests do not see \`secrets\`. ${seen}`])
    assert.deepEqual(hints("expect dynamic.d == 2"), [`Tests do not see \`dynamic\`. ${seen}`])
    assert.deepEqual(hints("expect nothing == 2"), [seen])
    assert.deepEqual(hints("expect tool.find == 1"), ["A tool is not a value: write `calls tool.find`."])
    const failing = 'expect error.kind == "timeout" && output.level == "low"'
    assert.deepEqual(hints(failing), ["A test of an error has no `output`."])
    assert.deepEqual(hints("", "input { text: dynamic.d }"), ["Tests do not see `dynamic`. Write the value out."])
  })

  test("an object in an expectation is none of the braces that are a mistake", () => {
    assert.deepEqual(problems(testOf('expect { level: "low" } == { level: output.level }')), [])
  })

  test("null on the way is no diagnostic in an expectation", () => {
    assert.deepEqual(problems(testOf('expect agent.each[0].word == "x" && output.note contains "y"')), [])
  })

  for (const [what, body, expected] of [
    ["a step that is not there", "given agent.triags: {}", "unknown-reference: Unknown reference: agent.triags"],
    ["a kind that is not there", "given foo.x: 1", "unknown-reference: Unknown reference: foo.x"],
    [
      "a value of another type",
      'given agent.triage: { level: "mid", note: null }',
      'type-mismatch: Expected enum { low, high }, found "mid"',
    ],
    ["a missing field", 'given agent.triage: { level: "low" }', "type-mismatch: The field `note` is missing"],
    ["a tool's result", "given tool.find: { hits: 1 }", "type-mismatch: Expected [string], found integer"],
    ["an item of a loop", "given agent.each: [{ word: 1 }]", "type-mismatch: Expected string, found integer"],
    ["a kind of error", "given agent.triage fails oops", "invalid-value: Unknown kind of error: oops"],
    [
      "an expectation that is no boolean",
      "expect output.level",
      "type-mismatch: A condition is a boolean, found enum { low, high }",
    ],
    [
      "a value that can never be",
      'expect output.level == "mid"',
      'type-mismatch: These can never be equal: enum { low, high } and "mid"',
    ],
    ["an output that is not there", "expect output.levle == 1", "unknown-reference: Unknown reference: output.levle"],
    ["braces", "expect { ran agent.triage }", "syntax-error: An expectation has no braces"],
    [
      "braces around two",
      'expect {\noutput.level == "low"\nran agent.triage\n}',
      "syntax-error: An expectation has no braces",
    ],
    ["ran", "expect ran agent.nobody", "unknown-reference: Unknown reference: agent.nobody"],
    ["asked of a tool", 'expect asked tool.find == "x"', "type-mismatch: Only an agent is asked"],
    ["an index without a loop", 'expect asked agent.triage[1] == "x"', "type-mismatch: agent.triage has no loop"],
    [
      "output beside error",
      'expect error.kind == "timeout"\nexpect output.level == "low"',
      "unknown-reference: Unknown reference: output.level",
    ],
    ["samples", "samples: 0", "invalid-value"],
    ["pass_rate", "pass_rate: 2", "invalid-value"],
    ["another property", "foo: 1", "unknown-property: Unknown property: foo"],
    ["a judge", 'expect judge model.nobody "x"', "unknown-reference: Unknown reference: model.nobody"],
    [
      "a step given twice",
      "given tool.find: { hits: [] }\ngiven tool.find: { hits: [] }",
      "duplicate-field: `tool.find` is given already",
    ],
  ] as const) {
    test(`reports ${what}`, () => {
      const [first = "", ...rest] = problems(testOf(body))
      assert.ok(first.startsWith(expected), first)
      assert.deepEqual(rest, [])
    })
  }

  test("reports an input that does not fit, or is missing", () => {
    assert.deepEqual(problems(testOf("", "input { text: 1 }")), ["type-mismatch: Expected string, found integer"])
    assert.deepEqual(problems(testOf("", 'input { txt: "x" }')).length, 2)
    assert.deepEqual(problems(testOf("", "")), [
      "missing-property: The test has no `input`, and the workflow needs `text`",
    ])
  })

  test("reports what belongs in a workflow, and a workflow that is not there", () => {
    assert.deepEqual(problems("dynamic { a: 1 }"), [
      "misplaced-declaration: `dynamic` belongs in the workflow, not in its tests",
    ])
    assert.deepEqual(problems('tests "./b.wire"'), ["unknown-reference: The workflow ./b.wire cannot be read"])
    const { diagnostics } = compileTests("", "b.test.wire", () => undefined)
    assert.equal(diagnostics[0]?.message, "The workflow ./b.wire cannot be read")
  })
})
