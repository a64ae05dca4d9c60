import assert from "node:assert/strict"
import { Buffer } from "node:buffer"
import { test } from "node:test"
import { decodeSource, readSource } from "./read-source.ts"
import { sourceBytes } from "../../base/limits.ts"

function problemOf(bytes: Uint8Array): string | null {
  return decodeSource(bytes).problem
}

test("UTF-8 is text, with its byte-order mark", () => {
  assert.deepEqual(decodeSource(Buffer.from("\ufeffinput { }\r\n")), { text: "\ufeffinput { }\r\n", problem: null })
  assert.equal(decodeSource(Buffer.from("a \ufffd b")).text, "a \ufffd b")
  assert.equal(decodeSource(Buffer.alloc(0)).text, "")
})

test("text that is not UTF-8 is reported by line and byte", () => {
  assert.equal(problemOf(Buffer.from("ok\ncaf\xe9\n", "latin1")), "is not UTF-8: bad byte 0xe9 in line 2")
  assert.equal(problemOf(Buffer.from([0xef, 0xbf, 0xbd, 10, 0x80])), "is not UTF-8: bad byte 0x80 in line 2")
  assert.equal(problemOf(Buffer.from([0x61, 0xe2, 0x82])), "is not UTF-8: bad byte 0xe2 in line 1")
  assert.equal(problemOf(Buffer.from("\ufeffinput", "utf16le")), "is UTF-16, not UTF-8: save it as UTF-8")
})

test("the limit is the service's", () => {
  assert.equal(problemOf(Buffer.alloc(sourceBytes, "a")), null)
  assert.equal(problemOf(Buffer.alloc(sourceBytes + 1, "a")), "is too large: a workflow has at most 1 MiB")
})

test("a device without end is read up to the limit", { skip: process.platform === "win32" && "no /dev/zero" }, () => {
  assert.equal(readSource("/dev/zero").problem, "is too large: a workflow has at most 1 MiB")
})
