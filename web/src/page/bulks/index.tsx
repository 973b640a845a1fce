import { Page } from "../../kit";
import { useWords } from "../../words";

export default function Bulks() {
  const w = useWords();
  return <Page title={w.nav.bulks} />;
}
