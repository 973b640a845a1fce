import { Page } from "../../kit";
import { useWords } from "../../words";

export default function Waiting() {
  const w = useWords();
  return <Page title={w.nav.waiting} />;
}
