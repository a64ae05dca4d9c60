import { signal } from "@preact/signals"
import type { Question } from "../../src/log/events.ts"
import { asksForKey, client, toWireError } from "../service/service.ts"

/** What the caller may answer, oldest first; null before the first look. */
export const inbox = signal<readonly Question[] | null>(null)
export const inboxTrouble = signal<string | null>(null)
/** How many open questions there are, as far as the page has looked. */
export const openInbox = signal(0)

const most = 500

export async function loadInbox(): Promise<void> {
  try {
    const { questions } = await client().inbox({ status: "open", limit: most })
    inbox.value = questions
    openInbox.value = questions.length
    inboxTrouble.value = null
  } catch (error) {
    inboxTrouble.value = asksForKey(error, () => void loadInbox())
      ? "An API key is needed to see the questions."
      : toWireError(error).message
  }
}
