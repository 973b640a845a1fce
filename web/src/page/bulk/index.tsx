import { Page } from "../../kit";
import { useWords } from "../../words";

export default function Bulk() {
  const w = useWords();
  return <Page title={w.nav.bulks} />;
}
