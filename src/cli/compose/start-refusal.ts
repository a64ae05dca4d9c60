import { WrongValue } from "../terminal/command-failure.ts"

/** A reason not to start, as a sentence for the operator. */
export class StartRefusal extends WrongValue {}
