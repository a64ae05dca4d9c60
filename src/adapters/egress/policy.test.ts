import assert from "node:assert/strict"
import { test } from "node:test"
import type { EgressPolicy } from "./policy.ts"
import { bareHost, judgeAddress, judgeDestination, parseEgressPolicy } from "./policy.ts"

function policy(text: string): EgressPolicy {
  const outcome = parseEgressPolicy(text)
  assert.ok(outcome.ok, outcome.ok ? "" : outcome.message)
  return outcome.policy
}

function judgeUrl(text: string, url: string): string | null {
  const { hostname, port, protocol } = new URL(url)
  const destination = {
    host: bareHost(new URL(url)),
    port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
  }
  assert.notEqual(hostname, "")
  return judgeDestination(policy(text), destination)?.error.message ?? null
}

test("the setting is one of two words or a list of hosts", () => {
  assert.deepEqual(policy("private"), { kind: "private" })
  assert.deepEqual(policy(" public "), { kind: "public" })
  assert.deepEqual(policy("API.example.com., *.Example.org:8443, 10.0.0.5, [::1]:8080, fd00:0::1, bücher.example"), {
    kind: "hosts",
    hosts: [
      { host: "api.example.com", below: false, port: null },
      { host: "example.org", below: true, port: 8443 },
      { host: "10.0.0.5", below: false, port: null },
      { host: "::1", below: false, port: 8080 },
      { host: "fd00::1", below: false, port: null },
      { host: "xn--bcher-kva.example", below: false, port: null },
    ],
  })
})

for (const text of [
  "",
  " , ",
  "private,example.com",
  "https://example.com",
  "example.com/path",
  "a b",
  "everything!",
  "*",
  "*.10.0.0.1",
  "example.com:0",
  "example.com:99999",
  "user@example.com",
  "exa*mple.com",
]) {
  test(`the setting "${text}" is refused with a sentence that names it`, () => {
    const outcome = parseEgressPolicy(text)
    assert.ok(!outcome.ok)
    assert.match(outcome.message, /WIRE_EGRESS/)
  })
}

// Spellings that a browser and a resolver would take for one of the addresses.
for (const host of [
  "127.0.0.1",
  "127.1",
  "2130706433",
  "0x7f000001",
  "0177.0.0.1",
  "0x7f.0x0.0x0.0x1",
  "017700000001",
  "127.0.0.1.",
  "%31%32%37.0.0.1",
  "１２７.０.０.１",
  "0",
  "10.1",
  "[::1]",
  "[0:0::1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[64:ff9b::10.0.0.1]",
  "[2002:7f00:1::]",
  "192.168.0.1",
  "100.64.1.1",
]) {
  test(`public forbids http://${host}/ and names the setting that would allow it`, () => {
    assert.match(judgeUrl("public", `http://${host}/`) ?? "allowed", /WIRE_EGRESS=private would allow it/)
    assert.equal(judgeUrl("private", `http://${host}/`), null)
  })
}

for (const host of [
  "169.254.169.254",
  "2852039166",
  "0xa9fea9fe",
  "0251.0376.0251.0376",
  "[fd00:ec2::254]",
  "[::ffff:a9fe:a9fe]",
  "[fe80::1]",
  "169.254.169.254.",
  "100.100.100.200",
]) {
  test(`private forbids http://${host}/`, () => {
    assert.match(judgeUrl("private", `http://${host}/`) ?? "allowed", /lists the address itself/)
    assert.match(judgeUrl("public", `http://${host}/`) ?? "allowed", /lists the address itself/)
  })
}

test("a list allows what it names and nothing else", () => {
  const list = "api.example.com,*.example.org,10.0.0.5,[::1]:8080,169.254.169.254,host.test:81"
  for (const url of [
    "https://api.example.com/v1",
    "https://API.EXAMPLE.COM./v1",
    "http://a.b.example.org:1234/",
    "http://10.0.0.5:11434/",
    "http://167772165/",
    "http://[::1]:8080/",
    "http://169.254.169.254/",
    "http://host.test:81/",
  ]) {
    assert.equal(judgeUrl(list, url), null, url)
  }
  for (const url of [
    "https://example.com/",
    "https://example.org/",
    "https://notexample.org/",
    "https://api.example.com.evil.test/",
    "http://10.0.0.6/",
    "http://[::1]:8081/",
    "http://host.test/",
  ]) {
    assert.match(judgeUrl(list, url) ?? "allowed", /Adding .* to WIRE_EGRESS would allow it/, url)
  }
})

test("a listed name may resolve to a private address, but not to the metadata service", () => {
  const list = policy("ollama.internal")
  const destination = { host: "ollama.internal", port: 80 }
  assert.equal(judgeAddress(list, destination, "10.0.0.5"), null)
  assert.equal(judgeAddress(list, destination, "169.254.169.254")?.error.kind, "blocked_destination")
})

test("messages do not show what a name resolves to", () => {
  const failure = judgeAddress(policy("public"), { host: "db.internal", port: 80 }, "10.20.30.40")
  assert.equal(failure?.error.kind, "blocked_destination")
  assert.match(failure.error.message, /^db\.internal resolves to a private address/)
  assert.doesNotMatch(failure.error.message, /10\.20/)
})
