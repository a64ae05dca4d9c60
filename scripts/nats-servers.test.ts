import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { compareVersions, debianSource } from "./nats-servers.mjs"

function source(files: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-apt-"))
  try {
    mkdirSync(join(folder, "sources.list.d"))
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    return debianSource(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test("the system's own Debian mirror is found, in either form", () => {
  const stanza = (more = "") =>
    `Types: deb\n# a comment\nURIs: https://mirror.example/debian\nSuites: bookworm\nComponents: main\n${more}`
  const found = { uri: "https://mirror.example/debian", options: "" }
  assert.deepEqual(source({ "sources.list.d/debian.sources": stanza() }), found)
  assert.deepEqual(source({ "sources.list.d/debian.sources": stanza("Signed-By: /usr/share/keyrings/x.gpg\n") }), {
    ...found,
    options: "[signed-by=/usr/share/keyrings/x.gpg] ",
  })
  assert.deepEqual(
    source({ "sources.list": "# old\ndeb https://mirror.example/debian bookworm main contrib\n" }),
    found,
  )
  assert.deepEqual(source({ "sources.list": "deb [trusted=yes] file:/srv/debian bookworm main\n" }), {
    uri: "file:/srv/debian",
    options: "[trusted=yes] ",
  })
})

test("security updates, others' packages and what is switched off are no mirror of Debian's", () => {
  assert.equal(source({}), null)
  assert.equal(source({ "sources.list": "deb https://mirror.example/debian-security bookworm-security main\n" }), null)
  assert.equal(source({ "sources.list": "deb-src https://mirror.example/debian bookworm main\n" }), null)
  assert.equal(source({ "sources.list.d/x.list": "deb https://mirror.example/ubuntu noble main\n" }), null)
  assert.equal(
    source({
      "sources.list.d/x.sources": "Types: deb\nEnabled: no\nURIs: https://mirror.example/debian\nSuites: x\n",
    }),
    null,
  )
  assert.equal(source({ "sources.list.d/x.list.off": "deb https://mirror.example/debian bookworm main\n" }), null)
})

test("versions are compared by number", () => {
  assert.ok(compareVersions("2.10.27", "2.9.30") > 0)
  assert.ok(compareVersions("2.10", "2.10.0") === 0)
  assert.ok(compareVersions("2.9.30", "2.10") < 0)
})
