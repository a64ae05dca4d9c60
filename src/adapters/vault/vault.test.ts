import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { describe, test } from "node:test"
import { fc } from "../../../test/support/fast-check.ts"
import { StoreFailure } from "../../ports/store.ts"
import type { Vault } from "../../ports/vault.ts"
import { changeOfMasterKey, createMasterKey } from "./vault.ts"

const newVault = (): Vault => {
  const masterKey = createMasterKey(randomBytes(32))
  return unlocked(masterKey.unlock(masterKey.newRecord()))
}
const unlocked = (vault: Vault | null): Vault => {
  assert.ok(vault !== null)
  return vault
}
const vault = newVault()
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
    assert.throws(() => newVault().openKey("run a", wrapped), StoreFailure)
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
    // Under a root, key and nonce together: 16 bytes of salt, then the nonce.
    const masterKey = createMasterKey(randomBytes(32))
    const record = masterKey.newRecord()
    const vaults = Array.from({ length: 20 }, () => unlocked(masterKey.unlock(record)))
    const sealed = vaults.flatMap((one) => Array.from({ length: 100 }, () => one.seal("x", "same")))
    const uses = sealed.map((bytes) => Buffer.from(bytes.subarray(3, 31)).toString("hex"))
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
      Buffer.from(newVault().digest("cache", ["a", "bc"])).toString("hex"),
    ]
    assert.equal(new Set(others).size, others.length)
  })

  test("the mark belongs to the master key", () => {
    const master = randomBytes(32)
    const { mark } = createMasterKey(master)
    assert.deepEqual(createMasterKey(master).mark, mark)
    assert.notDeepEqual(createMasterKey(randomBytes(32)).mark, mark)
    assert.equal(Buffer.from(mark).includes(master.subarray(0, 8)), false)
  })

  test("the keys of a store are opened by its master key alone, and a changed byte of them is noticed", () => {
    const master = randomBytes(32)
    const record = createMasterKey(master).newRecord()
    assert.equal(createMasterKey(randomBytes(32)).unlock(record), null)
    for (let at = 3; at < record.ring.length; at++) {
      const ring = Uint8Array.from(record.ring)
      ring[at] = (ring[at] ?? 0) ^ 1
      assert.throws(() => createMasterKey(master).unlock({ ...record, ring }), StoreFailure, `byte ${at}`)
    }
  })

  test("what an earlier release sealed can be opened", () => {
    const hex = (text: string) => Buffer.from(text, "hex")
    const masterKey = createMasterKey(Buffer.alloc(32, 7))
    const old = unlocked(
      masterKey.unlock({
        mark: masterKey.mark,
        ring: hex(
          "0100005d5840ccc01457b352839a1c8f62e7bf000000000000000000000001fb9fdcda24ffd29d93b32c1e4eb3ec06c779dcfe54c2bfa3d2c181ff4c9095ef00545442b838c30a04d9bbfa75716c2fa12cb11017e91e9aaef06a15451df5e9b83ed312af3b63a29c3088cefdce4b8d78f4",
        ),
      }),
    )
    const key = old.openKey(
      "run a",
      hex(
        "01000125038f8fec81a023ad8c8ecc4272b3a400000000000000000000000189902b94ddddfc97b6b8500ffcfeac0ac3e69d6749d12dac62933ac682d880359f4dee1787f24cab3c15c7c750eef37a",
      ),
    )
    assert.equal(
      key.open(
        "events 1",
        hex("01c71b74b5d573f668000000009b9a1776bb7dc863a0874d59a731fe5701a47037d6bbe3b2a7cd91429e71b20ee02c9fa8"),
      ),
      "written by format 18",
    )
    assert.equal(
      old.open(
        "cache",
        hex(
          "010001fc5437f7f01c81e0cd1a995d63a017ab00000000000000000000000193cf4e25f4f3bafa5453ba9321572006ed9579356f891fa4a950c3e02a6b6ad7",
        ),
      ),
      "sealed by a root",
    )
    assert.equal(
      Buffer.from(old.digest("cache", ["a"])).toString("hex"),
      "5df700dce39225d9121471e61f0a2c478975571cb235f99db11428a8990c2619",
    )
  })
})

describe("a change of the master key", () => {
  const [first, second] = [randomBytes(32), randomBytes(32)]
  const before = createMasterKey(first).newRecord()
  const old = unlocked(createMasterKey(first).unlock(before))
  const { wrapped } = old.newKey("run a")

  test("keeps what is sealed, seals under a new root, and shuts the old key out", () => {
    const after = changeOfMasterKey(first, second)(before, null)
    assert.ok(after !== null)
    const now = unlocked(createMasterKey(second).unlock(after))
    now.openKey("run a", wrapped)
    assert.equal(now.open("x", old.seal("x", "text")), "text")
    assert.deepEqual(now.digest("x", ["y"]), old.digest("x", ["y"]))
    assert.equal(createMasterKey(first).unlock(after), null)
    // A copy from before, and its key, do not open what is sealed from now on.
    assert.throws(() => old.openKey("run b", now.newKey("run b").wrapped), StoreFailure)
    assert.throws(() => old.open("x", now.seal("x", "text")), StoreFailure)
  })

  test("gives the same record where it was made before, and null where neither key is the store's", () => {
    const after = changeOfMasterKey(first, second)(before, null)
    assert.ok(after !== null)
    assert.equal(changeOfMasterKey(first, second)(after, null), after)
    assert.equal(changeOfMasterKey(randomBytes(32), second)(before, null), null)
  })

  test("drops a root that nothing needs, and never gives its number again", () => {
    const once = changeOfMasterKey(first, second)(before, [])
    assert.ok(once !== null)
    const now = unlocked(createMasterKey(second).unlock(once))
    assert.throws(() => now.openKey("run a", wrapped), StoreFailure)
    const later = now.newKey("run b").wrapped
    const twice = changeOfMasterKey(second, first)(once, [later])
    assert.ok(twice !== null)
    const back = unlocked(createMasterKey(first).unlock(twice))
    back.openKey("run b", later)
    const numbers = [wrapped, later, back.newKey("run c").wrapped].map((sealed) => sealed[2])
    assert.deepEqual(numbers, [1, 2, 3])
  })
})
