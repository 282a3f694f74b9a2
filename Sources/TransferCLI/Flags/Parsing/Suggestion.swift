/// Suggests a known word for an unknown one.
enum Suggestion {
    /// The longest word for which there is a suggestion: longer ones are not mistyped names, and the limit bounds the
    /// work that an argument can cause.
    private static let longestWord = 64

    /// The end of an error message: `; did you mean 'push'?`, or an empty text if no word is similar.
    static func phrase(for word: String, among candidates: [String]) -> String {
        closest(to: word, among: candidates).map { "; did you mean '\($0)'?" } ?? ""
    }

    /// The candidate with the fewest typing mistakes, if these are few for its length. If every candidate has more, the
    /// only one that starts with the word.
    static func closest(to word: String, among candidates: [String]) -> String? {
        guard word.count <= longestWord else { return nil }
        let ranked = candidates.map { (candidate: $0, distance: editDistance(word, $0)) }
        if let best = ranked.min(by: { $0.distance < $1.distance }), best.distance <= tolerance(for: best.candidate) {
            return best.candidate
        }
        let completions = candidates.filter { $0.hasPrefix(word) }
        return completions.count == 1 ? completions[0] : nil
    }

    /// The fewest insertions, deletions, replacements and swaps of neighbours that turn one word into the other, where
    /// each letter is changed at most once (optimal string alignment).
    static func editDistance(_ first: String, _ second: String) -> Int {
        let first = Array(first)
        let second = Array(second)
        var beforeLast: [Int] = []
        var last = Array(0...second.count)
        for row in first.indices {
            var current = [row + 1]
            for column in second.indices {
                let replaced = last[column] + (first[row] == second[column] ? 0 : 1)
                var distance = min(replaced, last[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, first[row] == second[column - 1], first[row - 1] == second[column] {
                    distance = min(distance, beforeLast[column - 1] + 1)
                }
                current.append(distance)
            }
            (beforeLast, last) = (last, current)
        }
        return last[second.count]
    }

    /// How many mistakes are tolerated: one per three letters. Dashes are not counted, because they are rarely mistyped
    /// and would make short flags look alike.
    private static func tolerance(for candidate: String) -> Int {
        max(1, candidate.drop { $0 == "-" }.count / 3)
    }
}
