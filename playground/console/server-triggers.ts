import { signal } from "@preact/signals"
import type { TriggerAnswer } from "../../src/client/client.ts"
import { WireworksError } from "../../src/client/client.ts"
import { announce, notify } from "../page/notices.ts"
import { asksForKey, client, toWireError } from "../service/service.ts"

/** The schedules and webhooks of this server; null before the first look. */
export const serverTriggers = signal<readonly TriggerAnswer[] | null>(null)
/** Why the list cannot be had. */
export const triggersTrouble = signal<string | null>(null)

let latest = 0

export async function loadTriggers(): Promise<void> {
  const turn = ++latest
  try {
    const triggers = await client().triggers()
    if (turn !== latest) return
    serverTriggers.value = triggers
    triggersTrouble.value = null
  } catch (error) {
    if (turn !== latest) return
    if (asksForKey(error, () => void loadTriggers()))
      triggersTrouble.value = "An API key is needed to see the triggers."
    else if (error instanceof WireworksError && error.status === 404) {
      triggersTrouble.value = "Only the caller that triggered runs belong to, and operators, can see the triggers."
    } else triggersTrouble.value = toWireError(error).message
  }
}

export type Act = "run" | "pause" | "resume"

const done: Readonly<Record<Act, string>> = { run: "was started", pause: "is paused", resume: "is resumed" }

/** Starts, pauses or resumes a trigger, and shows what came of it. */
export async function steerTrigger({ workflow, name }: TriggerAnswer, act: Act): Promise<void> {
  try {
    if (act === "run") await client().runTrigger(workflow, name)
    else if (act === "pause") await client().pauseTrigger(workflow, name)
    else await client().resumeTrigger(workflow, name)
    announce(`${name} of ${workflow} ${done[act]}.`)
  } catch (error) {
    if (asksForKey(error, () => void steerTrigger({ workflow, name } as TriggerAnswer, act))) return
    notify(toWireError(error).message, "wrong")
  }
  await loadTriggers()
}
