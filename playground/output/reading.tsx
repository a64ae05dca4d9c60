import type { ComponentChildren } from "preact"
import { isJsonObject } from "../../src/base/is-json-object.ts"
import type { JsonValue } from "../../src/base/json-value.ts"
import { isFileValue } from "../../src/types/file-value.ts"
import { JsonTree } from "../values/json-tree.tsx"
import { VisibleText } from "../ui/visible-text.tsx"
import { StoredFile } from "../values/stored-file.tsx"
import { blocksOf, inlinesOf, type Block } from "./prose.ts"

/** Longer texts and lists are read from the tree, which shows them in parts. */
const longestText = 100_000
const maxItems = 100
const maxLevels = 4

/** A result for people: texts as prose, fields under their names, lists as lists. */
export function Reading({ value, label }: { readonly value: JsonValue; readonly label: string }) {
  return (
    <div class="reading" role="group" aria-label={label}>
      <Read value={value} level={0} />
    </div>
  )
}

function Read({ value, level }: { readonly value: JsonValue; readonly level: number }) {
  if (typeof value === "string") return value.length > longestText ? <Tree value={value} /> : <Prose text={value} />
  if (typeof value !== "object" || value === null)
    return <p class="scalar">{value === null ? "none" : String(value)}</p>
  if (isFileValue(value)) return <StoredFile file={value} />
  const entries = Object.entries(value)
  if (entries.length === 0) return <p class="note">{Array.isArray(value) ? "an empty list" : "no fields"}</p>
  if (entries.length > maxItems || level >= maxLevels) return <Tree value={value} />
  if (isJsonObject(value)) {
    return (
      <dl>
        {entries.map(([name, one]) => (
          <div key={name} class={isShort(one) ? "short" : undefined}>
            <dt>{name}</dt>
            <dd>
              <Read value={one} level={level + 1} />
            </dd>
          </div>
        ))}
      </dl>
    )
  }
  return (
    <ol class="items">
      {entries.map(([at, one]) => (
        <li key={at}>
          <Read value={one} level={level + 1} />
        </li>
      ))}
    </ol>
  )
}

/** Fits on the line of its name. */
function isShort(value: JsonValue): boolean {
  return typeof value === "string"
    ? value.length <= 40 && !value.includes("\n")
    : typeof value !== "object" || value === null
}

function Tree({ value }: { readonly value: JsonValue }) {
  return <JsonTree value={value} label="As a tree" open={1} />
}

function Prose({ text }: { readonly text: string }) {
  if (text === "") return <p class="note">an empty text</p>
  return (
    <div class="read-text" dir="auto">
      {blocksOf(text).map((block, at) => (
        <Shown key={at} block={block} />
      ))}
    </div>
  )
}

function Shown({ block }: { readonly block: Block }) {
  switch (block.kind) {
    case "heading":
      return (
        <p class={`read-heading level-${block.level}`}>
          <Marked text={block.text} />
        </p>
      )
    case "code":
      return (
        <pre>
          <VisibleText text={block.text} isAlone />
        </pre>
      )
    case "quote":
      return (
        <blockquote>
          <Marked text={block.text} />
        </blockquote>
      )
    case "list": {
      const items: ComponentChildren = block.items.map((item, at) => (
        <li key={at}>
          <Marked text={item} />
        </li>
      ))
      return block.start === null ? <ul>{items}</ul> : <ol start={block.start}>{items}</ol>
    }
    case "paragraph":
      return (
        <p>
          <Marked text={block.text} />
        </p>
      )
  }
}

function Marked({ text }: { readonly text: string }) {
  return inlinesOf(text).map(({ kind, text: part }, at) => {
    const shown = <VisibleText text={part} isAlone />
    if (kind === "strong") return <strong key={at}>{shown}</strong>
    if (kind === "emphasis") return <em key={at}>{shown}</em>
    if (kind === "code") return <code key={at}>{shown}</code>
    return <span key={at}>{shown}</span>
  })
}
