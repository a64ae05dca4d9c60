import assert from "node:assert/strict"
import { test } from "node:test"
import { bundleSize } from "../bench/bundle-size.ts"

// What the playground and other pages load before they can read a workflow. A size is the same on every machine.
// `npm run bench -- language` has the goal; this bound keeps the bundle from growing unnoticed.
const maxBytes = 165_000

test(`the language takes less than ${maxBytes} bytes in a browser, compressed`, async () => {
  const { gzip } = await bundleSize('export { compile } from "./src/compile.ts"')
  assert.ok(gzip > 10_000, `${gzip} bytes are not the whole language`)
  assert.ok(gzip < maxBytes, `${gzip} bytes`)
})
