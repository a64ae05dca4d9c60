import { dismiss, notices } from "../state/notices.ts"
import { Icon } from "./icon.tsx"

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
