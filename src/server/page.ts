/** A file of the playground as it is answered. */
export interface Page {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
}
