import assert from "node:assert/strict"
import { test } from "node:test"
import type { JsonObject } from "../../base/json-value.ts"
import { findPrompt, findResource, findTool } from "./find-imports.ts"

const imported = (remote: string): { name: string; server: string; remote: string } => ({
  name: "n",
  server: "s",
  remote,
})
const names = (...all: string[]): JsonObject[] => all.map((name) => ({ name }))

const rows: [string, string[], string | RegExp][] = [
  ["create_sorting_task", ["create-sorting-task"], "create-sorting-task"],
  ["create_sorting_task", ["CreateSortingTask"], "CreateSortingTask"],
  ["create_sorting_task", ["tasks/create.sorting task", "create sorting.task"], "create sorting.task"],
  ["Create-Sorting-Task", ["create_sorting_task"], "create_sorting_task"],
  // To the letter comes first, however many others have the normal form.
  ["create_sorting_task", ["create-sorting-task", "create_sorting_task", "CreateSortingTask"], "create_sorting_task"],
  // One name twice is one tool.
  ["create_task", ["create-task", "create-task"], "create-task"],
  [
    "create_task",
    ["create-task", "createTask"],
    /^mcp\.s has 2 tools that create_task may mean: create-task, createTask$/,
  ],
  ["create_task", ["create-tasks"], /^mcp\.s has no tool create_task$/],
  ["tâche", ["TÂCHE"], "TÂCHE"],
]

for (const [remote, published, expected] of rows) {
  test(`${remote} among ${published.join(", ")}`, () => {
    const outcome = findTool(imported(remote), names(...published))
    if (typeof expected === "string") assert.deepEqual(outcome, { found: { name: expected } })
    else assert.match("problem" in outcome ? outcome.problem.message : "", expected)
  })
}

test("prompts are called by the name that their server has", () => {
  const found = findPrompt(imported("write_report"), [{ name: "WriteReport", arguments: [{ name: "topic" }] }])
  assert.deepEqual(found, { found: { remote: "WriteReport", arguments: [{ name: "topic", required: false }] } })
})

test("resources are found by URI, then by name, then by the normal form of their name, templates too", () => {
  const resources = [
    { name: "Release Notes", uri: "x://notes" },
    { name: "other", uri: "release_notes" },
  ]
  const templates = [{ name: "Task.Page", uriTemplate: "x://tasks/{id}" }]
  const uriOf = (remote: string): unknown => {
    const outcome = findResource(imported(remote), resources, templates)
    return "found" in outcome ? outcome.found.uri : outcome.problem.message
  }
  assert.equal(uriOf("release_notes"), "release_notes")
  assert.equal(uriOf("release-notes"), "x://notes")
  assert.equal(typeof uriOf("task_page"), "object")
  const twice = findResource(imported("task_page"), [{ name: "task-page", uri: "x://one" }], templates)
  assert.match(
    "problem" in twice ? twice.problem.message : "",
    /has 2 resources that task_page may mean: task-page, Task\.Page/,
  )
})

test("the names of a server are shown on one line, and the hint is a name as a workflow writes it", () => {
  const outcome = findTool(imported("create_task"), names("create\ntask", "Create Task"))
  const problem = "problem" in outcome ? outcome.problem : undefined
  assert.equal(problem?.message, "mcp.s has 2 tools that create_task may mean: create task, Create Task")
  assert.equal(problem.hint, 'Write the name as the server does: `mcp.s.tool."create task"`.')
})
