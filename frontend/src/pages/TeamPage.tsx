import { useEffect } from 'preact/hooks'
import { text } from '../text'

export function TeamPage() {
  useEffect(() => {
    document.title = `${text.team} · ${text.product}`
  }, [])
  return <h1 class="sentence">{text.team}</h1>
}
