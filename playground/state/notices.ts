import { signal } from "@preact/signals"

export interface Notice {
  readonly id: number
  readonly text: string
  readonly kind: "done" | "wrong"
}

/** Short sentences about what was just done; each goes away by itself. */
export const notices = signal<readonly Notice[]>([])
/** What a screen reader announces about the run. */
export const announcement = signal("")

let last = 0
const shownFor = { done: 3_000, wrong: 8_000 }

export function notify(text: string, kind: Notice["kind"] = "done"): void {
  const id = ++last
  notices.value = [...notices.value.filter((notice) => notice.text !== text), { id, text, kind }]
  setTimeout(() => dismiss(id), shownFor[kind])
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id)
}

export function announce(text: string): void {
  announcement.value = text
}
