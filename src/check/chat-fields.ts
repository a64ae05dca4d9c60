/** The fields that make a conversation of a workflow: `reply` is one of the output, the others are of the input. */
export interface ChatFields {
  readonly message: string
  readonly reply: string
  readonly history?: string
  readonly system?: string
  readonly files?: string
}
