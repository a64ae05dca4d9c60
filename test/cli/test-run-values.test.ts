import assert from "node:assert/strict"
import { test } from "node:test"
import { folderWith, runWire } from "./run-wire.ts"

const workflow = `provider demo from openai { endpoint: "demo" }
model fast from demo { id: "demo" }
agent note { model: model.fast  instruction: "Today is {{ run.date }}."  output { text: string } }
output { id: run.id  at: run.started_at  date: run.date  text: agent.note.text }
`

const given = `given agent.note: { text: "ok" }`

test("the run of a test has a fixed id and time, or those that it gives", async () => {
  const cwd = folderWith({
    "a.wire": workflow,
    "rows.json": '[{ "at": "2027-03-01T00:30:00.5+02:00", "day": "2027-02-28" }]',
    "a.test.wire": `test "usual" {
    ${given}
    expect output.id == "test" && output.at == "2026-01-01T00:00:00.000Z" && output.date == "2026-01-01"
    expect run.date == "2026-01-01" && run.id == "test"
    expect asked agent.note == "Today is 2026-01-01."
}
test "given" {
    given run.started_at: "2027-02-28T23:30:00Z"
    ${given}
    expect output.at == "2027-02-28T23:30:00.000Z" && output.date == "2027-02-28" && run.date == output.date
}
test "live" {
    expect output.at == run.started_at && asked agent.note contains "2026-01-01"
}
test "rows" for row in "./rows.json" {
    given run.started_at: row.at
    ${given}
    expect output.date == row.day && output.at == "2027-02-28T22:30:00.500Z"
}
`,
  })
  for (const more of [[], ["--live"], ["--record"]]) {
    const { code, out, err } = await runWire(["test", ...more], { cwd })
    assert.equal(code, 0, out + err)
    assert.match(out, /4 passed/)
  }
})

test("only a time can be given, and it must be one", async () => {
  const cwd = folderWith({
    "a.wire": workflow,
    "rows.json": '[{ "at": "yesterday" }]',
    "wrong.test.wire": `tests "a.wire"
test "id" { given run.id: "x"  ${given}  expect true }
test "day" { given run.started_at: "2027-02-28"  ${given}  expect true }
test "fails" { given run.started_at fails timeout  ${given}  expect true }
test "number" { given run.started_at: 5  ${given}  expect true }
test "twice" { given run.started_at: "2027-02-28T00:00:00Z"  given run.started_at: "2027-02-28T00:00:00Z"  ${given}  expect true }
`,
    "row.test.wire": `tests "a.wire"
test "row" for row in "./rows.json" { given run.started_at: row.at  ${given}  expect true }
`,
  })
  const { out, err } = await runWire(["check", "wrong.test.wire"], { cwd })
  for (const message of [
    /A test cannot give run\.id/,
    /Expected a date and time such as 2027-02-28T23:30:00Z, found "2027-02-28"/,
    /A time cannot fail/,
    /type-mismatch/,
    /`run\.started_at` is given already/,
  ]) {
    assert.match(out + err, message)
  }
  const row = await runWire(["test", "row.test.wire"], { cwd })
  assert.match(row.out + row.err, /run\.started_at is not a date and time such as 2027-02-28T23:30:00Z: "yesterday"/)
  assert.equal(row.code, 1)
})
