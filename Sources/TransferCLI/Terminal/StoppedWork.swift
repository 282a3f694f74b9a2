internal import TransferClient
private import TransferModel

/// The work of a command that was interrupted. One line says what was done and how to continue.
struct StoppedWork: Sendable {
    /// The name of the work: `push`.
    let name: String

    /// The noun for the counted things, in singular and plural.
    var nouns = (one: "file", many: "files")

    /// What is true of the counted files, such as `acknowledged`.
    var done = "here"
    var files = 0
    var bytes: UInt64 = 0

    /// Other changes that were made.
    var others = 0

    /// Whether this was a dry run.
    var isPreview = false

    /// Whether the same command, run again, would continue.
    var canGoOn = true

    init(_ name: String) { self.name = name }

    /// If the failure is a cancellation, gives it a message that names this work; other failures stay unchanged.
    func named(_ failure: TransferFailure) -> TransferFailure {
        guard failure.reason == .cancelled else { return failure }
        return TransferFailure(reason: .cancelled, message: "The \(name) was stopped.")
    }

    /// - Parameters:
    ///   - start: the first sentence; nil for the usual one.
    ///   - rest: a further clause for the end of the sentence.
    ///   - command: the command to suggest.
    func line(_ start: String? = nil, rest: String = "", repeating command: RepeatedCommand = RepeatedCommand())
        -> String
    {
        let start = start ?? "The \(name) was stopped."
        guard !isPreview else { return "\(start) Nothing was changed." }
        let wayOn = command.line().map { "to go on: \($0)" } ?? "the same command goes on from there."
        return "\(start) \(whatIsDone)\(rest)" + (canGoOn ? "; \(wayOn)" : ".")
    }

    private var whatIsDone: String {
        guard files > 0 || others == 0 else { return "\(others) \(others == 1 ? "change is" : "changes are") done" }
        let size = ByteFormat.size(bytes)
        let what =
            files == 0
            ? "Nothing is" : files == 1 ? "1 \(nouns.one) (\(size)) is" : "\(files) \(nouns.many) (\(size)) are"
        guard others > 0 else { return "\(what) \(done)" }
        return "\(what) \(done), and \(others) other \(others == 1 ? "change is" : "changes are") done"
    }
}
