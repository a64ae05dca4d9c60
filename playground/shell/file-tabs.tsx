import { signal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import { useRef } from "preact/hooks"
import { downloadText } from "../share/copy.ts"
import { activeFile, closeFile, fileName, files, hasEdits, newFile, renameFile, showFile } from "../files/files.ts"
import { notify } from "../page/notices.ts"
import { openLocalFiles } from "../files/open-workflow.ts"
import { renaming } from "../editor/renaming.ts"
import { served } from "../service/served.ts"
import { compileNow } from "../language/source.ts"
import { Dialog } from "../ui/dialog.tsx"
import { Icon } from "../ui/icon.tsx"
import { TabPanel, Tabs } from "../ui/tabs.tsx"

/** The file that would be closed with its edits, until that is decided. */
const closing = signal<string | null>(null)

/** The open files above the editor, which shows the active one. */
export function FileTabs({ children }: { readonly children: ComponentChildren }) {
  const chooser = useRef<HTMLInputElement>(null)
  const active = activeFile.value
  const close = (): void => {
    // With what was typed a moment ago.
    compileNow()
    if (hasEdits(active)) closing.value = active
    else closeFile(active)
  }
  return (
    <>
      <Tabs<string>
        label="Files"
        id="files"
        current={active}
        onSelect={showFile}
        onRename={askForName}
        items={files.value.map(({ id, content }) => ({
          name: id,
          label: id === active ? fileName.value : content.name,
          isEdited: hasEdits(id),
        }))}
        tools={
          <>
            {files.value.length === 1 ? null : <Tool icon="close" label={`Close ${fileName.value}`} onClick={close} />}
            <Tool icon="pencil" label="Rename this file" onClick={askForName} />
            <Tool icon="plus" label="New file" onClick={newFile} />
            <Tool icon="document" label="Open a file" onClick={() => chooser.current?.click()} />
            <Tool icon="download" label="Download this file" onClick={downloadFile} />
          </>
        }
      />
      <input
        ref={chooser}
        type="file"
        accept=".wire"
        multiple
        hidden
        aria-label="Files to open"
        onChange={({ currentTarget }) => {
          void openLocalFiles([...(currentTarget.files ?? [])])
          currentTarget.value = ""
        }}
      />
      <TabPanel id="files" name={active} class="column">
        {children}
      </TabPanel>
    </>
  )
}

interface ToolProps {
  readonly icon: "close" | "pencil" | "plus" | "document" | "download"
  readonly label: string
  readonly onClick: () => void
}

function Tool({ icon, label, onClick }: ToolProps) {
  return (
    <button type="button" class="button square" aria-label={label} title={label} onClick={onClick}>
      <Icon name={icon} />
    </button>
  )
}

/** Asks for a new name of the file. */
export function askForName(): void {
  if (served.value !== null) {
    notify("This is the server's workflow: edit a copy of it to rename it.", "wrong", () => served.value !== null)
    return
  }
  renaming.value = { name: fileName.value, rename: renameFile, note: "A download has this name, too." }
}

export function downloadFile(): void {
  const name = fileName.value.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[-.]+|[-.]+$/g, "")
  downloadText(compileNow().text, `${name === "" ? "workflow" : name}.wire`, "text/plain")
}

/** Asks before edits go with their file. */
export function CloseDialog() {
  const id = closing.value
  if (id === null) return null
  const end = (): void => {
    closing.value = null
  }
  const close = (): void => {
    end()
    closeFile(id)
  }
  return (
    <Dialog title={`Close ${fileName.value}?`} onClose={end}>
      <div class="dialog-body">
        <p>It has edits that are nowhere else.</p>
      </div>
      <footer>
        <button type="button" class="button outlined" onClick={end}>
          Keep it open
        </button>
        <button
          type="button"
          class="button outlined"
          onClick={() => {
            downloadFile()
            close()
          }}
        >
          Download and close
        </button>
        <button type="button" class="button primary" onClick={close}>
          Close without them
        </button>
      </footer>
    </Dialog>
  )
}

/** A file that is dropped on the page is opened, unless it is dropped on a field that takes files. */
export function takeDroppedFiles(): void {
  const holdsFiles = ({ dataTransfer, target }: DragEvent): boolean =>
    dataTransfer?.types.includes("Files") === true && !(target instanceof Element && target.closest(".drop-zone"))
  // Before the editor, which would insert the file's text at the cursor.
  const options = { capture: true }
  const { classList } = document.documentElement
  window.addEventListener(
    "dragover",
    (event) => {
      if (!holdsFiles(event)) return classList.remove("takes-drop")
      event.preventDefault()
      classList.add("takes-drop")
    },
    options,
  )
  window.addEventListener("dragleave", ({ relatedTarget }) => relatedTarget === null && classList.remove("takes-drop"))
  window.addEventListener(
    "drop",
    (event) => {
      if (!holdsFiles(event)) return
      event.preventDefault()
      event.stopPropagation()
      classList.remove("takes-drop")
      void openLocalFiles([...(event.dataTransfer?.files ?? [])])
    },
    options,
  )
}
