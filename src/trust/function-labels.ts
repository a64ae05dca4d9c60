import { either, flat, joined, list, plain, tuple, type Labelled } from "./labelled.ts"
import { join, none, type Marks } from "./marks.ts"

/**
 * The labels of a function's result: those of all its arguments. Functions that only put elements elsewhere keep them apart, so
 * that `zip(input.orders, agent.sort)` is as good as its two lists.
 */
export function ofFunction(name: string, given: readonly Labelled[]): Labelled {
  const [first = plain, ...others] = given
  const rest = wholes(others)
  switch (name) {
    case "length":
      // The elements of a list say nothing about how many there are.
      return flat(first.own)
    case "reverse":
    case "slice":
      return list(join(first.own, rest), first.element(), gathered(given))
    case "first":
    case "last":
      return joined(first.element(), first.own)
    case "chunks": {
      const own = join(first.own, rest)
      return list(own, list(own, first.element(), gathered(given)), gathered(given))
    }
    case "concat":
      return list(owns(given), either(given.map((one) => one.element())), gathered(given))
    case "zip":
      return list(owns(given), tuple(given.map((one) => one.element())), gathered(given))
    default:
      return flat(wholes(given))
  }
}

function wholes(values: readonly Labelled[]): Marks {
  return join(...values.map(({ whole }) => whole))
}

function owns(values: readonly Labelled[]): Marks {
  return join(...values.map(({ own }) => own))
}

function gathered(values: readonly Labelled[]): Marks {
  return join(...values.map(({ together = none }) => together))
}
