import { Page } from "../../kit";
import { useWords } from "../../words";

export default function Execution() {
  const w = useWords();
  return <Page title={w.execution} />;
}
