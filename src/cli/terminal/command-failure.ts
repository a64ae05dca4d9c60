import { visibleText } from "../../base/visible-text.ts"

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
  /** Each sentence is one line, whatever it quotes. */
  constructor(...sentences: readonly string[]) {
    super(sentences.map(visibleText).join("\n"), 2)
  }
}
