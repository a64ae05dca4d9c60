import { changed, goTo, place } from "./place.ts"

/** A choice that stands in the address of its page. */
export function PageChoice({
  label,
  value,
  options,
  name,
}: {
  readonly label: string
  readonly value: string
  readonly options: readonly (readonly [string, string])[]
  readonly name: string
}) {
  return (
    <select
      class="field"
      aria-label={label}
      value={value}
      onChange={(event) => goTo(place.peek().page, changed({ [name]: event.currentTarget.value }))}
    >
      {options.map(([one, text]) => (
        <option key={one} value={one}>
          {text}
        </option>
      ))}
    </select>
  )
}
