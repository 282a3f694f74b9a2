/// A pattern over paths, as gitignore(5) writes them: `*` and `?` stand for anything but a slash, `[a-z]` or `[[:digit:]]` for
/// one of several characters, `**/` for any directories or none, `/**` at the end for all that is inside, and a backslash
/// takes away the meaning of what follows.
///
/// All ways through the pattern are followed at once, so the time for a path is at most its length times that of the
/// pattern, whatever both are. Characters are code points: what looks the same and is another file name is not the same.
package struct GlobPattern: Sendable, Equatable {
    /// Characters; no path is longer (PATH_MAX of limits.h).
    package static let longest = 4096

    private let tokens: [GlobToken]

    /// - Parameters:
    ///   - text: the pattern; what has no meaning stands for itself.
    ///   - isAnchored: whether it has to match from the front of the path, or from the front of any of its components.
    /// - Returns: nothing when it is empty or too long.
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

    /// The one path that it matches; nothing when there are others.
    var literal: String? {
        var scalars = String.UnicodeScalarView()
        for token in tokens {
            guard case .character(let scalar) = token else { return nil }
            scalars.append(scalar)
        }
        return String(scalars)
    }

    /// Whether all of a path is what the pattern describes.
    ///
    /// - Parameter ignoresCase: whether letters that differ by their case alone are the same.
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

    /// Whether something in a directory can be what the pattern describes.
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

    /// Where a character leads from a place in the pattern.
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

    /// Adds a place, and those that are reached from it over nothing.
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

/// The places in a pattern that a path may have led to so far.
private struct GlobStates {
    private var active: [Int] = []
    private var isActive: [Bool]

    /// - Parameter count: tokens of the pattern.
    init(count: Int) {
        isActive = [Bool](repeating: false, count: count + 1)
    }

    func contains(_ state: Int) -> Bool { isActive[state] }

    /// - Returns: false when it was there.
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
