import type { JsonObject } from "../../src/base/json-value.ts"
import { isError } from "../../src/source/diagnostic.ts"
import { toJson } from "../state/draft.ts"
import { earlierRun } from "../state/changes.ts"
import type { RunRequest } from "../state/run-view.ts"
import { destinationsOf } from "../state/destinations.ts"
import { confirmation } from "../state/confirmation.ts"
import { editor } from "../state/editor-port.ts"
import { fileName } from "../state/files.ts"
import { inputCheck, inputProblems } from "../state/input.ts"
import type { InputTab } from "../state/layout.ts"
import { inputTab, paneTab, problemsOpen } from "../state/layout.ts"
import { announce, dismissAll, notify } from "../state/notices.ts"
import { optionCheck } from "../state/options.ts"
import { liveRun } from "../state/runs.ts"
import { secretCheck } from "../state/secrets.ts"
import { served } from "../state/served.ts"
import { compilation, compileNow, filesAround, linkHasRun, origin } from "../state/source.ts"
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
