/** Gives a text or a picture to the reader: through the clipboard where the browser allows it, else as a file. */
import { type Table, toCsv } from '../../csv'

/** A team's service is often plain HTTP on a host name, where browsers keep the clipboard API away. */
export async function writeClipboard(text: string): Promise<void> {
  try {
    return await navigator.clipboard.writeText(text)
  } catch {
    // No such API here, or it may not be used: the old way needs no permission.
  }
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'visually-hidden'
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}

/** Returns which of the two it was: pictures can only be copied by the clipboard API. */
export async function handOutPicture(picture: Blob, fileName: string): Promise<'copied' | 'saved'> {
  try {
    await navigator.clipboard.write([new ClipboardItem({ [picture.type]: picture })])
    return 'copied'
  } catch {
    save(picture, fileName)
    return 'saved'
  }
}

export function saveCsv(table: Table, fileName: string): void {
  save(new Blob([toCsv(table)], { type: 'text/csv' }), fileName)
}

function save(content: Blob, fileName: string): void {
  const anchor = document.createElement('a')
  anchor.href = URL.createObjectURL(content)
  anchor.download = fileName
  anchor.click()
  // The browser reads it after the click has returned.
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000)
}
