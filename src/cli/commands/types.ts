import { standardError, standardOutput } from "../terminal/screen.ts"
import { isLibrary } from "../../check/declare.ts"
import { readFileSync, writeFileSync } from "node:fs"
import { Option, type Command } from "commander"
import { compileFile } from "../../compiler/folder-texts.ts"
import { openingComment } from "../../source/opening-comment.ts"
import { toJsonSchema } from "../../types/json-schema.ts"
import type { WorkflowTypes } from "../../workflows/types/declared-names.ts"
import { answersOf } from "../../workflows/types/answers-of.ts"
import { printPython } from "../../workflows/types/print-python.ts"
import { printTypeScript } from "../../workflows/types/print-typescript.ts"
import { scanFolder } from "../../workflows/scan-folder.ts"
import { complain } from "../terminal/complain.ts"
import { count } from "../terminal/count.ts"
import { diagnosisOf } from "./diagnose.ts"
import { errorCode, whyUnreadable, whyUnwritable } from "./file-errors.ts"
import { readSource } from "./read-source.ts"
import { showIssue, showProblem } from "../terminal/show-issue.ts"
import { paletteFor } from "../terminal/terminal.ts"
import { visibleJson, visibleText } from "../../base/visible-text.ts"
import { CommandFailure } from "../terminal/command-failure.ts"

type Language = "typescript" | "python" | "json-schema"

interface TypesFlags {
  readonly out?: string
  readonly lang?: Language
  readonly check?: true
}

export function typesCommand(command: Command): void {
  command
    .description(
      "Writes the types of the inputs and outputs of all workflows of a folder, so that calls of a service that serves it are\n" +
        "checked by the compiler. Nothing is run.",
    )
    .argument("<folder>", "the folder that `wire serve` serves")
    .option("--out <file>", "file to write; else standard output")
    .addOption(
      new Option("--lang <language>", "what to write; else as the file ends: .py, .json, or TypeScript").choices([
        "typescript",
        "python",
        "json-schema",
      ]),
    )
    .option("--check", "write nothing; exit with 1 when the file is out of date")
    .addHelpText(
      "after",
      `
Examples:
  wire types workflows --out wire.d.ts
  wire types workflows --out wire.d.ts --check
  wire types workflows --out workflows.py
  wire types workflows --lang json-schema

Exit code: 0 when all is well, 1 when a workflow is wrong (the types of the others are written) or the file is out of date, 2 for a wrong command line.`,
    )
    .action(async (folder: string, flags: TypesFlags, command: Command) => {
      if (flags.check === true && flags.out === undefined) command.error("error: --check needs --out")
      process.exitCode = await writeTypes(folder, flags)
    })
}

async function writeTypes(folder: string, { out, lang = languageOf(out), check }: TypesFlags): Promise<number> {
  const types = await typesOf(folder)
  if (types === null) return 1
  const { found: workflows, wrong } = types
  const others = wrong.length === 0 ? "" : ` Without ${wrong.join(", ")}: see above.`
  if (wrong.length > 0 && workflows.length === 0) {
    complain(visibleText(`Wrote nothing.${others}`))
    return 1
  }
  const code = wrong.length === 0 ? 0 : 1
  const text = print(workflows, lang)
  if (out === undefined) {
    standardOutput.document(text)
    if (code !== 0) complain(visibleText(others.trim()))
    return code
  }
  if (check === true) {
    if (code !== 0) complain(visibleText(others.trim()))
    return Math.max(code, checkFile(out, text))
  }
  try {
    writeFileSync(out, text)
  } catch (error) {
    throw new CommandFailure(visibleText(`${out} ${whyUnwritable(error)}`))
  }
  complain(visibleText(`Wrote the types of ${count(workflows.length, "workflow")} to ${out}.${others}`))
  return code
}

function languageOf(out: string | undefined): Language {
  if (out?.endsWith(".py") === true) return "python"
  return out?.endsWith(".json") === true ? "json-schema" : "typescript"
}

function print(workflows: readonly WorkflowTypes[], lang: Language): string {
  switch (lang) {
    case "typescript":
      return printTypeScript(workflows)
    case "python":
      return printPython(workflows)
    case "json-schema": {
      const schemas = workflows.map(({ name, input, output, types }) => {
        return [name, { input: toJsonSchema(input, types, "answer"), output: toJsonSchema(output, types) }]
      })
      return `${visibleJson(Object.fromEntries(schemas), 2)}\n`
    }
  }
}

function checkFile(out: string, text: string): number {
  try {
    if (readFileSync(out, "utf8") === text) return 0
    complain(visibleText(`${out} is out of date: write it again with \`wire types\`.`))
  } catch (error) {
    complain(
      visibleText(
        errorCode(error) === "ENOENT"
          ? `${out} is not there: write it with \`wire types\`.`
          : `${out} ${whyUnreadable(error)}`,
      ),
    )
  }
  return 1
}

interface FolderTypes {
  readonly found: readonly WorkflowTypes[]
  /** Names of the files that are wrong; why has been reported. */
  readonly wrong: readonly string[]
}

/** Null where the folder cannot be read, which has been reported. */
async function typesOf(folder: string): Promise<FolderTypes | null> {
  let scan: Awaited<ReturnType<typeof scanFolder>>
  try {
    scan = await scanFolder(folder)
  } catch (error) {
    complain(visibleText(`${folder} ${whyUnreadable(error)}`))
    return null
  }
  const palette = paletteFor(standardError)
  for (const { name, issue } of scan.refused) complain(visibleText(`${name}: ${issue.message}`))
  const found: WorkflowTypes[] = []
  const wrong: string[] = []
  for (const { name, path } of scan.files) {
    const source = readSource(path)
    if (source.text === null) {
      complain(showProblem(path, source.problem, palette))
      wrong.push(name)
      continue
    }
    const { text } = source
    const { plan, program, diagnostics } = compileFile(path, text, scan.root)
    if (plan !== undefined) {
      const { input, output, types } = plan
      const steps = plan.nodes.length
      if (steps > 0)
        found.push({ name, description: openingComment(text), input, output, answers: answersOf(program), types })
      continue
    }
    if (isLibrary(program.tree) && !diagnostics.some(({ code }) => code === "syntax-error")) continue
    const { lines, issues } = diagnosisOf(text, diagnostics)
    for (const issue of issues.filter(({ severity }) => severity === "error")) {
      complain(`${showIssue(path, text, lines, issue, palette)}\n`)
    }
    wrong.push(name)
  }
  return { found, wrong }
}
