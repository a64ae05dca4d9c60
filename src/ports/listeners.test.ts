import assert from "node:assert/strict"
import { test } from "node:test"
import { Listeners, OnceListeners } from "./listeners.ts"

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test("listeners are called each time, later, and not after they have stopped", async () => {
  const heard: string[] = []
  const listeners = new Listeners<[text: string]>()
  const listener = (text: string): number => heard.push(text)
  const stop = listeners.add(listener)
  const stopOther = listeners.add(listener)
  listeners.tell("one")
  assert.deepEqual(heard, [])
  await turn()
  assert.deepEqual(heard, ["one", "one"])
  listeners.tell("two")
  stop()
  await turn()
  assert.deepEqual(heard, ["one", "one", "two"])
  stopOther()
  assert.equal(listeners.size, 0)
})

test("listeners of a name are called once, and forgotten", async () => {
  const heard: string[] = []
  const listeners = new OnceListeners()
  listeners.add("a", () => heard.push("a"))
  const stop = listeners.add("a", () => heard.push("stopped"))
  listeners.add("b", () => heard.push("b"))
  listeners.tell("a")
  listeners.tell("a")
  stop()
  assert.deepEqual(heard, [])
  await turn()
  assert.deepEqual(heard, ["a"])
  assert.deepEqual([...listeners.names()], ["b"])
  listeners.tell("b")
  listeners.clear()
  await turn()
  assert.deepEqual([heard, listeners.size], [["a"], 0])
})
