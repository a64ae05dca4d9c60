import assert from "node:assert/strict"
import { test } from "node:test"
import { boundLookalikes } from "./bound-lookalikes.ts"

const none: ReadonlySet<string> = new Set()

for (const name of [
  "Project_Id",
  "PROJECT_ID",
  "ｐｒｏｊｅｃｔ_id",
  "project\u200b_id",
  "project-id",
  "projectId",
  " project_id",
  "pro\u0301ject_id",
]) {
  test(`${JSON.stringify(name)} is not passed on where project_id is bound`, () => {
    assert.deepEqual(boundLookalikes({ [name]: 1, query: "x" }, { project_id: "p" }, none), [name])
    assert.deepEqual(boundLookalikes({ [name]: 1 }, { project_id: "p" }, new Set([name])), [])
  })
}

test("other names are", () => {
  assert.deepEqual(boundLookalikes({ project: 1, project_ids: 2, ключ: 3 }, { project_id: "p", ключи: "k" }, none), [])
  assert.deepEqual(boundLookalikes({ Project: 1 }, {}, none), [])
})
