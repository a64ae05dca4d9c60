import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { findInProject } from "../../compiler/project-path.ts"
import type { Command } from "commander"
import { filesOfTest, fixturePath, testOfRun, titleOfTest } from "../../editor/test-of-run.ts"
import { reduce } from "../../log/reduce.ts"
import { initialState } from "../../log/run-state.ts"
import type { FileValue } from "../../types/file-value.ts"
import { WireworksError } from "../../client/errors.ts"
import { WrongValue } from "../terminal/command-failure.ts"
import { callService, serviceOptions, type ServiceCall, type ServiceFlags } from "./service-call.ts"

/** `wire test add RUN [FILE]`: a run of a service becomes a test. */
export function addTestAdd(test: Command): void {
  serviceOptions(
    test
      .command("add")
      .summary("turn a run of a service into a test")
      .description(
        "Adds a test to FILE.test.wire that plays a run again: with its input, and with what its steps, tools and people gave.\n" +
          "A run that failed fails again, until the workflow is changed.",
      )
      .argument("<run>", "its id")
      .argument("[file]", "the workflow that is tested; unless given, that of the run's name in this folder"),
  ).action((run_id: string, file: string | undefined, _: unknown, command: Command) =>
    callService(command.optsWithGlobals<ServiceFlags>(), (call) => addRun(call, run_id, file)),
  )
}

async function addRun(call: ServiceCall, run_id: string, given: string | undefined): Promise<void> {
  const { input, source, workflow, modules } = await call.client.runRequest(run_id)
  const state = initialState()
  for await (const event of call.client.follow(run_id, {})) reduce(state, event)
  const file = given ?? `${workflow ?? "run"}.wire`
  if (!file.endsWith(".wire") || file.endsWith(".test.wire")) {
    throw new WrongValue(`${file} is not a workflow: name the .wire file that the test is of.`)
  }
  if (given === undefined && "problem" in findInProject(".", file) && existsSync(file)) {
    throw new WrongValue(`The service says that the run is of ${file}, which is outside of this folder: name the file.`)
  }
  if (!existsSync(file)) {
    if (given !== undefined || workflow !== null) {
      throw new WrongValue(`There is no ${file} here. Name the workflow: wire test add ${run_id} FILE.wire`)
    }
    if (Object.keys(modules ?? {}).length > 0) {
      const message = "The run uses files that are not here: save them, and name the workflow"
      throw new WrongValue(`${message}: wire test add ${run_id} FILE.wire`)
    }
    // Source that was sent has no file yet.
    writeFileSync(file, source, { flag: "wx" })
    call.note(`${file}: written, the source of the run`)
  }
  const path = file.replace(/\.wire$/, ".test.wire")
  const title = titleOfTest(run_id, state.status)
  const before = existsSync(path) ? readFileSync(path, "utf8") : ""
  if (before.includes(`test "${title}"`)) throw new WrongValue(`${path} has a test of this run already.`)
  for (const one of filesOfTest({ input, state })) await saveFixture(call, one, dirname(path))
  const text = testOfRun({ title, input, state })
  writeFileSync(path, before === "" ? text : `${before.trimEnd()}\n\n${text}`)
  const next = `wire test ${path} -t "${title}"`
  call.print({ file: path, title, status: state.status, next }, () => [`${path}: added "${title}"`, `Run it: ${next}`])
}

/** Saves a file of the run where its test looks for it. */
async function saveFixture(call: ServiceCall, file: FileValue, folder: string): Promise<void> {
  const path = join(folder, fixturePath(file))
  if (existsSync(path)) return
  const contents = await call.client.file(file.file_id).catch((error: unknown) => {
    if (!(error instanceof WireworksError) || error.kind !== "not_found") throw error
    throw new WrongValue(`${file.name}, a file of the run, is gone: no test can play the run again.`)
  })
  mkdirSync(dirname(path), { recursive: true })
  await writeFile(path, contents, { flag: "wx" })
  call.note(`${path}: written, a file of the run`)
}
