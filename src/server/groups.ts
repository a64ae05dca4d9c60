/** A group of callers, by the names of their keys. */
export interface Group {
  readonly name: string
  readonly members: readonly string[]
}

/** Who answers which questions. Without keys there are no groups: anyone who has a run's id can answer its questions. */
export class Groups {
  readonly #groups: readonly Group[]
  readonly #keysRequired: boolean

  constructor(groups: readonly Group[], keysRequired: boolean) {
    this.#groups = keysRequired ? groups : []
    this.#keysRequired = keysRequired
  }

  get names(): readonly string[] {
    return this.#groups.map(({ name }) => name)
  }

  of(caller: string): readonly string[] {
    return this.#groups.filter(({ members }) => members.includes(caller)).map(({ name }) => name)
  }

  /** Members answer what goes to their group; everything else is answered by the run's caller. */
  mayAnswer(caller: string, to: string | null, ofRun: string): boolean {
    const group = this.#groups.find(({ name }) => name === to)
    return group === undefined ? caller === ofRun : group.members.includes(caller)
  }

  /** The caller's name in `answered_by`. */
  nameOf(caller: string): string | null {
    return this.#keysRequired ? caller : null
  }
}
