import { hash } from "node:crypto"
import type { JsonValue } from "../base/json-value.ts"
import { fileTextBytes } from "../base/limits.ts"
import type { Files } from "../run/files/files.ts"
import { oneChunk, ownFile } from "../run/files/run-files.ts"
import { lacking, problem, type TextOfFile } from "../run/values/scope.ts"
import { isFileValue, type FileValue } from "../types/file-value.ts"

/** A file that a test names: what the run gets, and its contents. */
export interface Fixture {
  readonly value: FileValue
  readonly bytes: Uint8Array
}

export function fixtureOf(name: string, media_type: string, bytes: Uint8Array): Fixture {
  const sha256 = hash("sha256", bytes, "hex")
  const file_id = `file_${hash("sha256", JSON.stringify([name, media_type, sha256]), "hex").slice(0, 32)}`
  return { value: { file_id, name, media_type, bytes: bytes.length, sha256 }, bytes }
}

/** Has the run of a test refer to the files that the test names. Rejects with a `FileRefusal`. */
export async function storeFixtures(files: Files, run_id: string, fixtures: readonly Fixture[]): Promise<void> {
  for (const { value, bytes } of fixtures) {
    const { file_id, ...about } = value
    await files.put("", about, oneChunk(bytes), { file_id, run_id, step: null })
  }
}

/** What `text_of` gives in expectations, by the id of the file; a reason where it gives none. */
export type FileTexts = ReadonlyMap<string, { readonly text: string } | { readonly problem: string }>

/** Reads the files that values name, while they are there. */
export async function textsOfFiles(files: Files | undefined, values: readonly JsonValue[]): Promise<FileTexts> {
  const texts = new Map<string, { readonly text: string } | { readonly problem: string }>()
  if (files === undefined) return texts
  for (const { file_id, bytes } of filesIn(values)) {
    if (texts.has(file_id)) continue
    const file = await ownFile(files, "", file_id)
    texts.set(
      file_id,
      file === null
        ? { problem: "the file is gone" }
        : bytes > fileTextBytes
          ? { problem: `the file has ${bytes} bytes` }
          : textIn(await files.readAll(file)),
    )
  }
  return texts
}

function textIn(bytes: Uint8Array): { readonly text: string } | { readonly problem: string } {
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) }
  } catch {
    return { problem: "the contents of the file are not UTF-8" }
  }
}

function filesIn(values: readonly JsonValue[]): FileValue[] {
  const found: FileValue[] = []
  const open = [...values]
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (isFileValue(at)) found.push(at)
    else if (typeof at === "object" && at !== null) open.push(...Object.values(at))
  }
  return found
}

/** `text_of` in an expectation. */
export function readingTexts(texts: FileTexts): TextOfFile {
  return (expression, [file = null], scope) => {
    if (!isFileValue(file)) throw lacking(expression, "text_of takes a file", file, scope)
    const found = texts.get(file.file_id) ?? { problem: "the file is gone" }
    if ("problem" in found) throw problem(expression.text, found.problem, scope)
    return found.text
  }
}
