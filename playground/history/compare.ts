import { isJsonObject } from "../../src/base/is-json-object.ts"
import { childPath } from "../../src/base/child-path.ts"
import type { JsonValue } from "../../src/base/json-value.ts"
import type { NodeState, Span } from "../../src/log/run-state.ts"

/** A leaf that two values do not have in common; undefined where one has none. */
export interface Difference {
  readonly path: string
  readonly left: JsonValue | undefined
  readonly right: JsonValue | undefined
}

const most = 200

/** Where two JSON values differ, by path. */
export function differences(left: JsonValue, right: JsonValue, path = ""): Difference[] {
  const found: Difference[] = []
  compare(left, right, path, found)
  return found
}

function compare(left: JsonValue | undefined, right: JsonValue | undefined, path: string, found: Difference[]): void {
  if (found.length >= most || left === right) return
  if (Array.isArray(left) && Array.isArray(right)) {
    for (let at = 0; at < Math.max(left.length, right.length); at++) {
      compare(left[at], right[at], childPath(path, at), found)
    }
    return
  }
  if (isJsonObject(left) && isJsonObject(right)) {
    for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
      const [one, other] = [
        Object.hasOwn(left, key) ? left[key] : undefined,
        Object.hasOwn(right, key) ? right[key] : undefined,
      ]
      compare(one, other, childPath(path, key), found)
    }
    return
  }
  if (left !== undefined && right !== undefined && JSON.stringify(left) === JSON.stringify(right)) return
  found.push({ path: path === "" ? "the whole" : path, left, right })
}

/** The steps of two runs side by side: those of the left in their order, then those that only the right has. */
export function pairNodes(
  left: readonly NodeState[],
  right: readonly NodeState[],
): { readonly id: string; readonly left: NodeState | undefined; readonly right: NodeState | undefined }[] {
  const others = new Map(right.map((node) => [node.id, node]))
  const pairs = left.map((node) => ({ id: node.id, left: node, right: others.get(node.id) }))
  const known = new Set(left.map(({ id }) => id))
  return [
    ...pairs,
    ...right.filter(({ id }) => !known.has(id)).map((node) => ({ id: node.id, left: undefined, right: node })),
  ]
}

/** What the steps took in one run that the other took over whole: tokens, or cost. */
export function takenOver(
  from: readonly NodeState[],
  by: readonly NodeState[],
  figure: (node: NodeState) => number,
): number {
  const taken = by.filter((node) => (node.reused ?? 0) > 0 && figure(node) === 0).map(({ id }) => id)
  return from.filter(({ id }) => taken.includes(id)).reduce((sum, node) => sum + figure(node), 0)
}

/** What a step was asked and what it gave, in both runs. */
export interface StepPair {
  /** `agent.x`, or `agent.x[3]` for an item of a loop. */
  readonly id: string
  readonly left: StepTexts
  readonly right: StepTexts
}

interface StepTexts {
  /** Not known of a step that a re-run took over. */
  readonly instruction?: string
  readonly reused?: boolean
  readonly output?: JsonValue
}

/** The steps, and items of loops, whose instruction or output differs, in the order of the runs. */
export function changedSteps(left: readonly Span[], right: readonly Span[]): StepPair[] {
  const [ones, others] = [textsOf(left), textsOf(right)]
  return [...new Set([...ones.keys(), ...others.keys()])]
    .map((id): StepPair => ({ id, left: ones.get(id) ?? {}, right: others.get(id) ?? {} }))
    .filter((pair) => hasOtherInstruction(pair) || !isSame(pair.left.output, pair.right.output))
}

export function hasOtherInstruction({ left, right }: StepPair): boolean {
  return left.instruction !== right.instruction && left.reused !== true && right.reused !== true
}

function isSame(left: JsonValue | undefined, right: JsonValue | undefined): boolean {
  return left === undefined || right === undefined ? left === right : differences(left, right).length === 0
}

function textsOf(spans: readonly Span[]): Map<string, StepTexts> {
  const texts = new Map<string, StepTexts>()
  for (const { kind, name, iteration, instruction, output, reused } of spans) {
    if (kind !== "agent" && kind !== "iteration" && kind !== "dynamic" && kind !== "ask") continue
    const root = kind === "iteration" ? "agent" : kind
    texts.set(`${root}.${name}${iteration === undefined ? "" : `[${iteration}]`}`, {
      ...(instruction !== undefined && { instruction }),
      ...(output !== undefined && { output }),
      ...(reused !== undefined && { reused }),
    })
  }
  return texts
}

export interface LineChange {
  readonly side: "left" | "right"
  readonly line: number
  readonly text: string
}

/** Lines that only one of two texts has, by the longest common sequence; only their number where they are too long. */
export function lineChanges(left: string, right: string): LineChange[] {
  const [a, b] = [left.split("\n"), right.split("\n")]
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
  const [inner, outer] = [a.slice(start, a.length - end), b.slice(start, b.length - end)]
  const changes: LineChange[] = []
  const common = inner.length * outer.length <= 1_000_000 ? commonLines(inner, outer) : []
  let [x, y] = [0, 0]
  for (const [i, j] of [...common, [inner.length, outer.length] as const]) {
    for (; x < i; x++) changes.push({ side: "left", line: start + x + 1, text: inner[x] ?? "" })
    for (; y < j; y++) changes.push({ side: "right", line: start + y + 1, text: outer[y] ?? "" })
    x++
    y++
  }
  return changes
}

function commonLines(a: readonly string[], b: readonly string[]): (readonly [number, number])[] {
  const width = b.length + 1
  const table = new Uint32Array((a.length + 1) * width)
  const at = (i: number, j: number): number => table[i * width + j] ?? 0
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const pairs: (readonly [number, number])[] = []
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) pairs.push([i++, j++])
    else if (at(i + 1, j) >= at(i, j + 1)) i++
    else j++
  }
  return pairs
}
