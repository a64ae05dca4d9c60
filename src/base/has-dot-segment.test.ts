import assert from "node:assert/strict"
import { test } from "node:test"
import { hasDotSegment } from "./has-dot-segment.ts"

test("segments that walk to another path", () => {
  const walking = [
    ".",
    "..",
    "../x",
    "x/..",
    "a/./b",
    "models/../../admin/keys",
    "%2e%2e/x",
    ".%2E",
    "a\\..\\b",
    "http://h/v1/..?q",
  ]
  for (const text of walking) assert.ok(hasDotSegment(text), text)
})

test("dots in names stay", () => {
  const plain = [
    "",
    "gpt-4.1",
    "...",
    "a..b",
    ".hidden",
    "x/..y/z.",
    "http://h/v1?next=../x",
    "http://h/v1#/../x",
    "v1.5/",
  ]
  for (const text of plain) assert.ok(!hasDotSegment(text), text)
})
