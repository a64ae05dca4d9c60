import { effect, signal } from "@preact/signals"
import type { Notice } from "../ui/notices.tsx"
import { dismiss, notices } from "../ui/notices.tsx"

/** What a screen reader announces about the run. */
export const announcement = signal("")

let last = 0
const shownFor = { done: 3_000, wrong: 8_000 }

/** Shows a sentence for a while. With `isTrue` it leaves as soon as that, which reads signals, no longer holds. */
export function notify(text: string, kind: Notice["kind"] = "done", isTrue?: () => boolean): void {
  const id = ++last
  notices.value = [...notices.value.filter((notice) => notice.text !== text), { id, text, kind }]
  const stop = effect(() => {
    // Not within the effect, which would then depend on the list.
    if (isTrue?.() === false) queueMicrotask(end)
  })
  const timer = setTimeout(end, shownFor[kind])

  function end(): void {
    clearTimeout(timer)
    stop()
    dismiss(id)
  }
}

/** Nothing that was said before applies any more. */
export function dismissAll(): void {
  notices.value = []
}

export function announce(text: string): void {
  announcement.value = text
}
