/// A pattern for paths, as in gitignore(5): `*` and `?` match any characters except slashes, `[a-z]` or `[[:digit:]]`
/// one of several characters, `**/` any number of directories, `/**` at the end everything inside, and a backslash
/// takes the meaning from the next character.
///
/// All ways through the pattern are followed at once, so the time for a path is at most proportional to its length
/// times that of the pattern. Characters are code points: names that look the same but have other code points are
/// different.
package struct GlobPattern: Sendable, Equatable {
    /// Most characters of a pattern; no path is longer (PATH_MAX of limits.h).
    package static let longest = 4096

    private let tokens: [GlobToken]

    /// - Parameters:
    ///   - text: the pattern; characters without a meaning match themselves.
    ///   - isAnchored: whether the pattern matches from the beginning of the path only, or from the beginning of any
    ///     component.
    /// - Returns: nil if the pattern is empty or too long.
    package init?(_ text: some StringProtocol, isAnchored: Bool) {
        var scanner = GlobScanner(text)
        guard (1...Self.longest).contains(scanner.length) else { return nil }
        var tokens: [GlobToken] = isAnchored ? [] : [.boundary, .component]
        while let next = scanner.next() {
            if next == [.boundary, .component], tokens.suffix(2) == next { continue }
            tokens += next
        }
        self.tokens = tokens
    }

    /// The only path that the pattern can match; nil if there are several.
    var literal: String? {
        var scalars = String.UnicodeScalarView()
        for token in tokens {
            guard case .character(let scalar) = token else { return nil }
            scalars.append(scalar)
        }
        return String(scalars)
    }

    /// Whether the pattern matches the whole path.
    ///
    /// - Parameter ignoresCase: whether letters that differ only by case are the same.
    package func matches(_ path: some StringProtocol, ignoresCase: Bool = false) -> Bool {
        var states = GlobStates(count: tokens.count)
        add(0, to: &states)
        for character in path.unicodeScalars {
            let active = states.takeAll()
            guard !active.isEmpty else { return false }
            for state in active {
                if let next = step(from: state, over: character, ignoresCase) { add(next, to: &states) }
            }
        }
        return states.contains(tokens.count)
    }

    /// Whether the pattern can match a path below a directory.
    func canMatch(below directory: some StringProtocol, ignoresCase: Bool = false) -> Bool {
        var states = GlobStates(count: tokens.count)
        add(0, to: &states)
        for character in Array(directory.unicodeScalars) + ["/"] {
            for state in states.takeAll() {
                if let next = step(from: state, over: character, ignoresCase) { add(next, to: &states) }
            }
        }
        return states.takeAll().contains { $0 < tokens.count }
    }

    /// The next place in the pattern after a character; nil if the character does not match.
    private func step(from state: Int, over character: Unicode.Scalar, _ ignoresCase: Bool) -> Int? {
        guard state < tokens.count else { return nil }
        let isSlash = character == "/"
        switch tokens[state] {
        case .character(let wanted):
            return wanted == character || ignoresCase && wanted.isSameLetter(as: character) ? state + 1 : nil
        case .any: return isSlash ? nil : state + 1
        case .oneOf(let set): return !isSlash && set.contains(character, ignoresCase) ? state + 1 : nil
        case .run: return isSlash ? nil : state
        case .boundary: return isSlash ? nil : state + 1
        case .component: return isSlash ? state - 1 : state
        case .rest: return state
        }
    }

    /// Adds a place, and those that follow it without a further character.
    private func add(_ state: Int, to states: inout GlobStates) {
        var next: Int? = state
        while let state = next, states.insert(state) {
            guard state < tokens.count else { return }
            switch tokens[state] {
            case .run, .rest: next = state + 1
            case .boundary: next = state + 2
            case .character, .any, .oneOf, .component: next = nil
            }
        }
    }
}

/// The places in a pattern that the path read so far may have led to.
private struct GlobStates {
    private var active: [Int] = []
    private var isActive: [Bool]

    /// - Parameter count: number of tokens of the pattern.
    init(count: Int) {
        isActive = [Bool](repeating: false, count: count + 1)
    }

    func contains(_ state: Int) -> Bool { isActive[state] }

    /// - Returns: false if the place was there already.
    mutating func insert(_ state: Int) -> Bool {
        guard !isActive[state] else { return false }
        isActive[state] = true
        active.append(state)
        return true
    }

    mutating func takeAll() -> [Int] {
        for state in active { isActive[state] = false }
        defer { active = [] }
        return active
    }
}
