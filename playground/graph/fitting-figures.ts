/** Between the state and the figures. */
const gap = 8

/** The first of the figures, as many as fit beside the state into so many pixels; the details have them all. */
export function fittingFigures(figures: string, state: string, room: number): string {
  const left = room - gap - widthOf(state)
  let text = figures
  while (widthOf(text) > left && text.includes(" · ")) text = text.slice(0, text.lastIndexOf(" · "))
  // The name of an event can be long.
  while (widthOf(text) > left && text.length > 2) text = `${text.slice(0, -2)}…`
  return text
}

/** About how wide a text of 12 px is in the widest of the usual fonts. */
function widthOf(text: string): number {
  let width = 0
  for (const letter of text) width += /[ .,·/filrt]/.test(letter) ? 4.2 : 7.4
  return width
}
