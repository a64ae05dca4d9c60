import { batch, signal } from "@preact/signals"
import { useEffect, useRef, useState } from "preact/hooks"
import type { FileAnswer, FileMetaAnswer } from "../../src/client/client.ts"
import { announce, notify } from "../page/notices.ts"
import { asksForKey, client, toWireError } from "../service/service.ts"
import { copyText } from "../share/copy.ts"
import { Dialog } from "../ui/dialog.tsx"
import { Icon } from "../ui/icon.tsx"
import { counted, showBytes, showMoment, showNumber } from "../ui/show.ts"
import { follow } from "./navigation.tsx"
import { addressOf, changed, goTo, place } from "./place.ts"

const pageSize = 50

const files = signal<readonly FileAnswer[] | null>(null)
/** `after` of the next page. */
const next = signal<string | null>(null)
const trouble = signal<string | null>(null)
const isBusy = signal(false)

async function load(after: string | null = null): Promise<void> {
  isBusy.value = true
  try {
    const page = await client().files({ limit: pageSize, ...(after !== null && { after }) })
    batch(() => {
      files.value = after === null ? page.files : [...(files.peek() ?? []), ...page.files]
      next.value = page.next
      trouble.value = null
    })
  } catch (error) {
    trouble.value = asksForKey(error, () => void load())
      ? "An API key is needed to see files."
      : toWireError(error).message
  } finally {
    isBusy.value = false
  }
}

/** The caller's files: those that were sent, and those that runs made. */
export function FilesPage() {
  useEffect(() => void load(), [])
  const file_id = place.value.params.get("file")
  if (trouble.value !== null) {
    return (
      <div class="empty" role="alert">
        <p>{trouble.value}</p>
        <button type="button" class="button outlined" onClick={() => void load()}>
          Try again
        </button>
      </div>
    )
  }
  return (
    <div class={file_id === null ? "console-split" : "console-split has-run"}>
      <section class="pane console-list" aria-label="Files">
        <p class="list-line file-line note">
          <span aria-live="polite">
            {files.value === null ? "Loading …" : counted(files.value.length, "file")}
            {next.value === null ? "" : ", and more"}
          </span>
          <SendFile />
        </p>
        {files.value === null ? null : files.value.length === 0 ? <NoFiles /> : <Rows list={files.value} />}
        {next.value === null ? null : (
          <p class="list-line">
            <button
              type="button"
              class="button outlined"
              disabled={isBusy.value}
              onClick={() => void load(next.peek())}
            >
              Show more
            </button>
          </p>
        )}
      </section>
      {file_id === null ? null : <FileView key={file_id} file_id={file_id} />}
    </div>
  )
}

function NoFiles() {
  return (
    <div class="empty">
      <p>
        There are no files. Those that you send are listed here, and those that your runs make, until nothing refers to
        them any more.
      </p>
      <p>
        <code>npx wire files send report.pdf</code>
      </p>
    </div>
  )
}

function SendFile() {
  const field = useRef<HTMLInputElement>(null)
  const send = async (file: File): Promise<void> => {
    isBusy.value = true
    try {
      const { file_id } = await client().sendFile(file, { name: file.name })
      announce(`${file.name} is stored.`)
      await load()
      goTo("files", changed({ file: file_id }))
    } catch (error) {
      notify(toWireError(error).message, "wrong")
    } finally {
      isBusy.value = false
    }
  }
  return (
    <>
      <input
        ref={field}
        type="file"
        hidden
        aria-label="The file to send"
        onChange={(event) => {
          const [file] = event.currentTarget.files ?? []
          event.currentTarget.value = ""
          if (file !== undefined) void send(file)
        }}
      />
      <button type="button" class="button outlined" disabled={isBusy.value} onClick={() => field.current?.click()}>
        <Icon name="plus" />
        Send a file
      </button>
    </>
  )
}

function Rows({ list }: { readonly list: readonly FileAnswer[] }) {
  const current = place.value.params.get("file")
  return (
    <div class="scrolls" role="region" aria-label="List of files">
      <table class="run-table">
        <thead>
          <tr>
            <th scope="col">File</th>
            <th scope="col" class="number">
              Size
            </th>
            <th scope="col">Stored</th>
            <th scope="col">Kept until</th>
          </tr>
        </thead>
        <tbody>
          {list.map(({ file_id, name, media_type, bytes, created_at, expires_at }) => {
            const opened = changed({ file: file_id })
            return (
              <tr key={file_id} aria-current={file_id === current ? "true" : undefined}>
                <td class="run-cell">
                  <a href={addressOf("files", opened)} onClick={(event) => follow(event, () => goTo("files", opened))}>
                    {name}
                  </a>
                  <span class="run-line">{media_type}</span>
                </td>
                <td class="number">{showBytes(bytes)}</td>
                <td class="plain" data-label="Stored">
                  {showMoment(Date.parse(created_at))}
                </td>
                <td class="plain" data-label="Kept until">
                  {keptUntil(expires_at)}
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

function keptUntil(expires_at: string | null): string {
  return expires_at === null ? "as long as its runs" : showMoment(Date.parse(expires_at))
}

/** One file beside the list, with the runs that use it. */
function FileView({ file_id }: { readonly file_id: string }) {
  const [file, setFile] = useState<FileMetaAnswer | null>(null)
  const [wrong, setWrong] = useState<string | null>(null)
  const [isAsked, setAsked] = useState(false)
  useEffect(() => {
    let isLeft = false
    client()
      .fileMeta(file_id)
      .then(
        (found) => isLeft || setFile(found),
        (error: unknown) => isLeft || setWrong(toWireError(error).message),
      )
    return () => (isLeft = true)
  }, [file_id])
  const close = (): void => goTo("files", changed({ file: null }))
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === "Escape" && !event.defaultPrevented && document.querySelector("dialog[open]") === null) close()
    }
    addEventListener("keydown", onKey)
    return () => removeEventListener("keydown", onKey)
  }, [])
  return (
    <section class="pane console-run" aria-label="The file">
      <header class="console-run-head">
        <div>
          <h2>{file?.name ?? file_id}</h2>
          <button
            type="button"
            class="button link mono"
            title="Copy the id"
            onClick={() => void copyText(file_id, "The id")}
          >
            {file_id}
          </button>
        </div>
        <div class="tools">
          {file === null ? null : (
            <>
              <button type="button" class="button outlined" onClick={() => void download(file)}>
                <Icon name="download" />
                Download
              </button>
              <button type="button" class="button outlined" onClick={() => setAsked(true)}>
                <Icon name="trash" />
                Delete
              </button>
            </>
          )}
          <button type="button" class="button square" aria-label="Close the file" title="Close (Esc)" onClick={close}>
            <Icon name="close" />
          </button>
        </div>
      </header>
      {wrong !== null ? (
        <p class="empty" role="alert">
          {wrong}
        </p>
      ) : file === null ? (
        <p class="empty">Loading …</p>
      ) : (
        <Facts file={file} />
      )}
      {file === null || !isAsked ? null : (
        <Dialog title={`Delete ${file.name}?`} onClose={() => setAsked(false)}>
          <div class="dialog-body">
            <p>
              Its contents are gone for good.{" "}
              {file.runs.length === 0
                ? "No run uses it."
                : `${counted(file.runs.length, "run")} used it: the records keep what they say of it.`}
            </p>
          </div>
          <footer>
            <button type="button" class="button outlined" onClick={() => setAsked(false)}>
              Leave as is
            </button>
            <button
              type="button"
              class="button primary"
              onClick={() => {
                setAsked(false)
                void remove(file)
              }}
            >
              Delete the file
            </button>
          </footer>
        </Dialog>
      )}
    </section>
  )
}

function Facts({ file }: { readonly file: FileMetaAnswer }) {
  const { media_type, bytes, sha256, created_at, expires_at, runs } = file
  const facts = [
    ["Type", media_type],
    ["Size", bytes < 1_024 ? showBytes(bytes) : `${showBytes(bytes)} (${showNumber(bytes)} bytes)`],
    ["Stored", showMoment(Date.parse(created_at))],
    ["Kept until", keptUntil(expires_at)],
    ["SHA-256", sha256],
  ] as const
  return (
    <div class="scrolls padded">
      <dl class="file-facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class={name === "SHA-256" ? "mono" : undefined}>{value}</dd>
          </div>
        ))}
      </dl>
      <h3>{runs.length === 0 ? "No run uses it" : `Used by ${counted(runs.length, "run")}`}</h3>
      <ul class="file-runs">
        {runs.map((run_id) => {
          const params = new URLSearchParams({ run: run_id })
          return (
            <li key={run_id}>
              <a
                class="mono"
                href={addressOf("runs", params)}
                onClick={(event) => follow(event, () => goTo("runs", params))}
              >
                {run_id}
              </a>
            </li>
          )
        })}
      </ul>
    </div>
  )
}

/** With the key of this page, which no plain link has. */
async function download({ file_id, name, media_type }: FileMetaAnswer): Promise<void> {
  try {
    const contents = await new Response(await client().file(file_id)).blob()
    const url = URL.createObjectURL(new Blob([contents], { type: media_type }))
    const link = document.createElement("a")
    link.href = url
    link.download = name
    link.click()
    setTimeout(() => URL.revokeObjectURL(url), 10_000)
  } catch (error) {
    notify(toWireError(error).message, "wrong")
  }
}

async function remove({ file_id, name }: FileMetaAnswer): Promise<void> {
  try {
    await client().deleteFile(file_id)
    notify(`${name} deleted.`)
    goTo("files", changed({ file: null }))
    await load()
  } catch (error) {
    notify(toWireError(error).message, "wrong")
  }
}
