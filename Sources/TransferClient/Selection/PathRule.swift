/// A rule that includes or excludes the paths that match its pattern in a push or pull.
public struct PathRule: Sendable, Equatable {
    /// What is done with paths that match.
    public enum Action: Sendable {
        /// The file is sent or fetched.
        case include
        /// The file is left out; a directory is left out with all its content.
        case exclude
    }

    /// Why a text is not a valid pattern.
    public struct Fault: Error, Equatable, Sendable {
        /// A sentence for people that says why.
        public let message: String
    }

    /// What is done with paths that match.
    public let action: Action

    let pattern: GlobPattern

    /// Whether the rule matches directories only.
    let isForDirectories: Bool

    /// Makes a rule from a pattern.
    ///
    /// - Parameter pattern: `*`, `?`, `[a-z]` and `**` as in gitignore(5). With a slash in front it matches from the
    ///   directory that is pushed or pulled, otherwise from any component to the end of the path; with a slash at the
    ///   end it matches directories only.
    /// - Throws: `Fault` if the pattern is empty or has more than 4,096 characters.
    public init(_ action: Action, _ pattern: String) throws(Fault) {
        self.action = action
        var text = Substring(pattern)
        // By code points: a combining accent after a slash would form one character with it.
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
