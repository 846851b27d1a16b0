/* Guides and the reference come before design notes and the changelog in the results of a search. */
const PLACES = [
    [/^(index|quickstart|installation|features)$/, 12],
    [/^howto\//, 12],
    [/^reference\//, 10],
    [/^tutorials\//, 8],
    [/^gallery\//, 4],
    [/^theory\//, 4],
    [/^(verified|performance|reproducibility|names)$/, 0],
    [/^peers\//, -6],
    [/^(core|contributing)$/, -8],
    [/^design\//, -10],
    [/^changelog$/, -15],
];

var Scorer = {
    score: ([name, title, anchor, description, score]) => {
        const found = PLACES.find(([pattern]) => pattern.test(name));
        return score + (found ? found[1] : 0);
    },
    objNameMatch: 11,
    objPartialMatch: 6,
    objPrio: { 0: 15, 1: 5, 2: -5 },
    objPrioDefault: 0,
    title: 15,
    partialTitle: 7,
    term: 5,
    partialTerm: 2,
};
