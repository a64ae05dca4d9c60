import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { importsOf } from "./imports-of.ts"
import { layerViolations } from "./layers.ts"

function violations(files: Record<string, string>): string[] {
  return layerViolations(new Map(Object.entries(files))).map(({ file, line, message }) => `${file}:${line} ${message}`)
}

const empty = "export const nothing = 0\n"

describe("layers", () => {
  test("downhill and within one folder is fine", () => {
    const files = {
      "src/base/a.ts": empty,
      "src/syntax/parser.ts": `import { a } from "../base/a.ts"\nimport type { T } from "./tree.ts"\n`,
      "src/syntax/tree.ts": empty,
      "src/compile.ts": `import { parse } from "./syntax/parser.ts"\n`,
      "src/adapters/sqlite/store.ts": `import { b } from "./b.ts"\nimport "../../base/a.ts"\nimport fs from "node:fs"\n`,
      "src/adapters/sqlite/b.ts": empty,
      "src/cli/compose/compose.ts": `import { s } from "../../adapters/sqlite/store.ts"\nimport { c } from "../../compile.ts"\n`,
    }
    assert.deepEqual(violations(files), [])
  })

  test("uphill is caught, type imports, re-exports and dynamic imports included", () => {
    const files = {
      "src/check/check.ts": empty,
      "src/syntax/a.ts": `// why\nimport type { Program } from "../check/check.ts"\n`,
      "src/syntax/b.ts": `export * from "../check/check.ts"\n`,
      "src/syntax/c.ts": `export const late = () => import("../check/check.ts")\n`,
      "src/syntax/d.ts": `import {\n  one, // "two"\n  three,\n} from "../check/check.ts"\n`,
      "src/syntax/e.ts": `export type P = import("../check/check.ts").Program\n`,
    }
    const expected = (name: string, line: number) =>
      `src/syntax/${name}.ts:${line} imports uphill: syntax (3) → check (4)`
    assert.deepEqual(violations(files), [
      expected("a", 2),
      expected("b", 1),
      expected("c", 1),
      expected("d", 4),
      expected("e", 1),
    ])
  })

  test("equals never import each other, nor does one adapter another", () => {
    const files = {
      "src/log/events.ts": empty,
      "src/run/log.ts": empty,
      "src/editor/hover.ts": `import "../run/log.ts"\n`,
      "src/editor/symbols.ts": `import "../log/events.ts"\n`,
      "src/adapters/egress/client.ts": empty,
      "src/adapters/mcp/client.ts": `import { send } from "../egress/client.ts"\n`,
      "src/demo/model.ts": `import { send } from "../adapters/egress/client.ts"\n`,
    }
    assert.deepEqual(violations(files), [
      "src/adapters/mcp/client.ts:1 imports its equal: adapters/mcp → adapters/egress (both 2)",
      "src/demo/model.ts:1 imports src/adapters/egress/client.ts: only src/cli/compose joins ports to adapters",
      "src/editor/hover.ts:1 imports uphill: editor (8) → run (9)",
    ])
  })

  test("ports import nothing of the run: every arrow points downhill", () => {
    const files = {
      "src/run/log.ts": `import "../ports/store.ts"\n`,
      "src/ports/store.ts": `import type { Log } from "../run/log.ts"\n`,
    }
    assert.deepEqual(violations(files), ["src/ports/store.ts:1 imports uphill: ports (7) → run (9)"])
  })

  test("the folders of the run stand in an order, and the run is above them", () => {
    const files = {
      "src/run/log/log.ts": `import "../budget/budget.ts"\nimport "../run.ts"\n`,
      "src/run/budget/budget.ts": `import "../shares/permits.ts"\n`,
      "src/run/shares/permits.ts": empty,
      "src/run/secrets/redact.ts": `import "../shares/permits.ts"\n`,
      "src/run/run.ts": `import "./log/log.ts"\nimport "../editor/hover.ts"\n`,
      "src/editor/hover.ts": empty,
    }
    assert.deepEqual(violations(files), [
      "src/run/log/log.ts:1 imports uphill: run/log (3) → run/budget (4)",
      "src/run/log/log.ts:2 imports uphill: run/log (3) → run (12)",
      "src/run/run.ts:2 imports src/editor/hover.ts: a run has nothing to do with editors",
      "src/run/secrets/redact.ts:1 imports its equal: run/secrets → run/shares (both 1)",
    ])
  })

  test("only cli/compose joins ports to adapters", () => {
    const files = {
      "src/adapters/memory/store.ts": empty,
      "src/cli/compose/compose.ts": `import "../../adapters/memory/store.ts"\n`,
      "src/cli/commands/serve.ts": `import "../../adapters/memory/store.ts"\n`,
      "src/server/routes.ts": `import "../adapters/memory/store.ts"\n`,
    }
    const message = "imports src/adapters/memory/store.ts: only src/cli/compose joins ports to adapters"
    assert.deepEqual(violations(files), [`src/cli/commands/serve.ts:1 ${message}`, `src/server/routes.ts:1 ${message}`])
  })

  test("stores know nothing of the engine", () => {
    const files = {
      "src/run/log/log.ts": empty,
      "src/log/fold.ts": empty,
      "src/adapters/postgres/store.ts": `import "../../run/log/log.ts"\nimport "../../log/fold.ts"\n`,
      "src/adapters/telemetry/trace.ts": `import "../../run/log/log.ts"\n`,
    }
    assert.deepEqual(violations(files), [
      "src/adapters/postgres/store.ts:1 imports src/run/log/log.ts: stores know nothing of the engine",
    ])
  })

  test("a cycle is spelled out once, also one of types", () => {
    const files = {
      "src/run/a.ts": `import { b } from "./b.ts"\n`,
      "src/run/b.ts": `import type { C } from "./c.ts"\n`,
      "src/run/c.ts": `import { a } from "./a.ts"\n`,
      "src/run/d.ts": `import { d } from "./d.ts"\n`,
    }
    assert.deepEqual(violations(files), [
      "src/run/c.ts:1 closes an import cycle: src/run/a.ts → src/run/b.ts → src/run/c.ts → src/run/a.ts",
      "src/run/d.ts:1 closes an import cycle: src/run/d.ts → src/run/d.ts",
    ])
  })

  test("src imports nothing outside of src, no test, no missing file, and every folder has a number", () => {
    const files = {
      "test/contract/suite.ts": empty,
      "src/run/x.test.ts": empty,
      "src/run/a.ts": `import "../../test/contract/suite.ts"\nimport "./x.test.ts"\nimport "./gone.ts"\n`,
      "src/utils/helpers.ts": empty,
      "src/main.ts": empty,
    }
    assert.deepEqual(violations(files), [
      "src/main.ts:1 src/main.ts has no floor in scripts/layers.ts",
      "src/run/a.ts:1 imports test/contract/suite.ts, which is outside of src/",
      "src/run/a.ts:2 imports the test src/run/x.test.ts",
      "src/run/a.ts:3 imports src/run/gone.ts, which does not exist",
      "src/utils/helpers.ts:1 src/utils has no floor in scripts/layers.ts",
    ])
  })

  test("tests may import from any layer", () => {
    const files = {
      "src/demo/model.ts": empty,
      "src/adapters/responses/client.test.ts": `import "../../demo/model.ts"\n`,
    }
    assert.deepEqual(violations(files), [])
  })

  test("the adapters of model APIs import what they share, which imports none of them", () => {
    const files = {
      "src/adapters/model-turn/turn.ts": `import "../responses/api.ts"\n`,
      "src/adapters/model-turn/other.ts": empty,
      "src/adapters/responses/api.ts": `import "../model-turn/other.ts"\n`,
    }
    assert.deepEqual(violations(files), [
      "src/adapters/model-turn/turn.ts:1 imports uphill: adapters/model-turn (1) → adapters/responses (2)",
    ])
  })

  test("the playground imports only what runs in a browser", () => {
    const files = {
      "src/log/events.ts": empty,
      "src/run/run.ts": empty,
      "playground/graph/view.tsx": `import "../../src/log/events.ts"\nimport "../../src/run/run.ts"\n`,
    }
    assert.deepEqual(violations(files), [
      "playground/graph/view.tsx:2 imports src/run/run.ts, which does not run in a browser",
    ])
  })
})

test("folders of the playground import only from lower layers", () => {
  const files = {
    "playground/shown-run/shown-run.ts": `import "../history/store.ts"\n`,
    "playground/history/store.ts": `import "../shown-run/shown-run.ts"\n`,
    "playground/examples/link.ts": `import "../history/store.ts"\n`,
    "playground/shell/app.tsx": `import "../examples/link.ts"\n`,
    "playground/odd/thing.ts": empty,
  }
  assert.deepEqual(violations(files), [
    "playground/examples/link.ts:1 imports its equal: examples → history (both 7)",
    "playground/odd/thing.ts:1 playground/odd has no floor in scripts/layers.ts",
    "playground/shown-run/shown-run.ts:1 imports uphill: shown-run (4) → history (7)",
  ])
})

test("what only looks like an import is none", () => {
  const text = [
    `// import { a } from "./comment.ts"`,
    `/* import "./block.ts" */`,
    'const template = `import { b } from "./template.ts"`',
    `const text = 'import { c } from "./string.ts"'`,
    `const message = "from " + "./from.ts"`,
    `const list = Array.from("./argument.ts")`,
    `const quoted = "say \\" // not a comment"`,
    `import { real } from "./real.ts"`,
  ].join("\n")
  assert.deepEqual(importsOf(text), [{ specifier: "./real.ts", line: 8 }])
})
