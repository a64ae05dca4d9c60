import { standardOutput } from "../terminal/screen.ts"
import type { Command } from "commander"
import { visibleJson } from "../../base/visible-text.ts"
import { WireworksClient, WireworksError } from "../../client/client.ts"
import { Output, paletteFor, type Palette } from "../terminal/terminal.ts"
import { tableLines } from "../terminal/table.ts"
import { WrongValue } from "../terminal/command-failure.ts"

// What the commands share that ask a running service.

export interface ServiceFlags {
  readonly url?: string
  readonly key?: string
  readonly json?: true
}

/** Adds the options that say which service is asked, and how its answers are printed. */
export function serviceOptions(command: Command): Command {
  return command
    .option("--url <url>", "address of the service (WIRE_URL, default http://127.0.0.1:13703)")
    .option("--key <key>", "key of a caller or an operator (WIRE_KEY)")
    .option("--json", "print JSON, as where the output is not a terminal")
}

/** A command's way to the service, and to its reader. */
export class ServiceCall {
  readonly client: WireworksClient
  readonly address: string
  /** Whether programs read the output. */
  readonly isJson: boolean
  readonly #output = new Output()
  readonly #palette: Palette = paletteFor(standardOutput)

  constructor({ url, key, json }: ServiceFlags) {
    const baseUrl = url ?? nonEmpty(process.env["WIRE_URL"]) ?? "http://127.0.0.1:13703"
    const apiKey = key ?? nonEmpty(process.env["WIRE_KEY"])
    if (!/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? "")) {
      throw new WrongValue(
        `${url === undefined ? "WIRE_URL" : "--url"} must be an address such as http://127.0.0.1:13703.`,
      )
    }
    this.address = baseUrl
    this.client = new WireworksClient({ baseUrl, ...(apiKey !== undefined && { apiKey }) })
    this.isJson = json === true || !standardOutput.isTerminal
  }

  /** For people: lines as they are, or made with colours. For programs: one JSON document. */
  print(value: object, forPeople: (palette: Palette) => readonly string[]): void {
    this.#output.out(this.isJson ? visibleJson(value) : forPeople(this.#palette))
  }

  table(value: object, heads: readonly string[], rows: readonly (readonly (string | null)[])[], none: string): void {
    this.print(value, (palette) => (rows.length === 0 ? [none] : tableLines(heads, rows, palette)))
  }

  /** Beside the result. */
  note(sentence: string): void {
    if (!this.isJson) this.#output.err([sentence])
  }
}

/** Runs a command. What the service refuses, and an address where none answers, is a sentence and exit code 1; a wrong command line is 2. */
export async function callService(flags: ServiceFlags, work: (call: ServiceCall) => Promise<void>): Promise<void> {
  const output = new Output()
  let address = ""
  try {
    const call = new ServiceCall(flags)
    ;({ address } = call)
    await work(call)
  } catch (error) {
    if (error instanceof WireworksError) output.err(refusalOf(error))
    // The client says which address it could not reach.
    else if (error instanceof TypeError && error.cause !== undefined) output.err([`${error.message}.`])
    // A field of the answer is missing, or is something else.
    else if (error instanceof TypeError) output.err([strangeAnswer(address)])
    else throw error
    process.exitCode = 1
  }
}

function strangeAnswer(address: string): string {
  return `The answer of ${address} cannot be read: it is not a Wireworks service, or one of another version than this command.`
}

function refusalOf({ message, issues, status }: WireworksError): string[] {
  const hints = issues.flatMap(({ hint }) => (hint === undefined ? [] : [`  ${hint}`]))
  const keys = status === 401 ? ["  Give a key with --key or WIRE_KEY."] : []
  return [message, ...hints, ...keys]
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text
}
