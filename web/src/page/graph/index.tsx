import { Page } from "../../kit";
import { useWords } from "../../words";

export default function Graph() {
  const w = useWords();
  return <Page title={w.nav.graphs} />;
}
