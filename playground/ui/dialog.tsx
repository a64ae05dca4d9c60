import { signal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import { useLayoutEffect, useRef } from "preact/hooks"
import { Icon } from "./icon.tsx"
import { Notices } from "./notices.tsx"

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly wide?: boolean
  readonly children: ComponentChildren
}

export const openDialogs = signal(0)

/**
 * A modal dialog: the browser keeps the focus inside and gives it back; Escape and a click beside it close it. It begins at its
 * first field, where it has one.
 */
export function Dialog({ title, onClose, wide, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  // Before the next key is handled.
  useLayoutEffect(() => {
    const element = dialog.current
    element?.showModal()
    element?.querySelector<HTMLElement>(".dialog-frame :is(input, select, textarea)")?.focus()
    openDialogs.value++
    return () => {
      openDialogs.value--
      element?.close()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      class={wide === true ? "dialog wide" : "dialog"}
      aria-labelledby="dialog-title"
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onPointerDown={(event) => {
        if (event.target === dialog.current) onClose()
      }}
    >
      <div class="dialog-frame">
        <header>
          <h2 id="dialog-title">{title}</h2>
          <button type="button" class="button square" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        </header>
        {children}
        <Notices />
      </div>
    </dialog>
  )
}
