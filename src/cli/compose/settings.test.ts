import { availableParallelism } from "node:os"
import assert from "node:assert/strict"
import { test } from "node:test"
import { flagOf, readSettings, settingTable } from "./settings.ts"

test("the defaults", () => {
  const { settings, wrong, unknown } = readSettings({}, {})
  assert.deepEqual([wrong, unknown], [[], []])
  assert.deepEqual(Object.keys(settings ?? {}).toSorted(), [...Object.keys(settingTable), "secretVariables"].toSorted())
  // A value of each sort of setting, and those that others rely on.
  const { host, port, store, egress, allowedHosts, retention, maxBody, playground, maxRunsPerCaller } = settings ?? {}
  assert.deepEqual([host, port, store, retention, maxBody], ["127.0.0.1", 13_703, "sqlite", 604_800_000, 8_388_608])
  assert.deepEqual([egress, maxRunsPerCaller, allowedHosts, playground], [undefined, undefined, [], true])
})

test("a flag wins over a variable, an empty variable counts as unset", () => {
  const { settings } = readSettings({ WIRE_PORT: "1", WIRE_HOST: "0.0.0.0", WIRE_STORE: "" }, { port: "2" })
  assert.equal(settings?.port, 2)
  assert.equal(settings?.host, "0.0.0.0")
  assert.equal(settings?.store, "sqlite")
})

test("lists that cannot be meant are named", () => {
  const rows: Record<string, string[]> = {
    WIRE_ALLOWED_HOSTS: ["http://x", "a b", "wire.example.com/"],
    WIRE_NOTIFY_ORIGINS: ["app.example.com", "https://app.example.com/hook", "ftp://a.example", "https://u@a.example"],
    WIRE_NOTIFY_SECRET: ["secret", "whsec_", "whsec_c2hvcnQ=", `whsec_${"A".repeat(32)},x`],
    WIRE_ALLOWED_ORIGINS: ["app.example.com", "https://app.example.com/", "https://a.example,b"],
  }
  for (const [name, values] of Object.entries(rows)) {
    for (const value of values) {
      const { wrong } = readSettings({ [name]: value }, {})
      assert.equal(wrong.length, 1, `${name}=${value}`)
      assert.match(wrong[0] ?? "", new RegExp(`^${name} is`))
    }
  }
  const { settings } = readSettings(
    { WIRE_ALLOWED_HOSTS: "a.example:8080,[::1]", WIRE_ALLOWED_ORIGINS: "https://a.example,http://b:3000,*" },
    {},
  )
  assert.deepEqual(settings?.allowedOrigins, ["https://a.example", "http://b:3000", "*"])
  assert.deepEqual(settings.allowedHosts, ["a.example:8080", "[::1]"])
})

test("values", () => {
  const { settings } = readSettings(
    {
      WIRE_API_KEYS: "ann:k1, bob:k2:with:colons,ann:k3",
      WIRE_ALLOWED_HOSTS: "wire.example.com, localhost,",
      WIRE_DEMO: "off",
      WIRE_MAX_BODY: "512kb",
      WIRE_RETENTION: "7d",
    },
    {},
  )
  assert.deepEqual(settings?.apiKeys, [
    { name: "ann", key: "k1" },
    { name: "bob", key: "k2:with:colons" },
    { name: "ann", key: "k3" },
  ])
  assert.deepEqual(settings.allowedHosts, ["wire.example.com", "localhost"])
  assert.equal(settings.demo, false)
  assert.equal(settings.maxBody, 524_288)
  assert.equal(settings.retention, 604_800_000)
})

test("every wrong value is named with what it must be", () => {
  const { settings, wrong } = readSettings(
    { WIRE_PORT: "80x", WIRE_CACHE_TTL: "1 hour", WIRE_MAX_BODY: "0", WIRE_DEMO: "yes", WIRE_MAX_RUNS: "0" },
    { logLevel: "loud" },
  )
  assert.equal(settings, null)
  assert.deepEqual(wrong, [
    'WIRE_PORT is "80x": it must be a whole number from 0 to 65535.',
    'WIRE_DEMO is "yes": it must be on or off.',
    'WIRE_CACHE_TTL is "1 hour": it must be a duration such as 500ms, 30s, 15m, 1h or 7d.',
    'WIRE_MAX_RUNS is "0": it must be a whole number from 1 to 1000000.',
    'WIRE_MAX_BODY is "0": it must be a size such as 512kb or 8mb.',
    '--log-level is "loud": it must be trace, debug, info, warn, error, fatal or silent.',
  ])
})

test("a wrong secret is not repeated", () => {
  const keys = readSettings({ WIRE_API_KEYS: "just-a-key" }, {})
  assert.deepEqual(keys.wrong, ["WIRE_API_KEYS is wrong: it must be name:key, several with commas between them."])
  const three = readSettings({ WIRE_API_KEYS: "a:1,a:2,a:3" }, {})
  assert.deepEqual(three.wrong, ["WIRE_API_KEYS is wrong: it must be a list with at most two keys for a."])
  const shared = readSettings({ WIRE_API_KEYS: "a:1,b:1" }, {})
  assert.deepEqual(shared.wrong, ["WIRE_API_KEYS is wrong: it must be a list without repeated keys."])
})

test("keys that turn out to be none do not open the service", () => {
  for (const written of [",", " ", " , "]) {
    const { wrong } = readSettings({ WIRE_API_KEYS: written }, {})
    assert.deepEqual(wrong, ["WIRE_API_KEYS is wrong: it must be name:key, several with commas between them."])
  }
  assert.deepEqual(readSettings({ WIRE_API_KEYS: "" }, {}).wrong, [])
})

test("a variable that is not a setting is reported, with the setting that was meant", () => {
  const { settings, unknown } = readSettings({ WIRE_PROT: "1", WIRE_XYZZY: "1", OTHER: "1" }, {})
  assert.notEqual(settings, null)
  assert.deepEqual(unknown, ["WIRE_PROT is not a setting; did you mean WIRE_PORT?", "WIRE_XYZZY is not a setting"])
})

test("each setting has a flag", () => {
  assert.equal(flagOf(settingTable.dataDir.env), "--data-dir")
})

test("origins of notifications are written one way; secrets of notifications are bytes", () => {
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
  const { settings } = readSettings(
    {
      WIRE_NOTIFY_ORIGINS: "HTTPS://App.example.com:443, http://127.0.0.1:8080/",
      WIRE_NOTIFY_SECRET: `${secret},${secret}`,
    },
    {},
  )
  assert.deepEqual(settings?.notifyOrigins, ["https://app.example.com", "http://127.0.0.1:8080"])
  assert.deepEqual(
    settings?.notifySecret?.map(({ length }) => length),
    [24, 24],
  )
})

test("groups are names with members", () => {
  const read = (written: string) => readSettings({ WIRE_GROUPS: written }, {})
  assert.deepEqual(read("editors:ann+bob, finance:carol").settings?.groups, [
    { name: "editors", members: ["ann", "bob"] },
    { name: "finance", members: ["carol"] },
  ])
  for (const wrong of ["editors", "editors:", "editors:ann+", ":ann", "a:b,a:c"]) {
    assert.match(read(wrong).wrong.join(" "), /WIRE_GROUPS/, wrong)
  }
})

test("processes are a number, or as many as there are cores", () => {
  const read = (written: string): unknown => readSettings({ WIRE_PROCESSES: written }, {}).settings?.processes
  assert.deepEqual([read("3"), read("auto"), read("0")], [3, availableParallelism(), undefined])
})
