internal import TransferClient
private import TransferModel

/// The command line of this process, for hints that users paste.
struct RepeatedCommand: Sendable {
    private let words: [String]

    /// The most bytes of a line that is printed. Users find longer ones more easily in the shell's history.
    private static let longest = 1000

    /// - Parameter words: the arguments, beginning with the name of the program.
    init(_ words: [String] = CommandLine.arguments) {
        self.words = words
    }

    /// The line, quoted for a shell.
    ///
    /// - Parameter flags: further flags to add.
    /// - Returns: nil if the line contains a secret or password, cannot be printed unescaped, or is too long.
    func line(adding flags: [String] = []) -> String? {
        let end = words.firstIndex(of: "--") ?? words.endIndex
        let line = (words[..<end] + flags + words[end...]).map(Self.quoted).joined(separator: " ")
        guard line.utf8.count <= Self.longest, words.allSatisfy(Self.isShown) else { return nil }
        return line
    }

    /// The line with some words replaced.
    ///
    /// - Parameter other: returns the replacement of a word; nil to keep it.
    /// - Returns: nil if no word is replaced, or the line cannot be printed.
    func line(replacing other: (_ word: String) -> String?) -> String? {
        let words = words.enumerated().map { $0 == 0 ? $1 : other($1) ?? $1 }
        guard !words.elementsEqual(self.words, by: { $0.hasSameBytes(as: $1) }) else { return nil }
        return RepeatedCommand(words).line()
    }

    /// Whether one of the flags is given, with its value after `=` or as the next word.
    func has(anyOf spellings: [String]) -> Bool {
        words.contains { word in spellings.contains { word == $0 || word.hasPrefix($0 + "=") } }
    }

    /// Links and URLs are not printed, because they can contain a code or a password. Words that need escapes are not
    /// printed either, because the escaped word would be a different one.
    private static func isShown(_ word: String) -> Bool {
        !ArgumentSecrets.isSecret(in: word) && !word.contains("://") && word.escapedForDisplay.hasSameBytes(as: word)
    }

    /// Quotes a word for POSIX shells if necessary.
    static func quoted(_ word: String) -> String { word.shellWord }
}

extension Remedy {
    /// Flags for authentication, which need encryption.
    private static let proofs = [
        SecurityFlags.serverKey.flag, SecurityFlags.trustsNew.flag, SecurityFlags.tokenFile.flag,
        SecurityFlags.asksToken.flag,
    ].map(\.spelling)

    /// The suggested command; nil if it cannot be printed, or would be refused for another reason.
    func line(_ command: RepeatedCommand = RepeatedCommand()) -> String? {
        let isBare = flags.contains(SecurityFlags.plaintext.flag.spelling)
        guard !isBare || !command.has(anyOf: Self.proofs) else { return nil }
        return command.line(adding: flags).map { "\(purpose): \($0)" }
    }
}
