import type { JsonObject } from "../../src/base/json-value.ts"
import { editor } from "./editor-port.ts"
import { setInput } from "./input.ts"
import { paneTab } from "./layout.ts"
import type { OptionTexts } from "./options.ts"
import { optionTexts, usualOptions } from "./options.ts"
import { graphOf, liveRun, shownRun } from "./runs.ts"
import { forgetSecrets } from "./secrets.ts"
import { selection } from "./selection.ts"
import type { Origin } from "./source.ts"
import { compileNow, origin, takeText } from "./source.ts"
import { signal } from "@preact/signals"

/** What the button above the editor calls the workflow: an example's name, as long as nothing else was opened. */
export const workflowName = signal("Hello")

export interface Workflow {
  readonly name: string
  readonly source: string
  readonly input: JsonObject
  readonly options?: Partial<OptionTexts>
  readonly origin?: Origin
}

/** Puts a workflow into the editor and its form. A workflow from a link never gets secrets that were typed for another one. */
export function openWorkflow({ name, source, input, options, origin: from = "own" }: Workflow): void {
  if (from === "link") forgetSecrets()
  origin.value = from
  workflowName.value = name
  const port = editor()
  if (port === undefined) takeText(source)
  else {
    port.replace(source)
    compileNow()
  }
  setInput(input)
  optionTexts.value = { ...usualOptions, ...options }
  selection.value = null
  graphOf.value = "other"
  if (liveRun.value === null) shownRun.value = null
  paneTab.value = "editor"
}
