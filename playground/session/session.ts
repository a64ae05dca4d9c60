import { effect } from "@preact/signals"
import { isJsonObject } from "../../src/base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import { firstExample } from "../examples/examples.ts"
import { fromFragment, isLink } from "../share/link.ts"
import type { KeptFile } from "./kept-files.ts"
import { mergeKept } from "./kept-files.ts"
import { currentInput } from "../form/input.ts"
import { keep, readKept } from "../page/keep.ts"
import { notify } from "../page/notices.ts"
import type { NewContent } from "../files/files.ts"
import { activeFile, allContents, fileName, files, openFile, showFile } from "../files/files.ts"
import { openWorkflow } from "../files/open-workflow.ts"
import { optionTexts } from "../form/options.ts"
import { secretIn } from "../form/secrets.ts"
import type { Served } from "../service/served.ts"
import { served } from "../service/served.ts"
import { compilation, compileNow, filesAround, origin } from "../language/source.ts"

/** The key under which the browser keeps each open file. */
const keys = new Map<string, string>()
/** What this page last read or wrote under each key. */
const seen = new Map<string, string>()

function newKey(): string {
  return Math.random().toString(36).slice(2)
}

/** Opens what the page was left with, else the first example. */
export function openDraft(): void {
  const kept = (readKept("session", "files") ?? readKept("local", "files")) as JsonValue | undefined
  const list = isJsonObject(kept) && Array.isArray(kept["files"]) ? kept["files"] : []
  const contents = list.flatMap((one) => keptContent(one) ?? [])
  if (contents.length === 0) openFile(firstExample)
  for (const { content, isEdited, key, text } of contents) {
    openFile(content, isEdited)
    keys.set(activeFile.value, key)
    seen.set(key, text)
  }
  const active = isJsonObject(kept) ? kept["active"] : undefined
  const shown = typeof active === "number" ? files.value[active] : undefined
  if (shown !== undefined) showFile(shown.id)
}

interface ReadContent extends KeptFile {
  readonly content: NewContent
  readonly text: string
}

function keptContent(kept: JsonValue): ReadContent | undefined {
  if (!isJsonObject(kept) || typeof kept["source"] !== "string" || !isJsonObject(kept["input"])) return undefined
  const { name, source, input, options } = kept
  return {
    content: {
      name: typeof name === "string" ? name : "Untitled",
      source,
      input,
      origin: kept["origin"] === "link" ? "link" : "own",
      ...(isJsonObject(options) && { options }),
      served: keptServed(kept["served"]),
      ...(isJsonObject(kept["around"]) && { around: kept["around"] }),
      isLocal: kept["isLocal"] === true,
    },
    isEdited: kept["isEdited"] === true,
    key: typeof kept["key"] === "string" ? kept["key"] : newKey(),
    text: JSON.stringify(kept),
  }
}

function keptServed(kept: JsonValue | undefined): Served | null {
  if (!isJsonObject(kept)) return null
  const { name, version, secrets } = kept
  if (typeof name !== "string" || typeof version !== "string" || !isJsonObject(secrets)) return null
  return { name, version, secrets: secrets as Served["secrets"] }
}

/** Opens what a link holds, and takes it out of the address, so that a reload shows what became of it. */
export async function openLink(): Promise<void> {
  const { hash, pathname, search } = location
  if (!isLink(hash)) return
  history.replaceState(null, "", `${pathname}${search}`)
  const shared = await fromFragment(hash)
  if (typeof shared === "string") notify(shared, "wrong")
  else {
    const { source, input, ...around } = shared
    openWorkflow({ name: "From a link", source, input, around, origin: "link" })
  }
}

function storedFiles(): readonly KeptFile[] {
  const kept = readKept("local", "files") as JsonValue | undefined
  const list = isJsonObject(kept) && Array.isArray(kept["files"]) ? kept["files"] : []
  return list.filter((file): file is JsonObject & KeptFile => isJsonObject(file) && typeof file["key"] === "string")
}

/** Keeps the open files for a reload and for the next visit; one with a secret's value in it is not kept. */
export function keepDraft(): void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const save = (): void => {
    clearTimeout(timer)
    const all = allContents()
      .map(({ id, content, isEdited }) => {
        const key = keys.get(id) ?? newKey()
        keys.set(id, key)
        return { id, kept: { key, ...content, isEdited } }
      })
      .filter(({ kept }) => secretIn(JSON.stringify(kept)) === undefined)
    if (all.length === 0) return
    const active = all.findIndex(({ id }) => id === activeFile.value)
    // Another page may have edited files since.
    const own: KeptFile[] = all.map(({ kept }) => kept)
    const { files: merged, renamed } = mergeKept(own, storedFiles(), seen, newKey)
    for (const { id, kept } of all) {
      const key = renamed.get(kept.key) ?? kept.key
      keys.set(id, key)
      seen.set(key, JSON.stringify({ ...kept, key }))
    }
    keep("session", "files", {
      active,
      files: own.map((file) => ({ ...file, key: renamed.get(file.key) ?? file.key })),
    })
    keep("local", "files", { active, files: merged })
  }
  effect(() => {
    void [
      compilation.value,
      currentInput(),
      optionTexts.value,
      origin.value,
      fileName.value,
      served.value,
      filesAround.value,
      files.value,
    ]
    clearTimeout(timer)
    timer = setTimeout(save, 300)
  })
  addEventListener("pagehide", () => {
    // With what was typed a moment ago.
    compileNow()
    save()
  })
}
