import assert from "node:assert/strict"
import { test } from "node:test"
import { readBaggage } from "./read-baggage.ts"

test("members with properties pass, others are left out", () => {
  assert.equal(readBaggage(undefined), null)
  assert.equal(readBaggage(""), null)
  assert.equal(readBaggage("user=ann,tenant=%20x;ttl=1;hidden"), "user=ann,tenant=%20x;ttl=1;hidden")
  assert.equal(readBaggage(" a = 1 , b=, c=d=e "), "a = 1,b=,c=d=e")
  assert.equal(readBaggage(["a=1", "b=2"]), "a=1,b=2")
  assert.equal(readBaggage('none, =1, a b=1, a="1", a=1;, a=\u00e9, good=1'), "good=1")
})

test("at most 180 members and 8192 bytes are passed on, and each of them whole", () => {
  const many = Array.from({ length: 200 }, (_, at) => `k${at}=v`)
  assert.equal(readBaggage(many.join(",")), many.slice(0, 180).join(","))
  const big = `a=${"x".repeat(8000)}`
  assert.equal(readBaggage(`${big},b=${"y".repeat(200)},c=1`), `${big},c=1`)
  const whole = `a=${"x".repeat(8190)}`
  assert.equal(readBaggage(whole), whole)
  assert.equal(readBaggage(`${whole}x`), null)
})
