import assert from "node:assert/strict"
import { test } from "node:test"
import { parse } from "./parser.ts"

test("names on lines of their own that read like a declaration are not one", () => {
  const sources = [
    "schema s {\n    a: enum {\n        agent\n        x\n        for\n    }\n}\n",
    "schema s {\n    a: enum {\n        tool\n        from\n        mcp\n    }\n}\n",
    "schema s {\n    a: enum {\n        model\n        x\n        from\n    }\n}\n",
    "output {\n    a: match input.v {\n        from\n        mcp.x\n        tool\n        x\n        from\n    }\n}\n",
    "agent a for {\n    agent\n    x\n    for\n} in input.xs {\n    model: model.m\n}\n",
  ]
  for (const source of sources) assert.deepEqual(parse(source).diagnostics, [], source)
})

test("a declaration inside a block ends it, and the block is reported", () => {
  const { tree, diagnostics } = parse("agent a {\n    model: model.m\n\nagent b {\n    model: model.m\n}\n")
  assert.deepEqual(
    diagnostics.map(({ message, span }) => [message, span.start]),
    [["This `{` is not closed", 8]],
  )
  assert.deepEqual(
    tree.declarations.map(({ kind }) => kind),
    ["agent", "agent"],
  )
})
