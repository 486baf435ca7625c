import { useEffect } from 'preact/hooks'
import { text } from '../text'

export function HostsPage({ query }: { query: URLSearchParams }) {
  void query
  useEffect(() => {
    document.title = `${text.hosts} · ${text.product}`
  }, [])
  return <h1 class="sentence">{text.hosts}</h1>
}
