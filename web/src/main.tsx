import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { newQueryClient } from "./api/query";
import { SessionProvider } from "./api/session";
import "./kit/css/tokens.css";
import "./kit/css/base.css";
import "./kit/css/kit.css";
import "./kit/css/form.css";
import { Shell } from "./shell/Shell";

const root = document.getElementById("root");
if (!root) throw new Error("The document has no root.");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={newQueryClient()}>
      <SessionProvider>
        <Shell />
      </SessionProvider>
    </QueryClientProvider>
  </StrictMode>,
);
