import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { startService } from "./start-service.ts"

// Functions of one's own, over HTTP.

const lib = `schema item { name: string, price: number }
function rate(kind: enum { high, low }) = match kind { high: 0.19 _ 0.07 }
/// With the tax.
function gross(item: schema.item) = item.price * (1 + rate("high"))`

const main = `import { function.gross as brutto, schema.item } from "./lib.wire"
function title(value: object): string = value.title
function label(item: schema.item, marks: [string]) = "{{ item.name }}{{ join([upper(mark) for mark in marks when mark != ""], "") }}"
input {
    items: [schema.item]
    json: string = "{\\"title\\": \\"T\\"}"
    require brutto({ name: "", price: sum([item.price for item in input.items]) }) < 1000 else "{{ label({ name: "n", price: 1 }, []) }}"
}
dynamic { prices: [round(brutto(item), 2) for item in input.items when brutto(item) > 1 by brutto(item) descending] }
output {
    prices: dynamic.prices
    labels: [label(item, ["a", "", text(i)]) for item, i in input.items]
    title: title(parse_json(input.json) ?? {})
}`

const doubled = [
  "function f0(x: [number]) = [y + 1 for y in x]",
  ...Array.from({ length: 60 }, (_, at) => `function f${at + 1}(x: [number]) = concat(f${at}(x), f${at}(x))`),
  "input { n: untrusted number }",
  "output { a: f60([input.n]) }",
].join("\n")

describe("functions of one's own", async () => {
  const service = await startService()
  const items = [
    { name: "a", price: 1 },
    { name: "b", price: 2 },
  ]

  async function run(workflow_source: string, input: object, modules: object = {}): Promise<string> {
    const response = await service.post("/execute", { workflow_source, input, modules })
    return JSON.stringify(await response.json())
  }

  it("are called wherever expressions stand, also those of another file", async () => {
    const found = await run(main, { items }, { "lib.wire": lib })
    assert.equal(found, JSON.stringify({ prices: [2.38, 1.19], labels: ["aA0", "bA1"], title: "T" }))
  })

  it("judge an input", async () => {
    const found = await run(main, { items: [{ name: "a", price: 1000 }] }, { "lib.wire": lib })
    assert.match(found, /"path":"input.require\[0\]","message":"n"/)
  })

  it("check what only the run knows: arguments and results", async () => {
    const found = await run(main, { items, json: '{"title": 5}' }, { "lib.wire": lib })
    assert.match(found, /the result is string, found a number/)
    const source =
      "function twice(n: number) = n * 2\ninput { json: string }\noutput { n: twice(parse_json(input.json) ?? 0) }"
    assert.match(await run(source, { json: '"x"' }), /n is number, found a string/)
    assert.equal(await run(source, { json: "4" }), '{"n":8}')
  })

  it("that call each other twice, sixty times over, end as too much work", async () => {
    assert.match(await run(doubled, { n: 1 }), /"limit_exceeded".*more work/)
  })
})
