// Formats quantities for people, with three significant digits as in the simulator's sentences.

const NOTHING = "–";

function threeDigits(value: number): string {
  const size = Math.abs(value);
  if (size >= 99.95 || value === 0) return value.toFixed(0);
  return size >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

function scaled(value: number | null | undefined, units: readonly string[]): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NOTHING;
  let step = 0;
  while (Math.abs(value) >= 999.5 && step < units.length - 1) {
    value /= 1000;
    step += 1;
  }
  return `${step === 0 && Number.isInteger(value) ? value.toFixed(0) : threeDigits(value)} ${units[step]}`;
}

export const rate = (bps: number | null | undefined): string => scaled(bps, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"]);
export const size = (bytes: number | null | undefined): string => scaled(bytes, ["B", "kB", "MB", "GB"]);

export function millis(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return NOTHING;
  if (ms !== 0 && Math.abs(ms) < 1) return `${threeDigits(ms * 1000)} µs`;
  return Math.abs(ms) < 999.5 ? `${threeDigits(ms)} ms` : `${threeDigits(ms / 1000)} s`;
}

export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return NOTHING;
  const size = Math.abs(share);
  return `${(share * 100).toFixed(share === 0 || size >= 0.0995 ? 0 : size >= 0.00995 ? 1 : 2)} %`;
}

/** An integer with commas. The first call of `toLocaleString` would load locales, which delays the first picture. */
export const count = (number: number | null | undefined): string =>
  number === null || number === undefined ? NOTHING : String(number).replace(/\B(?=(\d{3})+$)/g, ",");
