/// Says of some paths that they are to be sent, or fetched, or not.
public struct PathRule: Sendable, Equatable {
    /// What becomes of what matches.
    public enum Action: Sendable {
        /// It is sent.
        case include
        /// It is not, and of a directory nothing that is in it.
        case exclude
    }

    /// A pattern that cannot be one; a sentence says why.
    public struct Fault: Error, Equatable, Sendable {
        /// A sentence for people.
        public let message: String
    }

    /// What becomes of what matches.
    public let action: Action

    let pattern: GlobPattern

    /// Whether only directories match.
    let isForDirectories: Bool

    /// Makes a rule.
    ///
    /// - Parameter pattern: `*`, `?`, `[a-z]` and `**` as in gitignore(5). With a slash in front it matches from the
    ///   directory that is pushed or pulled, otherwise the end of a path from any component on; with a slash at the end it matches
    ///   directories only.
    /// - Throws: `Fault` when it is empty or has more than 4,096 characters.
    public init(_ action: Action, _ pattern: String) throws(Fault) {
        self.action = action
        var text = Substring(pattern)
        // By code points: an accent behind a slash would make one character with it.
        isForDirectories = text.unicodeScalars.last == "/"
        while text.unicodeScalars.last == "/" { text.unicodeScalars.removeLast() }
        let isAnchored = text.unicodeScalars.first == "/"
        while text.unicodeScalars.first == "/" { text.unicodeScalars.removeFirst() }
        guard let compiled = GlobPattern(text, isAnchored: isAnchored) else {
            let fault = text.isEmpty ? "The pattern is empty." : "The pattern is longer than any path."
            throw Fault(message: fault)
        }
        self.pattern = compiled
    }

    func matches(_ path: some StringProtocol, isDirectory: Bool, ignoresCase: Bool = false) -> Bool {
        (isDirectory || !isForDirectories) && pattern.matches(path, ignoresCase: ignoresCase)
    }
}
