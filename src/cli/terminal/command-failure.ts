import { visibleLines } from "../../base/visible-text.ts"

/** Ends a command: what is written to standard error, and the exit code. */
export class CommandFailure extends Error {
  readonly exitCode: 1 | 2

  constructor(shown: string, exitCode: 1 | 2 = 1) {
    super(shown)
    this.exitCode = exitCode
  }
}

/** Something is wrong with the command line or a setting. */
export class WrongValue extends CommandFailure {
  constructor(sentence: string) {
    super(visibleLines(sentence), 2)
  }
}
