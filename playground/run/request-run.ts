import type { JsonObject } from "../../src/base/json-value.ts"
import { isError } from "../../src/source/diagnostic.ts"
import { toJson } from "../form/draft.ts"
import { earlierRun } from "../shown-run/changes.ts"
import type { RunRequest } from "../shown-run/run-view.ts"
import { destinationsOf } from "../form/destinations.ts"
import { confirmation } from "../share/confirmation.ts"
import { editor } from "../files/editor-port.ts"
import { fileName } from "../files/files.ts"
import { inputCheck, inputProblems, markedEmpty, objectToEmpty } from "../form/input.ts"
import type { InputTab } from "../page/layout.ts"
import { inputTab, paneTab, problemsOpen, resultTab } from "../page/layout.ts"
import { announce, dismissAll, notify } from "../page/notices.ts"
import { optionCheck } from "../form/options.ts"
import { liveRun } from "../shown-run/shown-run.ts"
import { secretCheck } from "../form/secrets.ts"
import { served } from "../service/served.ts"
import { compilation, compileNow, filesAround, linkHasRun, origin } from "../language/source.ts"
import { counted } from "../ui/show.ts"
import { beginRun } from "./follow-run.ts"

/** `host secret` pairs that the person at the keyboard has agreed to, for what came by a link. */
const agreed = new Set<string>()

/** Runs the workflow, or shows what keeps it from running at the place where it can be fixed. */
export function requestRun(): void {
  request(undefined)
}

/**
 * The same, taking over what did not change since the shown run; `from` names steps that run in any case, `given` has results in place of those
 * of steps.
 */
export function requestRerun(from: readonly string[] = [], given?: JsonObject): void {
  const run_id = earlierRun.peek()?.run_id
  request(run_id === undefined ? undefined : { run_id, from, ...(given !== undefined && { given }) })
}

function request(rerun: RunRequest["rerun"]): void {
  if (liveRun.value !== null) return
  const { plan, diagnostics } = compileNow()
  if (plan === undefined) {
    const errors = diagnostics.filter(isError)
    paneTab.value = "editor"
    problemsOpen.value = true
    const [first] = errors
    if (first !== undefined) editor()?.reveal(first.span)
    say(
      `Not started: ${counted(errors.length, "error")} in the source. ${first?.message ?? ""}`,
      () => compilation.value.diagnostics === diagnostics,
    )
    return
  }
  const { value: input, misfits, broken } = inputCheck.value
  if (inputProblems.value > 0 || input === null) {
    turnTo("input")
    say(
      `Not started: ${broken ?? misfits[0]?.message ?? "the input does not fit"}`,
      () => inputCheck.value.broken === broken && inputCheck.value.misfits[0]?.message === misfits[0]?.message,
    )
    return
  }
  const [empty, ...more] = objectToEmpty()
  if (empty !== undefined) {
    turnTo("input")
    say(
      `Not started: ${more.length === 0 ? `${empty} is empty.` : `${empty} and ${more.length} more are empty.`}`,
      () => markedEmpty.value.includes(empty),
    )
    return
  }
  const secrets = secretCheck.value
  if (secrets.misfits.length > 0) {
    turnTo("secrets")
    const message = secrets.misfits[0]?.message
    say(`Not started: ${message ?? "a secret is missing"}`, () => secretCheck.value.misfits[0]?.message === message)
    return
  }
  const options = optionCheck.value
  if (Object.keys(options.wrong).length > 0) {
    turnTo("options")
    say("Not started: an option does not fit.", () => Object.keys(optionCheck.value.wrong).length > 0)
    return
  }
  const given = toJson(input)
  const workflow = served.value?.name
  const asked: RunRequest = {
    name: fileName.value,
    source: compileNow().text,
    input: given,
    options: options.value,
    origin: origin.value,
    ...(filesAround.value.modules === undefined ? {} : { around: filesAround.value }),
    ...(workflow !== undefined && { workflow }),
    ...(rerun !== undefined && { rerun }),
  }
  const go = (): void => {
    dismissAll()
    linkHasRun.value = true
    if (paneTab.value === "editor" || paneTab.value === "input") paneTab.value = "results"
    if (resultTab.value === "reach") resultTab.value = "timeline"
    beginRun(asked, secrets.value)
  }
  if (origin.value === "own") {
    go()
    return
  }
  const destinations = destinationsOf(plan, given)
  const pairs = destinations.flatMap(({ host, secrets: names }) => [host, ...names.map((name) => `${host} ${name}`)])
  // Words such as "an address made at run time" stand for another host in another workflow: an agreement to them holds once.
  if (destinations.every(({ isKnown }) => isKnown) && pairs.every((pair) => agreed.has(pair))) {
    go()
    return
  }
  confirmation.value = {
    destinations,
    go() {
      for (const pair of pairs) agreed.add(pair)
      go()
    },
  }
}

function say(sentence: string, isTrue: () => boolean): void {
  notify(sentence, "wrong", isTrue)
  announce(sentence)
}

/** Shows a tab and puts the cursor into its first field that does not fit. */
function turnTo(tab: InputTab): void {
  inputTab.value = tab
  paneTab.value = "input"
  requestAnimationFrame(() => document.querySelector<HTMLElement>('.inputs [aria-invalid="true"]')?.focus())
}
