import { signal } from "@preact/signals"
import { useState } from "preact/hooks"
import { loadServerWorkflows } from "../service/served.ts"
import { Dialog } from "../ui/dialog.tsx"
import type { Command } from "./commands.ts"
import { commands } from "./commands.ts"

const isOpen = signal(false)

export function openPalette(): void {
  void loadServerWorkflows()
  isOpen.value = true
}

/** Every action of the page by its name. */
export function Palette() {
  return isOpen.value ? <OpenPalette /> : null
}

function OpenPalette() {
  const [text, setText] = useState("")
  const [at, setAt] = useState(0)
  const words = text.toLowerCase().split(/\s+/)
  const found = commands().filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)))
  const chosen = Math.min(at, found.length - 1)
  const close = (): void => {
    isOpen.value = false
  }
  const go = (command: Command | undefined): void => {
    if (command === undefined) return
    close()
    // After the dialog has given the focus back.
    setTimeout(command.run)
  }
  const key = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown") setAt((chosen + 1) % found.length)
    else if (event.key === "ArrowUp") setAt((chosen - 1 + found.length) % found.length)
    else if (event.key === "Enter") go(found[chosen])
    else return
    event.preventDefault()
  }
  return (
    <Dialog title="Commands" onClose={close}>
      <div class="dialog-body">
        <input
          class="field"
          role="combobox"
          aria-label="Find a command"
          aria-expanded="true"
          aria-controls="commands"
          aria-activedescendant={found.length === 0 ? undefined : `command-${chosen}`}
          placeholder="What do you want to do?"
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value)
            setAt(0)
          }}
          onKeyDown={key}
        />
        <ul id="commands" class="commands" role="listbox" aria-label="Commands" tabIndex={-1}>
          {found.map((command, position) => (
            <li
              key={command.name}
              id={`command-${position}`}
              role="option"
              aria-selected={position === chosen}
              ref={(item) => {
                if (position === chosen) item?.scrollIntoView({ block: "nearest" })
              }}
              onClick={() => go(command)}
            >
              {command.name}
              {command.keys === undefined ? null : <kbd>{command.keys}</kbd>}
            </li>
          ))}
        </ul>
        {found.length === 0 ? <p class="note">No command has these words.</p> : null}
      </div>
    </Dialog>
  )
}
