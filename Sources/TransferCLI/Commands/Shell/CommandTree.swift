/// The commands as a tree of words, so that one word at a time can be completed.
enum CommandTree {
    /// A word that can follow a stem.
    struct Word: Equatable, Sendable {
        let text: String
        let summary: String
    }

    /// All stems, after which further words can follow: the empty stem, and words that begin a command, such as
    /// `access`.
    static var stems: [String] {
        var stems = [""]
        for command in Commands.all {
            let words = command.name.split(separator: " ")
            for count in 1..<max(1, words.count) {
                let stem = words.prefix(count).joined(separator: " ")
                if !stems.contains(stem) { stems.append(stem) }
            }
        }
        return stems
    }

    /// Whether words are the beginning of a command's name.
    static func isStem(_ words: String) -> Bool { !words.isEmpty && stems.contains(words) }

    /// The words that can follow a stem, in the order of the table, with aliases after their command.
    static func words(after stem: String) -> [Word] {
        var words: [Word] = []
        for name in Commands.all.flatMap(\.names) {
            let parts = name.split(separator: " ").map(String.init)
            let count = stem.split(separator: " ").count
            guard parts.count > count, parts.prefix(count).joined(separator: " ") == stem,
                !words.contains(where: { $0.text == parts[count] })
            else { continue }
            words.append(Word(text: parts[count], summary: summary(of: parts.prefix(count + 1).joined(separator: " "))))
        }
        return words
    }

    private static func summary(of name: String) -> String {
        if let command = Commands.all.first(where: { $0.names.contains(name) }) { return command.summary }
        return words(after: name).map(\.text).joined(separator: ", ")
    }

    /// All stems and commands, for completions of typed words.
    static var paths: [String] { stems.filter { !$0.isEmpty } + Commands.all.flatMap(\.names) }

    /// Commands whose operand is the name of a command, such as `help`.
    static var aboutCommands: [Command] { Commands.all.filter { $0.operandValue == .command } }
}
