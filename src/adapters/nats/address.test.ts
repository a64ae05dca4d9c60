import assert from "node:assert/strict"
import { test } from "node:test"
import { readAddress, readProofs } from "./address.ts"

test("one host, several, ports, schemes and logins", () => {
  const read = (text: string) => {
    const outcome = readAddress(text)
    assert.ok(outcome.ok, text)
    return outcome.address
  }
  const open = { tls: false, user: null, password: null, token: null }
  assert.deepEqual(read("nats://a"), { ...open, servers: ["a:4222"] })
  assert.deepEqual(read("nats://a:1,b, c:3/"), { ...open, servers: ["a:1", "b:4222", "c:3"] })
  assert.deepEqual(read("nats://a:1,nats://b:2"), { ...open, servers: ["a:1", "b:2"] })
  assert.deepEqual(read("tls://[::1]:4"), { ...open, tls: true, servers: ["[::1]:4"] })
  assert.deepEqual(read("nats://ann:p%40ss:word@a,b"), {
    ...open,
    user: "ann",
    password: "p@ss:word",
    servers: ["a:4222", "b:4222"],
  })
  assert.deepEqual(read("nats://s3cr%2Ct@a"), { ...open, token: "s3cr,t", servers: ["a:4222"] })
})

test("for a wrong address the message says what it must be, and repeats no password", () => {
  for (const text of [
    "nats:",
    "nats://",
    "http://a",
    "nats://a:0",
    "nats://a:99999",
    "nats://a,,b",
    "nats://:p@a",
    "nats://%ff@a",
  ]) {
    const outcome = readAddress(text)
    assert.ok(!outcome.ok && outcome.must.length > 10, text)
  }
  const outcome = readAddress("nats://ann:s3cret@a b")
  assert.ok(!outcome.ok && !outcome.must.includes("s3cret"))
})

test("files that cannot be read are named", () => {
  assert.match(JSON.stringify(readProofs({ creds: "/nowhere/x.creds" })), /WIRE_NATS_CREDS is .*nowhere.x.creds/)
  assert.match(JSON.stringify(readProofs({ cert: "/nowhere/x.pem" })), /belong together/)
  assert.deepEqual(readProofs({}), { creds: null, ca: null, cert: null, key: null })
})
