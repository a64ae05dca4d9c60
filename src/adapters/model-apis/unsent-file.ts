/** A file that the API has no form for. */
export class UnsentFile extends Error {
  constructor(media_type: string, isAddress: boolean) {
    const short = /^[\w.+-]+\/[\w.+-]+$/.test(media_type) ? media_type : "an unknown type"
    super(
      isAddress
        ? `This kind of provider takes no address of a file of ${short}. Send the file itself, as a data URL.`
        : `This kind of provider takes no file of ${short}.`,
    )
  }
}
