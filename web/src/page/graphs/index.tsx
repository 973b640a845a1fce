import { Page } from "../../kit";
import { useWords } from "../../words";

export default function Graphs() {
  const w = useWords();
  return <Page title={w.nav.graphs} />;
}
