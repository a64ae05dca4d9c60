/** The origin of a notice's URL: what counts as one receiver. */
export function receiverOf(url: string): string {
  return URL.parse(url)?.origin ?? ""
}
