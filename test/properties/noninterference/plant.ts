import { plantBug } from "../../support/plant-bug.ts"
import { plantedBugs } from "./planted-bugs.ts"

// `node --import ./plant.ts`: checks with one bug planted in the checker, named by `WIRE_PLANTED_BUG`.

const bug = plantedBugs.find(({ name }) => name === process.env["WIRE_PLANTED_BUG"])
if (bug === undefined) throw new Error(`There is no bug named ${process.env["WIRE_PLANTED_BUG"] ?? ""}`)
plantBug(bug)
