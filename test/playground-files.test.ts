import assert from "node:assert/strict"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { gzipSync } from "node:zlib"
import { playgroundFiles } from "../src/cli/compose/playground-files.ts"
import { encodePage } from "../src/server/playground-page.ts"

const folder = mkdtempSync(join(tmpdir(), "wireworks-page-"))
after(() => rmSync(folder, { recursive: true }))
writeFileSync(join(folder, "index.html"), "<p>page</p>")
writeFileSync(join(folder, "diagnostics.html"), "<p>codes</p>")
writeFileSync(join(folder, "app-ABC.js"), "script")
writeFileSync(join(folder, "app-ABC.js.gz"), gzipSync("script"))
writeFileSync(join(folder, "notes.txt"), "not a file of the page")
const files = playgroundFiles(folder)

test("the page is asked for again each time, what has a hash in its name never", () => {
  for (const page of ["", "diagnostics.html"]) assert.equal(files(page)?.headers["cache-control"], "no-cache", page)
  assert.match(files("app-ABC.js")?.headers["cache-control"] ?? "", /immutable/)
})

test("no inline script or style, no other host, no frame", () => {
  const policy = files("")?.headers["content-security-policy"] ?? ""
  assert.doesNotMatch(policy, /unsafe/)
  for (const rule of ["default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'"]) {
    assert.ok(policy.includes(rule), rule)
  }
})

test("nothing outside of the folder, and nothing of another kind", () => {
  for (const path of ["../package.json", "%2e%2e/x", "notes.txt", "app-ABC.js.gz", "none.js", "a/b.js", ".hidden"]) {
    assert.equal(files(path), undefined, path)
  }
})

test("compressed for whom it is accepted by", () => {
  const page = files("app-ABC.js")
  assert.ok(page !== undefined)
  const zipped = encodePage(page, "gzip, deflate, br;q=1")
  assert.equal(zipped.headers["content-encoding"], "gzip")
  assert.equal(zipped.headers["vary"], "accept-encoding")
  for (const accepted of [undefined, "", "identity", "gzip;q=0, br", "deflate"]) {
    const plain = encodePage(page, accepted)
    assert.equal(plain.headers["content-encoding"], undefined, accepted ?? "none")
    assert.equal(plain.headers["vary"], "accept-encoding")
    assert.equal(String(plain.body), "script")
  }
})
