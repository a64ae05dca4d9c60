import assert from "node:assert/strict"
import { test } from "node:test"
import type { Surroundings } from "./server-commands.ts"
import { serverCommands } from "./server-commands.ts"

const around: Surroundings = {
  configured: [],
  trusted: true,
  folders: ["/a", "/b"],
  bundled: "/extension/server.mjs",
  platform: "linux",
  exists: () => false,
}
const bundled = { kind: "script", path: "/extension/server.mjs" }

test("the server of the extension is used where there is no other, and is always the last resort", () => {
  assert.deepEqual(serverCommands(around), [bundled])
  const named = serverCommands({ ...around, configured: ["wire", "lsp"] })
  assert.deepEqual(named, [{ kind: "program", command: "wire", args: ["lsp"], shell: false }, bundled])
})

test("the `wire` of the workspace comes before it", () => {
  const exists = (path: string): boolean => path.startsWith("/b/node_modules/.bin/wire")
  const shim = "/b/node_modules/.bin/wire"
  assert.deepEqual(serverCommands({ ...around, exists }), [
    { kind: "program", command: shim, args: ["lsp"], shell: false },
    bundled,
  ])
  assert.deepEqual(serverCommands({ ...around, exists, platform: "win32" })[0], {
    kind: "program",
    command: `"${shim}.cmd"`,
    args: ["lsp"],
    shell: true,
  })
})

test("nothing of a workspace that is not trusted is started", () => {
  assert.deepEqual(serverCommands({ ...around, trusted: false, configured: ["./evil"], exists: () => true }), [bundled])
})
