import assert from "node:assert/strict"
import { test } from "node:test"
import type { GraphNode } from "./graph-node.ts"
import { groupName, groupsOf, holdersOf, withClosed } from "./groups.ts"

const node = (id: string, ...depends_on: string[]): GraphNode => ({ id, kind: "agent", name: id, depends_on })
const output = (...depends_on: string[]): GraphNode => ({ ...node("output", ...depends_on), kind: "output" })
const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at)
const found = (nodes: readonly GraphNode[]): string[] =>
  groupsOf(nodes).map((group) => `${groupName(group)}: ${group.steps[0] ?? ""} to ${group.steps.at(-1) ?? ""}`)

test("a chain is a group, also where its steps read the first one, and the output reads them all", () => {
  const chain = numbers(40).map((at) => node(`n${at}`, ...(at === 0 ? [] : [`n${at - 1}`]), ...(at > 2 ? ["n0"] : [])))
  assert.deepEqual(found([...chain, output("n3", "n39")]), ["40 steps in a row: n0 to n39"])
})

test("what stands between the same steps is a group: single steps, and branches of several", () => {
  const side = numbers(40).map((at) => node(`n${at}`, "root"))
  const joined = node("join", ...side.map(({ id }) => id))
  assert.deepEqual(found([node("root"), ...side, joined, output("join", "n3")]), ["40 steps side by side: n0 to n39"])
  const branches = numbers(5).flatMap((at) => [node(`a${at}`, "root"), node(`b${at}`, `a${at}`)])
  const all = node("join", ...numbers(5).map((at) => `b${at}`))
  assert.deepEqual(found([node("root"), ...branches, all]), ["5 branches side by side: a0 to b4"])
})

test("groups stand within groups, the outer one first", () => {
  const branch = (name: string): GraphNode[] =>
    numbers(4).map((at) => node(`${name}${at}`, at === 0 ? "root" : `${name}${at - 1}`))
  const nodes = [node("root"), ...["a", "b", "c", "d"].flatMap(branch), node("join", "a3", "b3", "c3", "d3")]
  assert.deepEqual(found(nodes), [
    "4 branches side by side: a0 to d3",
    ...["a", "b", "c", "d"].map((name) => `4 steps in a row: ${name}0 to ${name}3`),
  ])
})

test("few steps, and steps that are woven together, make no group", () => {
  assert.deepEqual(found([node("a"), node("b", "a"), node("c", "b"), output("c")]), [])
  const woven = numbers(30).map((at) =>
    node(`n${at}`, ...[at - 2, at - 3].filter((one) => one >= 0).map((one) => `n${one}`)),
  )
  assert.deepEqual(found(woven), [])
})

test("a closed group is one node, with the edges of what is inside", () => {
  const side = numbers(4).map((at) => node(`n${at}`, "root"))
  const nodes = [node("root"), ...side, node("join", "n0", "n1", "n2", "n3"), output("join", "n2")]
  const groups = groupsOf(nodes)
  const [first] = groups
  assert.ok(first !== undefined)
  const drawn = withClosed(nodes, holdersOf(groups, new Set([first.id])))
  assert.deepEqual(
    drawn.map(({ id, kind, depends_on }) => [id, kind, depends_on]),
    [
      ["root", "agent", []],
      [first.id, "group", ["root"]],
      ["join", "agent", [first.id]],
      ["output", "output", ["join", first.id]],
    ],
  )
  assert.deepEqual(withClosed(nodes, holdersOf(groups, new Set())), nodes)
})
