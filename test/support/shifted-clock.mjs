import { readFileSync } from "node:fs"

// `node --import ./shifted-clock.mjs`: a process whose wall clock is off by as many milliseconds as the file says that `SHIFTED_CLOCK` names. Its monotonic
// clock is right, and so are the clocks of all others.

const file = process.env["SHIFTED_CLOCK"] ?? ""
const RightDate = Date

function read() {
  try {
    return Number(readFileSync(file, "utf8"))
  } catch {
    return 0
  }
}

let shift = read()
setInterval(() => (shift = read()), 100).unref()

// @ts-expect-error Nobody calls it as a function.
globalThis.Date = class extends RightDate {
  /** @param {any[]} values */
  constructor(...values) {
    if (values.length === 0) super(RightDate.now() + shift)
    // @ts-expect-error All forms of the constructor.
    else super(...values)
  }

  /** @override */
  static now() {
    return RightDate.now() + shift
  }
}
