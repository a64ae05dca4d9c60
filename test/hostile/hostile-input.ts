import type { Answer, HostileService } from "./hostile-service.ts"

/** A row of the table: what an attacker sends to stop the service, and the expected outcome. */
export interface Hostile {
  readonly name: string
  /** The kinds of error that the answers may have; null is an answer that is no error. */
  readonly kinds: readonly (string | null)[]
  readonly settings?: Readonly<Record<string, string>>
  /** Sets up what the attack needs (`during` takes what ends it), and gives the attack itself, which is made twice. */
  readonly prepare: (
    service: HostileService,
    during: (clean: () => unknown) => void,
  ) => Promise<() => Promise<readonly Answer[]>>
}

/** A row that needs nothing but requests. */
export function sends(
  name: string,
  kinds: Hostile["kinds"],
  attack: (service: HostileService) => Promise<readonly Answer[]>,
  settings: Readonly<Record<string, string>> = {},
): Hostile {
  return { name, kinds, settings, prepare: (service) => Promise.resolve(() => attack(service)) }
}
