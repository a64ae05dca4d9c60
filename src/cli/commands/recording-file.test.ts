import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, test } from "node:test"
import { writeRecordingFile, WrongRecording } from "./recording-file.ts"

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "wireworks-recording-"))
  path = join(folder, "a.test.recording.json")
})
afterEach(() => rmSync(folder, { recursive: true }))

test("a recording is written, replaced and removed, and leaves nothing beside it", () => {
  for (const text of ["one", "two", null]) {
    writeRecordingFile(path, text)
    assert.deepEqual(readdirSync(folder), text === null ? [] : ["a.test.recording.json"])
    if (text !== null) assert.equal(readFileSync(path, "utf8"), text)
  }
})

test("links that somebody put into the folder are not written through", () => {
  const victim = join(folder, "victim")
  writeFileSync(victim, "precious")
  symlinkSync(victim, path)
  // What a scratch file of this process could be guessed to be called.
  for (const name of [`${path}.${process.pid}.new`, `${path}.new`, `${path}.tmp`]) symlinkSync(victim, name)
  writeRecordingFile(path, "recorded")
  assert.equal(readFileSync(victim, "utf8"), "precious")
  assert.equal(readFileSync(path, "utf8"), "recorded")
})

test("what cannot be written is a sentence, and leaves nothing", () => {
  mkdirSync(path)
  assert.throws(() => writeRecordingFile(path, "text"), WrongRecording)
  assert.deepEqual(readdirSync(folder), ["a.test.recording.json"])
})
