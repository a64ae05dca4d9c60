import { useRef, useState } from "preact/hooks"
import type { FileValue } from "../../src/types/file-value.ts"
import { sendFile } from "../service/send-file.ts"
import { Icon } from "../ui/icon.tsx"

export interface DropZoneProps {
  readonly id: string
  readonly "aria-invalid": boolean
  readonly "aria-describedby": string | undefined
  readonly "aria-label": string | undefined
  readonly isMany?: boolean
  /** At least one. */
  readonly onFiles: (files: readonly FileValue[]) => void
}

interface Sending {
  readonly name: string
  readonly share: number
  readonly left: AbortController
}

/** Sends files that are dropped on it or chosen, one after the other; the value is what the service knows of them. */
export function FileZone({ onFiles, isMany = false, ...control }: DropZoneProps) {
  const [isOver, setOver] = useState(false)
  const [sending, setSending] = useState<Sending | null>(null)
  const [wrong, setWrong] = useState<string | null>(null)
  // The form may have changed by the time that a file has been sent.
  const latest = useRef(onFiles)
  latest.current = onFiles
  const send = async (given: readonly File[]): Promise<void> => {
    const files = isMany ? given : given.slice(0, 1)
    if (files.length === 0 || sending !== null) return
    const left = new AbortController()
    const sent: FileValue[] = []
    setWrong(null)
    try {
      for (const file of files) {
        setSending({ name: file.name, share: 0, left })
        sent.push(await sendFile(file, (share) => setSending({ name: file.name, share, left }), left.signal))
      }
    } catch (error) {
      const name = files[sent.length]?.name ?? ""
      setWrong(`${name}: ${error instanceof Error ? error.message : "it was not sent."}`)
    }
    setSending(null)
    if (sent.length > 0) latest.current(sent)
  }
  const wrongId = `${control.id}-not-sent`
  const notes = [control["aria-describedby"], wrong === null ? undefined : wrongId].filter((id) => id !== undefined)
  return (
    <div
      class={isOver ? "drop-zone over" : "drop-zone"}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault()
        setOver(false)
        void send([...(event.dataTransfer?.files ?? [])])
      }}
    >
      {sending === null ? (
        <label class="choose-file">
          <input
            {...control}
            aria-describedby={notes.length === 0 ? undefined : notes.join(" ")}
            aria-label={control["aria-label"] ?? (isMany ? "Add files" : undefined)}
            class="visually-hidden"
            type="file"
            multiple={isMany}
            onChange={(event) => {
              const files = [...(event.currentTarget.files ?? [])]
              event.currentTarget.value = ""
              void send(files)
            }}
          />
          <Icon name="plus" />
          <span aria-hidden={control["aria-label"] !== undefined || isMany}>
            {isMany ? "Drop files here, or choose them" : "Drop a file here, or choose one"}
          </span>
        </label>
      ) : (
        <p class="sending-file" role="status">
          <span class="file-name">Sending {sending.name}</span>
          <progress aria-label={`Sending ${sending.name}`} value={sending.share} max={1} />
          <button
            type="button"
            class="button square"
            aria-label={`Stop sending ${sending.name}`}
            onClick={() => sending.left.abort()}
          >
            <Icon name="close" />
          </button>
        </p>
      )}
      {wrong === null ? null : (
        <p class="wrong-text" id={wrongId} role="alert">
          {wrong}
        </p>
      )}
    </div>
  )
}
