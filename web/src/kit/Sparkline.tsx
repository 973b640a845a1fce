/** A line of numbers, as small as a word. The label says what it shows, with its numbers for who cannot see it. */
export function Sparkline({
  values,
  label,
  width = 120,
  height = 28,
  colour = "var(--accent)",
}: {
  values: readonly number[];
  label: string;
  width?: number;
  height?: number;
  colour?: string;
}) {
  const top = Math.max(1, ...values);
  const step = values.length > 1 ? width / (values.length - 1) : width;
  const y = (v: number) => height - 2 - (v / top) * (height - 4);
  const line = values
    .map((v, i) => `${i === 0 ? "M" : "L"}${(i * step).toFixed(1)} ${y(v).toFixed(1)}`)
    .join("");
  return (
    <svg
      className="sparkline"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={label}
    >
      <path d={`${line}L${width} ${height}L0 ${height}Z`} fill={colour} opacity={0.12} />
      <path d={line} fill="none" stroke={colour} strokeWidth={1.5} strokeLinejoin="round" />
    </svg>
  );
}
