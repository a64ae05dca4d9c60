import type { Fields, WireType } from "./wire-type.ts"

// A random program, and what the world that it runs in knows about it.

/** A place in the sources, `⟦id⟧`, that has one of several texts: the first is what asks the most of the checker. */
export interface Toggle {
  readonly id: string
  /** The name of the declaration that it belongs to: names are unique over all files. */
  readonly about: string
  readonly what: "requires" | "approval" | "cleared" | "group" | "address" | "header"
  readonly levels: readonly string[]
}

export interface ServerFacts {
  readonly name: string
  readonly gives: string
}

export interface ToolFacts {
  readonly name: string
  readonly server: string
  readonly args: Fields
  readonly result: WireType
  /** As written; empty where nothing is. */
  readonly gives: string
  /** Where its approval is written, if it has one. */
  readonly approvesAt: "import" | "sites"
}

export interface RemoteFacts {
  readonly name: string
  readonly server: string
  readonly variables: readonly string[]
  readonly gives: string
  readonly isBound: boolean
  readonly isText: boolean
}

export interface AskFacts {
  readonly name: string
  readonly output: WireType
  /** It has `on_expiry`. */
  readonly expires: boolean
  readonly hasGroup: boolean
}

export interface AgentFacts {
  readonly output: WireType
  readonly skips: boolean
  /** In the order in which they are tried. */
  readonly models: readonly string[]
}

export interface Program {
  readonly source: string
  readonly modules: Readonly<Record<string, string>>
  readonly input: Fields
  /** Input fields that a webhook fills. */
  readonly filled: ReadonlySet<string>
  /** What a webhook is sent decides whether there is a run. */
  readonly isDeliveredWhen: boolean
  readonly toggles: readonly Toggle[]
  readonly tools: ReadonlyMap<string, ToolFacts>
  readonly servers: ReadonlyMap<string, ServerFacts>
  readonly resources: ReadonlyMap<string, RemoteFacts>
  readonly prompts: ReadonlyMap<string, RemoteFacts>
  readonly agents: ReadonlyMap<string, AgentFacts>
  readonly asks: ReadonlyMap<string, AskFacts>
  /** The provider of each model. */
  readonly models: ReadonlyMap<string, string>
  readonly workflows: ReadonlyMap<string, unknown>
}

/** The chosen level of each toggle. */
export type Levels = ReadonlyMap<string, number>

/** A program with its toggles decided. */
export class Settled {
  readonly program: Program
  readonly #levels: Levels

  constructor(program: Program, levels: Levels) {
    this.program = program
    this.#levels = levels
  }

  /** The text of a toggle; empty where there is none. */
  text(about: string, what: Toggle["what"]): string {
    const toggle = this.program.toggles.find((one) => one.id === `${about}.${what}`)
    return toggle?.levels[this.#levels.get(toggle.id) ?? 0] ?? ""
  }

  get source(): string {
    return this.#fill(this.program.source)
  }

  get modules(): Record<string, string> {
    return Object.fromEntries(Object.entries(this.program.modules).map(([path, text]) => [path, this.#fill(text)]))
  }

  /** Toggles may stand in the texts of toggles. */
  #fill(text: string): string {
    let filled = text
    for (let round = 0; round < 3 && filled.includes("⟦"); round++) {
      filled = filled.replaceAll(/⟦([^⟧]*)⟧/g, (_, id: string) => {
        const toggle = this.program.toggles.find((one) => one.id === id)
        if (toggle === undefined) throw new Error(`No toggle is called ${id}`)
        return toggle.levels[this.#levels.get(id) ?? 0] ?? ""
      })
    }
    return filled
  }
}
