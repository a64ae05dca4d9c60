import { effect } from "@preact/signals"
import { isJsonObject } from "../../src/base/is-json-object.ts"
import type { JsonValue } from "../../src/base/json-value.ts"
import { examples } from "../examples/examples.ts"
import { fromFragment, isLink } from "../state/link.ts"
import { currentInput } from "../state/input.ts"
import { keep, readKept } from "../state/keep.ts"
import { notify } from "../state/notices.ts"
import { openWorkflow, workflowName } from "../state/open-workflow.ts"
import { optionTexts } from "../state/options.ts"
import { secretIn } from "../state/secrets.ts"
import type { Served } from "../state/served.ts"
import { served } from "../state/served.ts"
import { compilation, origin } from "../state/source.ts"

/** Opens what the page was left with, else the first example. */
export function openDraft(): void {
  const kept = (readKept("session", "draft") ?? readKept("local", "draft")) as JsonValue | undefined
  const draft = isJsonObject(kept) ? kept : undefined
  if (typeof draft?.["source"] !== "string" || !isJsonObject(draft["input"])) {
    openWorkflow(examples[0])
    return
  }
  const { name, source, input, options } = draft
  openWorkflow({
    name: typeof name === "string" ? name : "Untitled",
    source,
    input,
    origin: draft["origin"] === "link" ? "link" : "own",
    ...(isJsonObject(options) && { options }),
    served: keptServed(draft["served"]),
  })
}

function keptServed(kept: JsonValue | undefined): Served | null {
  if (!isJsonObject(kept)) return null
  const { name, version, secrets } = kept
  if (typeof name !== "string" || typeof version !== "string" || !isJsonObject(secrets)) return null
  return { name, version, secrets: secrets as Served["secrets"] }
}

/** Opens what a link holds, and takes it out of the address, so that a reload shows what became of it. */
export async function openLink(): Promise<void> {
  const { hash, pathname, search } = location
  if (!isLink(hash)) return
  history.replaceState(null, "", `${pathname}${search}`)
  const shared = await fromFragment(hash)
  if (typeof shared === "string") notify(shared, "wrong")
  else openWorkflow({ name: "From a link", ...shared, origin: "link" })
}

/** Keeps the workflow for a reload and for the next visit; one with a secret's value in it is not kept. */
export function keepDraft(): void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const save = (): void => {
    clearTimeout(timer)
    const draft = {
      name: workflowName.value,
      source: compilation.value.text,
      input: currentInput(),
      options: optionTexts.value,
      origin: origin.value,
      served: served.value,
    }
    if (secretIn(JSON.stringify(draft)) !== undefined) return
    keep("session", "draft", draft)
    keep("local", "draft", draft)
  }
  effect(() => {
    void [compilation.value, currentInput(), optionTexts.value, origin.value, workflowName.value, served.value]
    clearTimeout(timer)
    timer = setTimeout(save, 300)
  })
  addEventListener("pagehide", save)
}
