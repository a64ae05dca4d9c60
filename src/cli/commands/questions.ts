import type { Command } from "commander"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { WireworksError, type Question, type WireworksClient } from "../../client/client.ts"
import { fromJsonSchema } from "../../types/from-json-schema.ts"
import { resolve } from "../../types/relations.ts"
import { CommandFailure, WrongValue } from "../terminal/command-failure.ts"
import { promptForAnswer, promptForYes, questionLines } from "../terminal/question-prompt.ts"
import { standardError, typedAt } from "../terminal/screen.ts"
import { Output, paletteFor, type Palette } from "../terminal/terminal.ts"
import { InputEnded, TerminalLines } from "../terminal/terminal-lines.ts"
import { put, readAssignment, readValue, typeAt } from "./given-values.ts"
import { callService, serviceOptions, type ServiceCall, type ServiceFlags } from "./service-call.ts"

interface ListFlags extends ServiceFlags {
  readonly status?: Question["status"]
  readonly to?: string
}

interface AnswerFlags extends ServiceFlags {
  readonly by?: string
  readonly digest?: string
}

export function questionsCommand(command: Command): void {
  command
    .description("Lists the questions that you may answer, oldest first, or all questions of one run.")
    .argument("[run]", "id of a run")
    .option("--status <status>", "open, answered, expired or withdrawn; open unless given")
    .option("--to <group>", "only questions to this group, or with this label")
  serviceOptions(command)
    .addHelpText(
      "after",
      `
Examples:
  wire questions
  wire questions --to editors --json | jq -r '.questions[].question'
  wire answer 4f2a… review publish=true note="looks good"

Exit code: 0 when all is well, 1 when the service refuses or cannot be reached, 2 for a wrong command line.`,
    )
    .action((run_id: string | undefined, flags: ListFlags) => callService(flags, (call) => list(call, run_id, flags)))
}

async function list(call: ServiceCall, run_id: string | undefined, { status, to }: ListFlags): Promise<void> {
  const found = run_id === undefined ? await inbox(call.client, status, to) : await call.client.questions(run_id)
  const questions = found.filter(
    (one) => (status === undefined || one.status === status) && (to === undefined || one.to === to),
  )
  const rows = questions.map((question) => [
    question.run_id,
    question.id,
    `${question.kind === "ask" ? "ask" : "tool"}.${question.name}${question.iteration === undefined ? "" : `[${question.iteration}]`}`,
    question.to,
    question.status,
    question.expires_at.replace("T", " ").replace(/\.\d+Z$/, "Z"),
    shortened(question.question),
  ])
  const heads = ["RUN", "QUESTION", "STEP", "TO", "STATUS", "EXPIRES", "TEXT"]
  call.table({ questions }, heads, rows, "There are no such questions.")
}

function shortened(text: string): string {
  const line = text.trim().replaceAll(/\s+/g, " ")
  return line.length > 60 ? `${line.slice(0, 59)}…` : line
}

async function inbox(client: WireworksClient, status: Question["status"] = "open", to?: string): Promise<Question[]> {
  const found: Question[] = []
  for (let after: string | null = null; ;) {
    const { questions, next } = await client.inbox({
      status,
      ...(to !== undefined && { to }),
      ...(after !== null && { after }),
    })
    found.push(...questions)
    if (next === null || next === after) return found
    after = next
  }
}

export function answerCommand(command: Command): void {
  command
    .description(
      "Shows a question and answers it: its fields as field=value, with JSON where the field is no text, or as they are typed in a terminal. An approval takes approve=true or approve=false, and a note.",
    )
    .argument("<run>", "id of the run")
    .argument("<question>", "id of the question, or the name of its step where one question of it is open")
    .argument("[field=value...]", "the fields of the answer")
    .option("--by <label>", "who answers: a label that is kept with the answer")
    .option("--digest <digest>", "of an approval, needed without a terminal: the digest of the call that was seen")
  serviceOptions(command)
    .addHelpText(
      "after",
      `
Examples:
  wire answer 4f2a… review
  wire answer 4f2a… review publish=true
  wire answer 4f2a… pay approve=false note="too much" --by ann
  wire answer 4f2a… pay approve=true --digest sha256:9b1c… < /dev/null

Exit code: 0 when the answer is stored, 1 when the service refuses or cannot be reached, 2 for a wrong command line.`,
    )
    .action((run_id: string, name: string, assignments: readonly string[], flags: AnswerFlags) =>
      callService(flags, (call) => answer(call, run_id, name, assignments, flags)),
    )
}

async function answer(
  call: ServiceCall,
  run_id: string,
  name: string,
  assignments: readonly string[],
  { by, digest }: AnswerFlags,
): Promise<void> {
  const question = pick(await questionsOf(call.client, run_id), name)
  const palette = paletteFor(standardError)
  const output = new Output()
  const given = assignments.length === 0 ? null : readAnswer(question, assignments)
  const asks = isTerminal && (given === null || (question.kind === "approval" && digest === undefined))
  // Whoever is asked is shown the question with that.
  if (!asks) output.err(questionLines(question, palette, standardError.columns))
  if (given === null && !asks) throw new WrongValue(lackOf(question))
  if (question.kind === "approval" && digest === undefined && !asks) {
    throw new WrongValue(
      `An approval needs the digest of the call that was seen: give --digest ${question.digest ?? ""} if it is the one above.`,
    )
  }
  const typed = asks ? await typedAnswer(question, given, palette) : given
  if (typed === null) throw new CommandFailure("Nothing is answered.", 1)
  const seen = digest ?? question.digest
  const body = {
    answer: typed,
    ...(seen !== undefined && { digest: seen }),
    ...(by !== undefined && { by }),
  }
  const answered = await call.client.answer(run_id, question.id, body)
  call.print(answered, () => [`${question.name}: ${answered.status}`])
}

/** What the person at the terminal answers; null where the input ends. An approval on the command line is confirmed. */
async function typedAnswer(question: Question, given: JsonObject | null, palette: Palette): Promise<JsonValue | null> {
  const lines = new TerminalLines(process.stdin, typedAt.stream, () => process.kill(process.pid, "SIGINT"))
  const output = new Output()
  const person = {
    write: (line: string) => output.err([line]),
    read: (prompt: string) => lines.next(prompt, new AbortController().signal),
    columns: standardError.columns,
  }
  try {
    if (given === null) return await promptForAnswer(question, {}, person, palette)
    for (const line of questionLines(question, palette, person.columns)) person.write(line)
    return (await promptForYes(given["approve"] === true ? "Approve this call?" : "Decline this call?", person))
      ? given
      : null
  } catch (error) {
    if (error instanceof InputEnded) return null
    throw error
  } finally {
    lines.close()
  }
}

/** A member of a group sees its questions in the inbox, and not the run. */
async function questionsOf(client: WireworksClient, run_id: string): Promise<readonly Question[]> {
  try {
    return await client.questions(run_id)
  } catch (error) {
    if (!(error instanceof WireworksError) || error.status !== 404) throw error
    const own = (await inbox(client)).filter((question) => question.run_id === run_id)
    if (own.length === 0) throw error
    return own
  }
}

function pick(questions: readonly Question[], name: string): Question {
  const byId = questions.find(({ id }) => id === name)
  if (byId !== undefined) return byId
  const open = questions.filter(({ status }) => status === "open")
  const named = open.filter((question) => question.name === name)
  const [first, second] = named
  if (first !== undefined && second === undefined) return first
  const choices = (named.length > 0 ? named : open).map((question) => `${question.id} (${question.name})`)
  const which = choices.length === 0 ? "No question of it is open." : `Open are ${choices.slice(0, 20).join(", ")}.`
  throw new WrongValue(
    named.length > 0
      ? `Several questions of ${name} are open: give the id. ${which}`
      : `The run has no open question ${name}. ${which}`,
  )
}

/** How to give an answer that is missing. */
function lackOf({ schema }: Question): string {
  const { type, types } = fromJsonSchema(isJsonObject(schema) ? schema : {})
  const known = resolve(type, types)
  const fields = known.kind === "record" ? known.fields.map(({ name }) => name) : []
  return `Give the answer as field=value. Its fields are ${fields.join(", ")}.`
}

function readAnswer({ schema }: Question, assignments: readonly string[]): JsonObject {
  const { type, types } = fromJsonSchema(isJsonObject(schema) ? schema : {})
  const answer: JsonObject = {}
  for (const assignment of assignments) {
    const { path, keys, text } = readAssignment("The answer", assignment)
    put(answer, keys, readValue(text, typeAt(type, keys, types), types), path)
  }
  return answer
}

/** A person can read and type here. */
const isTerminal = process.stdin.isTTY && standardError.isTerminal
