import { useEffect, useState } from "preact/hooks"
import { essenceOf } from "../../src/base/media-type.ts"
import type { FileValue } from "../../src/types/file-value.ts"
import { client } from "../service/service.ts"
import { Icon } from "../ui/icon.tsx"
import { showBytes } from "../ui/show.ts"
import { VisibleText } from "../ui/visible-text.tsx"
import { csvRows } from "./csv-rows.ts"
import { saveBytes } from "./save-bytes.ts"

type Preview = "picture" | "sound" | "table" | "text"

/** Bytes that are fetched to be shown; a larger file is a download. */
const most: Readonly<Record<Preview, number>> = {
  picture: 8_388_608,
  sound: 8_388_608,
  table: 262_144,
  text: 262_144,
}
const maxRows = 100
const maxColumns = 20
const maxCharacters = 20_000

function previewOf(media_type: string): Preview | null {
  const essence = essenceOf(media_type)
  if (/^image\/(?:png|jpeg|gif|webp|svg\+xml)$/.test(essence)) return "picture"
  if (/^audio\/(?:wav|x-wav|wave|mpeg|mp3|ogg|webm|mp4|aac|flac)$/.test(essence)) return "sound"
  if (essence === "text/csv") return "table"
  return /^text\/(?:plain|markdown)$/.test(essence) ? "text" : null
}

export interface StoredFileProps {
  readonly file: FileValue
  /** As small as a line of a form or tree takes. */
  readonly isSmall?: boolean
}

/** A file of the service: what it is, a look at it where the browser can show it, and a button that saves it. */
export function ShownFile({ file, isSmall = false }: StoredFileProps) {
  const kind = previewOf(file.media_type)
  const isShown = kind !== null && file.bytes <= most[kind] && (!isSmall || kind === "picture" || kind === "sound")
  return (
    <figure class={isSmall ? "stored-file small" : "stored-file"}>
      {isShown ? <Look file={file} kind={kind} /> : null}
      <figcaption>
        <span class="file-name" title={file.name}>
          <VisibleText text={file.name} isAlone />
        </span>
        <span class="note">
          {showBytes(file.bytes)} · {file.media_type}
        </span>
        <Save file={file} />
      </figcaption>
    </figure>
  )
}

function Save({ file }: { readonly file: FileValue }) {
  const [wrong, setWrong] = useState(false)
  const save = async (): Promise<void> => {
    try {
      saveBytes(await bytesOf(file), file.name)
      setWrong(false)
    } catch {
      setWrong(true)
    }
  }
  return (
    <>
      <button type="button" class="button square" aria-label={`Download ${file.name}`} onClick={() => void save()}>
        <Icon name="download" />
      </button>
      {wrong ? <span class="wrong-text">{gone}</span> : null}
    </>
  )
}

const gone = "Its contents are not there any more."

async function bytesOf({ file_id }: FileValue, signal?: AbortSignal): Promise<Blob> {
  const stream = await client().file(file_id, signal === undefined ? {} : { signal })
  return new Response(stream).blob()
}

type Loaded = { readonly url: string } | { readonly text: string } | "gone" | null

/** Fetches the contents, which need the key that an `<img>` does not send. */
function Look({ file, kind }: { readonly file: FileValue; readonly kind: Preview }) {
  const [loaded, setLoaded] = useState<Loaded>(null)
  useEffect(() => {
    const left = new AbortController()
    const load = async (): Promise<Loaded> => {
      const blob = await bytesOf(file, left.signal)
      return kind === "picture" || kind === "sound"
        ? { url: await dataUrl(blob, file.media_type) }
        : { text: await blob.text() }
    }
    setLoaded(null)
    void load()
      .catch((): Loaded => "gone")
      .then((found) => {
        if (!left.signal.aborted) setLoaded(found)
      })
    return () => left.abort()
  }, [file.file_id, kind])
  if (loaded === null) return <p class="note">Loading …</p>
  if (loaded === "gone") return <p class="note">{gone}</p>
  if ("url" in loaded) {
    return kind === "picture" ? (
      <img src={loaded.url} alt={file.name} />
    ) : (
      <audio controls src={loaded.url} aria-label={file.name} />
    )
  }
  const rows = kind === "table" ? csvRows(loaded.text, maxRows + 1) : null
  return rows === null ? (
    <pre tabIndex={0} role="region" aria-label={file.name} dir="auto">
      <VisibleText text={loaded.text.slice(0, maxCharacters)} isAlone />
    </pre>
  ) : (
    <Table rows={rows} label={file.name} />
  )
}

function Table({ rows, label }: { readonly rows: readonly (readonly string[])[]; readonly label: string }) {
  const [head = [], ...body] = rows.map((row) => row.slice(0, maxColumns))
  return (
    <div class="csv" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {head.map((cell, at) => (
              <th key={at} scope="col">
                <VisibleText text={cell} isAlone />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {body.map((row, at) => (
            <tr key={at}>
              {row.map((cell, column) => (
                <td key={column} dir="auto">
                  <VisibleText text={cell} isAlone />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** A `data:` address: unlike one of a blob, it has no origin, so that a script in an SVG is no script of this page wherever it is opened. */
function dataUrl(blob: Blob, media_type: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(reader.result as string)
    reader.onerror = () => reject(new Error("The file cannot be read"))
    reader.readAsDataURL(new Blob([blob], { type: essenceOf(media_type) }))
  })
}
