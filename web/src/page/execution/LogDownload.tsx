import { useState } from "react";
import { Button, toast } from "../../kit";
import { sentence } from "../../api";
import { useLocale, usePageWords, useWords } from "../../words";
import { useExecutionContext } from "./context";
import { wholeLog } from "./logStore";
import { text } from "./logWords";

/** The whole log as a file: a line of JSON for each event. */
export function LogDownload() {
  const { id } = useExecutionContext();
  const t = usePageWords(text);
  const w = useWords();
  const locale = useLocale();
  const [read, setRead] = useState<number>();
  const download = async () => {
    setRead(0);
    try {
      save(`${id}.ndjson`, await wholeLog(id, setRead));
    } catch (e) {
      toast(sentence(e, w));
    }
    setRead(undefined);
  };
  return (
    <Button small busy={read !== undefined} disabled={read !== undefined} onClick={() => void download()}>
      {read === undefined ? t.download : t.downloading(read.toLocaleString(locale))}
    </Button>
  );
}

function save(name: string, content: string) {
  const url = URL.createObjectURL(new Blob([content], { type: "application/x-ndjson" }));
  const a = document.createElement("a");
  a.href = url;
  a.download = name;
  a.click();
  // The browser has taken the data over when the click returns; the address is kept until it has begun to write.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
