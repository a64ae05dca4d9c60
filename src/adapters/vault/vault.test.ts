import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { describe, test } from "node:test"
import { fc } from "../../../test/support/fast-check.ts"
import { StoreFailure } from "../../ports/store.ts"
import { createVault } from "./vault.ts"

const vault = createVault(randomBytes(32))
const nonceOf = (sealed: Uint8Array, at: number) => Buffer.from(sealed.subarray(at, at + 12)).toString("hex")

describe("vault", () => {
  test("what a data key seals, only that key opens", () => {
    const { key, wrapped } = vault.newKey("run a")
    const sealed = key.seal("events 3", "canary")
    assert.equal(key.open("events 3", sealed), "canary")
    assert.equal(vault.openKey("run a", wrapped).open("events 3", sealed), "canary")
    assert.equal(Buffer.from(sealed).includes("canary"), false)

    assert.throws(() => key.open("events 4", sealed), StoreFailure)
    assert.throws(() => vault.newKey("run a").key.open("events 3", sealed), StoreFailure)
    assert.throws(() => vault.openKey("run b", wrapped), StoreFailure)
    assert.throws(() => createVault(randomBytes(32)).openKey("run a", wrapped), StoreFailure)
  })

  test("any changed, missing or added byte is noticed", () => {
    const { key, wrapped } = vault.newKey("run a")
    const cases: [Uint8Array, (bytes: Uint8Array) => unknown][] = [
      [key.seal("request", "some text"), (bytes) => key.open("request", bytes)],
      [wrapped, (bytes) => vault.openKey("run a", bytes)],
      [vault.seal("cache", "some text"), (bytes) => vault.open("cache", bytes)],
    ]
    for (const [sealed, open] of cases) {
      open(sealed)
      for (let at = 0; at < sealed.length; at++) {
        const changed = Uint8Array.from(sealed)
        changed[at] = (changed[at] ?? 0) ^ 1
        assert.throws(() => open(changed), StoreFailure, `byte ${at}`)
        assert.throws(() => open(sealed.subarray(0, at)), StoreFailure, `cut at ${at}`)
      }
      assert.throws(() => open(Buffer.concat([sealed, Buffer.of(0)])), StoreFailure)
    }
  })

  test("any text comes back; a lone surrogate, which has no UTF-8, is replaced", () => {
    const { key } = vault.newKey("run a")
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        assert.equal(key.open("x", key.seal("x", text)), text.toWellFormed())
        assert.equal(vault.open("x", vault.seal("x", text)), text.toWellFormed())
      }),
      { numRuns: 200 },
    )
  })

  test("no nonce comes twice under one key, also when the key is loaded many times", () => {
    const { wrapped } = vault.newKey("run a")
    const seen = new Set<string>()
    for (let load = 0; load < 50; load++) {
      const key = vault.openKey("run a", wrapped)
      for (let n = 0; n < 100; n++) seen.add(nonceOf(key.seal("x", "same"), 1))
    }
    assert.equal(seen.size, 5_000)
    // Under the master key, key and nonce together: 16 bytes of salt, then the nonce.
    const master = randomBytes(32)
    const vaults = Array.from({ length: 20 }, () => createVault(master))
    const sealed = vaults.flatMap((one) => Array.from({ length: 100 }, () => one.seal("x", "same")))
    const uses = sealed.map((bytes) => Buffer.from(bytes.subarray(1, 29)).toString("hex"))
    assert.equal(new Set(uses).size, 2_000)
    for (const bytes of sealed) assert.equal(vaults[0]?.open("x", bytes), "same")
  })

  test("digests are keyed, and keep purposes and parts apart", () => {
    const hex = (...args: Parameters<typeof vault.digest>) => Buffer.from(vault.digest(...args)).toString("hex")
    assert.equal(hex("cache", ["a", "bc"]), hex("cache", ["a", "bc"]))
    const others = [
      hex("cache", ["a", "bc"]),
      hex("cache", ["ab", "c"]),
      hex("cache", ["abc"]),
      hex("idempotency", ["a", "bc"]),
      Buffer.from(createVault(randomBytes(32)).digest("cache", ["a", "bc"])).toString("hex"),
    ]
    assert.equal(new Set(others).size, others.length)
  })

  test("the mark belongs to the master key", () => {
    const master = randomBytes(32)
    assert.deepEqual(createVault(master).marks[0], createVault(master).marks[0])
    assert.notDeepEqual(createVault(master).marks[0], vault.marks[0])
    assert.equal(Buffer.concat(createVault(master).marks).includes(master.subarray(0, 8)), false)
  })

  test("what an earlier release sealed can be opened", () => {
    const old = createVault(Buffer.alloc(32, 7))
    const wrapped = Buffer.from(
      "019135259586208b3ef7b487186c3bab4f000000000000000000000001f93a8b9ab9c465f9c2a54ea9a3d9d0af39a31206e7521d665f47a19a6739cb25323353ef03665e54d028b420c9a66667",
      "hex",
    )
    const sealed = Buffer.from(
      "0112645f8030a41d3700000000ea241dadc777b05cf1d58bcfb7545f10d0016f67f751baf26b3ca5276b094114432600b8",
      "hex",
    )
    assert.equal(old.openKey("run a", wrapped).open("events 1", sealed), "written by version 1")
    assert.equal(
      Buffer.from(old.digest("cache", ["a"])).toString("hex"),
      "3ad0b367872f549dc7642f23b316467ccfd98f45744062d5f68d46f83d6bb5cb",
    )
  })
})
