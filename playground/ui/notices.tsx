import { signal } from "@preact/signals"
import { Icon } from "./icon.tsx"

export interface Notice {
  readonly id: number
  readonly text: string
  readonly kind: "done" | "wrong"
}

/** Notices that are on the page now. */
export const notices = signal<readonly Notice[]>([])

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id)
}

/** Sentences about what was just done. In the open dialog, where there is one: what is behind it cannot be read. */
export function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map(({ id, text, kind }) => (
        <p key={id} class={`notice ${kind}`}>
          <Icon name={kind === "done" ? "completed" : "warning"} />
          <span>{text}</span>
          <button type="button" class="button square" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <Icon name="close" />
          </button>
        </p>
      ))}
    </div>
  )
}
