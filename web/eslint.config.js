import hooks from "eslint-plugin-react-hooks";
import ts from "typescript-eslint";

export default ts.config(
  { ignores: ["dist", "node_modules", "src/api/schema.d.ts", "shots", "test-results"] },
  ...ts.configs.strict,
  hooks.configs.flat["recommended-latest"],
  {
    files: ["**/*.{ts,tsx}"],
    rules: {
      "max-lines": ["error", 400],
      "max-len": ["error", { code: 120 }],
      "@typescript-eslint/no-non-null-assertion": "error",
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
      "@typescript-eslint/no-dynamic-delete": "off",
      // Data is text: nothing turns a string into HTML or code.
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "Data is text." },
        { property: "outerHTML", message: "Data is text." },
        { property: "insertAdjacentHTML", message: "Data is text." },
      ],
      "no-restricted-syntax": [
        "error",
        { selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']", message: "Data is text." },
      ],
    },
  },
  {
    files: ["**/*.test.{ts,tsx}", "test/**"],
    rules: {
      "@typescript-eslint/no-non-null-assertion": "off",
      "no-empty-pattern": "off",
      "react-hooks/rules-of-hooks": "off",
    },
  },
  {
    // A page uses kit, api, live, flow and draw, and never another page.
    files: ["src/page/**/*.{ts,tsx}"],
    rules: {
      "no-restricted-imports": [
        "error",
        { patterns: [{ regex: "^\\.\\./[a-z]|/page/", message: "Not another page." }] },
      ],
    },
  },
);
