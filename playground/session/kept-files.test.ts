import assert from "node:assert/strict"
import { test } from "node:test"
import { mergeKept } from "./kept-files.ts"

interface File {
  readonly key: string
  readonly isEdited: boolean
  readonly source: string
}

const file = (key: string, source: string, isEdited = true): File => ({ key, isEdited, source })
const seenOf = (...files: File[]) => new Map(files.map((one) => [one.key, JSON.stringify(one)]))
const merge = (own: File[], stored: File[], seen: Map<string, string>) => mergeKept(own, stored, seen, () => "new")

test("the files of a page are kept as they are, those that it closed are not", () => {
  const [a, b] = [file("a", "1"), file("b", "1")]
  assert.deepEqual(merge([file("a", "2")], [a, b], seenOf(a, b)).files, [file("a", "2")])
})

test("what another page edited is kept: beside this page's files, or in place of the copy that this page did not edit", () => {
  const a = file("a", "1", false)
  const theirs = [file("a", "theirs"), file("c", "theirs")]
  assert.deepEqual(merge([a], theirs, seenOf(a)).files, theirs)
  assert.deepEqual(merge([], theirs, seenOf(a, file("c", "1"))).files, theirs)
  assert.deepEqual(merge([a], [a, file("c", "theirs", false)], seenOf(a)).files, [a])
})

test("a file that both pages edited is kept twice, and from then on each page writes its own", () => {
  const a = file("a", "1")
  const { files, renamed } = merge([file("a", "ours")], [file("a", "theirs")], seenOf(a))
  assert.deepEqual(files, [file("new", "ours"), file("a", "theirs")])
  assert.deepEqual([...renamed], [["a", "new"]])
  const next = merge([file("new", "more")], [...files], seenOf(a, file("new", "ours")))
  assert.deepEqual(next.files, [file("new", "more"), file("a", "theirs")])
  assert.deepEqual(merge([file("a", "same")], [file("a", "same")], seenOf(a)).files, [file("a", "same")])
})
