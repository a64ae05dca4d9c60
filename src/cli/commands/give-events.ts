import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonValue } from "../../base/json-value.ts"
import { visibleText } from "../../base/visible-text.ts"
import type { LogEvent, StartedWait } from "../../log/events.ts"
import type { Plan, WaitNode } from "../../plan/plan-shape.ts"
import { fitData } from "../../run/waiting/send-event.ts"
import type { TypeTable } from "../../types/types.ts"
import { WrongValue } from "../terminal/command-failure.ts"
import { InputEnded, type TerminalLines } from "../terminal/terminal-lines.ts"

export interface EventFlags {
  readonly event?: readonly string[]
  readonly skipWaits?: true
}

/** A wait of the workflow or, with the path of calls before its name, of one that it calls: `bill.paid`. */
interface PlannedWait {
  readonly path: string
  readonly node: WaitNode
  readonly types: TypeTable
}

/** What giving events needs of the run and of the terminal. */
export interface EventPorts {
  settle(id: string, kind: "event", outcome: { readonly data: JsonValue }): Promise<unknown>
  settle(id: string, kind: "time", outcome: null): Promise<unknown>
  /** Nobody can give the event: the run is to end. */
  giveUp(): void
  write(line: string): void
  /** One prompt after the other, with the terminal to itself. Null where there is no terminal. */
  readonly prompt: ((ask: (lines: TerminalLines) => Promise<void>) => Promise<void>) | null
  bug(error: unknown): void
}

/** Gives a run the events that it waits for: from the command line, else from the person at the terminal. */
export class GivenEvents {
  readonly #waits: readonly PlannedWait[]
  readonly #skips: boolean
  /** By the path of the wait. */
  readonly #given = new Map<string, JsonValue>()
  readonly #open = new Map<string, AbortController>()
  readonly #missing: string[] = []

  constructor(plan: Plan, { event = [], skipWaits }: EventFlags) {
    this.#waits = waitsOf(plan)
    this.#skips = skipWaits === true
    for (const assignment of event) this.#assign(assignment)
  }

  get missing(): readonly string[] {
    return this.#missing
  }

  /** `paid={"status":"settled"}` */
  #assign(assignment: string): void {
    const [path = "", text = ""] = assignment.split(/=(.*)/s)
    const wait = this.#waits.find((one) => one.path === path)
    if (wait?.node.awaits.kind !== "event") {
      const known = this.#waits.flatMap((one) => (one.node.awaits.kind === "event" ? [one.path] : []))
      const which = known.length === 0 ? "It waits for none." : `It has ${known.join(", ")}.`
      throw new WrongValue(`--event ${path}: the workflow has no such wait for an event. ${which}`)
    }
    const data = readJson(text)
    if (data === undefined) throw new WrongValue(`--event ${path}: write the data as JSON, ${path}='{"…": …}'.`)
    const wrong = misfitOf(wait, data)
    if (wrong !== null) throw new WrongValue(`--event ${path}: ${wrong}.`)
    this.#given.set(path, data)
  }

  event(event: LogEvent, ports: EventPorts): void {
    if (event.type === "wait_ended") this.#open.get(event.data.id)?.abort(new Error("The wait is over"))
    if (event.type !== "wait_started") return
    this.#started(event.data, ports).catch((error: unknown) => ports.bug(error))
  }

  end(): void {
    for (const open of this.#open.values()) open.abort(new Error("The run has ended"))
  }

  async #started(started: StartedWait, ports: EventPorts): Promise<void> {
    const { id, name, scope, event } = started
    if (event === undefined) {
      if (this.#skips) await ports.settle(id, "time", null)
      return
    }
    const path = [...callsIn(scope), name].join(".")
    const wait = this.#waits.find((one) => one.path === path)
    if (wait === undefined) throw new Error(`The plan has no wait ${path}`)
    const given = this.#given.get(path)
    if (given !== undefined) return this.#settle(wait, id, given, ports)
    if (ports.prompt === null) return this.#lacks(wait, ports)
    const closed = new AbortController()
    this.#open.set(id, closed)
    await ports.prompt((lines) => this.#ask(wait, started, lines, closed.signal, ports))
    this.#open.delete(id)
  }

  async #settle({ node, types }: PlannedWait, id: string, given: JsonValue, ports: EventPorts): Promise<void> {
    if (node.awaits.kind !== "event") return
    const fitted = fitData(given, node.awaits.output, types)
    if ("data" in fitted) await ports.settle(id, "event", { data: fitted.data })
  }

  async #ask(
    wait: PlannedWait,
    { id, event = "", key = "" }: StartedWait,
    lines: TerminalLines,
    signal: AbortSignal,
    ports: EventPorts,
  ): Promise<void> {
    ports.write(
      visibleText(`wait.${wait.path} waits for the event ${event}${key === "" ? "" : ` with the key ${key}`}.`),
    )
    try {
      for (;;) {
        const data = readJson(await lines.next("Its data, as JSON: ", signal))
        const wrong = data === undefined ? "This is not JSON" : misfitOf(wait, data)
        if (data !== undefined && wrong === null) return await this.#settle(wait, id, data, ports)
        ports.write(visibleText(`${wrong}.`))
      }
    } catch (error) {
      if (error instanceof InputEnded) this.#lacks(wait, ports)
      else if (!signal.aborted) throw error
      else ports.write("")
    }
  }

  #lacks({ path, node }: PlannedWait, ports: EventPorts): void {
    const name = node.awaits.kind === "event" ? node.awaits.event : ""
    this.#missing.push(
      visibleText(`Missing: wait.${path} needs the event ${name}. Give it with --event ${path}='{…}'.`),
    )
    ports.giveUp()
  }
}

function misfitOf({ node, types }: PlannedWait, data: JsonValue): string | null {
  if (node.awaits.kind !== "event") return null
  const fitted = fitData(data, node.awaits.output, types)
  if ("data" in fitted) return null
  return fitted.error.issues.map(({ message }) => message).join("; ")
}

function readJson(text: string): JsonValue | undefined {
  try {
    const value = JSON.parse(text) as JsonValue
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function waitsOf({ nodes, types, workflows = {} }: Plan, before = ""): PlannedWait[] {
  const own = nodes.flatMap((node) => (node.kind === "wait" ? [{ path: `${before}${node.name}`, node, types }] : []))
  const called = Object.entries(workflows).flatMap(([name, one]) => waitsOf(one.plan, `${before}${name}.`))
  return [...own, ...called]
}

/** The names of the workflows around a step: `bill@dynamic.x/…` */
function callsIn(scope: string | undefined): string[] {
  return scope === undefined ? [] : scope.split("/").map((level) => level.split("@", 1)[0] ?? "")
}
