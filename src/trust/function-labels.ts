import { functionRow, isFunction } from "../check/function-table.ts"
import { either, flat, list, plain, tuple, type Labelled } from "./label-tree.ts"
import { join, type Marks } from "./marks.ts"

/** The labels of a function's result: those of all its arguments, unless its row says that it only moves elements. */
export function ofFunction(name: string, given: readonly Labelled[]): Labelled {
  const [first = plain, ...others] = given
  const all = (take: (value: Labelled) => Marks, of = given): Marks => join(...of.map(take))
  const own = join(
    first.own,
    all(({ whole }) => whole, others),
  )
  const gathered = all(({ together }) => together)
  const owns = all((one) => one.own)
  switch (isFunction(name) ? functionRow(name).moves : undefined) {
    case "length":
      // The elements of a list say nothing about how many there are.
      return flat(first.own)
    case "some":
      return list(own, first.element(), gathered)
    case "first":
      return first.position(0)
    case "last":
      return first.position(-1)
    case "lists":
      return list(own, list(own, first.element(), gathered), gathered)
    case "append":
      return list(owns, either(given.map((one) => one.element())), gathered)
    case "either":
      return either(given)
    case "pair":
      return list(owns, tuple(given.map((one) => one.element())), gathered)
    case undefined:
      return flat(all(({ whole }) => whole))
  }
}
