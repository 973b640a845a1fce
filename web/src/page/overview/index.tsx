import { Page } from "../../kit";
import { useWords } from "../../words";

export default function Overview() {
  const w = useWords();
  return <Page title={w.nav.overview} />;
}
