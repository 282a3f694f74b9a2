/// A matcher of short patterns without brackets and backslashes that tries all possibilities in turn, as the definition
/// says.
struct PlainGlob {
    private let pattern: [Unicode.Scalar]

    /// - Returns: nil for a pattern that this matcher does not support.
    init?(_ text: String, _ most: Int) {
        pattern = Array(text.unicodeScalars)
        guard (1...most).contains(pattern.count), !pattern.contains("["), !pattern.contains("\\") else { return nil }
    }

    func matches(_ path: String) -> Bool { matches(0, Array(path.unicodeScalars)[...]) }

    private func matches(_ index: Int, _ path: ArraySlice<Unicode.Scalar>) -> Bool {
        guard index < pattern.count else { return path.isEmpty }
        if pattern[index] == "*" { return matchesStars(index, path) }
        guard let first = path.first else { return false }
        let fits = pattern[index] == "?" ? first != "/" : first == pattern[index]
        return fits && matches(index + 1, path.dropFirst())
    }

    private func matchesStars(_ index: Int, _ path: ArraySlice<Unicode.Scalar>) -> Bool {
        let stars = pattern[index...].prefix { $0 == "*" }.count
        let next = index + stars
        if stars == 2, index == 0 || pattern[index - 1] == "/" {
            if next == pattern.count { return true }
            if pattern[next] == "/" { return matchesDirectories(next + 1, path) }
        }
        return prefixes(of: path).contains { matches(next, path.dropFirst($0)) }
    }

    /// Matches any number of directories, each with a name.
    private func matchesDirectories(_ next: Int, _ path: ArraySlice<Unicode.Scalar>) -> Bool {
        if matches(next, path) { return true }
        guard let slash = path.firstIndex(of: "/"), slash > path.startIndex else { return false }
        return matchesDirectories(next, path[(slash + 1)...])
    }

    /// The numbers of characters that a star can match.
    private func prefixes(of path: ArraySlice<Unicode.Scalar>) -> ClosedRange<Int> {
        0...path.prefix { $0 != "/" }.count
    }
}
