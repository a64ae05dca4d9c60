import assert from "node:assert/strict"
import { test } from "node:test"
import { MemoryShare } from "./memory-share.ts"

const bounds = { all: 1000, perCaller: 600, perRun: 50 }

test("a run may keep its own part whatever the others keep, and more only while all of them leave room", () => {
  const share = new MemoryShare(bounds)
  const [first, second] = [share.open("ada"), share.open("ada")]
  assert.equal(first.add(600), true)
  assert.equal(second.add(50), true)
  assert.equal(second.add(1), false)
  first.close()
  assert.equal(second.add(500), true)
})

test("a caller who has used its part of the memory leaves the rest to others", () => {
  const share = new MemoryShare(bounds)
  const own = share.open("ada")
  assert.equal(own.add(601), false)
  assert.equal(share.whyFull("ada", 51), "caller")
  assert.equal(share.whyFull("ada", 50), null)
  assert.equal(share.whyFull("bob", 300), null)
  const other = share.open("bob")
  assert.equal(other.add(390), true)
  own.close()
  other.remove(390)
  assert.equal(share.whyFull("bob", 600), null)
})

test("where the memory is used up, callers with less than an equal part of it go on, until twice of it is used", () => {
  const share = new MemoryShare(bounds)
  share.open("ada").add(600)
  share.open("cy").add(500)
  assert.equal(share.whyFull("cy", 100), "all")
  assert.equal(share.whyFull("bob", 300), null)
  assert.equal(share.whyFull("bob", 400), "all")
  for (const name of ["d", "e", "f"]) share.open(name).add(300)
  assert.equal(share.whyFull("bob", 60), "all")
  assert.equal(share.whyFull("bob", 50), null)
})
