internal import TransferClient
private import TransferModel

/// The command line of this process as it can be typed again, for hints that are pasted.
struct RepeatedCommand: Sendable {
    private let words: [String]

    /// Bytes of a line that is shown; a longer one is better found in the shell's history.
    private static let longest = 1000

    /// - Parameter words: the program's own name is the first.
    init(_ words: [String] = CommandLine.arguments) {
        self.words = words
    }

    /// The line, quoted for a shell.
    ///
    /// - Parameter flags: that are given as well.
    /// - Returns: nothing where it would show a secret or a password, cannot be shown as it is, or is too long to be read.
    func line(adding flags: [String] = []) -> String? {
        let end = words.firstIndex(of: "--") ?? words.endIndex
        let line = (words[..<end] + flags + words[end...]).map(Self.quoted).joined(separator: " ")
        guard line.utf8.count <= Self.longest, words.allSatisfy(Self.isShown) else { return nil }
        return line
    }

    /// The same with other words in place of some.
    ///
    /// - Parameter other: the word for one; nothing for itself.
    /// - Returns: nothing where no word is another one, or as above.
    func line(replacing other: (_ word: String) -> String?) -> String? {
        let words = words.enumerated().map { $0 == 0 ? $1 : other($1) ?? $1 }
        guard !words.elementsEqual(self.words, by: { $0.hasSameBytes(as: $1) }) else { return nil }
        return RepeatedCommand(words).line()
    }

    /// Whether a flag is given, with its value behind it or apart from it.
    func has(anyOf spellings: [String]) -> Bool {
        words.contains { word in spellings.contains { word == $0 || word.hasPrefix($0 + "=") } }
    }

    /// Links and URLs may have a code or a password in them, and what has to be escaped is another word then.
    private static func isShown(_ word: String) -> Bool {
        !ArgumentSecrets.isSecret(in: word) && !word.contains("://") && word.escapedForDisplay.hasSameBytes(as: word)
    }

    /// A word as POSIX shells take it, with quotes only where it needs them.
    static func quoted(_ word: String) -> String { word.shellWord }
}

extension Remedy {
    /// What proves who is who, which goes with encryption only.
    private static let proofs = [
        SecurityFlags.serverKey.flag, SecurityFlags.trustsNew.flag, SecurityFlags.tokenFile.flag,
        SecurityFlags.asksToken.flag,
    ].map(\.spelling)

    /// The command to paste, for people; nothing where it cannot be shown, or would only be refused for another reason.
    func line(_ command: RepeatedCommand = RepeatedCommand()) -> String? {
        let isBare = flags.contains(SecurityFlags.plaintext.flag.spelling)
        guard !isBare || !command.has(anyOf: Self.proofs) else { return nil }
        return command.line(adding: flags).map { "\(purpose): \($0)" }
    }
}
